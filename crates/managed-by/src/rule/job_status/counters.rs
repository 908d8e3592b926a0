//! The counters of pods.

use super::{NEWEST, StatusChange, status_rule, status_update};
use crate::description::{Anchor, Docs, Documentation, Enforcement, Example, Rule, Scope};
use crate::finding::{BadValue, FieldError};
use crate::object::job::JobStatus;
use crate::release::Release;
use crate::rule::{Check, Findings, Run};

status_rule! {
    NEGATIVE, "negative-counter", "`active`, `succeeded`, `failed`, `ready` and `terminating` are not negative",
    "Checks that `active`, `succeeded`, `failed`, `ready` and `terminating` are at least 0. Runs on every status update, also when
they do not change.",
    fix "Count from zero. Leave out a counter that you do not know yet.",
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
    ACTIVE_OF_FINISHED, "finished-with-active-pods", "`active` is 0 in a finished Job",
    "Checks that `active` is 0 in a Complete or Failed Job. Runs when the Job becomes finished, and when `active` changes.",
    fix "Wait until the pods have ended. Then write `active: 0` together with the terminal condition.",
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
    TERMINATING_OF_FINISHED, "finished-with-terminating-pods", "`terminating` is 0 or unset in a finished Job",
    "Checks that `terminating` is 0 or unset in a Complete or Failed Job. Runs when the Job becomes finished, and when `terminating`
changes.",
    fix "While pods terminate, set `FailureTarget` or `SuccessCriteriaMet`. Set the terminal condition when `terminating` is 0.",
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
    READY, "ready-exceeds-active", "`ready` is at most `active`",
    "Checks that `ready` is not greater than `active`. Runs when either changes.",
    fix "Read both counters from the same list of pods. Every ready pod is also active.",
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
    FAILED_DECREASED, "failed-decreased", "`failed` cannot decrease",
    "Checks that `failed` is at least the stored value. Clients use it to count retries. A controller that starts a Job again keeps
the old count, also if the new cluster counts from zero.",
    fix "Add the count of the new run to the stored value.",
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
    SUCCEEDED_DECREASED, "succeeded-decreased", "`succeeded` cannot decrease",
    "Checks that `succeeded` is at least the stored value. Indexed Jobs with `completions` equal to `parallelism` are exempt, because
they can be scaled down.",
    fix "Add the count of the new run to the stored value.",
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
