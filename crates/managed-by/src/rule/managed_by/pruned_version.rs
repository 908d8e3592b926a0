//! `managed-by/pruned-version`

use crate::description::{Enforcement, Rule, RuleCategory};
use crate::finding::{BadValue, FieldError};
use crate::request::Change;
use crate::rule::{Check, CheckFn, Context, Findings};
use crate::upstream::go;

pub(crate) static RULE: Check = Check::new(
    Rule::policy(
        "managed-by/pruned-version",
        include_str!("pruned-version.md"),
    )
    .with_default(Enforcement::Warn)
    .with_category(RuleCategory::PolicyBypass)
    .for_kinds(|kind| !kind.pruned_in.is_empty())
    .with_cel(&["prunedVersion"]),
    CheckFn::Change(check),
)
.applies_during_deletion();

fn check<'a>(context: &Context<'a>, findings: &mut Findings<'a>) {
    let pruned_in = context.kind.pruned_in;
    if pruned_in.is_empty() {
        return;
    }
    // Without a finalizer, the object is gone after the write. With one, a controller may still create objects from it: KubeRay runs its
    // cleanup Job whenever the field is unset.
    let metadata = &context.change.object().metadata;
    let has_finalizers = metadata
        .finalizers
        .is_some_and(|list| !list.elements().is_empty());
    if context.change.is_being_deleted() && !has_finalizers {
        return;
    }
    let version = &*context.request.version;
    if pruned_in.contains(&version) {
        let group_version = go::quote(&format!("{}/{version}", context.kind.group));
        let detail = format!(
            "{group_version} does not have this field, so a write in this version removes it: use another version"
        );
        let error = FieldError::invalid(context.path(), BadValue::Omitted, detail);
        if matches!(
            context.change,
            Change::Create { .. } | Change::Stored { .. }
        ) {
            // A create can't remove a stored value, and the audit scanner submits stored objects in any served version.
            findings.warn(error);
        } else {
            findings.push(error);
        }
    }
}
