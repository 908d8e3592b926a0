//! `job-conventions/suspended-with-active-pods`

use super::only_in_tools;
use crate::finding::BadValue;
use crate::object::job::{ConditionTypes, JobStatus};
use crate::rule::job_status::JobStatusChange;
use crate::rule::{Check, CheckFn, Findings};

pub(crate) static RULE: Check = only_in_tools(
    "job-conventions/suspended-with-active-pods",
    include_str!("suspended-with-active-pods.md"),
    CheckFn::JobStatus(check),
);

fn check<'a>(status: &JobStatusChange<'a>, findings: &mut Findings<'a>) {
    let contradicts = |status: &JobStatus<'_>| {
        status.active > 0 && status.conditions.is_true(ConditionTypes::SUSPENDED)
    };
    if contradicts(status.new) && !status.old.is_some_and(contradicts) {
        let detail = "must be 0 while the condition Suspended is True";
        findings.invalid("status.active", BadValue::Int(status.new.active), detail);
    }
}
