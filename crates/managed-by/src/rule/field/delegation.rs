//! `managed-by/delegation`

use crate::description::{Anchor, Docs, Documentation, Enforcement, Example, Rule, Scope};
use crate::finding::FieldError;
use crate::kind::{Form, Holder, MULTIKUEUE, Mode};
use crate::request::Change;
use crate::rule::{Check, Context, Findings, Run};
use crate::settings::{Delegation, Problems, Role};
use crate::upstream::go;

pub(crate) static RULE: Check = Check {
    rule: Rule {
    id: "managed-by/delegation",
    docs: Docs::new(Documentation {
    title: "Workloads are delegated where they must be, and nowhere else",
    text: "\
With the settings `role` and `namespaces`, checks whether a workload may be delegated, or must be. A worker cluster runs
what it is given: a workload delegated there waits for a controller that looks elsewhere. A management cluster runs
nothing itself: a workload that is not delegated starts on it, or waits for ever. The first entry of `namespaces` that
matches decides, without one the role does: `worker` forbids, `management` requires, `hybrid` allows both.

Runs on create, and on updates that delegate the workload or take it back; not on objects that are being deleted. A
template may not delegate where that is forbidden, but need not where it is required: the workloads made of it are judged
themselves. On a management cluster Kueue's webhook sets the field before this policy looks.",
        fix: "Name a controller where delegation is required, leave the field out where it is forbidden; which is which stands in `namespaces` and `role`.",
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
    anchor: Anchor::Ours {
        source: "Kueue, MultiKueue: the manager cluster delegates, and the copy on a worker cluster has no managedBy",
    },
    default: Enforcement::Deny,
    scope: Scope::Site,
    },
    run: Run::Site(check),
};

fn check<'a>(context: &Context<'a>, findings: &mut Findings<'a>) -> Result<(), Problems> {
    let new = match context.change {
        Change::Create { object } => context.mode(object),
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
    let (entry, delegation) = context.settings.delegation(namespace)?;
    let (must, instead) = match (delegation, new) {
        (Delegation::Forbidden, Mode::Delegated(_)) => {
            ("must not", "leave the field out".to_owned())
        }
        (Delegation::Required, Mode::Standard) if context.kind.holder == Holder::Workload => {
            let names = context.settings.controllers_serving(kind, namespace)?;
            let accepted = |name: &&str| match context.kind.form {
                Form::OneOf(values) => values.contains(name),
                Form::Path | Form::Open => true,
            };
            let listed = names.iter().map(|name| &**name).find(accepted);
            let unlisted = (!context.settings.has_allow_list()).then_some(MULTIKUEUE);
            let instead = match listed.or(unlisted) {
                Some(name) => format!("to {} for example", go::quote(name)),
                None => "but the settings list no controller for it".to_owned(),
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
    let detail = format!("{brief}, {instead}");
    findings.push(FieldError::forbidden(context.path(), detail).briefly(brief));
    Ok(())
}
