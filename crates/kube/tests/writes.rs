//! Sends each type of write through the layer to a stub of the API server. `examples/rust-controller` uses the layer with kube.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use managed_by::{OwnedSettings, Release, ReleaseSet};
use managed_by_kube::WriteCheckLayer;
use serde_json::{Value, json};
use tower::{Layer as _, Service as _, ServiceExt as _};

const JOB: &str = "/apis/batch/v1/namespaces/default/jobs/pi";
const STATUS: &str = "/apis/batch/v1/namespaces/default/jobs/pi/status";
const READY: &str = "status.ready: Invalid value: 2: cannot set more ready pods than active \
                     [job-status/ready-exceeds-active]";

/// API server that returns `stored`, or an error with its code, for each read, and `result` for each write.
#[derive(Clone)]
struct Server {
    stored: Result<Value, u16>,
    result: (u16, Value),
    writes: Arc<Mutex<Vec<String>>>,
}

fn job(status: &Value) -> Value {
    json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": "pi", "namespace": "default", "resourceVersion": "1"},
        "spec": {"managedBy": "acme.io/runner"},
        "status": status,
    })
}

fn running(ready: u8) -> Value {
    json!({"startTime": "2026-01-01T00:00:00Z", "active": 1, "ready": ready})
}

impl Server {
    fn new(stored: Value) -> Self {
        Self {
            result: (200, stored.clone()),
            stored: Ok(stored),
            writes: Arc::default(),
        }
    }

    fn respond(&self, request: &Request<Full<Bytes>>) -> Response<Full<Bytes>> {
        let (status, body) = if request.method() == "GET" {
            match &self.stored {
                Ok(stored) => (200, stored.clone()),
                Err(code) => (*code, json!({})),
            }
        } else {
            let write = format!("{} {}", request.method(), request.uri());
            self.writes.lock().unwrap().push(write);
            self.result.clone()
        };
        let body = Full::from(body.to_string());
        Response::builder().status(status).body(body).unwrap()
    }

    /// Makes a request through the layer, and returns code and body of the response.
    async fn call(
        &self,
        checks: &WriteCheckLayer,
        (method, path, patch_type): (&str, &str, &str),
        body: &Value,
    ) -> (u16, Value) {
        let server = self.clone();
        let mut service = checks.layer(tower::service_fn(move |request| {
            let response = server.respond(&request);
            async move { Ok::<_, Infallible>(response) }
        }));
        let request = Request::builder().method(method).uri(path);
        let request = request.header("content-type", patch_type);
        let request = request.body(Full::from(body.to_string())).unwrap();
        let response = service.ready().await.unwrap().call(request).await.unwrap();
        let code = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (code, serde_json::from_slice(&body).unwrap())
    }
}

fn failure(checks: &WriteCheckLayer) -> String {
    assert_eq!(checks.not_evaluated(), [""; 0]);
    let failures = checks.failures();
    assert_eq!(failures.len(), 1, "{failures:?}");
    failures.concat()
}

#[tokio::test]
async fn an_accepted_status_can_have_warnings() {
    let server = Server::new(job(&json!({})));
    let checks = WriteCheckLayer::default();
    let status = json!({"suceeded": 1, "conditions": [{"type": "Suspended", "status": "true"}]});
    let put = ("PUT", STATUS, "application/json");
    let (code, _) = server.call(&checks, put, &job(&status)).await;
    checks.assert_conforms();
    let warnings = checks.warnings().join("\n");
    assert_eq!((code, checks.warnings().len()), (200, 2), "{warnings}");
    for rule in ["condition-status", "unknown-field"] {
        let id = format!("[job-conventions/{rule}]");
        assert!(warnings.contains(&id), "{warnings}");
    }
}

#[tokio::test]
async fn an_apply_and_a_strategic_merge_are_evaluated_by_their_response() {
    for patch_type in [
        "application/apply-patch+yaml",
        "application/strategic-merge-patch+json",
    ] {
        for (ready, expected) in [(1, 200), (2, 422)] {
            let mut server = Server::new(job(&json!({})));
            server.result = (200, job(&running(ready)));
            let checks = WriteCheckLayer::new(Release::V1_36);
            let patch = ("PATCH", STATUS, patch_type);
            let sent = json!({"spec": {"managedBy": "acme.io/other"}});
            let (code, response) = server.call(&checks, patch, &sent).await;
            assert_eq!(code, expected, "{response}");
            assert_eq!(checks.evaluated_count(), 1);
            let ignored = format!("PATCH {STATUS}: the changed spec is ignored: write the object");
            assert_eq!(checks.warnings(), [ignored]);
            if ready == 1 {
                assert_eq!(response, job(&running(1)));
                assert_eq!(checks.failures(), [""; 0]);
            } else {
                assert_eq!(
                    failure(&checks),
                    format!("PATCH {STATUS}: 1.36 from 1.36.2: {READY}")
                );
            }
        }
    }
}

/// The API server may deny a status that the layer accepts, for example because of a newer release.
#[tokio::test]
async fn a_write_that_the_api_server_rejects_is_a_failure() {
    for (method, patch_type) in [("PUT", ""), ("PATCH", "application/apply-patch+yaml")] {
        let (mut server, checks) = (Server::new(job(&json!({}))), WriteCheckLayer::default());
        let write = (method, STATUS, patch_type);
        server.result = (422, json!({"kind": "Status", "message": "no"}));
        assert_eq!(server.call(&checks, write, &job(&running(1))).await.0, 422);
        server.result = (409, json!({"kind": "Status", "message": "conflict"}));
        assert_eq!(server.call(&checks, write, &job(&running(1))).await.0, 409);
        let expected = format!(
            "denied writes:
{method} {STATUS}: no"
        );
        assert_eq!(panic_message(&checks), expected);
    }
}

#[tokio::test]
async fn an_apply_creates_an_object() {
    let mut invalid = job(&json!({}));
    invalid["spec"]["managedBy"] = json!("runner");
    let mut server = Server::new(invalid);
    server.stored = Err(404);
    let checks = WriteCheckLayer::default();
    let apply = ("PATCH", JOB, "application/apply-patch+yaml");
    assert_eq!(server.call(&checks, apply, &json!({})).await.0, 422);
    assert!(failure(&checks).contains("must be a domain-prefixed path"));
}

#[tokio::test]
async fn a_response_without_the_object_is_not_evaluated() {
    let mut server = Server::new(job(&json!({})));
    server.result = (200, json!({"kind": "PartialObjectMetadata"}));
    let checks = WriteCheckLayer::default();
    let apply = ("PATCH", JOB, "application/apply-patch+yaml");
    assert_eq!(server.call(&checks, apply, &json!({})).await.0, 200);
    let expected = format!("PATCH {JOB}: the response does not contain the object");
    assert_eq!(
        (checks.not_evaluated(), checks.evaluated_count()),
        (vec![expected], 0)
    );
}

#[tokio::test]
async fn a_json_patch_is_evaluated_before_it_is_sent() {
    let server = Server::new(job(&running(0)));
    let patch = ("PATCH", STATUS, "application/json-patch+json");
    let replace = |ready| json!([{"op": "replace", "path": "/status/ready", "value": ready}]);
    let checks = WriteCheckLayer::new(Release::V1_36);
    assert_eq!(server.call(&checks, patch, &replace(1)).await.0, 200);
    let (code, response) = server.call(&checks, patch, &replace(2)).await;
    let message = "Job.batch \"pi\" is invalid: status.ready: Invalid value: 2: cannot set more ready pods than active";
    assert_eq!(
        (code, &response["reason"], &response["message"]),
        (422, &json!("Invalid"), &json!(message))
    );
    assert_eq!(
        failure(&checks),
        format!("PATCH {STATUS}: 1.36 from 1.36.2: {READY}")
    );
    // The API server reports a failed test operation.
    let stale = json!([{"op": "test", "path": "/status/ready", "value": 7}]);
    assert_eq!(server.call(&checks, patch, &stale).await.0, 200);
    assert_eq!(
        *server.writes.lock().unwrap(),
        vec![format!("PATCH {STATUS}"); 2]
    );
    assert_eq!(checks.evaluated_count(), 2);
}

#[tokio::test]
async fn status_and_main_resource_writes_ignore_each_others_fields() {
    let server = Server::new(job(&running(1)));
    let checks = WriteCheckLayer::default();
    let mut sent = job(&running(2));
    assert_eq!(server.call(&checks, ("PUT", JOB, ""), &sent).await.0, 200);
    sent["spec"]["managedBy"] = json!("acme.io/other");
    sent["status"] = running(1);
    assert_eq!(
        server.call(&checks, ("PUT", STATUS, ""), &sent).await.0,
        200
    );
    assert_eq!(checks.failures(), [""; 0]);
    assert_eq!(
        checks.warnings(),
        [
            format!("PUT {JOB}: the changed status is ignored: write the status"),
            format!("PUT {STATUS}: the changed spec is ignored: write the object"),
        ]
    );
    assert_eq!(server.call(&checks, ("PUT", JOB, ""), &sent).await.0, 422);
    assert!(failure(&checks).ends_with("field is immutable [managed-by/immutable]"));
    // A create drops the status.
    let jobs = "/apis/batch/v1/namespaces/default/jobs";
    let create = ("POST", jobs, "");
    assert_eq!(server.call(&checks, create, &job(&running(2))).await.0, 200);
    assert_eq!(checks.evaluated_count(), 4);
}

#[tokio::test]
async fn a_denial_by_an_early_patch_release_is_a_failure() {
    let mut stored = job(&json!({}));
    stored["spec"]["suspend"] = json!(true);
    let mut moved = stored.clone();
    moved["spec"]["template"]["spec"]["nodeSelector"] = json!({"pool": "a"});
    let releases = ReleaseSet::since(Release::V1_36);
    let (server, checks) = (Server::new(stored), WriteCheckLayer::new(releases));
    assert_eq!(server.call(&checks, ("PUT", JOB, ""), &moved).await.0, 422);
    let expected = "1.36.0 to 1.36.1: spec.template: Invalid value: field is immutable [job-spec/scheduling-directives]";
    assert!(failure(&checks).ends_with(expected));
}

#[tokio::test]
async fn settings_declare_kinds_and_writers() {
    let settings = r#"{
        "custom_kinds": [{"group": "acme.io", "kind": "Render", "plural": "renders"}],
        "controllers": {"acme.io/runner": {"status_writers": ["runner"]}}
    }"#;
    let settings = OwnedSettings::from_json(settings).unwrap();
    let mut render = job(&json!({}));
    (render["apiVersion"], render["kind"]) = (json!("acme.io/v1"), json!("Render"));
    let status = "/apis/acme.io/v1/namespaces/default/renders/pi/status";
    for (user, expected) in [("runner", 200), ("ana", 403)] {
        let checks = WriteCheckLayer::new(ReleaseSet::all());
        let checks = checks.with_settings(settings.clone()).with_user(user, &[]);
        let server = Server::new(render.clone());
        let patch = ("PATCH", status, "application/merge-patch+json");
        let sent = json!({"status": {"active": 1}});
        let (code, response) = server.call(&checks, patch, &sent).await;
        assert_eq!(code, expected, "{response}");
        assert_eq!(checks.evaluated_count(), 1);
        // Other kinds have no rules.
        let mut other = Server::new(render.clone());
        other.stored = Ok(json!({"apiVersion": "acme.io/v1", "kind": "Other"}));
        assert_eq!(other.call(&checks, patch, &sent).await.0, 200);
        assert_eq!(checks.evaluated_count(), 1);
        assert_eq!(checks.not_evaluated(), [""; 0]);
    }
    // A version that the library doesn't support is reported, also without settings.
    let (server, checks) = (Server::new(job(&json!({}))), WriteCheckLayer::default());
    let url = "/apis/batch/v2/namespaces/default/jobs/pi/status";
    let put = ("PUT", url, "application/json");
    assert_eq!(server.call(&checks, put, &job(&running(1))).await.0, 200);
    let expected = format!("PUT {url}: not checked, unsupported version of this kind");
    assert_eq!(checks.not_evaluated(), [expected]);
    // Another controller's Job.
    let other = WriteCheckLayer::default().for_controller("acme.io/other");
    let put = ("PUT", STATUS, "application/json");
    server.call(&other, put, &job(&running(1))).await;
    let expected = r#"the object names the controller "acme.io/runner", not "acme.io/other""#;
    assert!(failure(&other).ends_with(expected));
    let own = WriteCheckLayer::default().for_controller("acme.io/runner");
    server.call(&own, put, &job(&running(1))).await;
    own.assert_conforms();
    // A write without a version.
    let mut sent = job(&running(1));
    sent["metadata"] = json!({"name": "pi"});
    assert_eq!(server.call(&checks, put, &sent).await.0, 200);
    let lost = "no resourceVersion: the write overwrites changes since the object was read";
    assert_eq!(checks.warnings(), [format!("PUT {STATUS}: {lost}")]);
}

#[tokio::test]
async fn writes_that_the_api_server_rejects_first_are_not_evaluated() {
    let mut server = Server::new(job(&json!({})));
    let checks = WriteCheckLayer::default();
    checks.clone().allow_no_writes().assert_conforms();
    for field in ["resourceVersion", "uid", "name"] {
        let mut stale = job(&running(2));
        stale["metadata"][field] = json!("0");
        let put = ("PUT", STATUS, "");
        assert_eq!(server.call(&checks, put, &stale).await.0, 200, "{field}");
    }
    server.stored = Err(404);
    let missing = job(&running(2));
    assert_eq!(
        server.call(&checks, ("PUT", STATUS, ""), &missing).await.0,
        200
    );
    let expected = "no write was evaluated: the code under test uses another client, or the API server rejected its writes";
    assert_eq!(panic_message(&checks), expected);
    let apply = ("PATCH", STATUS, "application/apply-patch+yaml");
    assert_eq!(server.call(&checks, apply, &missing).await.0, 200);
    let expected = format!("PATCH {STATUS}: the stored object was not found");
    assert_eq!(checks.not_evaluated(), [expected]);
    assert_eq!((checks.evaluated_count(), checks.failures().len()), (0, 0));
}

/// The user may lack the permission to get the object.
#[tokio::test]
async fn a_write_without_access_to_the_stored_object_is_not_evaluated() {
    let mut server = Server::new(job(&json!({})));
    server.stored = Err(403);
    for (method, patch_type) in [("PUT", ""), ("PATCH", "application/apply-patch+yaml")] {
        let checks = WriteCheckLayer::default();
        let (code, _) = server
            .call(&checks, (method, STATUS, patch_type), &job(&running(2)))
            .await;
        let reason = format!("{method} {STATUS}: failed to get the stored object: 403 Forbidden");
        assert_eq!((code, checks.not_evaluated()), (200, vec![reason]));
        assert_eq!((checks.evaluated_count(), checks.failures().len()), (0, 0));
    }
    assert_eq!(server.writes.lock().unwrap().len(), 2);
}

/// A watch does not end, so the layer passes its response through.
#[tokio::test]
async fn a_watch_passes_through() {
    struct Endless;
    impl http_body::Body for Endless {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<Result<http_body::Frame<Bytes>, Infallible>>> {
            std::task::Poll::Ready(Some(Ok(http_body::Frame::data(Bytes::from_static(
                b"{}\n",
            )))))
        }
    }
    let server = |_: Request<Full<Bytes>>| async { Ok::<_, Infallible>(Response::new(Endless)) };
    let mut service = WriteCheckLayer::default().layer(tower::service_fn(server));
    let watch = Request::get("/apis/batch/v1/jobs?watch=true")
        .body(Full::default())
        .unwrap();
    let response = service.ready().await.unwrap().call(watch).await.unwrap();
    let frame = response.into_body().frame().await.unwrap().unwrap();
    assert_eq!(frame.into_data().unwrap(), "{}\n");
}

/// Returns the message with which [`WriteCheckLayer::assert_conforms`] panics.
fn panic_message(checks: &WriteCheckLayer) -> String {
    let panic = std::panic::catch_unwind(|| checks.assert_conforms()).unwrap_err();
    let message = panic.downcast_ref::<String>().cloned();
    message.unwrap_or_else(|| (*panic.downcast_ref::<&str>().unwrap()).to_owned())
}
