//! Computes the status of a Job from the state of its pods.

use k8s_openapi::api::batch::v1::{Job, JobCondition, JobStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::Deserialize;

/// State of a Job's pods, as reported by the runner.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Progress {
    /// Running and pending pods that are not being deleted.
    pub active: i32,
    /// Active pods that are ready.
    pub ready: i32,
    /// Pods that are being deleted.
    pub terminating: i32,
    /// Succeeded pods, including pods in earlier clusters.
    pub succeeded: i32,
    /// Pods that have failed.
    pub failed: i32,
}

/// First minor release that requires `SuccessCriteriaMet` before `Complete`. 1.30 accepts it only on indexed Jobs with a success
/// policy.
const MIN_MINOR_SUCCESS_CRITERIA_MET: u32 = 31;

/// Returns the next status, or the old one if nothing changes.
///
/// `minor` is the minor release of the API server: 36 for 1.36.
pub fn next(job: &Job, progress: Progress, now: &Time, minor: u32) -> JobStatus {
    let old = job.status.clone().unwrap_or_default();
    if is_true(&old, "Complete") || is_true(&old, "Failed") {
        return old;
    }
    let (suspend, completions, backoff_limit) = match &job.spec {
        Some(spec) => (
            spec.suspend.unwrap_or_default(),
            spec.completions.unwrap_or(1),
            spec.backoff_limit.unwrap_or(6),
        ),
        None => (false, 1, 6),
    };
    let mut status = JobStatus {
        active: Some(progress.active),
        ready: Some(progress.ready),
        terminating: Some(progress.terminating),
        // Counters never decrease, even if a new cluster starts at zero.
        succeeded: progress
            .succeeded
            .max(old.succeeded.unwrap_or_default())
            .into(),
        failed: progress.failed.max(old.failed.unwrap_or_default()).into(),
        ..old
    };
    let no_pods = progress.active == 0 && progress.terminating == 0;
    if suspend {
        // A queue may change the template as soon as `Suspended` is True, so wait until no pod is left.
        if no_pods {
            set(&mut status, "Suspended", "True", now);
            status.start_time = None;
        }
        return status;
    }
    if is_true(&status, "Suspended") {
        set(&mut status, "Suspended", "False", now);
        status.start_time = Some(now.clone());
    }
    status.start_time.get_or_insert_with(|| now.clone());
    let has_failed = status.failed.unwrap_or_default() > backoff_limit;
    let has_succeeded = status.succeeded.unwrap_or_default() >= completions;
    // The announced outcome is final.
    if is_true(&status, "FailureTarget") || (has_failed && !is_true(&status, "SuccessCriteriaMet"))
    {
        set(&mut status, "FailureTarget", "True", now);
        if no_pods {
            set(&mut status, "Failed", "True", now);
        }
    } else if has_succeeded {
        if minor >= MIN_MINOR_SUCCESS_CRITERIA_MET {
            set(&mut status, "SuccessCriteriaMet", "True", now);
        }
        if no_pods {
            set(&mut status, "Complete", "True", now);
            status.completion_time = Some(now.clone());
        }
    }
    status
}

fn is_true(status: &JobStatus, type_: &str) -> bool {
    let mut conditions = status.conditions.iter().flatten();
    conditions.any(|condition| condition.type_ == type_ && condition.status == "True")
}

/// Sets a condition and its transition time.
fn set(status: &mut JobStatus, type_: &str, value: &str, now: &Time) {
    let conditions = status.conditions.get_or_insert_default();
    let has_type = |condition: &&mut JobCondition| condition.type_ == type_;
    match conditions.iter_mut().find(has_type) {
        Some(known) if known.status == value => {}
        Some(known) => {
            value.clone_into(&mut known.status);
            known.last_transition_time = Some(now.clone());
        }
        None => conditions.push(JobCondition {
            type_: type_.to_owned(),
            status: value.to_owned(),
            last_transition_time: Some(now.clone()),
            ..JobCondition::default()
        }),
    }
}
