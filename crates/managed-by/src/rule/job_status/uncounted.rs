//! `uncountedTerminatedPods`: pods that have ended and are not in the counters yet.

use super::{STATE, StatusChange, rule};
use crate::description::Upstream;
use crate::finding::{BadValue, FieldError};
use crate::object::job::{ConditionTypes, Uncounted};
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

pub(crate) static UIDS: Check = Check::new(
    rule(
        "job-status/uncounted-uids",
        include_str!("uncounted-uids.md"),
        Upstream::in_function(STATE),
    ),
    Run::JobStatus(uids),
)
.exercised_when(|status| {
    let pods = status.new.uncounted.as_ref();
    pods.is_some_and(|pods| !pods.is_empty())
});

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
                findings.invalid(path(), value(), "must not be empty");
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

pub(crate) static OF_FINISHED: Check = Check::new(
    rule(
        "job-status/finished-with-uncounted-pods",
        include_str!("finished-with-uncounted-pods.md"),
        Upstream::in_function(STATE).with_option("RejectFinishedJobWithUncountedTerminatedPods"),
    ),
    Run::JobStatus(of_finished),
)
.applies_when(|changed| changed.finished || changed.uncounted)
.exercised_when(|status| status.is_true(ConditionTypes::FINISHED));

fn of_finished<'a>(status: &StatusChange<'a>, findings: &mut Findings<'a>) {
    if status.is_finished()
        && let Some(pods) = &status.new.uncounted
        && !pods.is_empty()
    {
        let detail = if status.release < Release::V1_34 {
            "uncountedTerminatedPods needs to be empty for finished job"
        } else {
            "must be empty for finished job"
        };
        let value = BadValue::Uncounted(pods.clone().into_owned());
        findings.invalid("status.uncountedTerminatedPods", value, detail);
    }
}
