//! Rules about `uncountedTerminatedPods`: terminated pods that the counters don't include yet.

use super::{JobStatusChange, VALIDATE_STATUS, rule};
use crate::description::Upstream;
use crate::finding::{BadValue, FieldError};
use crate::object::job::{ConditionTypes, Uncounted};
use crate::rule::{Check, CheckFn, Findings};
use crate::sorted::Sorted;

/// Returns true if the lists differ semantically: an absent list equals an empty one, but an absent struct does not equal an empty
/// one.
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
        Upstream::in_function(VALIDATE_STATUS),
    ),
    CheckFn::JobStatus(uids),
)
.exercised_when(|status| {
    let pods = status.new.uncounted.as_ref();
    pods.is_some_and(|pods| !pods.is_empty())
});

fn uids<'a>(status: &JobStatusChange<'a>, findings: &mut Findings<'a>) {
    let Some(pods) = &status.new.uncounted else {
        return;
    };
    let mut duplicates = duplicates(pods).into_iter();
    for (list, uids) in pods.lists() {
        for (index, uid) in uids.iter().enumerate() {
            let path = || format!("{list}[{index}]");
            let value = || BadValue::NamedString(uid.as_ref().into());
            let is_duplicate = duplicates.next().unwrap_or_default();
            if findings.is_full() {
                return;
            }
            if uid.is_empty() {
                findings.invalid(path(), value(), "must not be empty");
            } else if is_duplicate {
                findings.push(FieldError::duplicate(path(), value()));
            }
        }
    }
}

/// Returns a flag for each UID: true if it is a duplicate of an earlier one. Sorting is cheaper than a hash set.
fn duplicates(pods: &Uncounted<'_>) -> Vec<bool> {
    let uids = pods.lists().into_iter().flat_map(|(_, uids)| uids);
    let sorted = Sorted::new(uids.map(|uid| &**uid));
    let mut duplicates = vec![false; pods.len()];
    for ((first, _), (second, index)) in sorted.iter().zip(sorted.iter().skip(1)) {
        if first == second
            && !first.is_empty()
            && let Some(flag) = duplicates.get_mut(index)
        {
            *flag = true;
        }
    }
    duplicates
}

pub(crate) static FINISHED_WITH_UNCOUNTED_PODS: Check = Check::new(
    rule(
        "job-status/finished-with-uncounted-pods",
        include_str!("finished-with-uncounted-pods.md"),
        Upstream::in_function(VALIDATE_STATUS)
            .with_option("RejectFinishedJobWithUncountedTerminatedPods"),
    ),
    CheckFn::JobStatus(finished_with_uncounted_pods),
)
.applies_when(|changed| changed.finished || changed.uncounted)
.exercised_when(|status| status.is_true(ConditionTypes::FINISHED));

fn finished_with_uncounted_pods<'a>(status: &JobStatusChange<'a>, findings: &mut Findings<'a>) {
    if status.is_finished()
        && let Some(pods) = &status.new.uncounted
        && !pods.is_empty()
    {
        let detail = if status.release.minor() < 34 {
            "uncountedTerminatedPods needs to be empty for finished job"
        } else {
            "must be empty for finished job"
        };
        let value = BadValue::Uncounted(pods.clone().into_owned());
        findings.invalid("status.uncountedTerminatedPods", value, detail);
    }
}
