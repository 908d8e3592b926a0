//! `managed-by/reserved`

use crate::description::{Rule, RuleCategory};
use crate::rule::{Check, CheckFn, Context, Findings};
use crate::settings::ReservedValuePolicy;

pub(crate) static RULE: Check = Check::new(
    Rule::policy("managed-by/reserved", include_str!("reserved.md"))
        .with_category(RuleCategory::ApiAndCustomKinds)
        .with_cel(&["reservedValue"]),
    CheckFn::Change(check),
);

fn check<'a>(context: &Context<'a>, findings: &mut Findings<'a>) {
    let kind = context.kind;
    // If the API defaults the field to this value, users can't leave it out.
    if kind.defaulted || context.settings.reserved_value_policy() == ReservedValuePolicy::Allow {
        return;
    }
    if let Some(value) = context
        .new_managed_by()
        .filter(|v| Some(*v) == kind.reserved_value)
    {
        let detail = "omit the field to select the built-in controller".to_owned();
        findings.push(context.invalid(value, detail));
    }
}
