//! Tests the reconciler with a client whose writes are evaluated, and a stub of the API server that stores one Job.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use http::{Method, Request, Response};
use k8s_openapi::api::batch::v1::{Job, JobSpec};
use kube::Client;
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
        if parts.method == Method::PUT {
            *self.0.lock().unwrap() = serde_json::from_slice(&sent).unwrap();
        }
        let body = serde_json::to_vec(&self.job()).unwrap();
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
