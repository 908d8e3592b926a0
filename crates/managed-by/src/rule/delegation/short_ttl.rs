//! `delegation/short-ttl`

use super::Delegated;
use crate::description::{Enforcement, Rule, RuleCategory};
use crate::finding::BadValue;
use crate::kind::MULTIKUEUE;
use crate::rule::{Check, CheckFn, Context, Findings};

/// Time that Kueue needs to copy the outcome from a worker cluster, in seconds. After an outage of 40 seconds, it had lost or repeated
/// Jobs with 30 seconds, and none with 60.
const MIN_TTL: i64 = 60;

pub(crate) static RULE: Check = Check::new(
    Rule::policy("delegation/short-ttl", include_str!("short-ttl.md"))
        .with_category(RuleCategory::ClusterSpecific)
        .with_default(Enforcement::Warn)
        .for_kinds(|kind| kind.ttl_path.is_some())
        .with_cel(&["shortTtl"]),
    CheckFn::Change(check),
);

fn check<'a>(context: &Context<'a>, findings: &mut Findings<'a>) {
    let delegated = Delegated::from_context(context).filter(|d| d.controller == MULTIKUEUE);
    let (Some(delegated), Some(path)) = (delegated, context.kind.ttl_path) else {
        return;
    };
    let object = delegated.object;
    let ttl = match (&object.job, &object.custom) {
        (Some(job), _) => job.spec.ttl_seconds_after_finished.map(i64::from),
        (None, custom) => custom.as_ref().and_then(|custom| custom.ttl),
    };
    if let Some(ttl) = ttl.filter(|ttl| (0..MIN_TTL).contains(ttl))
        && !delegated.is_owned()
    {
        let detail = "must be at least 60: the worker deletes its copy before Kueue has its outcome, and may run it again";
        findings.invalid(path, BadValue::Int64(ttl), detail);
    }
}
