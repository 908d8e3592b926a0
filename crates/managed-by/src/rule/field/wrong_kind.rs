//! `managed-by/wrong-kind`

use crate::description::{Enforcement, Rule};
use crate::kind::RESERVED;
use crate::rule::{Check, CheckFn, Context, Findings};

pub(crate) static RULE: Check = Check::new(
    Rule::policy("managed-by/wrong-kind", include_str!("wrong-kind.md"))
        .by_default(Enforcement::Warn),
    CheckFn::Change(check),
);

fn check<'a>(context: &Context<'a>, findings: &mut Findings<'a>) {
    let Some(value) = context
        .new_managed_by()
        .filter(|v| Some(*v) != context.kind.reserved)
    else {
        return;
    };
    if let Some((_, runs)) = RESERVED.iter().find(|(name, _)| *name == value) {
        let consequence = if context.kind.honors_managed_by {
            "so nobody would run this"
        } else {
            "and this kind's own controller does not look here"
        };
        findings.push(context.invalid(value, format!("it runs {runs} only, {consequence}")));
    }
}
