//! Names of users, groups and controllers, as far as their form can be judged.

use super::problem::Rejection;
use crate::kind::{EXTERNAL, RESERVED};
use crate::near::nearest_name;
use crate::upstream::names::{MAX_MANAGED_BY, is_label, is_path, is_subdomain};

const SERVICE_ACCOUNT: &str = "system:serviceaccount:";
const SERVICE_ACCOUNTS: &str = "system:serviceaccounts";

/// Groups that kube-apiserver adds to users. No user has such a name.
const GROUPS: [&str; 4] = [
    "system:authenticated",
    "system:masters",
    "system:unauthenticated",
    SERVICE_ACCOUNTS,
];

/// What is wrong with the name of a user.
pub(super) fn wrong_user(name: &str) -> Option<Rejection> {
    if is_group(name) {
        return Some("this is a group, expected a user".into());
    }
    wrong_user_or_group(name)
}

/// What is wrong with the name of a group.
pub(super) fn wrong_group(name: &str) -> Option<Rejection> {
    if name.starts_with(SERVICE_ACCOUNT) {
        return Some("this is a user, expected a group".into());
    }
    wrong_user_or_group(name)
}

/// What is wrong with the name of a user or a group.
pub(super) fn wrong_user_or_group(name: &str) -> Option<Rejection> {
    if name.is_empty()
        || name.starts_with(' ')
        || name.ends_with(' ')
        || name.bytes().any(|b| b.is_ascii_control() || b == b'*')
    {
        let text = "expected a name: not empty, no space at either end, no control character, no * \
                    (names are compared as they are)";
        return Some(text.into());
    }
    let account = name.strip_prefix(SERVICE_ACCOUNT)?;
    let right = account
        .split_once(':')
        .is_some_and(|(namespace, name)| is_label(namespace) && is_subdomain(name));
    (!right).then(|| format!("expected {SERVICE_ACCOUNT}NAMESPACE:NAME").into())
}

fn is_group(name: &str) -> bool {
    let accounts = name.strip_prefix(SERVICE_ACCOUNTS);
    GROUPS.contains(&name) || accounts.is_some_and(|rest| rest.starts_with(':'))
}

/// What is wrong with the name of an external controller. A kind whose API leaves the form open may name one without a
/// domain, so that is no mistake.
pub(super) fn wrong_controller(name: &str) -> Option<Rejection> {
    if let Some((_, runs)) = RESERVED.iter().find(|(reserved, _)| *reserved == name) {
        let text = format!(
            "the built-in controller of {runs} needs no permission, expected an external one"
        );
        return Some(text.into());
    }
    let right = match name.split_once('/') {
        Some((domain, path)) => is_subdomain(domain) && is_path(path),
        None => is_path(name),
    };
    if right && name.len() <= MAX_MANAGED_BY {
        return None;
    }
    let text = format!(
        "expected a controller's name: a domain-prefixed path such as acme.io/runner, at most {MAX_MANAGED_BY} bytes"
    );
    Some(Rejection::with_nearest(text, name, EXTERNAL))
}

/// The known controller that a name without a domain looks like.
pub(super) fn lost_domain(name: &str) -> Option<&'static str> {
    let bare = (!name.contains('/')).then_some(name)?;
    nearest_name(bare, EXTERNAL.iter().copied())
}
