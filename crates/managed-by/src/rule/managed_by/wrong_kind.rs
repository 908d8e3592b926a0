//! `managed-by/wrong-kind`

use crate::description::{Enforcement, Rule};
use crate::kind::RESERVED_VALUES;
use crate::rule::{Check, CheckFn, Context, Findings};

pub(crate) static RULE: Check = Check::new(
    Rule::policy("managed-by/wrong-kind", include_str!("wrong-kind.md"))
        .with_default(Enforcement::Warn)
        .with_cel(&["wrongKind"]),
    CheckFn::Change(check),
);

fn check<'a>(context: &Context<'a>, findings: &mut Findings<'a>) {
    let Some(value) = context
        .new_managed_by()
        .filter(|v| Some(*v) != context.kind.reserved_value)
    else {
        return;
    };
    if let Some((_, runs)) = RESERVED_VALUES.iter().find(|(name, _)| *name == value) {
        let consequence = if context.kind.honors_managed_by {
            "no controller would reconcile this object"
        } else {
            "this kind's built-in controller ignores the field"
        };
        findings.push(context.invalid(
            value,
            format!("reserved for the built-in controller of {runs}: {consequence}"),
        ));
    }
}
