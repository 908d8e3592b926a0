//! `delegation/ignored-field`

use super::Delegated;
use crate::description::{Enforcement, Rule, RuleCategory};
use crate::finding::BadValue;
use crate::kind::MULTIKUEUE;
use crate::rule::{Check, CheckFn, Context, Findings};

pub(crate) static RULE: Check = Check::new(
    Rule::policy("delegation/ignored-field", include_str!("ignored-field.md"))
        .with_category(RuleCategory::ClusterSpecific)
        .with_default(Enforcement::Warn)
        .for_jobs()
        .with_cel(&["ignoredField"]),
    CheckFn::Change(check),
);

fn check<'a>(context: &Context<'a>, findings: &mut Findings<'a>) {
    let delegated = Delegated::from_context(context).filter(|d| d.controller == MULTIKUEUE);
    let Some(delegated) = delegated else {
        return;
    };
    let Some(job) = delegated.object.job.as_deref() else {
        return;
    };
    let spec = &job.spec;
    let has_scheduling = spec
        .scheduling
        .is_some_and(|field| field.as_str() != "null");
    for (is_set, path, detail) in [
        (
            spec.manual_selector,
            "spec.manualSelector",
            "Kueue drops the selector, and the worker cluster rejects a Job without it",
        ),
        (
            has_scheduling,
            "spec.scheduling",
            "Kueue drops it, and only the built-in controller implements it",
        ),
    ] {
        if is_set && !delegated.is_owned() {
            findings.invalid(path, BadValue::Omitted, detail);
        }
    }
}
