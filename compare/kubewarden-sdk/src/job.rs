//! Rules of kube-apiserver 1.36 about the status of a Job.

use std::collections::HashSet;

use k8s_openapi::api::batch::v1::{Job, JobStatus};

fn is_true(status: &JobStatus, name: &str) -> bool {
    let conditions = status.conditions.iter().flatten();
    conditions
        .into_iter()
        .any(|c| c.type_ == name && c.status == "True")
}

pub(crate) fn validate(new: &Job, old: &Job, errors: &mut Vec<String>) {
    let (empty_new, empty_old) = (JobStatus::default(), JobStatus::default());
    let spec = new.spec.clone().unwrap_or_default();
    let status = new.status.as_ref().unwrap_or(&empty_new);
    let before = old.status.as_ref().unwrap_or(&empty_old);
    let mut deny = |condition: bool, message: &str| {
        if condition {
            errors.push(message.to_owned());
        }
    };
    let is = |name: &str| is_true(status, name);
    let was = |name: &str| is_true(before, name);
    let flipped = |name: &str| is(name) != was(name);
    let is_finished = is("Complete") || is("Failed");
    let finished_changed = is_finished != (was("Complete") || was("Failed"));
    let indexed = spec.completion_mode.as_deref() == Some("Indexed");

    for counter in [
        status.active,
        status.succeeded,
        status.failed,
        status.ready,
        status.terminating,
    ] {
        deny(
            counter.is_some_and(|c| c < 0),
            "status: must be greater than or equal to 0",
        );
    }
    let uncounted = status.uncounted_terminated_pods.clone().unwrap_or_default();
    let uids: Vec<_> = uncounted
        .succeeded
        .into_iter()
        .flatten()
        .chain(uncounted.failed.into_iter().flatten())
        .collect();
    let distinct: HashSet<_> = uids.iter().collect();
    deny(
        uids.iter().any(String::is_empty),
        "status.uncountedTerminatedPods: must not be empty",
    );
    deny(
        distinct.len() != uids.len(),
        "status.uncountedTerminatedPods: Duplicate value",
    );
    deny(
        (flipped("Complete") || flipped("Failed")) && is("Complete") && is("Failed"),
        "status.conditions: cannot set Complete=True and Failed=true conditions",
    );
    deny(
        (flipped("Complete") || flipped("FailureTarget")) && is("Complete") && is("FailureTarget"),
        "status.conditions: cannot set Complete=True and FailureTarget=true conditions",
    );
    let completion = status.completion_time.as_ref().map(|t| t.0);
    let start = status.start_time.as_ref().map(|t| t.0);
    let old_completion = before.completion_time.as_ref().map(|t| t.0);
    let old_start = before.start_time.as_ref().map(|t| t.0);
    let completion_changed = flipped("Complete") || completion != old_completion;
    deny(
        completion_changed && completion.is_some() && !is("Complete"),
        "status.completionTime: cannot set completionTime when there is no Complete=True condition",
    );
    deny(
        completion_changed && completion.is_none() && is("Complete"),
        "status.completionTime: completionTime is required for Complete jobs",
    );
    deny(
        (start != old_start || completion != old_completion)
            && start.zip(completion).is_some_and(|(s, c)| c < s),
        "status.completionTime: must be equal to or after `startTime`",
    );
    deny(
        (flipped("Failed") || status.failed_indexes != before.failed_indexes)
            && is("Failed")
            && !is("FailureTarget"),
        "status.conditions: cannot set Failed=True condition without the FailureTarget=true condition",
    );
    deny(
        (flipped("Complete") || flipped("SuccessCriteriaMet"))
            && is("Complete")
            && !is("SuccessCriteriaMet"),
        "status.conditions: cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
    );
    deny(
        (finished_changed || status.active != before.active)
            && is_finished
            && status.active.is_some_and(|a| a > 0),
        "status.active: active>0 is invalid for finished job",
    );
    let nothing_to_start = spec.suspend == Some(true) && spec.completions == Some(0);
    deny(
        (finished_changed || start != old_start) && is_finished && start.is_none() && !nothing_to_start,
        "status.startTime: startTime is required for finished job",
    );
    deny(
        (finished_changed || status.uncounted_terminated_pods != before.uncounted_terminated_pods)
            && is_finished
            && !uids.is_empty(),
        "status.uncountedTerminatedPods: must be empty for finished job",
    );
    let completed_changed = status.completed_indexes != before.completed_indexes;
    let failed_changed = status.failed_indexes != before.failed_indexes;
    let completed = status.completed_indexes.as_deref().unwrap_or_default();
    let failed = status.failed_indexes.as_deref().unwrap_or_default();
    if let Some(completions) = spec.completions {
        deny(
            completed_changed && intervals(completed, completions).is_none(),
            "status.completedIndexes: error parsing completedIndexes",
        );
        deny(
            failed_changed
                && spec.backoff_limit_per_index.is_some()
                && intervals(failed, completions).is_none(),
            "status.failedIndexes: error parsing failedIndexes",
        );
        if completed_changed || failed_changed {
            let (c, f) = (
                intervals(completed, completions),
                intervals(failed, completions),
            );
            let overlap = c
                .zip(f)
                .is_some_and(|(c, f)| c.iter().any(|c| f.iter().any(|f| f.0 <= c.1 && c.0 <= f.1)));
            deny(
                overlap,
                "status.failedIndexes: failedIndexes and completedIndexes overlap",
            );
        }
    }
    deny(
        completed_changed && !completed.is_empty() && !indexed,
        "status.completedIndexes: cannot set non-empty completedIndexes when non-indexed completion mode",
    );
    deny(
        failed_changed && status.failed_indexes.is_some() && spec.backoff_limit_per_index.is_none(),
        "status.failedIndexes: cannot set non-null failedIndexes when backoffLimitPerIndex is null",
    );
    deny(
        (finished_changed || status.terminating != before.terminating)
            && is_finished
            && status.terminating.is_some_and(|t| t > 0),
        "status.terminating: terminating>0 is invalid for finished job",
    );
    deny(
        (status.ready != before.ready || status.active != before.active)
            && status.ready.unwrap_or(0) > status.active.unwrap_or(0),
        "status.ready: cannot set more ready pods than active",
    );
    deny(
        is("SuccessCriteriaMet") && is("Failed"),
        "status.conditions: cannot set SuccessCriteriaMet=True and Failed=true conditions",
    );
    deny(
        is("SuccessCriteriaMet") && is("FailureTarget"),
        "status.conditions: cannot set SuccessCriteriaMet=True and FailureTarget=true conditions",
    );
    deny(
        spec.success_policy.is_some() && is("Complete") && !is("SuccessCriteriaMet"),
        "status.conditions: cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True",
    );
    for terminal in ["Failed", "Complete", "FailureTarget", "SuccessCriteriaMet"] {
        deny(
            was(terminal) && !is(terminal),
            "status.conditions: cannot disable a terminal condition",
        );
    }
    deny(
        status.failed.unwrap_or(0) < before.failed.unwrap_or(0),
        "status.failed: cannot decrease the failed counter",
    );
    let elastic = indexed && spec.completions == spec.parallelism;
    deny(
        status.succeeded.unwrap_or(0) < before.succeeded.unwrap_or(0) && !elastic,
        "status.succeeded: cannot decrease the succeeded counter",
    );
    deny(
        completion
            .zip(old_completion)
            .is_some_and(|(new, old)| new != old),
        "status.completionTime: field is immutable",
    );
    let suspended = |status: &JobStatus, value: &str| {
        let mut conditions = status.conditions.iter().flatten();
        conditions.any(|c| c.type_ == "Suspended" && c.status == value)
    };
    let resuming = suspended(before, "True") && suspended(status, "False");
    deny(
        old_start.is_some() && start != old_start && spec.suspend != Some(true) && !resuming,
        "status.startTime: field is immutable for unsuspended job once set",
    );
    deny(
        was("Complete") && !was("SuccessCriteriaMet") && is("SuccessCriteriaMet"),
        "status.conditions: cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions",
    );
}

/// Parses `0,2-4` into intervals, which must increase and be less than the number of completions.
fn intervals(text: &str, completions: i32) -> Option<Vec<(i32, i32)>> {
    let mut list = Vec::new();
    let mut last = -1;
    for interval in text.split(',').filter(|_| !text.is_empty()) {
        let (first, end) = match interval.split_once('-') {
            Some((first, end)) => (first.parse().ok()?, end.parse().ok()?),
            None => (interval.parse().ok()?, interval.parse().ok()?),
        };
        let is_valid =
            first > last && (end > first || !interval.contains('-')) && end < completions;
        if !is_valid {
            return None;
        }
        last = end;
        list.push((first, end));
    }
    Some(list)
}
