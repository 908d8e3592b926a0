//! Rules about the pod counters.

use super::{JobStatusChange, VALIDATE_STATUS, VALIDATE_STATUS_UPDATE, rule};
use crate::description::Upstream;
use crate::finding::BadValue;
use crate::object::job::{ConditionTypes, JobStatus};
use crate::release::Release;
use crate::rule::{Check, CheckFn, Findings};

pub(crate) static NEGATIVE: Check = Check::new(
    rule(
        "job-status/negative-counter",
        include_str!("negative-counter.md"),
        Upstream::in_function(VALIDATE_STATUS),
    ),
    CheckFn::JobStatus(negative),
)
.exercised_when(|status| {
    let new = status.new;
    let counters = [
        new.active,
        new.succeeded,
        new.failed,
        new.ready.unwrap_or(0),
        new.terminating.unwrap_or(0),
    ];
    counters.iter().any(|count| *count != 0)
});

fn negative<'a>(status: &JobStatusChange<'a>, findings: &mut Findings<'a>) {
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
            findings.invalid(path, BadValue::Int(counter), detail);
        }
    }
}

pub(crate) static FINISHED_WITH_ACTIVE_PODS: Check = Check::new(
    rule(
        "job-status/finished-with-active-pods",
        include_str!("finished-with-active-pods.md"),
        Upstream::in_function(VALIDATE_STATUS).with_option("RejectFinishedJobWithActivePods"),
    ),
    CheckFn::JobStatus(finished_with_active_pods),
)
.applies_when(|changed| changed.finished || changed.active)
.exercised_when(|status| status.is_true(ConditionTypes::FINISHED));

fn finished_with_active_pods<'a>(status: &JobStatusChange<'a>, findings: &mut Findings<'a>) {
    let active = status.new.active;
    if status.is_finished() && active > 0 {
        let detail = "active>0 is invalid for finished job";
        findings.invalid("status.active", BadValue::Int(active), detail);
    }
}

pub(crate) static FINISHED_WITH_TERMINATING_PODS: Check = Check::new(
    rule(
        "job-status/finished-with-terminating-pods",
        include_str!("finished-with-terminating-pods.md"),
        Upstream::in_function(VALIDATE_STATUS)
            .with_option("RejectFinishedJobWithTerminatingPods")
            .since(Release::V1_31),
    ),
    CheckFn::JobStatus(finished_with_terminating_pods),
)
.applies_when(|changed| changed.finished || changed.terminating)
.exercised_when(|status| status.is_true(ConditionTypes::FINISHED));

fn finished_with_terminating_pods<'a>(status: &JobStatusChange<'a>, findings: &mut Findings<'a>) {
    if status.is_finished()
        && let Some(terminating) = status.new.terminating.filter(|t| *t > 0)
    {
        let detail = "terminating>0 is invalid for finished job";
        findings.invalid("status.terminating", BadValue::Int(terminating), detail);
    }
}

pub(crate) static READY_EXCEEDS_ACTIVE: Check = Check::new(
    rule(
        "job-status/ready-exceeds-active",
        include_str!("ready-exceeds-active.md"),
        Upstream::in_function(VALIDATE_STATUS)
            .with_option("RejectMoreReadyThanActivePods")
            .since(Release::V1_31),
    ),
    CheckFn::JobStatus(ready_exceeds_active),
)
.applies_when(|changed| changed.ready || changed.active)
.exercised_when(|status| status.new.ready.is_some());

fn ready_exceeds_active<'a>(status: &JobStatusChange<'a>, findings: &mut Findings<'a>) {
    if let Some(ready) = status.new.ready.filter(|r| *r > status.new.active) {
        let detail = "cannot set more ready pods than active";
        findings.invalid("status.ready", BadValue::Int(ready), detail);
    }
}

pub(crate) static FAILED_DECREASED: Check = Check::new(
    rule(
        "job-status/failed-decreased",
        include_str!("failed-decreased.md"),
        Upstream::in_function(VALIDATE_STATUS_UPDATE).with_option("RejectDecreasingFailedCounter"),
    ),
    CheckFn::JobStatusTransition(failed_decreased),
)
.exercised_when(|status| status.old_is_some_and(|old| old.failed > 0) || status.new.failed < 0);

fn failed_decreased<'a>(
    status: &JobStatusChange<'a>,
    old: &JobStatus<'a>,
    findings: &mut Findings<'a>,
) {
    let failed = status.new.failed;
    if failed < old.failed {
        let detail = "cannot decrease the failed counter";
        findings.invalid("status.failed", BadValue::Int(failed), detail);
    }
}

pub(crate) static SUCCEEDED_DECREASED: Check = Check::new(
    rule(
        "job-status/succeeded-decreased",
        include_str!("succeeded-decreased.md"),
        Upstream::in_function(VALIDATE_STATUS_UPDATE)
            .with_option("RejectDecreasingSucceededCounter"),
    ),
    CheckFn::JobStatusTransition(succeeded_decreased),
)
.exercised_when(|status| {
    !status.spec.is_elastic()
        && (status.old_is_some_and(|old| old.succeeded > 0) || status.new.succeeded < 0)
});

fn succeeded_decreased<'a>(
    status: &JobStatusChange<'a>,
    old: &JobStatus<'a>,
    findings: &mut Findings<'a>,
) {
    let succeeded = status.new.succeeded;
    if !status.spec.is_elastic() && succeeded < old.succeeded {
        let detail = "cannot decrease the succeeded counter";
        findings.invalid("status.succeeded", BadValue::Int(succeeded), detail);
    }
}
