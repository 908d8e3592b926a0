//! `managed-by/delegation`

use crate::description::{
    Anchor, Anchored, Docs, Documentation, Enforcement, Example, Rule, Scope,
};
use crate::finding::FieldError;
use crate::kind::{Form, Holder, MULTIKUEUE, Mode};
use crate::request::Change;
use crate::rule::writer::is_listed;
use crate::rule::{Check, Context, Findings, Run, owner};
use crate::settings::{Delegation, Problems, Role};
use crate::upstream::go;

pub(crate) static RULE: Check = Check {
    rule: Rule {
    id: "managed-by/delegation",
    docs: Docs::new(Documentation {
    title: "Workloads are delegated where `role` and `namespaces` require it, and not where they forbid it",
    text: "\
With the settings `role` and `namespaces`, checks whether a workload must or must not be delegated.

- A worker cluster runs what it receives. A workload that is delegated there waits for a controller in another cluster.
- A management cluster runs no workloads itself. A workload that is not delegated starts there, or waits forever.

The first matching entry of `namespaces` decides. If no entry matches, the role decides: `worker` forbids delegation,
`management` requires it, `hybrid` allows both.

Runs on create, and on updates that delegate a workload or undo that. Does not run on objects that are being deleted.

**Children.** A controller creates children of a workload, such as the Jobs of a JobSet. The owner was judged when it was created, so the
child need not be delegated if its owner (`ownerReferences` with `controller: true`) is a workload that has the field itself,
and if a writer of the owner's kind creates it: a user in `standard_status_writers` for that kind, or in the `status_writers` of
a controller that may be delegated that kind. Where no writer is listed, no child is exempt, because every user can write an
owner reference, also to a workload that does not exist.

**Templates.** Where delegation is required, the rule warns about the template of a CronJob. Each Job from the template is
judged when it is created. It is denied unless a webhook sets the field first. On a management cluster Kueue's webhook sets
the field before this policy runs, but only on Jobs with the label `kueue.x-k8s.io/queue-name`. Jobs of Helm hooks, backups
and CronJobs have no such label. Add the label, or allow them with an entry of `namespaces` that has `matchLabels`.",
        fix: "Where delegation is required, name a controller. Where it is forbidden, leave the field out. See `namespaces` and `role` in the settings.",
    accepted: Example {
        settings: r#"{"role":"worker"}"#,
        request: r#"{"operation":"CREATE","kind":{"group":"batch","version":"v1","kind":"Job"},"namespace":"team-a",
            "resource":{"group":"batch","version":"v1","resource":"jobs"},
            "object":{"metadata":{"name":"pi"},"spec":{}}}"#,
    },
    rejected: Example {
        settings: r#"{"role":"worker"}"#,
        request: r#"{"operation":"CREATE","kind":{"group":"batch","version":"v1","kind":"Job"},"namespace":"team-a",
            "resource":{"group":"batch","version":"v1","resource":"jobs"},
            "object":{"metadata":{"name":"pi"},"spec":{"managedBy":"kueue.x-k8s.io/multikueue"}}}"#,
    },
    }),
    anchor: Anchored::new(Anchor::Ours {
        source: "Kueue, MultiKueue: the manager cluster delegates, and the copy on a worker cluster has no managedBy",
    }),
    default: Enforcement::Deny,
    scope: Scope::Site,
    },
    run: Run::Configured(check),
};

fn check<'a>(context: &Context<'a>, findings: &mut Findings<'a>) -> Result<(), Problems> {
    let new = match context.change {
        Change::Create { object } | Change::Stored { object } => context.mode(object),
        Change::Update { object, old } => {
            let new = context.mode(object);
            if new == context.mode(old) {
                return Ok(());
            }
            new
        }
        Change::UpdateStatus { .. } => return Ok(()),
    };
    let kind = context.kind.workload();
    let namespace = &*context.request.namespace;
    let object = context.change.object();
    let labels = object.metadata.labels;
    let (entry, delegation) = context.settings.delegation(namespace, labels)?;
    let is_template = context.kind.holder != Holder::Workload;
    let (must, instead) = match (delegation, new) {
        (Delegation::Forbidden, Mode::Delegated(_)) => {
            ("must not", "leave the field out".to_owned())
        }
        (Delegation::Required, Mode::Standard) => {
            let owner = owner::workload(context, object)?.map(|owner| owner.kind);
            let instead = match owner {
                Some(owner) if makes_children_of(context, &owner)? => return Ok(()),
                Some(owner) => format!(
                    "{}; if this user is the controller of {owner}s, list it in standard_status_writers.{owner}",
                    advice(context, kind, namespace)?
                ),
                None => advice(context, kind, namespace)?,
            };
            ("must", instead)
        }
        _ => return Ok(()),
    };
    let why = match (entry, context.settings.role()) {
        (Some(index), _) => format!("namespaces[{index}] of the settings"),
        (None, Role::Hybrid) => "role hybrid".to_owned(),
        (None, Role::Management) => "role management".to_owned(),
        (None, Role::Worker) => "role worker".to_owned(),
    };
    let namespace = go::quote(namespace);
    let brief = format!("a {kind} in namespace {namespace} {must} be delegated ({why})");
    if is_template && delegation == Delegation::Required {
        // A webhook may yet set the field of each workload that is made of the template.
        let detail =
            format!("each {kind} made of this is denied unless a webhook sets the field: {brief}");
        let brief =
            format!("each {kind} made of this is denied unless a webhook sets the field ({why})");
        findings.warn(FieldError::forbidden(context.path(), detail).briefly(brief));
        return Ok(());
    }
    let detail = format!("{brief}, {instead}");
    findings.push(FieldError::forbidden(context.path(), detail).briefly(brief));
    Ok(())
}

/// Whom to delegate to.
fn advice(context: &Context<'_>, kind: &str, namespace: &str) -> Result<String, Problems> {
    let names = context.settings.controllers_serving(kind, namespace)?;
    let is_accepted = |name: &&str| match context.kind.form {
        Form::OneOf(values) => values.contains(name),
        Form::Path | Form::Open => true,
    };
    let listed = names.iter().map(|name| &**name).find(is_accepted);
    let unlisted = (!context.settings.has_allow_list()).then_some(MULTIKUEUE);
    Ok(match listed.or(unlisted) {
        Some(name) => format!("to {} for example", go::quote(name)),
        None => "but the settings list no controller for it".to_owned(),
    })
}

/// Whether who asks may make the children of a kind: its status writers are those who reconcile it, here or for another
/// cluster. What the owner was allowed, the child is.
fn makes_children_of(context: &Context<'_>, kind: &str) -> Result<bool, Problems> {
    let (settings, user) = (context.settings, &context.request.user);
    if let Some(writers) = settings.standard_writers(kind)?
        && is_listed(user, &writers)
    {
        return Ok(true);
    }
    for name in settings.controllers_serving(kind, &context.request.namespace)? {
        let controller = settings.controller(&name)?;
        let writers = controller.as_ref().and_then(|c| c.status_writers());
        if writers.is_some_and(|writers| is_listed(user, writers)) {
            return Ok(true);
        }
    }
    Ok(false)
}
