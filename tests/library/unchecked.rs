//! `unchecked` in evaluations: each part that was not evaluated, with its reason.

use managed_by::{AdmissionRequest, ReleaseSet, Settings, UncheckedReason, evaluate};
use managed_by_testing::root;
use serde_json::{Value, json};

/// Returns `unchecked` in the JSON of an evaluation, without the messages. It is the same with and without releases.
fn unchecked(kind: &Value, object: &Value, settings: &Value) -> Value {
    let request = json!({"operation": "CREATE", "kind": kind, "object": object}).to_string();
    let settings = settings.to_string();
    let settings = Settings::from_json(settings.as_bytes()).unwrap();
    let request = AdmissionRequest::from_json(request.as_bytes()).unwrap();
    let found = |releases| {
        let evaluation = evaluate(&request, &settings, releases);
        serde_json::to_value(&evaluation).unwrap()["unchecked"].clone()
    };
    let mut found_by_settings = found(None);
    assert_eq!(found_by_settings, found(Some(ReleaseSet::all())));
    for part in found_by_settings.as_array_mut().unwrap() {
        let message = part.as_object_mut().unwrap().remove("message");
        assert!(message.is_some_and(|text| text.as_str().unwrap().contains("not checked, ")));
    }
    found_by_settings
}

#[test]
fn kinds_and_versions_without_rules_are_unchecked() {
    let declared = json!({"custom_kinds": [
        {"group": "acme.io", "versions": ["v1"], "kind": "Run", "plural": "runs"},
    ]});
    for (group, version, kind, reason) in [
        ("batch", "v1", "Job", None),
        ("batch", "v1beta1", "CronJob", Some("unsupported-version")),
        (
            "jobset.x-k8s.io",
            "v1beta1",
            "JobSet",
            Some("unsupported-version"),
        ),
        ("apps", "v1", "Deployment", Some("unsupported-kind")),
        ("batch.example.com", "v1", "Job", Some("unsupported-kind")),
        ("acme.io", "v1", "Run", None),
        ("acme.io", "v2", "Run", Some("unsupported-version")),
        ("acme.io", "v1", "Walk", Some("unsupported-kind")),
    ] {
        let kind = json!({"group": group, "version": version, "kind": kind});
        let expected = reason.map_or(json!([]), |reason| json!([{"path": "", "reason": reason}]));
        assert_eq!(unchecked(&kind, &json!({}), &declared), expected, "{kind}");
    }
}

#[test]
fn pods_are_unchecked_without_a_cluster_or_with_another_role() {
    let kind = json!({"group": "", "version": "v1", "kind": "Pod"});
    let owner = json!({"apiVersion": "batch/v1", "kind": "Job", "name": "pi", "uid": "1", "controller": true});
    let pod = json!({"metadata": {"name": "pi-x", "namespace": "a", "ownerReferences": [owner]}});
    for (role, reason) in [
        ("management", "lookup-failed"),
        ("worker", "pods-not-selected"),
    ] {
        let found = unchecked(&kind, &pod, &json!({"role": role}));
        assert_eq!(found, json!([{"path": "", "reason": reason}]), "{role}");
    }
}

#[test]
fn skipped_templates_are_unchecked() {
    let kind = json!({"group": "jobset.x-k8s.io", "version": "v1alpha2", "kind": "JobSet"});
    let job = json!({"name": "a", "template": {"spec": {"managedBy": "acme.io/runner"}}});
    for (count, expected) in [
        (1000, json!([])),
        (
            1001,
            json!([{"path": "spec.replicatedJobs[1000].template", "reason": "too-many-templates"}]),
        ),
    ] {
        let object = json!({"spec": {"replicatedJobs": vec![job.clone(); count]}});
        assert_eq!(unchecked(&kind, &object, &json!({})), expected, "{count}");
        // The level of the rule that reports them does not matter.
        let off = json!({"rules": {"managed-by/template": "off"}});
        assert_eq!(unchecked(&kind, &object, &off), expected, "{count}");
    }
}

#[test]
fn schema_lists_all_reasons() {
    let schema = std::fs::read(root("docs/evaluation.schema.json")).unwrap();
    let schema: Value = serde_json::from_slice(&schema).unwrap();
    let reasons: Vec<_> = UncheckedReason::ALL
        .iter()
        .map(|reason| reason.as_str())
        .collect();
    assert_eq!(
        schema["$defs"]["unchecked"]["properties"]["reason"]["enum"],
        json!(reasons)
    );
}
