//! `managed-by/nested`

use super::closed_set;
use crate::description::{Anchor, Docs, Documentation, Enforcement, Example, Rule, Scope};
use crate::finding::{BadValue, FieldError};
use crate::kind::{Form, Holder, Kind, MULTIKUEUE, Mode};
use crate::object::custom::Nested;
use crate::request::Change;
use crate::rule::{Check, Context, Findings, Run};
use crate::sorted::Sorted;
use crate::upstream::names::is_managed_by;

pub(crate) static RULE: Check = Check {
    rule: Rule {
    id: "managed-by/nested",
    docs: Docs::new(Documentation {
    title: "What a workload makes is not left to a controller that will not run it",
    text: "\
A JobSet makes Jobs, a RayJob and a RayService make a RayCluster, an AppWrapper makes whatever its components say, and the
field stands in these templates too, unseen by the projects' own checks. Who makes the child, and where, decides:

- The workload is not delegated: its controller makes the child here, and leaves it to whom the template names. Unless that
  controller really runs such children, the workload waits for ever.
- It is delegated, and the template names somebody else than the workload does: the same, wherever the child is made.
- Both name MultiKueue: Kueue copies the workload to a worker cluster and takes out the outer field only. On the worker the
  child waits for a MultiKueue that is not there.
- The child's own API refuses the value: the child cannot be made.

A template with the reserved value of its own kind, or none, is fine, and so is one under a workload that is delegated to the
same controller (MultiKueue aside): that one makes the children. The templates of a CronJob, a RayCronJob and an
OptimizationJob make workloads that stand on their own; their field is judged by the rules for the field. A JAXJob is run
whatever its field says. Components are read
eight levels deep; what is deeper, or comes after a thousand such values, is reported unread.

Runs on create, and on updates for what was no such trap before. It warns, for a controller of yours may run the
children.",
        fix: "Leave the field out of the template; switch the rule off if a controller of yours runs such children.",
    accepted: Example {
        settings: "{}",
        request: r#"{"operation":"CREATE","kind":{"group":"jobset.x-k8s.io","version":"v1alpha2","kind":"JobSet"},
            "object":{"metadata":{"name":"train"},"spec":{"managedBy":"acme.io/runner","replicatedJobs":[
                {"name":"workers","template":{"spec":{"managedBy":"acme.io/runner"}}}]}}}"#,
    },
    rejected: Example {
        settings: r#"{"rules":{"managed-by/nested":"deny"}}"#,
        request: r#"{"operation":"CREATE","kind":{"group":"jobset.x-k8s.io","version":"v1alpha2","kind":"JobSet"},
            "object":{"metadata":{"name":"train"},"spec":{"replicatedJobs":[
                {"name":"driver","template":{"spec":{}}},
                {"name":"workers","template":{"spec":{"managedBy":"acme.io/runner"}}}]}}}"#,
    },
    }),
    anchor: Anchor::Ours {
        source: "recorded: the Jobs of such a JobSet and the RayCluster of such a RayJob are never reconciled, an AppWrapper gives up on such a Job; Kueue removes only the top-level field from its remote copy",
    },
    default: Enforcement::Warn,
    scope: Scope::Api,
    },
    run: Run::Change(check),
};

fn check<'a>(context: &Context<'a>, findings: &mut Findings<'a>) {
    let (object, old) = match context.change {
        Change::Create { object } => (object, None),
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
        let stored = paths
            .place(&nested.path)
            .and_then(|place| stored.get(place));
        let same = stored.filter(|stored| *stored == nested);
        same.is_some_and(|stored| trap(context.kind, old_outermost, stored).is_some())
    };
    for nested in &custom.nested {
        let trap = trap(context.kind, outermost, nested).filter(|_| !was_trap(nested));
        let Some(trap) = trap else {
            continue;
        };
        let detail = trap.explain(context.kind, nested);
        let value = nested.value.as_deref();
        let value = value.map_or(BadValue::Omitted, |value| BadValue::String(value.into()));
        findings.push(FieldError::invalid(&*nested.path, value, detail));
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
            Self::NotRead => "not looked at: too deep down, or after too many others".to_owned(),
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
