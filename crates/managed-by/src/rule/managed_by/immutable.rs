//! `managed-by/immutable`

use crate::description::{Rule, RuleCategory, Upstream};
use crate::finding::BadValue;
use crate::kind::{FieldLocation, Reconciler};
use crate::request::Change;
use crate::rule::{Check, CheckFn, Context, Findings};

pub(crate) static RULE: Check = Check::new(
    Rule::upstream(
        "managed-by/immutable",
        include_str!("immutable.md"),
        Upstream::in_function("ValidateJobSpecUpdate (pkg/apis/batch/validation)"),
    )
    .with_category(RuleCategory::ApiAndCustomKinds)
    .for_kinds(|kind| kind.location == FieldLocation::Workload)
    .with_cel(&["immutable"]),
    CheckFn::Change(check),
);

fn check<'a>(context: &Context<'a>, findings: &mut Findings<'a>) {
    let Change::Update { object, old } = context.change else {
        return;
    };
    let kind = context.kind;
    // If the API defaults the field, updates add the reserved value to older objects.
    let is_defaulted = kind.defaulted
        && context.reconciler(object) == Reconciler::BuiltIn
        && context.reconciler(old) == Reconciler::BuiltIn;
    let unchanged = object.managed_by == old.managed_by || is_defaulted;
    if kind.location == FieldLocation::Workload && !unchanged {
        let value = BadValue::Pointer(object.managed_by.as_deref().map(Into::into));
        findings.invalid(context.path(), value, "field is immutable");
    }
}
