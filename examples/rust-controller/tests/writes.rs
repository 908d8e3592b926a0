//! The reconciler with a client whose writes are evaluated. No cluster is needed: an API server that stores one Job is enough.

mod checking;

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use http::{Method, Request, Response, StatusCode};
use checking::Evaluating;
use k8s_openapi::api::batch::v1::{Job, JobSpec, JobStatus};
use kube::Client;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::client::{Body, ClientBuilder};
use managed_by::{JobChecker, Release};
use rust_controller::CONTROLLER_NAME;
use rust_controller::controller::{Context, PROGRESS, reconcile};
use serde_json::{Value, json};

/// Stores one Job, as an API server that allows every request.
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
    fn note(&self, progress: &Value) {
        let mut job = self.0.lock().unwrap();
        let annotations = job.metadata.annotations.get_or_insert_default();
        annotations.insert(PROGRESS.to_owned(), progress.to_string());
    }

    async fn response(self, request: Request<Body>) -> Result<Response<Body>, Infallible> {
        let (parts, body) = request.into_parts();
        let sent = body.collect_bytes().await.unwrap();
        let (status, response) = match parts.method {
            Method::GET if parts.uri.path().ends_with("/missing") => {
                (StatusCode::NOT_FOUND, json!({}))
            }
            Method::GET => (StatusCode::OK, json!(self.job())),
            Method::PUT => {
                let new: Job = serde_json::from_slice(&sent).unwrap();
                *self.0.lock().unwrap() = new.clone();
                (StatusCode::OK, json!(new))
            }
            // Return other objects unchanged.
            _ => (StatusCode::OK, json!(self.job())),
        };
        let body = serde_json::to_vec(&response).unwrap();
        Ok(Response::builder()
            .status(status)
            .body(body.into())
            .unwrap())
    }
}

fn client(store: &Store, evaluating: &Evaluating) -> Client {
    let store = store.clone();
    let server = tower::service_fn(move |request| store.clone().response(request));
    ClientBuilder::new(server, "default")
        .with_layer(evaluating)
        .build()
}

/// Evaluates each write of the reconciler for the configured release.
#[tokio::test]
async fn every_write_of_the_reconciler_is_accepted() {
    for &release in Release::ALL {
        let (store, evaluating) = (Store::new(), Evaluating::new(JobChecker::new(release)));
        let (_, minor) = release.as_str().split_once('.').unwrap();
        let context = Arc::new(Context {
            client: client(&store, &evaluating),
            minor: minor.parse().unwrap(),
        });
        for progress in [
            json!({"active": 1}),
            json!({"active": 1, "ready": 1}),
            json!({"succeeded": 1}),
        ] {
            store.note(&progress);
            reconcile(Arc::new(store.job()), Arc::clone(&context))
                .await
                .unwrap();
        }
        assert_eq!(evaluating.denied(), [""; 0]);
        let conditions = store.job().status.unwrap().conditions.unwrap();
        assert_eq!(conditions.last().unwrap().type_, "Complete", "{release}");
    }
}

/// Configured for 1.30, the reconciler omits the condition that later releases require.
#[tokio::test]
async fn a_mistake_of_the_reconciler_is_found() {
    let (store, evaluating) = (Store::new(), Evaluating::new(JobChecker::default()));
    let context = Arc::new(Context {
        client: client(&store, &evaluating),
        minor: 30,
    });
    store.note(&json!({"succeeded": 1}));
    let error = reconcile(Arc::new(store.job()), context).await.unwrap_err();
    let message = "Job.batch \"pi\" is invalid: status.conditions: Invalid value: cannot set Complete=True condition without the SuccessCriteriaMet=true condition";
    assert!(error.to_string().contains(message), "{error}");
    assert_eq!(
        evaluating.denied(),
        [
            "PUT /apis/batch/v1/namespaces/default/jobs/pi/status: 1.31 to 1.37: status.conditions: Invalid value: cannot set \
          Complete=True condition without the SuccessCriteriaMet=true condition [job-status/complete-without-success-criteria-met]"
        ]
    );
    assert_eq!(store.job().status, None, "it was not made");
}

/// Returns the response code of a write.
async fn code(write: impl Future<Output = kube::Result<Job>>) -> u16 {
    match write.await {
        Ok(_) => 200,
        Err(kube::Error::Api(status)) => status.code,
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn writes_of_every_form_are_evaluated() {
    let (store, evaluating) = (Store::new(), Evaluating::new(JobChecker::default()));
    let jobs: Api<Job> = Api::namespaced(client(&store, &evaluating), "default");
    let (plain, apply) = (PatchParams::default(), PatchParams::apply("test").force());
    let post = PostParams::default();
    for (ready, expected) in [(1, 200), (2, 422)] {
        let status = json!({"startTime": "2026-01-01T00:00:00Z", "active": 1, "ready": ready});
        let status = json!({"apiVersion": "batch/v1", "kind": "Job", "status": status});
        let (merge, applied) = (Patch::Merge(&status), Patch::Apply(&status));
        assert_eq!(
            code(jobs.patch_status("pi", &plain, &merge)).await,
            expected
        );
        assert_eq!(
            code(jobs.patch_status("pi", &apply, &applied)).await,
            expected
        );
    }
    for (name, expected) in [(CONTROLLER_NAME, 200), ("runner", 422)] {
        let mut new = store.job();
        new.metadata.resource_version = None;
        new.spec.as_mut().unwrap().managed_by = Some(name.to_owned());
        assert_eq!(code(jobs.create(&post, &new)).await, expected);
        assert_eq!(code(jobs.replace("pi", &post, &new)).await, expected);
    }
    let denied = evaluating.denied();
    let methods = denied
        .iter()
        .map(|message| message.split([' ', ':']).next().unwrap());
    // The replacement has a bad name, and changes the field.
    assert_eq!(
        methods.collect::<Vec<_>>(),
        ["PATCH", "PATCH", "POST", "PUT", "PUT"]
    );

    // Writes that the API server itself denies are not evaluated.
    let mut bad = store.job();
    bad.status = Some(JobStatus {
        ready: Some(1),
        ..JobStatus::default()
    });
    let mut stale = bad.clone();
    stale.metadata.resource_version = Some("0".to_owned());
    assert_eq!(code(jobs.replace_status("pi", &post, &stale)).await, 200);
    let merge = Patch::Merge(&bad);
    assert_eq!(
        code(jobs.patch_status("missing", &plain, &merge)).await,
        200
    );
    assert_eq!(evaluating.denied().len(), 5);
    assert_eq!(evaluating.skipped(), [""; 0]);
    let strategic = Patch::Strategic(&bad);
    assert_eq!(code(jobs.patch_status("pi", &plain, &strategic)).await, 200);
    assert_eq!(
        evaluating.skipped(),
        [
            "application/strategic-merge-patch+json of /apis/batch/v1/namespaces/default/jobs/pi/status"
        ]
    );
}
