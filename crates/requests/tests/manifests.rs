//! What a manifest stands for: a create, a stored object, or the updates between two.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use managed_by::Settings;
use managed_by_requests::manifest::{self, Object, Remark, Request, User};
use managed_by_requests::{Asks, Document, Judge, Releases};
use serde_json::{Value, json};

/// The rules of 1.37 that find something. A kind of the site's own is judged too.
fn rules(request: &Request) -> Vec<&'static str> {
    let settings = r#"{"kubernetes_version":"1.37","custom_kinds":[{"group":"acme.io","kind":"Task","versions":["v1"],
        "plural":"tasks","reserved":"acme.io/runner",
        "status":{"counters":["status.failed"]}}]}"#;
    let settings = Settings::from_json(settings.as_bytes()).unwrap();
    let judgement = Judge::new(settings, Releases::Chosen).ask(&request.json);
    let findings = judgement.unwrap().findings;
    findings.into_iter().map(|found| found.rule.id()).collect()
}

fn with_object<T>(json: &Value, then: impl FnOnce(&Object<'_>) -> T) -> T {
    let text = json.to_string();
    let documents = Document::all(&text);
    let document = documents.first().unwrap().as_ref().unwrap();
    then(
        manifest::objects(document)
            .first()
            .unwrap()
            .as_ref()
            .unwrap(),
    )
}

fn alone(json: &Value) -> Request {
    with_object(json, |object| object.alone("team", &User::default()))
}

fn updates(old: &Value, new: &Value, is_status: bool) -> Vec<Request> {
    with_object(old, |old| {
        with_object(new, |new| {
            manifest::updates(old, new, is_status, "team", &User::default())
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
fn the_status_of_a_create_is_dropped_and_that_is_said() {
    let negative = json!({"failed": -1});
    for created in [
        job("a.io/x", &negative),
        json!({"apiVersion": "acme.io/v1", "kind": "Task", "metadata": {"name": "t"}, "spec": {}, "status": negative}),
    ] {
        let request = alone(&created);
        assert_eq!(
            (request.asks, request.remark),
            (Asks::Create, Some(Remark::StatusDropped))
        );
        assert_eq!(rules(&request), [""; 0], "{created}");
        let sent: Value = serde_json::from_slice(&request.json).unwrap();
        assert_eq!(sent["object"].get("status"), None);
        assert_eq!(sent["object"]["spec"], created["spec"]);
        // As `kubectl get` prints it.
        for (member, value) in [
            ("uid", "u"),
            ("resourceVersion", "5"),
            ("creationTimestamp", "2026-11-21T05:00:00Z"),
        ] {
            let mut stored = created.clone();
            stored["metadata"][member] = value.into();
            let request = alone(&stored);
            assert_eq!(
                (request.asks, request.remark),
                (Asks::Stored, Some(Remark::Stored)),
                "{stored}"
            );
            assert_eq!(rules(&request).len(), 1, "{stored}");
        }
    }
    // As `kubectl create --dry-run` prints it.
    let mut dry = job("a.io/x", &json!({}));
    dry["metadata"]["creationTimestamp"] = Value::Null;
    let request = alone(&dry);
    assert_eq!((request.asks, request.remark), (Asks::Create, None));
}

#[test]
fn an_update_of_the_status_and_the_rest_is_two() {
    let (old, new) = (
        job("a.io/x", &json!({"failed": 2})),
        job("b.io/y", &json!({"failed": 1})),
    );
    let asked = |requests: &[Request]| -> Vec<_> {
        let requests = requests.iter();
        requests
            .map(|request| (request.asks, rules(request)))
            .collect()
    };
    let of_status = (Asks::UpdateStatus, vec!["job-status/failed-decreased"]);
    let of_spec = (Asks::Update, vec!["managed-by/immutable"]);
    let both = updates(&old, &new, false);
    assert_eq!(asked(&both), [of_spec.clone(), of_status.clone()]);
    let members = |request: &Request| -> Value { serde_json::from_slice(&request.json).unwrap() };
    let [first, second] = &*both else {
        panic!("{both:?}");
    };
    assert_eq!(members(first)["object"], members(second)["oldObject"]);
    // Who says that it is one of the status means that the API server keeps the rest.
    assert_eq!(
        asked(&updates(&old, &new, true)),
        std::slice::from_ref(&of_status)
    );
    // A change of the status alone is one of the status.
    let same = job("a.io/x", &json!({"failed": 1}));
    assert_eq!(asked(&updates(&old, &same, false)), [of_status]);
    // A manifest of a repository has no status, and takes none away.
    let mut manifest = new;
    manifest.as_object_mut().unwrap().remove("status");
    assert_eq!(asked(&updates(&old, &manifest, false)), [of_spec]);
}
