//! Tests the reconciler with a client whose writes are evaluated, and a stub of the API server that stores one Job.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use http::header::CONTENT_TYPE;
use http::{Method, Request, Response};
use k8s_openapi::api::batch::v1::{Job, JobSpec};
use kube::Client;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::client::{Body, ClientBuilder};
use managed_by::Release;
use managed_by_kube::WriteCheckLayer;
use rust_controller::CONTROLLER_NAME;
use rust_controller::controller::{Context, PROGRESS, reconcile};
use serde_json::{Value, json};

/// Stub of an API server that stores one Job and allows every request.
#[derive(Clone)]
struct Store(Arc<Mutex<Job>>);

impl Store {
    fn new() -> Self {
        let mut job = Job {
            spec: Some(JobSpec {
                managed_by: Some(CONTROLLER_NAME.to_owned()),
                completions: Some(1),
                ..JobSpec::default()
            }),
            ..Job::default()
        };
        job.metadata.name = Some("pi".to_owned());
        job.metadata.namespace = Some("default".to_owned());
        job.metadata.resource_version = Some("1".to_owned());
        Self(Arc::new(Mutex::new(job)))
    }

    fn job(&self) -> Job {
        self.0.lock().unwrap().clone()
    }

    /// Stores the runner's annotation.
    fn set_progress(&self, progress: &Value) {
        let mut job = self.0.lock().unwrap();
        let annotations = job.metadata.annotations.get_or_insert_default();
        annotations.insert(PROGRESS.to_owned(), progress.to_string());
    }

    async fn response(self, request: Request<Body>) -> Result<Response<Body>, Infallible> {
        let (parts, body) = request.into_parts();
        let sent = body.collect_bytes().await.unwrap();
        let response = match parts.method {
            Method::PUT => {
                let new: Job = serde_json::from_slice(&sent).unwrap();
                *self.0.lock().unwrap() = new.clone();
                json!(new)
            }
            // Apply as a manager that owns the whole status: fields that are no longer applied are removed. Other patches are not
            // stored.
            Method::PATCH => {
                let sent: Value = serde_json::from_slice(&sent).unwrap();
                let mut job = self.job();
                if parts.headers[CONTENT_TYPE] == "application/apply-patch+yaml" {
                    job.status = serde_json::from_value(sent["status"].clone()).unwrap();
                    *self.0.lock().unwrap() = job.clone();
                }
                json!(job)
            }
            // Respond to reads and creates with the stored Job.
            _ => json!(self.job()),
        };
        let body = serde_json::to_vec(&response).unwrap();
        Ok(Response::new(body.into()))
    }
}

fn client(store: &Store, checks: &WriteCheckLayer) -> Client {
    let store = store.clone();
    let server = tower::service_fn(move |request| store.clone().response(request));
    ClientBuilder::new(server, "default")
        .with_layer(checks)
        .build()
}

/// Evaluates each write of the reconciler for the configured release.
#[tokio::test]
async fn every_write_of_the_reconciler_is_accepted() {
    for &release in Release::ALL {
        let (store, checks) = (Store::new(), WriteCheckLayer::new(release));
        let context = Arc::new(Context {
            client: client(&store, &checks),
            minor: release.minor().into(),
        });
        for progress in [
            json!({"active": 1}),
            json!({"active": 1, "ready": 1}),
            json!({"succeeded": 1}),
        ] {
            store.set_progress(&progress);
            reconcile(Arc::new(store.job()), Arc::clone(&context))
                .await
                .unwrap();
        }
        assert_eq!(checks.failures(), [""; 0]);
        let conditions = store.job().status.unwrap().conditions.unwrap();
        assert_eq!(conditions.last().unwrap().type_, "Complete", "{release}");
    }
}

/// Configured for 1.30, the reconciler omits the condition that later releases require.
#[tokio::test]
async fn a_mistake_of_the_reconciler_is_found() {
    let (store, checks) = (Store::new(), WriteCheckLayer::default());
    let context = Arc::new(Context {
        client: client(&store, &checks),
        minor: 30,
    });
    store.set_progress(&json!({"succeeded": 1}));
    let error = reconcile(Arc::new(store.job()), context).await.unwrap_err();
    let message = "Job.batch \"pi\" is invalid: status.conditions: Invalid value: cannot set Complete=True condition without the SuccessCriteriaMet=true condition";
    assert!(error.to_string().contains(message), "{error}");
    assert_eq!(
        checks.failures(),
        [
            "PUT /apis/batch/v1/namespaces/default/jobs/pi/status: 1.32 to 1.37: status.conditions: Invalid value: cannot set \
          Complete=True condition without the SuccessCriteriaMet=true condition [job-status/complete-without-success-criteria-met]"
        ]
    );
    assert_eq!(store.job().status, None, "the denied write was stored");
}

/// Returns the response code of a write.
async fn code(write: impl Future<Output = kube::Result<Job>>) -> u16 {
    match write.await {
        Ok(_) => 200,
        Err(kube::Error::Api(status)) => status.code,
        Err(error) => panic!("{error}"),
    }
}

/// Evaluates creates, replacements and all types of patches except strategic merge patches: see the README of `managed-by-kube`.
#[tokio::test]
async fn creates_replaces_and_patches_are_evaluated() {
    let (store, checks) = (Store::new(), WriteCheckLayer::default());
    let jobs: Api<Job> = Api::namespaced(client(&store, &checks), "default");
    let (plain, apply) = (PatchParams::default(), PatchParams::apply("test").force());
    let post = PostParams::default();
    for (ready, expected) in [(1, 200), (2, 422)] {
        let status = json!({"startTime": "2026-01-01T00:00:00Z", "active": 1, "ready": ready});
        let add = json!([{"op": "add", "path": "/status", "value": status}]);
        let json: Patch<Value> = Patch::Json(serde_json::from_value(add).unwrap());
        let status = json!({"apiVersion": "batch/v1", "kind": "Job", "status": status});
        let mut new = store.job();
        new.status = serde_json::from_value(status["status"].clone()).unwrap();
        assert_eq!(code(jobs.replace_status("pi", &post, &new)).await, expected);
        assert_eq!(code(jobs.patch_status("pi", &plain, &json)).await, expected);
        // An apply is stored before it is evaluated.
        for patch in [Patch::Merge(&status), Patch::Apply(&status)] {
            let parameters = if matches!(patch, Patch::Apply(_)) {
                &apply
            } else {
                &plain
            };
            assert_eq!(
                code(jobs.patch_status("pi", parameters, &patch)).await,
                expected
            );
        }
    }
    for (name, expected) in [(CONTROLLER_NAME, 200), ("runner", 422)] {
        let mut new = store.job();
        new.metadata.resource_version = None;
        new.spec.as_mut().unwrap().managed_by = Some(name.to_owned());
        assert_eq!(code(jobs.create(&post, &new)).await, expected);
        assert_eq!(code(jobs.replace("pi", &post, &new)).await, expected);
    }
    let failures = checks.failures();
    let methods = failures
        .iter()
        .map(|message| message.split([' ', ':']).next().unwrap());
    // The last replace has two failures: `managedBy` has an invalid format, and it is immutable.
    assert_eq!(
        methods.collect::<Vec<_>>(),
        ["PUT", "PATCH", "PATCH", "PATCH", "POST", "PUT", "PUT"]
    );
    assert_eq!(
        (checks.not_evaluated(), checks.evaluated_count()),
        (Vec::new(), 12)
    );
}
