//! Every kind that the policy knows, on every front end.

pub(crate) mod docs;
mod field;
mod mutations;
mod nested;
mod settings;
mod status;

use managed_by::kind::{Form, Holder, KINDS, KindProfile};
use serde_json::{Value, json};

use crate::support::{Answer, everywhere};

/// Each kind, once for each of its versions.
fn all() -> impl Iterator<Item = (&'static KindProfile, &'static str)> {
    let versions = |kind: &'static KindProfile| kind.versions.iter().map(move |v| (kind, *v));
    KINDS.iter().copied().flat_map(versions)
}

fn find(kind: &str) -> (&'static KindProfile, &'static str) {
    let (name, version) = kind.split_once(' ').unwrap_or((kind, ""));
    let wanted = |(kind, v): &(&KindProfile, &str)| {
        kind.kind == name && (version.is_empty() || *v == version)
    };
    all().find(wanted).unwrap()
}

fn request(
    (kind, version): (&KindProfile, &str),
    operation: &str,
    sub_resource: &str,
    old: &Value,
    new: &Value,
) -> Value {
    json!({
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": {"group": kind.group, "version": version, "kind": kind.kind},
        "resource": {"group": kind.group, "version": version, "resource": kind.plural},
        "operation": operation, "subResource": sub_resource, "oldObject": old, "object": new,
        "name": "x", "namespace": "team-a", "userInfo": {"username": "ana"},
    })
}

/// An object whose field has a value, if any.
fn with(kind: &KindProfile, value: Option<&str>) -> Value {
    let leaf = |value: &str| Value::from(value);
    let wrap = |inner: Value, key: &&str| {
        let mut object = json!({});
        object[*key] = inner;
        object
    };
    let mut object = match value {
        Some(value) => kind.managed_by.iter().rev().fold(leaf(value), wrap),
        None => json!({}),
    };
    object["metadata"] = json!({"name": "x"});
    object
}

fn create(kind: &str, object: &Value) -> Answer {
    let request = request(find(kind), "CREATE", "", &Value::Null, object);
    everywhere(&request, &json!({}))
}

/// The answer to a status update of an object with nothing but a status.
fn status(kind: &str, old: &Value, new: &Value) -> Answer {
    let object = |status: &Value| json!({"metadata": {"name": "x"}, "spec": {}, "status": status});
    let request = request(find(kind), "UPDATE", "status", &object(old), &object(new));
    everywhere(&request, &json!({}))
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
        serde_json::to_value(managed_by_engine::metadata::Metadata::from_yaml(&metadata).unwrap())
            .unwrap();
    let rules = metadata["rules"].as_array().unwrap();
    let page = std::fs::read_to_string(crate::support::root("docs/kinds.md")).unwrap();
    let examples = managed_by_engine::examples::read(&crate::support::root("examples")).unwrap();
    for (kind, version) in all() {
        let has = |rule: &Value, key: &str, word: &str| {
            rule[key].as_array().unwrap().contains(&word.into())
        };
        let asked = |resource: &str, operations: Value| {
            rules.iter().any(|rule| {
                has(rule, "apiGroups", kind.group)
                    && has(rule, "apiVersions", version)
                    && has(rule, "resources", resource)
                    && rule["operations"] == operations
            })
        };
        assert!(
            asked(kind.plural, json!(["CREATE", "UPDATE"])),
            "metadata: {kind:?} {version}"
        );
        let judged = kind.has_status_rules();
        let status = asked(&format!("{}/status", kind.plural), json!(["UPDATE"]));
        assert_eq!(status, judged, "metadata: {kind:?} {version}");
        assert!(
            page.contains(&format!("## {}", kind.kind)),
            "docs: {kind:?}"
        );
        let shown = examples.iter().any(|example| {
            let of = &example.request["kind"];
            of["kind"] == kind.kind && of["group"] == kind.group
        });
        assert!(shown, "examples: {kind:?}");
        let docs = kind.docs();
        for text in [docs.checks, docs.unchecked, docs.source] {
            assert!(!text.is_empty(), "{kind:?}");
        }
        let made = kind.workload();
        let is_kind = KINDS
            .iter()
            .any(|k| k.kind == made && k.holder == Holder::Workload);
        assert!(is_kind, "{kind:?}");
        if let Form::OneOf(values) = kind.form {
            assert_eq!(values.len(), 2, "{kind:?}");
        }
    }
}
