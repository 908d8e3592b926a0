//! Every kind that the policy knows, on every front end.

mod field;
mod matrix;
mod mutations;
mod reach;

use managed_by::{Holder, Kind, kinds};
use serde_json::Value;

use crate::support::{Answer, everywhere};
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

/// What no generator makes of a profile: an example, texts for people, and a kind that its template makes.
#[test]
fn every_kind_has_all_its_parts() {
    let examples = xtask::examples::all().unwrap();
    for kind in kinds() {
        let is_shown = examples.iter().any(|example| {
            let of = &example.request["kind"];
            let mut versions = kind.versions().iter();
            let is_version = versions.any(|version| of["version"] == *version);
            of["kind"] == kind.name() && of["group"] == kind.group() && is_version
        });
        assert!(is_shown, "examples: {kind:?}");
        let docs = kind.docs();
        for text in [docs.checks, docs.unchecked, docs.source] {
            assert!(!text.is_empty(), "{kind:?}");
        }
        let made = kind.workload();
        let is_made = |k: &&Kind<'_>| k.name() == made && k.holder() == Holder::Workload;
        assert!(kinds().iter().any(is_made), "{kind:?}");
    }
}
