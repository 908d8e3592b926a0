//! Which names, values and paths an entry may hold.

use crate::settings::problem::Rejection;
use crate::settings::reading::List;
use crate::upstream::names::{MAX_SUBDOMAIN, is_label, is_subdomain};

/// No path may have more segments.
const MAX_SEGMENTS: usize = 16;

/// No status may have more counters, or more totals.
const MAX_COUNTERS: usize = 16;

/// No list of words may be longer.
const MAX_WORDS: usize = 16;

/// No name of a version, a kind or a resource is longer, and no segment of a path.
const MAX_LABEL: usize = 63;

pub(super) const VERSIONS_LIST: List<'_> = List {
    at_most: MAX_WORDS,
    instead_of_none: Some("; leave the key out to mean all"),
    ..List::of("a list of versions", &wrong_version)
};

pub(super) const VALUES_LIST: List<'_> = List {
    at_most: MAX_WORDS,
    instead_of_none: Some("; write any to mean all"),
    ..List::of("path, any, or a list of values", &wrong_value)
};

pub(super) const WORDS_LIST: List<'_> = List {
    at_most: MAX_WORDS,
    instead_of_none: Some(""),
    ..List::of("a list of words", &wrong_value)
};

pub(super) const COUNTERS_LIST: List<'_> = List {
    at_most: MAX_COUNTERS,
    ..List::of("a list of paths", &wrong_counter)
};

pub(super) const TOTALS_LIST: List<'_> = List {
    at_most: MAX_COUNTERS,
    ..List::of("a list of paths", &wrong_status_path)
};

/// What apiextensions asks of `spec.group`: a domain with a dot.
pub(super) fn wrong_group(group: &str) -> Option<Rejection> {
    let right = is_subdomain(group) && group.contains('.') && group.len() <= MAX_SUBDOMAIN;
    (!right).then(|| "expected a domain with a dot, such as argoproj.io".into())
}

fn is_name(name: &str) -> bool {
    is_label(name) && name.len() <= MAX_LABEL && name.starts_with(|c: char| c.is_ascii_lowercase())
}

fn wrong_version(version: &str) -> Option<Rejection> {
    (!is_name(version)).then(|| "expected a version, such as v1alpha1".into())
}

/// What apiextensions asks of `spec.names.kind`: in small letters it is a label.
pub(super) fn wrong_name(kind: &str) -> Option<Rejection> {
    let right =
        is_name(&kind.to_ascii_lowercase()) && kind.starts_with(|c: char| c.is_ascii_uppercase());
    (!right).then(|| "expected the name of a kind, such as Workflow".into())
}

pub(super) fn wrong_plural(plural: &str) -> Option<Rejection> {
    (!is_name(plural))
        .then(|| "expected the name of a resource in small letters, such as workflows".into())
}

pub(super) fn wrong_condition(condition: &str) -> Option<Rejection> {
    condition
        .is_empty()
        .then(|| "expected the type of a condition, such as Succeeded".into())
}

pub(super) fn wrong_value(value: &str) -> Option<Rejection> {
    value
        .is_empty()
        .then(|| "expected a value that is not empty".into())
}

/// What is wrong with the path of the field.
pub(super) fn wrong_field_path(path: &str) -> Option<Rejection> {
    wrong_path(path, "spec", "spec.managedBy", "")
}

/// What is wrong with a path in the status.
pub(super) fn wrong_status_path(path: &str) -> Option<Rejection> {
    wrong_path(path, "status", "status.phase", "")
}

/// What is wrong with the path of a counter, which may be in lists and maps.
fn wrong_counter(path: &str) -> Option<Rejection> {
    wrong_path(path, "status", "status.replicas[].failed", "[]")
}

/// What is wrong with a path that begins with `first`. Each name after that may have `suffix` behind it.
fn wrong_path(path: &str, first: &str, example: &str, suffix: &str) -> Option<Rejection> {
    let is_name = |segment: &str| {
        let name = segment.strip_suffix(suffix).unwrap_or(segment);
        (1..=MAX_LABEL).contains(&name.len())
            && name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
    };
    let mut names = 0_usize;
    let right = path.split('.').all(|segment| {
        names = names.saturating_add(1);
        if names == 1 {
            segment == first
        } else {
            is_name(segment)
        }
    });
    let right = right && (2..=MAX_SEGMENTS).contains(&names);
    (!right).then(|| {
        format!("expected a path such as {example}: {first} and what is in it, at most {MAX_SEGMENTS} names").into()
    })
}
