//! `managed-by/allowed`

use crate::description::{
    Anchor, Anchored, Docs, Documentation, Enforcement, Example, Rule, Scope,
};
use crate::finding::{BadValue, FieldError};
use crate::near::nearest_name;
use crate::rule::{Check, Context, Findings, Run};
use crate::settings::Problems;
use crate::upstream::go;

/// A denial names no more controllers than that.
const MAX_LISTED: usize = 8;

pub(crate) static RULE: Check = Check {
    rule: Rule {
    id: "managed-by/allowed",
    docs: Docs::new(Documentation {
    title: "With `controllers`, `managedBy` names a listed controller",
    text: "\
With the setting `controllers`, checks that a delegated workload names a controller in that list, and that the list allows
this controller for the kind and the namespace. A typo, or a controller that is not installed, orphans the workload, and
nothing reports it.

Runs on create, and on updates that change the value. A stored value is not checked again, and neither is an object that is
being deleted. The template of a CronJob, a RayCronJob or an OptimizationJob is judged like the workloads that come from it.
Templates in other kinds are not judged here. See `managed-by/nested` for those.",
        fix: "Name one of the controllers that the message lists. Or ask the admin to add yours to `controllers`.",
    accepted: Example {
        settings: r#"{"controllers":{"kueue.x-k8s.io/multikueue":{"kinds":["Job"],"namespaces":["team-*"]}}}"#,
        request: r#"{"operation":"CREATE","kind":{"group":"batch","version":"v1","kind":"Job"},"namespace":"team-a",
            "object":{"metadata":{"name":"pi"},"spec":{"managedBy":"kueue.x-k8s.io/multikueue"}}}"#,
    },
    rejected: Example {
        settings: r#"{"controllers":{"kueue.x-k8s.io/multikueue":{"kinds":["Job"],"namespaces":["team-*"]}}}"#,
        request: r#"{"operation":"CREATE","kind":{"group":"batch","version":"v1","kind":"Job"},"namespace":"team-a",
            "object":{"metadata":{"name":"pi"},"spec":{"managedBy":"acme.io/multikueue"}}}"#,
    },
    }),
    anchor: Anchored::new(Anchor::Ours {
        source: "KEP-4368, Debuggability: the cluster's admin may not have installed the controller, and nothing reports it",
    }),
    default: Enforcement::Deny,
    scope: Scope::Site,
    },
    run: Run::Configured(check),
};

fn check<'a>(context: &Context<'a>, findings: &mut Findings<'a>) -> Result<(), Problems> {
    let settings = context.settings;
    let Some(value) = context.kind.mode(context.incoming()).controller() else {
        return Ok(());
    };
    if !settings.has_allow_list() {
        return Ok(());
    }
    let kind = context.kind.workload();
    let namespace = &*context.request.namespace;
    let listed = settings.controller(value)?;
    if listed.is_some_and(|controller| controller.serves(kind, namespace)) {
        return Ok(());
    }
    let names = settings.controllers_serving(kind, namespace)?;
    let place = format!("{kind}s in namespace {}", go::quote(namespace));
    let mut brief = format!("not allowed for {place}");
    let mut detail = format!("no controller is allowed for {place}, leave the field out");
    if !names.is_empty() {
        let shown: Vec<String> = names
            .iter()
            .take(MAX_LISTED)
            .map(|n| go::quote(n))
            .collect();
        detail = format!("allowed for {place}: {}", shown.join(", "));
        if let Some(more) = names.len().checked_sub(MAX_LISTED).filter(|more| *more > 0) {
            detail = format!("{detail} and {more} more");
        }
    }
    if let Some(meant) = nearest_name(value, names.iter().map(|n| &**n)) {
        brief = format!("did you mean {}?", go::quote(meant));
        detail = format!("{brief} {detail}");
    }
    let value = BadValue::String(value.into());
    let error = FieldError::not_supported(context.path(), value, detail);
    findings.push(error.briefly(brief));
    Ok(())
}
