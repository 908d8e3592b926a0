//! `job-conventions/succeeded-exceeds-completions`

use super::rule;
use crate::finding::BadValue;
use crate::rule::job_status::JobStatusChange;
use crate::rule::{Check, CheckFn, Findings};

pub(crate) static RULE: Check = Check::new(
    rule(
        "job-conventions/succeeded-exceeds-completions",
        include_str!("succeeded-exceeds-completions.md"),
    ),
    CheckFn::JobStatus(check),
);

fn check<'a>(status: &JobStatusChange<'a>, findings: &mut Findings<'a>) {
    let succeeded = status.new.succeeded;
    let increases = status.old.is_none_or(|old| succeeded > old.succeeded);
    if let Some(completions) = status.spec.completions()
        && succeeded > completions
        && increases
    {
        let detail = format!("must be at most spec.completions ({completions})");
        findings.invalid("status.succeeded", BadValue::Int(succeeded), detail);
    }
}
