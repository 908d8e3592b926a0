//! Reads Jobs and writes their status.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, PostParams};
use kube::runtime::controller::Action;
use kube::{Client, ResourceExt};

use crate::CONTROLLER_NAME;
use crate::status::{self, Progress};

/// Annotation in which the runner stores the state of a Job's pods, as JSON: `{"active": 1, "succeeded": 2}`.
pub const PROGRESS: &str = "acme.io/progress";

/// Context of a reconciliation.
pub struct Context {
    /// Client of the API server.
    pub client: Client,
    /// Minor release of the API server: 36 for 1.36.
    pub minor: u32,
}

/// Error of a reconciliation.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The API server denied the request or did not respond.
    #[error(transparent)]
    Kube(#[from] kube::Error),
    /// The runner's annotation is invalid.
    #[error("annotation {PROGRESS}: {0}")]
    Progress(#[from] serde_json::Error),
}

/// Writes the status of a Job, if it is ours and the status changes.
///
/// # Errors
/// Fails if the runner's annotation is invalid, or the API server rejects the status.
pub async fn reconcile(job: Arc<Job>, context: Arc<Context>) -> Result<Action, Error> {
    let managed_by = job
        .spec
        .as_ref()
        .and_then(|spec| spec.managed_by.as_deref());
    if managed_by != Some(CONTROLLER_NAME) {
        return Ok(Action::await_change());
    }
    let progress = match job.annotations().get(PROGRESS) {
        Some(note) => serde_json::from_str(note)?,
        None => Progress::default(),
    };
    let now = Time(Timestamp::now());
    let status = Some(status::next(&job, progress, &now, context.minor));
    if status != job.status {
        // Replace the whole status, with the resource version that was read. A merge patch of `status` would keep a `startTime`
        // that it omits.
        let jobs: Api<Job> =
            Api::namespaced(context.client.clone(), &job.namespace().unwrap_or_default());
        let new = Job {
            status,
            ..Job::clone(&job)
        };
        jobs.replace_status(&job.name_any(), &PostParams::default(), &new)
            .await?;
    }
    Ok(Action::await_change())
}

/// Retries later.
pub fn on_error(_: Arc<Job>, _: &Error, _: Arc<Context>) -> Action {
    Action::requeue(Duration::from_secs(10))
}
