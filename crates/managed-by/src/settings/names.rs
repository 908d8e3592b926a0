//! Validation of the names of users, groups and controllers.

use super::error::Rejection;
use crate::kind::{EXTERNAL_CONTROLLERS, RESERVED_VALUES};
use crate::suggest::{did_you_mean, nearest_name};
use crate::upstream::names::{MAX_MANAGED_BY, MAX_SUBDOMAIN, is_label, is_path, is_subdomain};

const SERVICE_ACCOUNT: &str = "system:serviceaccount:";
const SERVICE_ACCOUNTS: &str = "system:serviceaccounts";

/// Built-in groups of Kubernetes. A user with such a name is almost certainly a mistake.
const GROUPS: [&str; 4] = [
    "system:authenticated",
    "system:masters",
    "system:unauthenticated",
    SERVICE_ACCOUNTS,
];

/// Maximum length of a label's key after its domain.
const MAX_LABEL_NAME: usize = 63;

pub(super) fn validate_user(name: &str) -> Option<Rejection> {
    if is_group(name) {
        return Some("must be a user, not a group".into());
    }
    validate_user_or_group(name)
}

pub(super) fn validate_group(name: &str) -> Option<Rejection> {
    if name.starts_with(SERVICE_ACCOUNT) {
        return Some("must be a group, not a user".into());
    }
    validate_user_or_group(name)
}

pub(super) fn validate_user_or_group(name: &str) -> Option<Rejection> {
    if name.is_empty()
        || name.starts_with(' ')
        || name.ends_with(' ')
        || name.bytes().any(|b| b.is_ascii_control() || b == b'*')
    {
        let text = "must be an exact name: not empty, without leading or trailing spaces, control characters or *";
        return Some(text.into());
    }
    let account = name.strip_prefix(SERVICE_ACCOUNT)?;
    let is_valid = account
        .split_once(':')
        .is_some_and(|(namespace, name)| is_label(namespace) && is_subdomain(name));
    (!is_valid).then(|| format!("must be {SERVICE_ACCOUNT}NAMESPACE:NAME").into())
}

fn is_group(name: &str) -> bool {
    let accounts = name.strip_prefix(SERVICE_ACCOUNTS);
    GROUPS.contains(&name) || accounts.is_some_and(|rest| rest.starts_with(':'))
}

/// Validates the key of a label (`IsQualifiedName` in apimachinery).
pub(super) fn validate_label_key(key: &str) -> Option<Rejection> {
    let (domain, name) = key.split_once('/').unwrap_or(("a", key));
    let is_alphanumeric = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = name.as_bytes();
    let is_valid = is_subdomain(domain)
        && domain.len() <= MAX_SUBDOMAIN
        && bytes.len() <= MAX_LABEL_NAME
        && is_alphanumeric(bytes.first())
        && is_alphanumeric(bytes.last())
        && bytes
            .iter()
            .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(b));
    (!is_valid).then(|| "must be a label's key, such as example.com/queue".into())
}

/// Validates the name of an external controller. The domain is optional, because some kinds accept any string.
pub(super) fn validate_controller(name: &str) -> Option<Rejection> {
    let mut reserved = RESERVED_VALUES.iter();
    if let Some((_, runs)) = reserved.find(|(reserved, _)| *reserved == name) {
        return Some(built_in(runs));
    }
    let is_valid = match name.split_once('/') {
        Some((domain, path)) => is_subdomain(domain) && is_path(path),
        None => is_path(name),
    };
    if is_valid && name.len() <= MAX_MANAGED_BY {
        return None;
    }
    let text = format!(
        "must be a controller's name: a domain-prefixed path such as acme.io/runner, at most {MAX_MANAGED_BY} bytes"
    );
    Some(Rejection::with_nearest(text, name, EXTERNAL_CONTROLLERS))
}

/// Rejects the name of a kind's built-in controller.
#[inline(never)]
pub(super) fn built_in(kind: &str) -> Rejection {
    let text = format!(
        "must be an external controller; the built-in controller of {kind} is always allowed"
    );
    text.into()
}

/// Rejects a name without the domain of the known external controller that it means, and unless `lists_unknown` is true, any other name under a
/// domain whose controllers are known.
#[inline(never)]
pub(super) fn nearest_external(name: &str, lists_unknown: bool) -> Option<Rejection> {
    let (domain, path) = name.split_once('/').unwrap_or((name, ""));
    let is_domain_of = |known: &str| {
        known
            .strip_prefix(domain)
            .is_some_and(|rest| rest.starts_with('/'))
    };
    let is_unknown = !lists_unknown
        && !EXTERNAL_CONTROLLERS.contains(&name)
        && (RESERVED_VALUES.iter().any(|(known, _)| is_domain_of(known))
            || EXTERNAL_CONTROLLERS.iter().any(|known| is_domain_of(known)));
    if !is_unknown && !path.is_empty() {
        return None;
    }
    let known = nearest_name(name, EXTERNAL_CONTROLLERS.iter().copied());
    let text = if is_unknown {
        "no known controller has this name"
    } else {
        known?;
        "must have a domain"
    };
    let text = match known {
        Some(known) => [text, "; ", &did_you_mean(known)].concat(),
        None => text.to_owned(),
    };
    Some(Rejection::with_suggestion(text, known.map(str::to_owned)).semantic())
}
