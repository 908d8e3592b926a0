//! `uncountedTerminatedPods`: pods that have ended and are not in the counters yet.

use super::{NEWEST, StatusChange, status_rule, status_update};
use crate::description::{Anchor, Docs, Documentation, Enforcement, Example, Rule, Scope};
use crate::finding::{BadValue, FieldError};
use crate::object::job::Uncounted;
use crate::release::Release;
use crate::rule::{Check, Findings, Run};
use crate::sorted::Sorted;

/// Semantic equality: an absent list equals an empty one, but an absent struct does not equal an empty one.
pub(super) fn differ(old: Option<&Uncounted<'_>>, new: Option<&Uncounted<'_>>) -> bool {
    match (old, new) {
        (Some(old), Some(new)) => old.lists() != new.lists(),
        (old, new) => old.is_some() != new.is_some(),
    }
}

status_rule! {
    UIDS, "uncounted-uids", "UIDs in `uncountedTerminatedPods` are distinct and not empty",
    "Checks that no UID in `uncountedTerminatedPods` is empty, and that no UID occurs twice in the two lists. A repeated UID would be
counted twice. Runs on every status update, also when the lists do not change.",
    fix "Write the UID of each pod once, in the list for its result. Remove it when the pod is counted.",
    STATE, since V1_30,
    accepted status_update!(NEWEST, "{}", "{}", r#"{"uncountedTerminatedPods":{"succeeded":["a"],"failed":["b"]}}"#),
    rejected status_update!(NEWEST, "{}", "{}", r#"{"uncountedTerminatedPods":{"succeeded":["a"],"failed":["a"]}}"#),
    Run::JobStatus(uids),
}

fn uids<'a>(status: &StatusChange<'a>, findings: &mut Findings<'a>) {
    let Some(pods) = &status.new.uncounted else {
        return;
    };
    let mut repeated = repeated(pods).into_iter();
    for (list, uids) in pods.lists() {
        for (index, uid) in uids.iter().enumerate() {
            let path = || format!("{list}[{index}]");
            let value = || BadValue::NamedString(uid.as_ref().into());
            let repeated = repeated.next().unwrap_or_default();
            if findings.is_full() {
                return;
            }
            if uid.is_empty() {
                findings.push(FieldError::invalid(path(), value(), "must not be empty"));
            } else if repeated {
                findings.push(FieldError::duplicate(path(), value()));
            }
        }
    }
}

/// For each UID in turn, whether it stood before. Sorting finds that with less work than a set.
fn repeated(pods: &Uncounted<'_>) -> Vec<bool> {
    let uids = pods.lists().into_iter().flat_map(|(_, uids)| uids);
    let sorted = Sorted::of(uids.map(|uid| &**uid));
    let mut repeated = vec![false; pods.len()];
    for ((first, _), (second, place)) in sorted.iter().zip(sorted.iter().skip(1)) {
        if first == second
            && !first.is_empty()
            && let Some(flag) = repeated.get_mut(place)
        {
            *flag = true;
        }
    }
    repeated
}

status_rule! {
    OF_FINISHED, "finished-with-uncounted-pods", "`uncountedTerminatedPods` is empty in a finished Job",
    "Checks that `uncountedTerminatedPods` has no UID in a Complete or Failed Job, because the counters of a finished Job are final.
Runs when the Job becomes finished, and when the lists change.",
    fix "Add the pods to `succeeded` and `failed`, and empty the lists. Set the terminal condition in the same update, or later.",
    STATE, option "RejectFinishedJobWithUncountedTerminatedPods", since V1_30,
    accepted status_update!(NEWEST, "{}", "{}",
        r#"{"startTime":"2026-01-01T00:00:00Z","uncountedTerminatedPods":{},"conditions":[{"type":"FailureTarget","status":"True"},{"type":"Failed","status":"True"}]}"#),
    rejected status_update!(NEWEST, "{}", "{}",
        r#"{"startTime":"2026-01-01T00:00:00Z","uncountedTerminatedPods":{"failed":["a"]},"conditions":[{"type":"FailureTarget","status":"True"},{"type":"Failed","status":"True"}]}"#),
    Run::JobStatus(of_finished),
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
