//! `job-conventions/indexes-decreased`

use super::only_in_tools;
use crate::finding::BadValue;
use crate::object::job::JobStatus;
use crate::rule::job_status::JobStatusChange;
use crate::rule::job_status::indexes::missing_index;
use crate::rule::{Check, CheckFn, Findings};

pub(crate) static RULE: Check = only_in_tools(
    "job-conventions/indexes-decreased",
    include_str!("indexes-decreased.md"),
    CheckFn::JobStatusTransition(check),
);

fn check<'a>(status: &JobStatusChange<'a>, old: &'a JobStatus<'a>, findings: &mut Findings<'a>) {
    let completions = status.spec.completions().unwrap_or_default();
    // A new start time is a new run, such as on another worker cluster.
    if status.changed.start_time {
        return;
    }
    let lists = |status: &'a JobStatus<'a>| {
        let failed = status.failed_indexes.as_deref().unwrap_or_default();
        [&*status.completed_indexes, failed]
    };
    let paths = ["status.completedIndexes", "status.failedIndexes"];
    for ((path, old), new) in paths.into_iter().zip(lists(old)).zip(lists(status.new)) {
        if let Some(index) = missing_index(old, new, completions) {
            let detail = format!("must still contain index {index}");
            findings.invalid(path, BadValue::String(new.into()), detail);
        }
    }
}
