//! `managed-by/unsupported-value`

use crate::description::{Enforcement, Rule};
use crate::kind::ValueConstraint;
use crate::rule::{Check, CheckFn, Context, Findings};
use crate::upstream::go;

pub(crate) static RULE: Check = Check::new(
    Rule::policy(
        "managed-by/unsupported-value",
        include_str!("unsupported-value.md"),
    )
    .with_default(Enforcement::Warn)
    .for_kinds(|kind| matches!(kind.constraint, ValueConstraint::OneOf(_))),
    CheckFn::Change(check),
);

fn check<'a>(context: &Context<'a>, findings: &mut Findings<'a>) {
    let ValueConstraint::OneOf(values) = context.kind.constraint else {
        return;
    };
    let value = context.new_managed_by();
    if let Some(value) = value.filter(|value| !context.kind.constraint.accepts(value)) {
        findings.push(context.invalid(value, accepted_values(context.kind.name, values)));
    }
}

/// Formats `RayJob accepts only "a" or "b"`.
pub(super) fn accepted_values(kind: &str, values: &[&str]) -> String {
    let quoted: Vec<String> = values.iter().map(|value| go::quote(value)).collect();
    format!("{kind} accepts only {}", quoted.join(" or "))
}
