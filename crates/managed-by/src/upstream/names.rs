//! Validation of names as in apimachinery (`k8s.io/apimachinery/pkg/util/validation`).

/// Maximum length of `managedBy` in bytes (`maxManagedByLength`).
pub(crate) const MAX_MANAGED_BY: usize = 63;

/// Maximum length of a subdomain (`DNS1123SubdomainMaxLength`).
pub(crate) const MAX_SUBDOMAIN: usize = 253;

/// Returns true if a value is a domain-prefixed path of at most 63 bytes (`IsDomainPrefixedPath`, `validateJobSpec`).
pub(crate) fn is_valid_managed_by(value: &str) -> bool {
    let parts = value
        .split_once('/')
        .filter(|_| value.len() <= MAX_MANAGED_BY);
    parts.is_some_and(|(domain, path)| is_subdomain(domain) && is_path(path))
}

/// Returns true if a name is an RFC 1123 subdomain of any length.
pub(crate) fn is_subdomain(name: &str) -> bool {
    name.split('.').all(is_label)
}

/// Returns true if a label matches `[a-z0-9]([-a-z0-9]*[a-z0-9])?`. The labels of a subdomain have no length limit.
pub(crate) fn is_label(label: &str) -> bool {
    let alphanumeric = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let bytes = label.as_bytes();
    bytes.first().is_some_and(alphanumeric)
        && bytes.last().is_some_and(alphanumeric)
        && bytes.iter().all(|b| *b == b'-' || alphanumeric(b))
}

/// Returns true if a text consists of characters of an RFC 3986 path (`httpPathFmt`), and is not empty.
pub(crate) fn is_path(path: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&b);
    !path.is_empty() && path.bytes().all(allowed)
}
