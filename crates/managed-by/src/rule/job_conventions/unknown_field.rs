//! `job-conventions/unknown-field`

use super::with_statuses;
use crate::decode::Raw;
use crate::finding::{BadValue, FieldError};
use crate::rule::{Context, Findings};
use crate::suggest::{did_you_mean, nearest};

/// Maximum length of a name in a path.
const MAX_NAME: usize = 64;

/// Fields of `JobStatus` (`k8s.io/api/batch/v1`, 1.30 to 1.37).
const STATUS: &[&str] = &[
    "active",
    "completedIndexes",
    "completionTime",
    "conditions",
    "failed",
    "failedIndexes",
    "ready",
    "startTime",
    "succeeded",
    "terminating",
    "uncountedTerminatedPods",
];

/// Fields of `JobCondition`.
const CONDITION: &[&str] = &[
    "lastProbeTime",
    "lastTransitionTime",
    "message",
    "reason",
    "status",
    "type",
];

/// Fields of `UncountedTerminatedPods`.
const UNCOUNTED: &[&str] = &["failed", "succeeded"];

pub(super) fn check<'a>(context: &Context<'a>, findings: &mut Findings<'a>) {
    with_statuses(context, &mut |status, _| {
        check_members("status", status, STATUS, findings);
        if let Some(pods) = status.member("uncountedTerminatedPods") {
            check_members("status.uncountedTerminatedPods", pods, UNCOUNTED, findings);
        }
        let conditions = status.member("conditions").map(Raw::elements);
        for (index, (_, condition)) in conditions.into_iter().flatten().enumerate() {
            let path = format!("status.conditions[{index}]");
            check_members(&path, condition, CONDITION, findings);
        }
    });
}

/// Adds an error for each member that is not a known field.
fn check_members(path: &str, object: Raw<'_>, known: &[&'static str], findings: &mut Findings<'_>) {
    for (name, _) in object.members() {
        if known.contains(&&*name) || findings.is_full() {
            continue;
        }
        // Any text can be a name, but a path is printed as it is.
        let is_printable =
            name.len() <= MAX_NAME && name.bytes().all(|b| b.is_ascii_alphanumeric());
        let path = if is_printable {
            format!("{path}.{name}")
        } else {
            path.to_owned()
        };
        let mut detail = "unknown field, which the API server drops".to_owned();
        if let Some(meant) = nearest(&name, known.iter().copied()) {
            detail.push_str("; ");
            detail.push_str(&did_you_mean(meant));
        }
        findings.push(FieldError::invalid(path, BadValue::Omitted, detail));
    }
}
