//! `namespaces`: delegation by the namespace and the labels of a workload.

use std::borrow::Cow;
use std::cell::LazyCell;
use std::collections::BTreeMap;

use super::error::{Rejection, SettingsError, SettingsErrors};
use super::parser::{ListSchema, MAX_ENTRIES, Parser, declare_keys};
use super::{Settings, glob};
use crate::decode::{Path, Raw, Type, quote_or_size};

const PATH: Path<'_> = Path::Member(&Path::Root, "namespaces");

declare_keys!(Key {
    "delegation" => Delegation,
    "match" => Match,
    "matchLabels" => MatchLabels,
});

/// Maximum total number of namespace patterns.
const MAX_PATTERNS: usize = 4096;

/// Maximum total number of patterns with a `*`. Each pattern is compared with all earlier ones that have a `*`.
const MAX_WILDCARDS: usize = 512;

const MAX_LABELS: usize = 16;

/// Delegation policy for the workloads in a namespace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delegation {
    /// All workloads must be delegated.
    Required,
    /// No workload may be delegated.
    Forbidden,
    /// Workloads may be delegated.
    #[default]
    Allowed,
}

impl Delegation {
    /// All values, with their names in settings.
    pub const ALL: &[(&'static str, Self)] = &[
        ("required", Self::Required),
        ("forbidden", Self::Forbidden),
        ("allowed", Self::Allowed),
    ];
}

const MATCH_LIST: ListSchema<'_> = ListSchema {
    covers: glob::matches,
    empty_hint: Some("; write \"*\" to mean all"),
    ..ListSchema::new("a list of namespaces", &glob::validate)
};

struct Entry<'a> {
    /// Namespace patterns, or [`None`] for all namespaces.
    patterns: Option<Vec<Cow<'a, str>>>,
    labels: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    delegation: Delegation,
}

impl<'a> Entry<'a> {
    fn read(value: Raw<'a>, path: &Path<'_>, parser: &mut Parser) -> Self {
        let mut patterns = None;
        let mut labels = None;
        // The outer option is [`None`] if the key is missing, the inner one if the value is invalid.
        let mut delegation: Option<Option<Delegation>> = None;
        parser.parse_object(
            value,
            path,
            Key::ALL,
            |parser, value, key, path| match key {
                Key::Match => patterns = Some(parser.parse_string_list(value, path, &MATCH_LIST)),
                Key::MatchLabels => labels = Some(read_labels(value, path, parser)),
                Key::Delegation => {
                    delegation = Some(parser.parse_enum(value, path, Delegation::ALL));
                }
            },
        );
        let is_object = value.json_type() == Type::Object;
        if is_object && patterns.is_none() && labels.is_none() {
            let path = Path::Member(path, "match");
            parser.push(SettingsError::missing(&path, MATCH_LIST.expected));
        }
        if is_object && delegation.is_none() {
            let path = Path::Member(path, "delegation");
            let values: Vec<_> = Delegation::ALL.iter().map(|(value, _)| *value).collect();
            let expected = format!("one of {}", values.join(", "));
            parser.push(SettingsError::missing(&path, &expected));
        }
        Self {
            patterns,
            labels: labels.unwrap_or_default(),
            delegation: delegation.flatten().unwrap_or_default(),
        }
    }
}

impl Entry<'_> {
    fn matches(&self, namespace: &str, has_label: impl Fn(&str, &str) -> bool) -> bool {
        let matches =
            |patterns: &Vec<Cow<'_, str>>| patterns.iter().any(|p| glob::matches(p, namespace));
        self.patterns.as_ref().is_none_or(matches)
            && self.labels.iter().all(|(key, value)| has_label(key, value))
    }
}

/// Rejects an empty value, which Rancher's UI removes together with its label, so that the entry would match more workloads.
fn validate_label_value(value: &str) -> Option<Rejection> {
    let text = "must not be empty; add a value to the label of the workloads";
    value.is_empty().then(|| text.into())
}

fn read_labels<'a>(
    value: Raw<'a>,
    path: &Path<'_>,
    parser: &mut Parser,
) -> Vec<(Cow<'a, str>, Cow<'a, str>)> {
    let expected = "an object of labels, each with a value";
    if !parser.expect_type(value, Type::Object, path, expected) {
        return Vec::new();
    }
    let members = value.members();
    if members.is_empty() || members.len() > MAX_LABELS {
        let text = format!(
            "Invalid value: {} labels: must have 1 to {MAX_LABELS}",
            members.len()
        );
        parser.push(SettingsError::new(path, text));
    }
    let mut labels: Vec<(Cow<'a, str>, Cow<'a, str>)> = Vec::new();
    for (key, value) in members.into_iter().take(MAX_LABELS) {
        let path = Path::Key(path, &key);
        if labels.iter().any(|(known, _)| *known == key) {
            parser.push(SettingsError::duplicate_field(&path));
        }
        let value = parser.parse_string(value, &path, &validate_label_value);
        labels.push((key, value));
    }
    labels
}

impl Settings<'_> {
    /// Returns the delegation for a workload with the given namespace and labels, and the index of the first entry that matches it. If
    /// none matches, the default of the role applies.
    pub(crate) fn delegation(
        &self,
        namespace: &str,
        labels: Option<Raw<'_>>,
    ) -> Result<(Option<usize>, Delegation), SettingsErrors> {
        let labels = LazyCell::new(|| labels.map(Raw::members).unwrap_or_default());
        let has_label = |key: &str, value: &str| {
            // If a member occurs twice, the last one wins.
            let label = labels.iter().rev().find(|(name, _)| name == key);
            label.is_some_and(|(_, label)| label.string().as_deref() == Some(value))
        };
        let mut parser = Parser::without_duplicate_checks();
        let mut found = (None, self.role().delegation());
        for (index, (_, value)) in self.namespaces.iter().enumerate() {
            let path = Path::Index(&PATH, index);
            let entry = Entry::read(*value, &path, &mut parser);
            if entry.matches(namespace, has_label) {
                found = (Some(index), entry.delegation);
                break;
            }
        }
        parser.finish(found)
    }

    /// Reports problems in the entries. Returns the index and delegation of each entry.
    pub(super) fn check_namespaces(&self, parser: &mut Parser) -> Vec<(usize, Delegation)> {
        if self.namespaces.len() > MAX_ENTRIES {
            let text = format!(
                "Too many: {}: must have at most {MAX_ENTRIES} items",
                self.namespaces.len()
            );
            parser.push(SettingsError::new(&PATH, text));
            return Vec::new();
        }
        let mut delegations = Vec::new();
        let mut earlier = EarlierPatterns::default();
        let mut count: usize = 0;
        let mut wildcards: usize = 0;
        for (index, (_, value)) in self.namespaces.iter().enumerate() {
            let path = Path::Index(&PATH, index);
            let entry = Entry::read(*value, &path, parser);
            delegations.push((index, entry.delegation));
            // An entry with labels and no patterns matches all namespaces, but doesn't hide later entries.
            let patterns = entry.patterns.unwrap_or_default();
            count = count.saturating_add(patterns.len());
            let wildcard_count = patterns.iter().filter(|p| p.contains('*')).count();
            wildcards = wildcards.saturating_add(wildcard_count);
            if count > MAX_PATTERNS || wildcards > MAX_WILDCARDS {
                continue;
            }
            let list = Path::Member(&path, "match");
            for (item, pattern) in patterns.iter().enumerate() {
                if let Some(covering) = earlier.covering(pattern) {
                    let pattern = quote_or_size(pattern, "string");
                    let covering = Path::Index(&PATH, covering);
                    let text = format!(
                        "Invalid value: {pattern}: is never reached, because {covering} matches the same namespaces"
                    );
                    parser.push(SettingsError::semantic(&Path::Index(&list, item), text));
                }
            }
            // An entry with labels doesn't hide later entries.
            if entry.labels.is_empty() {
                earlier.add(index, patterns);
            }
        }
        if count > MAX_PATTERNS {
            let text = format!("Too many: {count}: must have at most {MAX_PATTERNS} patterns");
            parser.push(SettingsError::semantic(&PATH, text));
        } else if wildcards > MAX_WILDCARDS {
            let text =
                format!("Too many: {wildcards}: must have at most {MAX_WILDCARDS} patterns with *");
            parser.push(SettingsError::semantic(&PATH, text));
        }
        delegations
    }
}

/// Patterns of earlier entries, with the index of the entry.
#[derive(Default)]
struct EarlierPatterns<'a> {
    names: BTreeMap<Cow<'a, str>, usize>,
    patterns: Vec<(usize, Cow<'a, str>)>,
}

impl<'a> EarlierPatterns<'a> {
    fn add(&mut self, index: usize, patterns: Vec<Cow<'a, str>>) {
        for pattern in patterns {
            if pattern.contains('*') {
                self.patterns.push((index, pattern));
            } else {
                self.names.entry(pattern).or_insert(index);
            }
        }
    }

    fn covering(&self, pattern: &str) -> Option<usize> {
        let same = self.names.get(pattern).copied();
        let mut wider = self.patterns.iter();
        let wider = wider.find(|(_, earlier)| glob::matches(earlier, pattern));
        same.or_else(|| wider.map(|&(index, _)| index))
    }
}
