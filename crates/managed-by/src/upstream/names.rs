//! The names that apimachinery's validation accepts (`k8s.io/apimachinery/pkg/util/validation`).

/// `maxManagedByLength`, compared with Go's `len`, which counts bytes.
pub(crate) const MAX_MANAGED_BY: usize = 63;

/// `DNS1123SubdomainMaxLength`.
pub(crate) const MAX_SUBDOMAIN: usize = 253;

/// Whether a value is a domain-prefixed path of at most 63 bytes (`IsDomainPrefixedPath`, `validateJobSpec`).
pub(crate) fn is_managed_by(value: &str) -> bool {
    let parts = value
        .split_once('/')
        .filter(|_| value.len() <= MAX_MANAGED_BY);
    parts.is_some_and(|(domain, path)| is_subdomain(domain) && is_path(path))
}

/// Whether a name has the form of an RFC 1123 subdomain, however long it is.
pub(crate) fn is_subdomain(name: &str) -> bool {
    name.split('.').all(is_label)
}

/// `[a-z0-9]([-a-z0-9]*[a-z0-9])?`: a subdomain sets no limit to the length of its labels.
pub(crate) fn is_label(label: &str) -> bool {
    let alphanumeric = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let bytes = label.as_bytes();
    bytes.first().is_some_and(alphanumeric)
        && bytes.last().is_some_and(alphanumeric)
        && bytes.iter().all(|b| *b == b'-' || alphanumeric(b))
}

/// Whether a text is one or more of the characters of an RFC 3986 path (`httpPathFmt`).
pub(crate) fn is_path(path: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&b);
    !path.is_empty() && path.bytes().all(allowed)
}
