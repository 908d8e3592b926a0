//! `managed-by/delegation`

use crate::description::{Rule, RuleCategory};
use crate::finding::FieldError;
use crate::kind::{FieldLocation, MULTIKUEUE, Reconciler};
use crate::request::Change;
use crate::rule::delegation::{has_queue, workload_labels};
use crate::rule::status_writer::is_listed;
use crate::rule::{Check, CheckFn, Context, Findings, in_namespace, owner, with_article};
use crate::settings::{Delegation, SettingsErrors};
use crate::upstream::go;

pub(crate) static RULE: Check = Check::new(
    Rule::policy("managed-by/delegation", include_str!("delegation.md"))
        .with_category(RuleCategory::ClusterSpecific)
        .with_cel(&["forbiddenDelegation", "requiredDelegation"]),
    CheckFn::Configured(check),
);

fn check<'a>(context: &Context<'a>, findings: &mut Findings<'a>) -> Result<(), SettingsErrors> {
    let new = match context.change {
        Change::Create { object } | Change::Stored { object } => context.reconciler(object),
        Change::Update { object, old } => {
            let new = context.reconciler(object);
            if new == context.reconciler(old) {
                return Ok(());
            }
            new
        }
        Change::UpdateStatus { .. } => return Ok(()),
    };
    let kind = context.kind.workload_kind();
    let namespace = &*context.request.namespace;
    let object = context.change.object();
    let labels = workload_labels(context.kind, object);
    let (entry, delegation) = context.settings.delegation(namespace, labels)?;
    let is_template = context.kind.location != FieldLocation::Workload;
    let (verb, hint) = match (delegation, new) {
        (Delegation::Forbidden, Reconciler::Delegated(_)) => {
            ("must not", "; remove the field".to_owned())
        }
        (Delegation::Required, Reconciler::BuiltIn) if context.kind.can_require_delegation => {
            let settings = context.settings;
            let mut names = settings.controllers_for(kind, namespace)?;
            if !settings.has_allow_list() {
                names.push(MULTIKUEUE.into());
            }
            // Kueue's webhook delegates workloads with a queue before this policy evaluates them.
            let is_queued = is_template
                && !context.kind.is_declared
                && names.iter().any(|name| name == MULTIKUEUE)
                && has_queue(context, labels)?;
            let owner = owner::workload(context, object)?.map(|owner| owner.kind);
            if is_queued || is_controller_of(context, owner.as_deref())? {
                return Ok(());
            }
            let mut hint = match names
                .iter()
                .find(|name| context.kind.constraint.accepts(name))
            {
                Some(name) => format!(
                    ", for example {}, or ask an admin for an exception",
                    go::quote(name)
                ),
                None => {
                    ", but the settings list no controller for this kind and namespace".to_owned()
                }
            };
            if let Some(owner) = owner {
                hint.push_str("; if this user is the controller of ");
                hint.push_str(&owner);
                hint.push_str("s, list it in builtin_status_writers.");
                hint.push_str(&owner);
            }
            ("must", hint)
        }
        _ => return Ok(()),
    };
    let reason = match entry {
        Some(index) => format!("namespaces[{index}] of the settings"),
        None => format!("role {}", context.settings.role().as_str()),
    };
    let brief = format!(
        "{}{} {verb} name an external controller ({reason})",
        with_article(kind),
        in_namespace(namespace)
    );
    if is_template && delegation == Delegation::Required {
        // Another webhook may still set the field of workloads created from the template.
        let detail = format!(
            "each {kind} created from this template is denied unless a webhook sets the field ({reason})"
        );
        findings.warn(FieldError::forbidden(context.path(), detail));
        return Ok(());
    }
    let detail = format!("{brief}{hint}");
    findings.push(FieldError::forbidden(context.path(), detail).with_short_detail(brief));
    Ok(())
}

/// Returns true if the user is a listed status writer of a kind, and so may create its children. Children need not be delegated,
/// because the rule already checked their owner.
fn is_controller_of(context: &Context<'_>, kind: Option<&str>) -> Result<bool, SettingsErrors> {
    let Some(kind) = kind else { return Ok(false) };
    let (settings, user) = (context.settings, &context.request.user);
    if let Some(writers) = settings.builtin_writers(kind)?
        && is_listed(user, &writers)
    {
        return Ok(true);
    }
    let namespace = &context.request.namespace;
    settings.any_status_writers(kind, namespace, |writers| is_listed(user, writers))
}
