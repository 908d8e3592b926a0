//! `managed-by/recommended-format`

use super::format;
use crate::description::{Enforcement, Rule};
use crate::kind::ValueConstraint;
use crate::rule::{Check, CheckFn, Context, Findings};

pub(crate) static RULE: Check = Check::new(
    Rule::policy(
        "managed-by/recommended-format",
        include_str!("recommended-format.md"),
    )
    .with_default(Enforcement::Warn)
    .for_kinds(|kind| kind.constraint == ValueConstraint::Any),
    CheckFn::Change(check),
);

fn check<'a>(context: &Context<'a>, findings: &mut Findings<'a>) {
    if context.kind.constraint != ValueConstraint::Any {
        return;
    }
    match context.new_managed_by() {
        Some("") => {
            let detail =
                "must name a controller; to select the built-in controller, omit the field";
            findings.push(context.invalid("", detail.to_owned()));
        }
        Some(value) => format::validate(context, value, findings),
        None => {}
    }
}
