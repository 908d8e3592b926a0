//! `managed-by/nested`

use super::closed_set;
use crate::description::{Enforcement, Rule};
use crate::finding::BadValue;
use crate::kind::{Form, Holder, Kind, MULTIKUEUE, Mode};
use crate::object::custom::Nested;
use crate::request::Change;
use crate::rule::{Check, Context, Findings, Run};
use crate::sorted::Sorted;
use crate::upstream::names::is_managed_by;

pub(crate) static RULE: Check = Check::new(
    Rule::ours("managed-by/nested", include_str!("nested.md"))
        .by_default(Enforcement::Warn)
        .of_kinds(|kind| !kind.templates.is_empty()),
    Run::Change(check),
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
    let outermost = object.managed_by.as_deref();
    let old_outermost = old.and_then(|old| old.managed_by.as_deref());
    let stored = old.and_then(|old| old.custom.as_deref());
    let stored = stored.map_or(&[][..], |old| &old.nested);
    let paths = Sorted::of(stored.iter().map(|nested| &*nested.path));
    // The same value may have become a trap by a change of what it is in.
    let was_trap = |nested: &Nested<'_>| {
        // What was not looked at may have changed.
        if nested.value.is_none() {
            return false;
        }
        let stored = paths
            .place(&nested.path)
            .and_then(|place| stored.get(place));
        let is_same = |old: &&Nested<'_>| old.value == nested.value && old.is_of_kind(nested);
        let same = stored.filter(is_same);
        same.is_some_and(|stored| trap(context.kind, old_outermost, stored).is_some())
    };
    // That not all was looked at comes first: of many warnings the last are cut.
    let left_out = custom.nested.last().filter(|last| last.value.is_none());
    let others = custom.nested.len().saturating_sub(left_out.iter().len());
    for nested in left_out
        .into_iter()
        .chain(custom.nested.iter().take(others))
    {
        let trap = trap(context.kind, outermost, nested).filter(|_| !was_trap(nested));
        let Some(trap) = trap else {
            continue;
        };
        let detail = trap.explain(context.kind, nested);
        let value = nested.value.as_deref();
        let value = value.map_or(BadValue::Omitted, |value| BadValue::String(value.into()));
        findings.invalid(&*nested.path, value, detail);
    }
}

/// Why nobody would run what is made of a template.
enum Trap<'k> {
    NotRead,
    /// The child's API takes no such value.
    Form,
    /// The child's API takes these values only.
    OneOf(&'k [&'k str]),
    /// The parent is run here, and leaves the child to somebody else.
    MadeHere,
    /// Kueue leaves the value in its copy.
    Copied,
    /// The parent belongs to another controller.
    Elsewhere,
}

/// The trap that a template is, if so, in an object of a kind.
fn trap<'k>(outer: &Kind<'_>, outermost: Option<&str>, nested: &Nested<'k>) -> Option<Trap<'k>> {
    let Some(value) = nested.value.as_deref() else {
        return Some(Trap::NotRead);
    };
    match nested.kind.form {
        Form::Path if !is_managed_by(value) => return Some(Trap::Form),
        Form::OneOf(values) if !values.contains(&value) => return Some(Trap::OneOf(values)),
        _ => {}
    }
    // What is made of a nested CronJob stands on its own, and a JAXJob is run whatever it says.
    if nested.kind.holder != Holder::Workload || !nested.kind.steps_back {
        return None;
    }
    let (parent, parent_value) = match nested.parent_kind {
        Some(kind) => (kind, nested.parent.as_deref()),
        None => (outer, outermost),
    };
    match parent.mode(parent_value) {
        Mode::Standard => Some(Trap::MadeHere),
        Mode::Delegated(same) if same == value => (value == MULTIKUEUE).then_some(Trap::Copied),
        Mode::Delegated(_) => Some(Trap::Elsewhere),
    }
}

impl Trap<'_> {
    fn explain(&self, outer: &Kind<'_>, nested: &Nested<'_>) -> String {
        let made = nested.kind.name;
        let maker = nested.parent_kind.unwrap_or(outer).workload();
        match self {
            Self::NotRead => "not looked at: too deep down, or after a thousand others".to_owned(),
            Self::Form => format!("no {made} is accepted with this value"),
            Self::OneOf(values) => closed_set::accepts(made, values),
            Self::MadeHere => format!(
                "the {maker} makes the {made} here and nobody but this controller would run it"
            ),
            Self::Copied => format!(
                "Kueue keeps this in its copy of the {maker}, so the worker never runs the {made}"
            ),
            Self::Elsewhere => format!(
                "the {maker} is delegated to another controller, which would not run the {made}"
            ),
        }
    }
}
