//! The counters of pods.

use super::{NEWEST, StatusChange, status_rule, status_update};
use crate::description::{Anchor, Docs, Documentation, Enforcement, Example, Rule, Scope};
use crate::finding::{BadValue, FieldError};
use crate::object::job::JobStatus;
use crate::release::Release;
use crate::rule::{Check, Findings, Run};

status_rule! {
    NEGATIVE, "negative-counter", "No counter is negative",
    "Checks that `active`, `succeeded`, `failed`, `ready` and `terminating` are at least 0. Runs whether they have changed or
not.",
    fix "Count from zero, and leave out what is not known yet.",
    STATE, since V1_30,
    accepted status_update!(NEWEST, "{}", "{}", r#"{"active":1,"ready":0,"terminating":0}"#),
    rejected status_update!(NEWEST, "{}", "{}", r#"{"active":-1}"#),
    Run::JobStatus(negative),
}

fn negative<'a>(status: &StatusChange<'a>, findings: &mut Findings<'a>) {
    let new = status.new;
    let counters = [
        ("status.active", Some(new.active)),
        ("status.succeeded", Some(new.succeeded)),
        ("status.failed", Some(new.failed)),
        ("status.ready", new.ready),
        ("status.terminating", new.terminating),
    ];
    for (path, counter) in counters {
        if let Some(counter) = counter.filter(|c| *c < 0) {
            let detail = "must be greater than or equal to 0";
            findings.push(FieldError::invalid(path, BadValue::Int(counter), detail));
        }
    }
}

status_rule! {
    ACTIVE_OF_FINISHED, "finished-with-active-pods", "A finished Job has no active pods",
    "Checks that `active` is 0 once the Job is Complete or Failed. Runs when the Job's being finished or `active` changes. Wait
for the pods to end before the condition is set.",
    fix "Wait until the pods have ended, then write `active: 0` with the terminal condition.",
    STATE, option "RejectFinishedJobWithActivePods", since V1_30,
    accepted status_update!(NEWEST, "{}", "{}",
        r#"{"active":0,"startTime":"2026-01-01T00:00:00Z","conditions":[{"type":"FailureTarget","status":"True"},{"type":"Failed","status":"True"}]}"#),
    rejected status_update!(NEWEST, "{}", "{}",
        r#"{"active":1,"startTime":"2026-01-01T00:00:00Z","conditions":[{"type":"FailureTarget","status":"True"},{"type":"Failed","status":"True"}]}"#),
    Run::JobStatus(active_of_finished),
}

fn active_of_finished<'a>(status: &StatusChange<'a>, findings: &mut Findings<'a>) {
    let active = status.new.active;
    if (status.changed.finished || status.changed.active) && active > 0 && status.is_finished() {
        let detail = "active>0 is invalid for finished job";
        findings.push(FieldError::invalid(
            "status.active",
            BadValue::Int(active),
            detail,
        ));
    }
}

status_rule! {
    TERMINATING_OF_FINISHED, "finished-with-terminating-pods", "A finished Job has no terminating pods",
    "Checks that `terminating` is 0 or unset once the Job is Complete or Failed. Runs when the Job's being finished or
`terminating` changes. Wait for the pods to be gone before the condition is set.",
    fix "Set `FailureTarget` or `SuccessCriteriaMet` while pods terminate, and the terminal condition when `terminating` is 0.",
    STATE, option "RejectFinishedJobWithTerminatingPods", since V1_31,
    accepted status_update!(NEWEST, "{}", "{}",
        r#"{"terminating":0,"startTime":"2026-01-01T00:00:00Z","conditions":[{"type":"FailureTarget","status":"True"},{"type":"Failed","status":"True"}]}"#),
    rejected status_update!(NEWEST, "{}", "{}",
        r#"{"terminating":2,"startTime":"2026-01-01T00:00:00Z","conditions":[{"type":"FailureTarget","status":"True"},{"type":"Failed","status":"True"}]}"#),
    Run::JobStatus(terminating_of_finished),
}

fn terminating_of_finished<'a>(status: &StatusChange<'a>, findings: &mut Findings<'a>) {
    let Some(terminating) = status.new.terminating.filter(|t| *t > 0) else {
        return;
    };
    if (status.changed.finished || status.changed.terminating) && status.is_finished() {
        let detail = "terminating>0 is invalid for finished job";
        findings.push(FieldError::invalid(
            "status.terminating",
            BadValue::Int(terminating),
            detail,
        ));
    }
}

status_rule! {
    READY, "ready-exceeds-active", "No more pods are ready than active",
    "Checks that `ready` is at most `active`. Runs when either changes.",
    fix "Take both counters from one look at the pods; a pod that is ready is active.",
    STATE, option "RejectMoreReadyThanActivePods", since V1_31,
    accepted status_update!(NEWEST, "{}", r#"{"active":1}"#, r#"{"active":1,"ready":1}"#),
    rejected status_update!(NEWEST, "{}", r#"{"active":1}"#, r#"{"active":1,"ready":2}"#),
    Run::JobStatus(ready),
}

fn ready<'a>(status: &StatusChange<'a>, findings: &mut Findings<'a>) {
    let Some(ready) = status.new.ready.filter(|r| *r > status.new.active) else {
        return;
    };
    if status.changed.ready || status.changed.active {
        let detail = "cannot set more ready pods than active";
        findings.push(FieldError::invalid(
            "status.ready",
            BadValue::Int(ready),
            detail,
        ));
    }
}

status_rule! {
    FAILED_DECREASED, "failed-decreased", "The failed counter does not go down",
    "Checks that `failed` is at least what it was: clients count retries by it. A controller that starts a Job over keeps what
it has counted, even if the cluster that runs the Job now counts from zero.",
    fix "Write at least what stands there; add what a second run counts to what the first has counted.",
    TRANSITION, option "RejectDecreasingFailedCounter", since V1_30,
    accepted status_update!(NEWEST, "{}", r#"{"failed":1}"#, r#"{"failed":2}"#),
    rejected status_update!(NEWEST, "{}", r#"{"failed":2}"#, r#"{"failed":1}"#),
    Run::JobStatusTransition(failed_decreased),
}

fn failed_decreased<'a>(
    status: &StatusChange<'a>,
    old: &JobStatus<'a>,
    findings: &mut Findings<'a>,
) {
    let failed = status.new.failed;
    if failed < old.failed {
        let detail = "cannot decrease the failed counter";
        findings.push(FieldError::invalid(
            "status.failed",
            BadValue::Int(failed),
            detail,
        ));
    }
}

status_rule! {
    SUCCEEDED_DECREASED, "succeeded-decreased", "The succeeded counter does not go down",
    "Checks that `succeeded` is at least what it was. An Indexed Job whose `completions` equal its `parallelism` is left out: it
can be scaled down.",
    fix "Write at least what stands there; add what a second run counts to what the first has counted.",
    TRANSITION, option "RejectDecreasingSucceededCounter", since V1_30,
    accepted status_update!(NEWEST, r#"{"completionMode":"Indexed","completions":3,"parallelism":3}"#, r#"{"succeeded":2}"#, r#"{"succeeded":1}"#),
    rejected status_update!(NEWEST, r#"{"completionMode":"Indexed","completions":3,"parallelism":2}"#, r#"{"succeeded":2}"#, r#"{"succeeded":1}"#),
    Run::JobStatusTransition(succeeded_decreased),
}

fn succeeded_decreased<'a>(
    status: &StatusChange<'a>,
    old: &JobStatus<'a>,
    findings: &mut Findings<'a>,
) {
    let succeeded = status.new.succeeded;
    let elastic = status.spec.is_indexed() && status.spec.completions == status.spec.parallelism;
    if succeeded < old.succeeded && !elastic {
        let detail = "cannot decrease the succeeded counter";
        findings.push(FieldError::invalid(
            "status.succeeded",
            BadValue::Int(succeeded),
            detail,
        ));
    }
}
