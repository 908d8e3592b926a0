//! `managed-by/reserved-domain`

use crate::description::{Enforcement, Rule};
use crate::kind::{EXTERNAL_CONTROLLERS, Kind, RESERVED_VALUES};
use crate::rule::{Check, CheckFn, Context, Findings};
use crate::settings::SettingsErrors;
use crate::suggest::{did_you_mean, nearest};

/// Domains of the Kubernetes project, including their subdomains.
const KUBERNETES_DOMAINS: [&str; 3] = ["kubernetes.io", "k8s.io", "x-k8s.io"];

pub(crate) static RULE: Check = Check::new(
    Rule::policy(
        "managed-by/reserved-domain",
        include_str!("reserved-domain.md"),
    )
    .with_default(Enforcement::Warn)
    .with_cel(&["reservedDomain"]),
    CheckFn::Configured(check),
);

/// Returns the known controller names, including the reserved value of a kind from `custom_kinds`.
fn known_controllers<'k>(kind: &Kind<'k>) -> impl Iterator<Item = &'k str> {
    let reserved = RESERVED_VALUES.iter().map(|&(name, _)| name);
    let declared = kind.reserved_value.filter(|_| kind.is_declared);
    reserved
        .chain(EXTERNAL_CONTROLLERS.iter().copied())
        .chain(declared)
}

/// Returns the known controller that a name in the setting `controllers` probably means, like the rule does for a value of `managedBy`:
/// the name is under a domain that only known controllers use, and near one of theirs. Listing the name turns the rule off for it.
pub fn likely_typo(listed: &str) -> Option<&'static str> {
    let (domain, _) = listed.split_once('/')?;
    let known = || known_controllers(&Kind::EMPTY);
    let is_unknown = is_reserved(domain, &Kind::EMPTY) && known().all(|name| name != listed);
    nearest(listed, known()).filter(|_| is_unknown)
}

fn check<'a>(context: &Context<'a>, findings: &mut Findings<'a>) -> Result<(), SettingsErrors> {
    let Some(value) = context.new_managed_by() else {
        return Ok(());
    };
    let Some((domain, _)) = value.split_once('/') else {
        return Ok(());
    };
    let kind = context.kind;
    if !is_reserved(domain, kind) || known_controllers(kind).any(|name| name == value) {
        return Ok(());
    }
    // Listed controllers are known, whatever their domain.
    if context.settings.controller(value)?.is_some() {
        return Ok(());
    }
    let mut detail = "no known controller has this name".to_owned();
    let suggestion = nearest(value, known_controllers(kind));
    if let Some(name) = suggestion {
        detail.push_str("; ");
        detail.push_str(&did_you_mean(name));
    }
    let mut error = context.invalid(value, detail);
    if let Some(name) = suggestion {
        error = error.with_suggestion(name);
    }
    findings.push(error);
    Ok(())
}

fn is_reserved(domain: &str, kind: &Kind<'_>) -> bool {
    let is_in_project = |project: &str| {
        let rest = domain.strip_suffix(project);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    let is_domain_of = |name: &str| name.split_once('/').is_some_and(|(d, _)| d == domain);
    KUBERNETES_DOMAINS.into_iter().any(is_in_project)
        || RESERVED_VALUES.iter().any(|(name, _)| is_domain_of(name))
        || kind.reserved_value.is_some_and(is_domain_of)
}
