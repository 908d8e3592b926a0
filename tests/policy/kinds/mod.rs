//! Every kind that the policy knows, on every front end.

mod field;
mod matrix;
mod mutations;
mod reach;

use managed_by::{Form, Holder, Kind, kinds};
use serde_json::{Value, json};

use crate::support::{Answer, everywhere};
use xtask::kinds::name;
use xtask::kinds::objects::{ONE, condition, request, with};

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
    everywhere(&request, &strict())
}

/// Settings under which the rules about a status deny on objects that their own controllers reconcile too.
fn strict() -> Value {
    xtask::kinds::questions::strict()
}

#[track_caller]
fn silent(answer: &Answer) {
    assert!(answer.allowed && answer.warnings.is_empty(), "{answer:?}");
}

/// A kind is a profile, a row of metadata, a line in the docs, and an example: none may be missing.
#[test]
fn every_kind_has_all_its_parts() {
    let metadata = std::fs::read_to_string(crate::support::root("policy-metadata.yml")).unwrap();
    let metadata: Value =
        serde_json::to_value(xtask::metadata::Metadata::from_yaml(&metadata).unwrap()).unwrap();
    let rules = metadata["rules"].as_array().unwrap();
    let page = std::fs::read_to_string(crate::support::root("docs/kinds.md")).unwrap();
    let manifests = ["management", "worker", "hybrid"].map(|name| {
        std::fs::read_to_string(crate::support::root(format!("deploy/{name}.yml"))).unwrap()
    });
    let examples = xtask::examples::all().unwrap();
    for (kind, version) in all() {
        let has = |rule: &Value, key: &str, word: &str| {
            rule[key].as_array().unwrap().contains(&word.into())
        };
        let asked = |resource: &str, operations: Value| {
            rules.iter().any(|rule| {
                has(rule, "apiGroups", kind.group())
                    && has(rule, "apiVersions", version)
                    && has(rule, "resources", resource)
                    && rule["operations"] == operations
            })
        };
        assert!(
            asked(kind.plural(), json!(["CREATE", "UPDATE"])),
            "metadata: {kind:?} {version}"
        );
        let judged = kind.has_status_rules();
        let status = asked(&format!("{}/status", kind.plural()), json!(["UPDATE"]));
        assert_eq!(status, judged, "metadata: {kind:?} {version}");
        let headings = page.lines().filter_map(|line| line.strip_prefix("## "));
        let mut named = headings.flat_map(|heading| heading.split(", "));
        assert!(named.any(|named| named == name(kind)), "docs: {kind:?}");
        let shown = examples.iter().any(|example| {
            let of = &example.request["kind"];
            let is_version = kind
                .versions()
                .iter()
                .any(|version| of["version"] == *version);
            of["kind"] == kind.name() && of["group"] == kind.group() && is_version
        });
        assert!(shown, "examples: {kind:?}");
        let resource = kind.plural().to_owned();
        for manifest in &manifests {
            let named =
                manifest.contains(&format!("\"{resource}\"")) && manifest.contains(kind.group());
            assert!(named, "deploy: {kind:?}");
        }
        let docs = kind.docs();
        for text in [docs.checks, docs.unchecked, docs.source] {
            assert!(!text.is_empty(), "{kind:?}");
        }
        let made = kind.workload();
        let is_kind = kinds()
            .iter()
            .any(|k| k.name() == made && k.holder() == Holder::Workload);
        assert!(is_kind, "{kind:?}");
        if let Form::OneOf(values) = kind.form() {
            assert_eq!(values.len(), 2, "{kind:?}");
        }
    }
}
