//! `managed-by/nested`

use super::{
    Anchor, Check, Context, Docs, Documentation, Enforcement, Example, Findings, Rule, closed_set,
    format,
};
use crate::finding::{BadValue, FieldError};
use crate::kind::custom::Nested;
use crate::kind::{Form, Holder, MULTIKUEUE};
use crate::request::Change;

pub(crate) static RULE: Rule = Rule {
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
OptimizationJob make workloads that stand on their own; their field is judged by the rules for the field. Components are read
eight levels deep; what is deeper, or comes after a thousand such values, is reported unread.

Runs on create, and on updates for what the object did not say before. It warns, for a controller of yours may run the
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
    check: Check::Change(check),
};

fn check<'a>(context: &Context<'a>, findings: &mut Findings<'a>) {
    let (object, old) = match context.change {
        Change::Create { object } => (object, None),
        Change::Update { object, old } => (object, old.custom.as_deref()),
        Change::UpdateStatus { .. } => return,
    };
    let Some(custom) = object.custom.as_deref() else {
        return;
    };
    let mut known: Vec<_> = old
        .map_or(&[][..], |old| &old.nested)
        .iter()
        .map(key)
        .collect();
    known.sort_unstable();
    for nested in &custom.nested {
        if known.binary_search(&key(nested)).is_ok() {
            continue;
        }
        let Some(detail) = trap(context, object.managed_by.as_deref(), nested) else {
            continue;
        };
        let value = nested.value.as_deref();
        let value = value.map_or(BadValue::Omitted, |value| BadValue::String(value.into()));
        findings.push(FieldError::invalid(&*nested.path, value, detail));
    }
}

fn key<'n>(nested: &'n Nested<'_>) -> (&'n str, Option<&'n str>) {
    (&nested.path, nested.value.as_deref())
}

/// Why nobody would run what is made of a template, if so.
fn trap(context: &Context<'_>, outermost: Option<&str>, nested: &Nested<'_>) -> Option<String> {
    let child = nested.kind;
    let (parent, parent_value) = match nested.parent_kind {
        Some(kind) => (kind, nested.parent.as_deref()),
        None => (context.kind, outermost),
    };
    let Some(value) = nested.value.as_deref() else {
        return Some("not looked at: too deep down, or after too many others".to_owned());
    };
    match child.form {
        Form::Path if !format::is_path(value) => {
            return Some(format!("no {} is accepted with this value", child.kind));
        }
        Form::OneOf(values) if !values.contains(&value) => {
            return Some(closed_set::accepts(child.kind, values));
        }
        _ => {}
    }
    // What is made of a nested CronJob stands on its own.
    if child.holder != Holder::Workload {
        return None;
    }
    let (made, maker) = (child.kind, parent.workload());
    match parent_value.filter(|value| parent.is_delegated(Some(value))) {
        None => Some(format!(
            "the {maker} makes the {made} here and nobody but this controller would run it"
        )),
        Some(same) if same == value => (value == MULTIKUEUE).then(|| {
            format!(
                "Kueue keeps this in its copy of the {maker}, so the worker never runs the {made}"
            )
        }),
        Some(_) => Some(format!(
            "the {maker} is delegated to another controller, which would not run the {made}"
        )),
    }
}
