//! Tests the requests for manifests: a create, a stored object, or the updates between two objects.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use managed_by::{AdmissionRequest, Settings, UserInfo};
use managed_by_offline::manifest::{self, Object};
use managed_by_offline::{Document, Evaluator, Operation, Request};
use serde_json::{Value, json};

/// The operation, note, JSON and findings of a request, evaluated under 1.37.
#[derive(Debug)]
struct EvaluatedRequest {
    operation: Operation,
    note: Option<&'static str>,
    json: Vec<u8>,
    rules: Vec<&'static str>,
}

/// Evaluates a request, and checks that the request parsed from its JSON has the same result.
fn evaluate(request: &Request<'_>) -> EvaluatedRequest {
    let settings = r#"{"kubernetes_version":"1.37","custom_kinds":[{"group":"acme.io","kind":"Task","versions":["v1"],
        "plural":"tasks","reserved_value":"acme.io/runner",
        "status":{"counters":["status.failed"]}}]}"#;
    let settings = Settings::from_json(settings.as_bytes()).unwrap();
    let evaluator = Evaluator::new(settings, None);
    let report = request
        .with_request(|request| evaluator.evaluate(request))
        .flatten()
        .unwrap();
    let json = serde_json::to_vec(request).unwrap();
    let read = AdmissionRequest::from_json(&json).and_then(|read| evaluator.evaluate(&read));
    assert_eq!(read.unwrap(), report);
    let findings = report.findings.into_iter();
    EvaluatedRequest {
        operation: request.operation,
        note: request.note,
        json,
        rules: findings.map(|found| found.rule.id()).collect(),
    }
}

fn with_object<T>(json: &Value, then: impl FnOnce(&Object<'_>) -> T) -> T {
    let text = json.to_string();
    let documents = Document::parse_all(&text);
    let document = documents.first().unwrap().as_ref().unwrap();
    let objects = manifest::objects(document);
    then(objects.first().unwrap().as_ref().unwrap())
}

fn request(json: &Value) -> EvaluatedRequest {
    with_object(json, |object| {
        evaluate(&object.request("team", &UserInfo::default()))
    })
}

fn updates(old: &Value, new: &Value, is_status: bool) -> Vec<EvaluatedRequest> {
    with_object(old, |old| {
        with_object(new, |new| {
            let user = UserInfo::default();
            let updates = manifest::updates(old, new, is_status, "team", &user);
            updates.iter().map(evaluate).collect()
        })
    })
}

fn job(managed_by: &str, status: &Value) -> Value {
    json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "pi"},
        "spec": {"managedBy": managed_by}, "status": status,
    })
}

#[test]
fn status_of_a_create_is_dropped() {
    let negative = json!({"failed": -1});
    for created in [
        job("a.io/x", &negative),
        json!({"apiVersion": "acme.io/v1", "kind": "Task", "metadata": {"name": "t"}, "spec": {}, "status": negative}),
    ] {
        let evaluated = request(&created);
        assert_eq!(
            (evaluated.operation, evaluated.note),
            (
                Operation::Create,
                Some("the API server drops the status of a create")
            )
        );
        assert_eq!(evaluated.rules, [""; 0], "{created}");
        let sent: Value = serde_json::from_slice(&evaluated.json).unwrap();
        assert_eq!(sent["object"].get("status"), None);
        assert_eq!(sent["object"]["spec"], created["spec"]);
        // Formatted like the output of `kubectl get`.
        for (member, value) in [
            ("uid", "u"),
            ("resourceVersion", "5"),
            ("creationTimestamp", "2026-11-21T05:00:00Z"),
        ] {
            let mut stored = created.clone();
            stored["metadata"][member] = value.into();
            let evaluated = request(&stored);
            assert_eq!(
                (evaluated.operation, evaluated.note),
                (
                    Operation::Stored,
                    Some("evaluated as a stored object, with its status")
                ),
                "{stored}"
            );
            assert_eq!(evaluated.rules.len(), 1, "{stored}");
        }
    }
    // Formatted like the output of `kubectl create --dry-run`.
    let mut dry = job("a.io/x", &json!({}));
    dry["metadata"]["creationTimestamp"] = Value::Null;
    let evaluated = request(&dry);
    assert_eq!(
        (evaluated.operation, evaluated.note),
        (Operation::Create, None)
    );
}

#[test]
fn update_of_spec_and_status_becomes_two_requests() {
    let (old, new) = (
        job("a.io/x", &json!({"failed": 2})),
        job("b.io/y", &json!({"failed": 1})),
    );
    let summary = |requests: &[EvaluatedRequest]| -> Vec<_> {
        let requests = requests.iter();
        requests
            .map(|request| (request.operation, request.rules.clone()))
            .collect()
    };
    let status_update = (Operation::UpdateStatus, vec!["job-status/failed-decreased"]);
    let spec_update = (Operation::Update, vec!["managed-by/immutable"]);
    let both = updates(&old, &new, false);
    assert_eq!(summary(&both), [spec_update.clone(), status_update.clone()]);
    let members =
        |request: &EvaluatedRequest| -> Value { serde_json::from_slice(&request.json).unwrap() };
    let [first, second] = &*both else {
        panic!("{both:?}");
    };
    assert_eq!(members(first)["object"], members(second)["oldObject"]);
    // With `is_status`, the API server keeps everything but the status.
    assert_eq!(
        summary(&updates(&old, &new, true)),
        std::slice::from_ref(&status_update)
    );
    // A change of only the status is a status update.
    let same = job("a.io/x", &json!({"failed": 1}));
    assert_eq!(summary(&updates(&old, &same, false)), [status_update]);
    // A manifest in a repository has no status and does not remove it.
    let mut manifest = new;
    manifest.as_object_mut().unwrap().remove("status");
    assert_eq!(summary(&updates(&old, &manifest, false)), [spec_update]);
}

#[test]
fn list_requires_an_array_of_items() {
    let text = r#"{"apiVersion":"batch/v1","kind":"JobList","items":{"a":{}}}"#;
    let documents = Document::parse_all(text);
    let objects = manifest::objects(documents.first().unwrap().as_ref().unwrap());
    let malformed = objects.into_iter().map(|object| object.unwrap_err().text);
    assert_eq!(
        malformed.collect::<Vec<_>>(),
        ["expected an array of items"]
    );
}
