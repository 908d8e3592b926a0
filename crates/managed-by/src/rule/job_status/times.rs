//! Rules about `startTime` and `completionTime`.

use super::{JobStatusChange, VALIDATE_STATUS, VALIDATE_STATUS_UPDATE, rule};
use crate::description::Upstream;
use crate::finding::{BadValue, FieldError};
use crate::object::job::{ConditionTypes, JobStatus};
use crate::release::{
    MUTABLE_START_TIME_ON_RESUME, OPTIONAL_START_TIME_WITHOUT_COMPLETIONS, Release,
};
use crate::rule::{Check, CheckFn, Findings};

const START: &str = "status.startTime";
const COMPLETION: &str = "status.completionTime";

pub(crate) static COMPLETION_WITHOUT_COMPLETE: Check = Check::new(
    rule(
        "job-status/completion-time-without-complete",
        include_str!("completion-time-without-complete.md"),
        Upstream::in_function(VALIDATE_STATUS)
            .with_option("RejectNotCompleteJobWithCompletionTime"),
    ),
    CheckFn::JobStatus(completion_without_complete),
)
.applies_when(|changed| changed.complete || changed.completion_time)
.exercised_when(|status| status.new.completion_time.is_some());

fn completion_without_complete<'a>(status: &JobStatusChange<'a>, findings: &mut Findings<'a>) {
    if status.new.completion_time.is_some() && !status.is_true(ConditionTypes::COMPLETE) {
        let detail = "cannot set completionTime when there is no Complete=True condition";
        let value = BadValue::Time(status.new.completion_time);
        findings.invalid(COMPLETION, value, detail);
    }
}

pub(crate) static COMPLETE_WITHOUT_COMPLETION: Check = Check::new(
    rule(
        "job-status/complete-without-completion-time",
        include_str!("complete-without-completion-time.md"),
        Upstream::in_function(VALIDATE_STATUS)
            .with_option("RejectCompleteJobWithoutCompletionTime"),
    ),
    CheckFn::JobStatus(complete_without_completion),
)
.applies_when(|changed| changed.complete || changed.completion_time)
.exercised_when(|status| status.is_true(ConditionTypes::COMPLETE));

fn complete_without_completion<'a>(status: &JobStatusChange<'a>, findings: &mut Findings<'a>) {
    if status.is_true(ConditionTypes::COMPLETE) && status.new.completion_time.is_none() {
        let detail = "completionTime is required for Complete jobs";
        findings.push(FieldError::required(COMPLETION, detail));
    }
}

pub(crate) static COMPLETION_BEFORE_START: Check = Check::new(
    rule(
        "job-status/completion-time-before-start-time",
        include_str!("completion-time-before-start-time.md"),
        Upstream::in_function(VALIDATE_STATUS).with_option("RejectCompletionTimeBeforeStartTime"),
    ),
    CheckFn::JobStatus(completion_before_start),
)
.applies_when(|changed| changed.start_time || changed.completion_time)
.exercised_when(|status| {
    let times = status.new.start_time.and(status.new.completion_time);
    times.is_some()
});

fn completion_before_start<'a>(status: &JobStatusChange<'a>, findings: &mut Findings<'a>) {
    let times = status.new.start_time.zip(status.new.completion_time);
    if times.is_some_and(|(start, completion)| completion < start) {
        let detail = if status.release.minor() < 34 {
            "completionTime cannot be set before startTime"
        } else {
            "must be equal to or after `startTime`"
        };
        let value = BadValue::Time(status.new.completion_time);
        findings.invalid(COMPLETION, value, detail);
    }
}

pub(crate) static FINISHED_WITHOUT_START: Check = Check::new(
    rule(
        "job-status/finished-without-start-time",
        include_str!("finished-without-start-time.md"),
        Upstream::in_function(VALIDATE_STATUS)
            .with_option("RejectFinishedJobWithoutStartTime")
            .changed_in(Release::V1_32_9),
    ),
    CheckFn::JobStatus(finished_without_start),
)
.applies_when(|changed| changed.finished || changed.start_time)
.exercised_when(|status| status.is_true(ConditionTypes::FINISHED));

fn finished_without_start<'a>(status: &JobStatusChange<'a>, findings: &mut Findings<'a>) {
    let nothing_to_start = status.spec.suspend && status.spec.completions() == Some(0);
    let exempt =
        nothing_to_start && OPTIONAL_START_TIME_WITHOUT_COMPLETIONS.contains(status.release);
    if status.is_finished() && !exempt && status.new.start_time.is_none() {
        let detail = "startTime is required for finished job";
        findings.push(FieldError::required(START, detail));
    }
}

pub(crate) static COMPLETION_CHANGED: Check = Check::new(
    rule(
        "job-status/completion-time-changed",
        include_str!("completion-time-changed.md"),
        Upstream::in_function(VALIDATE_STATUS_UPDATE).with_option("RejectMutatingCompletionTime"),
    ),
    CheckFn::JobStatusTransition(completion_changed),
)
.exercised_when(|status| {
    status.old_is_some_and(|old| old.completion_time.is_some())
        && status.new.completion_time.is_some()
});

fn completion_changed<'a>(
    status: &JobStatusChange<'a>,
    old: &JobStatus<'a>,
    findings: &mut Findings<'a>,
) {
    // `complete-without-completion-time` reports a removed time.
    if status.changed.completion_time
        && old.completion_time.is_some()
        && status.new.completion_time.is_some()
    {
        let detail = if status.release.minor() < 34 {
            "completionTime cannot be mutated"
        } else {
            "field is immutable"
        };
        let value = BadValue::Time(status.new.completion_time);
        findings.invalid(COMPLETION, value, detail);
    }
}

pub(crate) static START_CHANGED: Check = Check::new(
    rule(
        "job-status/start-time-changed",
        include_str!("start-time-changed.md"),
        Upstream::in_function(VALIDATE_STATUS_UPDATE)
            .with_option("RejectStartTimeUpdateForUnsuspendedJob")
            .changed_in(Release::V1_32),
    ),
    CheckFn::JobStatusTransition(start_changed),
)
.exercised_when(|status| {
    status.old_is_some_and(|old| old.start_time.is_some()) && !status.spec.suspend
});

fn start_changed<'a>(
    status: &JobStatusChange<'a>,
    old: &JobStatus<'a>,
    findings: &mut Findings<'a>,
) {
    if !status.changed.start_time || old.start_time.is_none() || status.spec.suspend {
        return;
    }
    let resuming = old.conditions.is_true(ConditionTypes::SUSPENDED)
        && status.new.conditions.is_false(ConditionTypes::SUSPENDED);
    let exempt = resuming && MUTABLE_START_TIME_ON_RESUME.contains(status.release);
    if !exempt {
        findings.push(if status.release.minor() < 36 {
            FieldError::required(START, "startTime cannot be removed for unsuspended job")
        } else {
            let detail = "field is immutable for unsuspended job once set";
            FieldError::invalid(START, BadValue::Time(status.new.start_time), detail)
        });
    }
}
