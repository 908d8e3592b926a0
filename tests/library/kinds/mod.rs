//! Every kind that the policy knows, on every front end.

mod field;
mod matrix;
mod mutations;
mod reach;

use managed_by::{Form, Holder, Kind, kinds};
use serde_json::Value;

use crate::support::{Answer, review, root};
use xtask::kinds::objects::{request, with};

/// Each kind, once for each of its versions.
fn all() -> impl Iterator<Item = (&'static Kind<'static>, &'static str)> {
    let versions = |kind: &'static Kind<'static>| kind.versions().iter().map(move |v| (kind, *v));
    kinds().iter().copied().flat_map(versions)
}

fn find(kind: &str) -> (&'static Kind<'static>, &'static str) {
    let (name, version) = kind.split_once(' ').unwrap_or((kind, ""));
    let wanted = |(kind, v): &(&Kind<'_>, &str)| {
        kind.name() == name && (version.is_empty() || *v == version)
    };
    all().find(wanted).unwrap()
}

fn create(kind: &str, object: &Value) -> Answer {
    let request = request(find(kind), "CREATE", "", &Value::Null, object);
    review(&request, &strict())
}

/// Settings under which the rules about a status deny on objects that their own controllers reconcile too.
fn strict() -> Value {
    xtask::kinds::questions::strict()
}

#[track_caller]
fn silent(answer: &Answer) {
    assert!(answer.allowed && answer.warnings.is_empty(), "{answer:?}");
}

/// A kind has texts, an example, and rules for its status where the metadata asks for that, for mutants of the library. All else in
/// the metadata, the manifests and the page are compared with the kinds elsewhere.
#[test]
fn every_kind_has_all_its_parts() {
    let examples = xtask::examples::all().unwrap();
    let metadata = std::fs::read_to_string(root("policy-metadata.yml")).unwrap();
    let metadata: Value = serde_yaml_ng::from_str(&metadata).unwrap();
    for kind in kinds() {
        let status = Value::from(format!("{}/status", kind.plural()));
        let is_asked = metadata["rules"].as_array().unwrap().iter().any(|rule| {
            let names = |key: &str, name: &Value| rule[key].as_array().unwrap().contains(name);
            names("apiGroups", &kind.group().into()) && names("resources", &status)
        });
        assert_eq!(is_asked, kind.has_status_rules(), "{kind:?}");
        let is_shown = examples.iter().any(|example| {
            let of = |key: &str| example.request["kind"][key].as_str().unwrap();
            Kind::find(of("group"), of("version"), of("kind"))
                .is_some_and(|k| std::ptr::eq(k, *kind))
        });
        assert!(is_shown, "examples: {kind:?}");
        let docs = kind.docs();
        for text in [docs.checks, docs.unchecked, docs.source] {
            assert!(!text.is_empty(), "{kind:?}");
        }
        let mut workloads = kinds().iter().filter(|k| k.holder() == Holder::Workload);
        let made = kind.workload();
        assert!(workloads.any(|k| k.name() == made), "{kind:?}");
        if let Form::OneOf(values) = kind.form() {
            assert_eq!(values.len(), 2, "{kind:?}");
        }
    }
}
