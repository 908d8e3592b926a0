//! `managed-by/nested`

use super::closed_set;
use crate::description::{
    Anchor, Anchored, Docs, Documentation, Enforcement, Example, Rule, Scope,
};
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
    title: "`managedBy` in a template names a controller that runs the child",
    text: "\
Some workloads create children from templates. A JobSet creates Jobs. A RayJob and a RayService create a RayCluster. An
AppWrapper creates the objects in its components. Each template has a `managedBy` of its own, and the projects do not check
it. In these four cases the rule warns:

| the workload | the template | what happens to the child |
| --- | --- | --- |
| is not delegated | names another controller | the built-in controller creates the child in this cluster, and only the named controller would run it |
| is delegated | names a different controller | the same, in the cluster where the workload runs |
| is delegated to MultiKueue | names MultiKueue too | Kueue copies the workload to a worker cluster and removes only the outer field, so the child waits for a MultiKueue that the worker does not have |
| any | has a value that the child's API refuses | it cannot be created |

A template is fine if its field is unset or has the reserved value. It is also fine if workload and template name the same
controller, except MultiKueue: that controller creates the children.

The rule does not judge templates of a CronJob, a RayCronJob or an OptimizationJob. The other rules for the field judge them.
It does not judge a JAXJob in a template, because its controller ignores the field. The rule reads templates up to eight
levels deep, and the first thousand of them, because an object with more would keep PolicyServer busy. It reports that it did
not look at the others.

Runs on create, and on updates that add such a template. The rule warns, because a controller of your own may run such
children.",
        fix: "Leave the field out of the template. If a controller of your own runs such children, set the rule to `off`.",
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
    anchor: Anchored::new(Anchor::Ours {
        source: "recorded: the Jobs of such a JobSet and the RayCluster of such a RayJob are never reconciled, an AppWrapper gives up on such a Job; Kueue removes only the top-level field from its remote copy",
    }),
    default: Enforcement::Warn,
    scope: Scope::Api,
    },
    run: Run::Change(check),
};

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
        let same = stored.filter(|stored| *stored == nested);
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
