//! `job-conventions/...`: a status that kube-apiserver accepts, and that clients of the Job API still misread. The rules are off by
//! default, and warn in tools ([`Settings::for_tools`](crate::Settings::for_tools)).
//!
//! They read the status again from its JSON, because kube-apiserver's rules need less of it. A cluster that doesn't enable them
//! pays nothing.

pub(crate) mod conditions;
pub(crate) mod future_time;
pub(crate) mod indexes_decreased;
pub(crate) mod succeeded_exceeds_completions;
pub(crate) mod suspended_with_active_pods;
mod unknown_field;

use crate::decode::Raw;
use crate::description::{Enforcement, Rule};
use crate::rule::{Check, CheckFn, Context};

/// In a cluster, the API server drops unknown fields before it calls a policy.
pub(crate) static UNKNOWN_FIELD: Check = only_in_tools(
    "job-conventions/unknown-field",
    include_str!("unknown-field.md"),
    CheckFn::Change(unknown_field::check),
);

/// Creates a rule that the policy doesn't evaluate, because it would grow with the check.
const fn only_in_tools(id: &'static str, page: &'static str, run: CheckFn) -> Check {
    let run = if cfg!(feature = "manifests") {
        run
    } else {
        CheckFn::Manifest
    };
    Check::new(rule(id, page).for_manifests(), run)
}

/// Creates a rule about the status of a Job that is off by default.
const fn rule(id: &'static str, page: &'static str) -> Rule {
    Rule::policy(id, page)
        .with_default(Enforcement::Off)
        .for_jobs()
}

/// Calls a function with the new status of a Job, and the old one unless the Job is a stored object, both as JSON. Does nothing for
/// other changes.
fn with_statuses(context: &Context<'_>, check: &mut dyn FnMut(Raw<'_>, Option<Raw<'_>>)) {
    let Some(change) = &context.status else {
        return;
    };
    let Some(objects) = context.request.source.json() else {
        return;
    };
    let Some(new) = Raw::new(&objects.object).member("status") else {
        return;
    };
    let old = objects.old.as_deref().filter(|_| change.old.is_some());
    check(new, old.and_then(|old| Raw::new(old).member("status")));
}
