//! `startTime` and `completionTime`.

use super::{NEWEST, StatusChange, status_rule, status_update};
use crate::description::{Anchor, Docs, Documentation, Enforcement, Example, Rule, Scope};
use crate::finding::{BadValue, FieldError};
use crate::object::job::{ConditionTypes, JobStatus};
use crate::release::Release;
use crate::rule::{Check, Findings, Run};

const START: &str = "status.startTime";
const COMPLETION: &str = "status.completionTime";

status_rule! {
    COMPLETION_WITHOUT_COMPLETE, "completion-time-without-complete", "`completionTime` requires `Complete`",
    "Checks that only a Complete Job has `completionTime`. A failed Job has none. Runs when either changes.",
    fix "Write `completionTime` in the update that sets `Complete`. Leave it out of a failed Job.",
    STATE, option "RejectNotCompleteJobWithCompletionTime", since V1_30,
    accepted status_update!(NEWEST, "{}", r#"{"startTime":"2026-01-01T00:00:00Z"}"#,
        r#"{"startTime":"2026-01-01T00:00:00Z","completionTime":"2026-01-01T00:01:00Z","conditions":[{"type":"SuccessCriteriaMet","status":"True"},{"type":"Complete","status":"True"}]}"#),
    rejected status_update!(NEWEST, "{}", r#"{"startTime":"2026-01-01T00:00:00Z"}"#,
        r#"{"startTime":"2026-01-01T00:00:00Z","completionTime":"2026-01-01T00:01:00Z"}"#),
    Run::JobStatus(completion_without_complete),
}

fn completion_without_complete<'a>(status: &StatusChange<'a>, findings: &mut Findings<'a>) {
    let changed = status.changed.complete || status.changed.completion_time;
    if changed && status.new.completion_time.is_some() && !status.is_true(ConditionTypes::COMPLETE)
    {
        let detail = "cannot set completionTime when there is no Complete=True condition";
        findings.push(FieldError::invalid(
            COMPLETION,
            BadValue::Time(status.new.completion_time),
            detail,
        ));
    }
}

status_rule! {
    COMPLETE_WITHOUT_COMPLETION, "complete-without-completion-time", "`Complete` requires `completionTime`",
    "Checks that a Complete Job has `completionTime`. Runs when either changes.",
    fix "Write `completionTime` in the update that sets `Complete`.",
    STATE, option "RejectCompleteJobWithoutCompletionTime", since V1_30,
    accepted status_update!(NEWEST, "{}", r#"{"startTime":"2026-01-01T00:00:00Z"}"#,
        r#"{"startTime":"2026-01-01T00:00:00Z","completionTime":"2026-01-01T00:00:00Z","conditions":[{"type":"SuccessCriteriaMet","status":"True"},{"type":"Complete","status":"True"}]}"#),
    rejected status_update!(NEWEST, "{}", r#"{"startTime":"2026-01-01T00:00:00Z"}"#,
        r#"{"startTime":"2026-01-01T00:00:00Z","conditions":[{"type":"SuccessCriteriaMet","status":"True"},{"type":"Complete","status":"True"}]}"#),
    Run::JobStatus(complete_without_completion),
}

fn complete_without_completion<'a>(status: &StatusChange<'a>, findings: &mut Findings<'a>) {
    let changed = status.changed.complete || status.changed.completion_time;
    if changed && status.new.completion_time.is_none() && status.is_true(ConditionTypes::COMPLETE) {
        findings.push(FieldError::required(
            COMPLETION,
            "completionTime is required for Complete jobs",
        ));
    }
}

status_rule! {
    COMPLETION_BEFORE_START, "completion-time-before-start-time", "`completionTime` is not before `startTime`",
    "Checks that `completionTime` is not before `startTime`. The two may be equal. Runs when either changes.",
    fix "Take both times from the same clock. The API server keeps whole seconds.",
    STATE, option "RejectCompletionTimeBeforeStartTime", since V1_30,
    accepted status_update!(NEWEST, "{}", r#"{"startTime":"2026-01-01T00:00:00Z"}"#,
        r#"{"startTime":"2026-01-01T00:00:00Z","completionTime":"2026-01-01T01:00:00+01:00","conditions":[{"type":"SuccessCriteriaMet","status":"True"},{"type":"Complete","status":"True"}]}"#),
    rejected status_update!(NEWEST, "{}", r#"{"startTime":"2026-01-01T00:00:00Z"}"#,
        r#"{"startTime":"2026-01-01T00:00:00Z","completionTime":"2025-12-31T23:59:59Z","conditions":[{"type":"SuccessCriteriaMet","status":"True"},{"type":"Complete","status":"True"}]}"#),
    Run::JobStatus(completion_before_start),
}

fn completion_before_start<'a>(status: &StatusChange<'a>, findings: &mut Findings<'a>) {
    let changed = status.changed.start_time || status.changed.completion_time;
    let times = status.new.start_time.zip(status.new.completion_time);
    if changed && times.is_some_and(|(start, completion)| completion < start) {
        let detail = if status.release < Release::V1_34 {
            "completionTime cannot be set before startTime"
        } else {
            "must be equal to or after `startTime`"
        };
        findings.push(FieldError::invalid(
            COMPLETION,
            BadValue::Time(status.new.completion_time),
            detail,
        ));
    }
}

status_rule! {
    FINISHED_WITHOUT_START, "finished-without-start-time", "A finished Job requires `startTime`",
    "Checks that a Complete or Failed Job has `startTime`. From 1.32 on, a suspended Job with `completions: 0` is exempt. Runs when the
Job becomes finished, and when `startTime` changes.",
    fix "Write `startTime` when the controller starts the Job. Write it no later than the terminal condition.",
    STATE, option "RejectFinishedJobWithoutStartTime", since V1_30, changing in V1_32,
    accepted status_update!(NEWEST, r#"{"suspend":true,"completions":0}"#, "{}",
        r#"{"completionTime":"2026-01-01T00:00:00Z","conditions":[{"type":"SuccessCriteriaMet","status":"True"},{"type":"Complete","status":"True"}]}"#),
    rejected status_update!(NEWEST, "{}", "{}",
        r#"{"completionTime":"2026-01-01T00:00:00Z","conditions":[{"type":"SuccessCriteriaMet","status":"True"},{"type":"Complete","status":"True"}]}"#),
    Run::JobStatus(finished_without_start),
}

fn finished_without_start<'a>(status: &StatusChange<'a>, findings: &mut Findings<'a>) {
    let changed = status.changed.finished || status.changed.start_time;
    let nothing_to_start = status.spec.suspend && status.spec.completions == Some(0);
    let exempt = nothing_to_start && status.release >= Release::V1_32;
    if changed && !exempt && status.new.start_time.is_none() && status.is_finished() {
        findings.push(FieldError::required(
            START,
            "startTime is required for finished job",
        ));
    }
}

status_rule! {
    COMPLETION_CHANGED, "completion-time-changed", "`completionTime` cannot be changed",
    "Checks that `completionTime`, once set, keeps its instant. The same instant with another offset is no change.",
    fix "Keep the first value.",
    TRANSITION, option "RejectMutatingCompletionTime", since V1_30,
    accepted status_update!(NEWEST, "{}",
        r#"{"completionTime":"2026-01-01T00:00:00Z","conditions":[{"type":"Complete","status":"True"}]}"#,
        r#"{"completionTime":"2026-01-01T01:00:00+01:00","conditions":[{"type":"Complete","status":"True"}]}"#),
    rejected status_update!(NEWEST, "{}",
        r#"{"completionTime":"2026-01-01T00:00:00Z","conditions":[{"type":"Complete","status":"True"}]}"#,
        r#"{"completionTime":"2026-01-01T00:00:01Z","conditions":[{"type":"Complete","status":"True"}]}"#),
    Run::JobStatusTransition(completion_changed),
}

fn completion_changed<'a>(
    status: &StatusChange<'a>,
    old: &JobStatus<'a>,
    findings: &mut Findings<'a>,
) {
    let completion = status.new.completion_time;
    // Its removal is the business of complete-without-completion-time.
    if completion.is_some() && old.completion_time.is_some() && status.changed.completion_time {
        let detail = if status.release < Release::V1_34 {
            "completionTime cannot be mutated"
        } else {
            "field is immutable"
        };
        findings.push(FieldError::invalid(
            COMPLETION,
            BadValue::Time(completion),
            detail,
        ));
    }
}

status_rule! {
    START_CHANGED, "start-time-changed", "`startTime` of a running Job cannot be changed",
    "Checks that `startTime`, once set, is neither changed nor removed while the Job is not suspended. From 1.32 on, `startTime` may
change in the update that sets the condition `Suspended` from True to False. That is how a Job resumes.",
    fix "Keep the value while the Job runs. You may remove it while the Job is suspended, and set a new one when the Job resumes.",
    TRANSITION, option "RejectStartTimeUpdateForUnsuspendedJob", since V1_30, changing in V1_32,
    accepted status_update!(NEWEST, "{}",
        r#"{"startTime":"2026-01-01T00:00:00Z","conditions":[{"type":"Suspended","status":"True"}]}"#,
        r#"{"startTime":"2026-01-01T00:05:00Z","conditions":[{"type":"Suspended","status":"False"}]}"#),
    rejected status_update!(NEWEST, "{}", r#"{"startTime":"2026-01-01T00:00:00Z"}"#, r#"{"startTime":"2026-01-01T00:05:00Z"}"#),
    Run::JobStatusTransition(start_changed),
}

fn start_changed<'a>(status: &StatusChange<'a>, old: &JobStatus<'a>, findings: &mut Findings<'a>) {
    let resuming = old.conditions.is_true(ConditionTypes::SUSPENDED)
        && status.new.conditions.is_false(ConditionTypes::SUSPENDED);
    let exempt = resuming && status.release >= Release::V1_32;
    if status.changed.start_time && !exempt && old.start_time.is_some() && !status.spec.suspend {
        findings.push(if status.release < Release::V1_36 {
            FieldError::required(START, "startTime cannot be removed for unsuspended job")
        } else {
            let detail = "field is immutable for unsuspended job once set";
            FieldError::invalid(START, BadValue::Time(status.new.start_time), detail)
        });
    }
}
