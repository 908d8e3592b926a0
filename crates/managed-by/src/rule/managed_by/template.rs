//! `managed-by/template`

use super::unsupported_value;
use crate::description::{Enforcement, Rule};
use crate::finding::BadValue;
use crate::kind::{FieldLocation, Kind, MULTIKUEUE, Reconciler, ValueConstraint};
use crate::object::custom::NestedManagedBy;
use crate::request::Change;
use crate::rule::{Check, CheckFn, Context, Findings};
use crate::sorted::Sorted;

pub(crate) static RULE: Check = Check::new(
    Rule::policy("managed-by/template", include_str!("template.md"))
        .with_default(Enforcement::Warn)
        .for_kinds(|kind| !kind.templates.is_empty()),
    CheckFn::Change(check),
);

fn check<'a>(context: &Context<'a>, findings: &mut Findings<'a>) {
    let (object, old) = match context.change {
        Change::Create { object } | Change::Stored { object } => (object, None),
        Change::Update { object, old } => (object, Some(old)),
        Change::UpdateStatus { .. } => return,
    };
    let Some(custom) = object.custom.as_deref() else {
        return;
    };
    let outer_managed_by = object.managed_by.as_deref();
    let old_outer_managed_by = old.and_then(|old| old.managed_by.as_deref());
    let stored = old.and_then(|old| old.custom.as_deref());
    let stored = stored.map_or(&[][..], |old| &old.nested);
    let paths = Sorted::new(stored.iter().map(|nested| &*nested.path));
    // A change of the parent may orphan children whose value is unchanged.
    let was_orphaned = |nested: &NestedManagedBy<'_>| {
        // Skipped templates may have changed.
        if nested.value.is_none() {
            return false;
        }
        let stored = paths
            .index_of(&nested.path)
            .and_then(|index| stored.get(index));
        let is_same =
            |old: &&NestedManagedBy<'_>| old.value == nested.value && old.has_same_kind(nested);
        let same = stored.filter(is_same);
        same.is_some_and(|stored| {
            orphan_reason(context.kind, old_outer_managed_by, stored).is_some()
        })
    };
    // Report skipped templates first, because excess warnings are dropped.
    let skipped = custom.nested.last().filter(|last| last.value.is_none());
    let others = custom.nested.len().saturating_sub(skipped.iter().len());
    for nested in skipped.into_iter().chain(custom.nested.iter().take(others)) {
        let orphan_reason =
            orphan_reason(context.kind, outer_managed_by, nested).filter(|_| !was_orphaned(nested));
        let Some(orphan_reason) = orphan_reason else {
            continue;
        };
        let detail = orphan_reason.explain(context.kind, nested);
        let value = nested.value.as_deref();
        let value = value.map_or(BadValue::Omitted, |value| BadValue::String(value.into()));
        findings.invalid(&*nested.path, value, detail);
    }
}

/// Reason why no controller would run the child that is created from a template.
enum OrphanReason {
    Skipped,
    /// The child's API rejects the value.
    RejectedValue,
    /// The built-in controller runs the parent here, but the child is delegated.
    BuiltInParent,
    /// MultiKueue copies the value to the worker cluster.
    CopiedByMultiKueue,
    /// The parent is delegated to another controller.
    OtherController,
}

/// Returns the reason why no controller would run a child, or [`None`] if one would.
fn orphan_reason(
    outer: &Kind<'_>,
    outer_managed_by: Option<&str>,
    nested: &NestedManagedBy<'_>,
) -> Option<OrphanReason> {
    let Some(value) = nested.value.as_deref() else {
        return Some(OrphanReason::Skipped);
    };
    if !nested.kind.constraint.accepts(value) {
        return Some(OrphanReason::RejectedValue);
    }
    // The Jobs of a nested CronJob are independent of the parent, and the JAXJob controller ignores the field.
    if nested.kind.location != FieldLocation::Workload || !nested.kind.honors_managed_by {
        return None;
    }
    let (parent, parent_value) = match nested.parent_kind {
        Some(kind) => (kind, nested.parent_managed_by.as_deref()),
        None => (outer, outer_managed_by),
    };
    match parent.reconciler(parent_value) {
        Reconciler::BuiltIn => Some(OrphanReason::BuiltInParent),
        Reconciler::Delegated(same) if same == value => {
            (value == MULTIKUEUE).then_some(OrphanReason::CopiedByMultiKueue)
        }
        Reconciler::Delegated(_) => Some(OrphanReason::OtherController),
    }
}

impl OrphanReason {
    fn explain(&self, outer: &Kind<'_>, nested: &NestedManagedBy<'_>) -> String {
        let child = nested.kind.name;
        let parent = nested.parent_kind.unwrap_or(outer).workload_kind();
        match self {
            Self::Skipped => {
                "not validated: nested too deeply, or after the first 1000 templates".to_owned()
            }
            Self::RejectedValue => match nested.kind.constraint {
                ValueConstraint::OneOf(values) => unsupported_value::accepted_values(child, values),
                _ => format!("the API of {child} rejects this value"),
            },
            Self::BuiltInParent => format!(
                "the {parent} creates the {child} in this cluster, where the built-in controller would not reconcile it"
            ),
            Self::CopiedByMultiKueue => format!(
                "Kueue copies this to the worker cluster, where no controller would reconcile the {child}"
            ),
            Self::OtherController => format!(
                "the {parent} is delegated to another controller, which would not reconcile the {child}"
            ),
        }
    }
}
