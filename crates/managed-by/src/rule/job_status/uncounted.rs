//! `uncountedTerminatedPods`: pods that have ended and are not in the counters yet.

use std::collections::BTreeSet;

use super::{StatusChange, status_rule, status_update};
use crate::finding::{BadValue, FieldError};
use crate::kind::job::Uncounted;
use crate::release::Release;
use crate::rule::{Anchor, Check, Docs, Documentation, Enforcement, Example, Findings, Rule};

/// Semantic equality: an absent list equals an empty one, but an absent struct does not equal an empty one.
pub(super) fn differ(old: Option<&Uncounted<'_>>, new: Option<&Uncounted<'_>>) -> bool {
    match (old, new) {
        (Some(old), Some(new)) => old.lists() != new.lists(),
        (old, new) => old.is_some() != new.is_some(),
    }
}

status_rule! {
    UIDS, "uncounted-uids", "Uncounted pods have distinct, non-empty UIDs",
    "Checks that no UID in `uncountedTerminatedPods` is empty and that none stands twice, be it in the same list or in both:
a pod would be counted twice. Runs whether the lists have changed or not.",
    STATE, since V1_30,
    accepted status_update!("{}", "{}", "{}", r#"{"uncountedTerminatedPods":{"succeeded":["a"],"failed":["b"]}}"#),
    rejected status_update!("{}", "{}", "{}", r#"{"uncountedTerminatedPods":{"succeeded":["a"],"failed":["a"]}}"#),
    Check::JobStatus(uids),
}

fn uids<'a>(status: &StatusChange<'a>, findings: &mut Findings<'a>) {
    let Some(pods) = &status.new.uncounted else {
        return;
    };
    let mut seen = BTreeSet::new();
    for (list, uids) in pods.lists() {
        for (index, uid) in uids.iter().enumerate() {
            let path = || format!("{list}[{index}]");
            let value = || BadValue::NamedString(uid.as_ref().into());
            if uid.is_empty() {
                findings.push(FieldError::invalid(path(), value(), "must not be empty"));
            } else if !seen.insert(uid) {
                findings.push(FieldError::duplicate(path(), value()));
            }
        }
    }
}

status_rule! {
    OF_FINISHED, "finished-with-uncounted-pods", "A finished Job has no uncounted pods",
    "Checks that a Job that is Complete or Failed has no UID left in `uncountedTerminatedPods`: its counters are final. Runs
when the Job's being finished or the lists change. Count the pods first, then set the condition.",
    STATE, option "RejectFinishedJobWithUncountedTerminatedPods", since V1_30,
    accepted status_update!("{}", "{}", "{}",
        r#"{"startTime":"2026-01-01T00:00:00Z","uncountedTerminatedPods":{},"conditions":[{"type":"FailureTarget","status":"True"},{"type":"Failed","status":"True"}]}"#),
    rejected status_update!("{}", "{}", "{}",
        r#"{"startTime":"2026-01-01T00:00:00Z","uncountedTerminatedPods":{"failed":["a"]},"conditions":[{"type":"FailureTarget","status":"True"},{"type":"Failed","status":"True"}]}"#),
    Check::JobStatus(of_finished),
}

fn of_finished<'a>(status: &StatusChange<'a>, findings: &mut Findings<'a>) {
    let changed = status.changed.finished || status.changed.uncounted;
    let Some(pods) = status
        .new
        .uncounted
        .as_ref()
        .filter(|pods| !pods.is_empty())
    else {
        return;
    };
    if changed && status.is_finished() {
        let detail = if status.release < Release::V1_34 {
            "uncountedTerminatedPods needs to be empty for finished job"
        } else {
            "must be empty for finished job"
        };
        let value = BadValue::Uncounted(pods.clone());
        findings.push(FieldError::invalid(
            "status.uncountedTerminatedPods",
            value,
            detail,
        ));
    }
}
