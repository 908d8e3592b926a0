//! `managed-by/unchecked-format`

use super::format;
use crate::description::{Enforcement, Rule};
use crate::kind::ValueConstraint;
use crate::rule::{Check, CheckFn, Context, Findings};

pub(crate) static RULE: Check = Check::new(
    Rule::policy(
        "managed-by/unchecked-format",
        include_str!("unchecked-format.md"),
    )
    .by_default(Enforcement::Warn)
    .for_kinds(|kind| kind.form == ValueConstraint::Open),
    CheckFn::Change(check),
);

fn check<'a>(context: &Context<'a>, findings: &mut Findings<'a>) {
    if context.kind.form != ValueConstraint::Open {
        return;
    }
    match context.new_managed_by() {
        Some("") => {
            let detail = "names nobody, and is not the same as no value: leave the field out";
            findings.push(context.invalid("", detail.to_owned()));
        }
        Some(value) => format::validate(context, value, findings),
        None => {}
    }
}
