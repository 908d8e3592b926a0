//! Validation of names, values and paths in entries.

use crate::settings::error::Rejection;
use crate::settings::parser::ListSchema;
use crate::upstream::names::{MAX_SUBDOMAIN, is_label, is_subdomain};

/// Maximum number of segments in a path.
const MAX_SEGMENTS: usize = 16;

/// Maximum number of counters, and of totals.
const MAX_COUNTERS: usize = 16;

const MAX_VALUES: usize = 16;

/// Maximum length of the name of a version, kind or resource, and of a path segment.
const MAX_LABEL: usize = 63;

pub(super) const VERSIONS_LIST: ListSchema<'_> = ListSchema {
    max_items: MAX_VALUES,
    empty_hint: Some("; leave the key out to mean all"),
    ..ListSchema::new("a list of versions", &validate_version)
};

pub(super) const VALUES_LIST: ListSchema<'_> = ListSchema {
    max_items: MAX_VALUES,
    empty_hint: Some("; write \"any\" to accept every value"),
    ..ListSchema::new("\"path\", \"any\", or a list of values", &validate_value)
};

pub(super) const FIELD_VALUES_LIST: ListSchema<'_> = ListSchema {
    max_items: MAX_VALUES,
    empty_hint: Some(""),
    ..ListSchema::new(
        "a list of field values, such as [Succeeded]",
        &validate_value,
    )
};

pub(super) const COUNTERS_LIST: ListSchema<'_> = ListSchema {
    max_items: MAX_COUNTERS,
    ..ListSchema::new("a list of paths", &validate_counter_path)
};

pub(super) const TOTALS_LIST: ListSchema<'_> = ListSchema {
    max_items: MAX_COUNTERS,
    ..ListSchema::new("a list of paths", &validate_status_path)
};

/// Validates a group like `spec.group` of a CRD: a domain with a dot.
pub(super) fn validate_group(group: &str) -> Option<Rejection> {
    let is_valid = is_subdomain(group) && group.contains('.') && group.len() <= MAX_SUBDOMAIN;
    (!is_valid).then(|| "must be a domain with a dot, such as argoproj.io".into())
}

fn is_name(name: &str) -> bool {
    is_label(name) && name.len() <= MAX_LABEL && name.starts_with(|c: char| c.is_ascii_lowercase())
}

fn validate_version(version: &str) -> Option<Rejection> {
    (!is_name(version)).then(|| "must be a version, such as v1alpha1".into())
}

/// Validates a kind like `spec.names.kind` of a CRD: starts with an uppercase letter, and is a valid label when lowercased.
pub(super) fn validate_kind_name(kind: &str) -> Option<Rejection> {
    let is_valid =
        is_name(&kind.to_ascii_lowercase()) && kind.starts_with(|c: char| c.is_ascii_uppercase());
    (!is_valid).then(|| "must be the name of a kind, such as Workflow".into())
}

pub(super) fn validate_plural(plural: &str) -> Option<Rejection> {
    (!is_name(plural))
        .then(|| "must be the name of a resource in lower case, such as workflows".into())
}

pub(super) fn validate_condition(condition: &str) -> Option<Rejection> {
    condition
        .is_empty()
        .then(|| "must be the type of a condition, such as Succeeded".into())
}

pub(super) fn validate_value(value: &str) -> Option<Rejection> {
    value
        .is_empty()
        .then(|| "must be a value that is not empty".into())
}

pub(super) fn validate_field_path(path: &str) -> Option<Rejection> {
    validate_path(path, "spec", "spec.managedBy", "")
}

pub(super) fn validate_status_path(path: &str) -> Option<Rejection> {
    validate_path(path, "status", "status.phase", "")
}

/// Validates the path of a counter, which may contain lists and maps.
fn validate_counter_path(path: &str) -> Option<Rejection> {
    validate_path(path, "status", "status.replicas[].failed", "[]")
}

/// Validates a path that starts with `first`. Each further segment may end in `suffix`.
fn validate_path(path: &str, first: &str, example: &str, suffix: &str) -> Option<Rejection> {
    let is_name = |segment: &str| {
        let name = segment.strip_suffix(suffix).unwrap_or(segment);
        (1..=MAX_LABEL).contains(&name.len())
            && name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
    };
    let mut names = 0_usize;
    let is_valid = path.split('.').all(|segment| {
        names = names.saturating_add(1);
        if names == 1 {
            segment == first
        } else {
            is_name(segment)
        }
    });
    let is_valid = is_valid && (2..=MAX_SEGMENTS).contains(&names);
    (!is_valid).then(|| {
        format!("must be a path such as {example}: {first} and fields below it, at most {MAX_SEGMENTS} names").into()
    })
}
