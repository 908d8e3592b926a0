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
    let job = delegated.object.job.as_deref();
    if job.is_some_and(|job| job.spec.manual_selector) && !delegated.is_owned() {
        let detail = "Kueue drops the selector, and the worker cluster rejects a Job without it";
        findings.invalid("spec.manualSelector", BadValue::Omitted, detail);
    }
}
