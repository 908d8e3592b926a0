//! `namespaces`: where workloads must, may and must not be delegated.

use std::borrow::Cow;
use std::cell::LazyCell;
use std::collections::BTreeMap;

use super::problem::{Problem, Problems};
use super::reading::{List, MAX_ENTRIES, Reading, declare_keys};
use super::{Settings, glob};
use crate::decode::{Path, Raw, Type, shown};

const PATH: Path<'_> = Path::Member(&Path::Root, "namespaces");

declare_keys!(Key {
    "delegation" => Delegation,
    "match" => Match,
    "matchLabels" => MatchLabels,
});

/// No settings may have more patterns for namespaces in all.
const MAX_PATTERNS: usize = 4096;

/// No settings may have more of them with a `*`: each pattern is compared with the ones of these before it.
const MAX_WILDCARDS: usize = 512;

/// No entry may ask for more labels.
const MAX_LABELS: usize = 16;

/// Whether workloads are delegated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Delegation {
    /// All of them.
    Required,
    /// None.
    Forbidden,
    /// Each as its author likes.
    #[default]
    Allowed,
}

impl Delegation {
    /// All of them, as settings name them.
    pub const ALL: &[(&'static str, Self)] = &[
        ("required", Self::Required),
        ("forbidden", Self::Forbidden),
        ("allowed", Self::Allowed),
    ];
}

const MATCH_LIST: List<'_> = List {
    covers: glob::matches,
    instead_of_none: Some("; write \"*\" to mean all"),
    ..List::of("a list of namespaces", &glob::wrong)
};

/// One entry.
struct Entry<'a> {
    /// [`None`] is every namespace.
    patterns: Option<Vec<Cow<'a, str>>>,
    /// The labels that the object must have.
    labels: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    delegation: Delegation,
}

impl<'a> Entry<'a> {
    fn read(value: Raw<'a>, path: &Path<'_>, reading: &mut Reading) -> Self {
        let mut patterns = None;
        let mut labels = None;
        // The outer one: whether the key is there. The inner one: whether what it holds is right.
        let mut delegation: Option<Option<Delegation>> = None;
        reading.fields(
            value,
            path,
            Key::ALL,
            |reading, value, key, path| match key {
                Key::Match => patterns = Some(reading.strings(value, path, &MATCH_LIST)),
                Key::MatchLabels => labels = Some(read_labels(value, path, reading)),
                Key::Delegation => delegation = Some(reading.word(value, path, Delegation::ALL)),
            },
        );
        let is_object = value.json_type() == Type::Object;
        if is_object && patterns.is_none() && labels.is_none() {
            let path = Path::Member(path, "match");
            reading.push(Problem::missing(&path, MATCH_LIST.expected));
        }
        if is_object && delegation.is_none() {
            let path = Path::Member(path, "delegation");
            let words: Vec<_> = Delegation::ALL.iter().map(|(word, _)| *word).collect();
            let expected = format!("one of {}", words.join(", "));
            reading.push(Problem::missing(&path, &expected));
        }
        Self {
            patterns,
            labels: labels.unwrap_or_default(),
            delegation: delegation.flatten().unwrap_or_default(),
        }
    }
}

impl Entry<'_> {
    fn matches(&self, namespace: &str, has: impl Fn(&str, &str) -> bool) -> bool {
        let of_namespace =
            |patterns: &Vec<Cow<'_, str>>| patterns.iter().any(|p| glob::matches(p, namespace));
        self.patterns.as_ref().is_none_or(of_namespace)
            && self.labels.iter().all(|(key, value)| has(key, value))
    }
}

/// Reads labels that an object must have.
fn read_labels<'a>(
    value: Raw<'a>,
    path: &Path<'_>,
    reading: &mut Reading,
) -> Vec<(Cow<'a, str>, Cow<'a, str>)> {
    let expected = "an object of labels, each with a value";
    if !reading.is(value, Type::Object, path, expected) {
        return Vec::new();
    }
    let members = value.members();
    if members.is_empty() || members.len() > MAX_LABELS {
        let text = format!("got {} labels, expected 1 to {MAX_LABELS}", members.len());
        reading.push(Problem::new(path, text));
    }
    let mut labels: Vec<(Cow<'a, str>, Cow<'a, str>)> = Vec::new();
    for (key, value) in members.into_iter().take(MAX_LABELS) {
        let path = Path::Quoted(path, &key);
        if labels.iter().any(|(known, _)| *known == key) {
            reading.push(Problem::twice(&path));
        }
        if reading.is(value, Type::String, &path, "a string") {
            let value = value.string().unwrap_or_default();
            labels.push((key, value));
        }
    }
    labels
}

impl Settings<'_> {
    /// Whether workloads of a namespace and with labels are delegated, with the place of the first entry of `namespaces` that
    /// matches; without one it is the role.
    pub(crate) fn delegation(
        &self,
        namespace: &str,
        labels: Option<Raw<'_>>,
    ) -> Result<(Option<usize>, Delegation), Problems> {
        let labels = LazyCell::new(|| labels.map(Raw::members).unwrap_or_default());
        let has_label = |key: &str, value: &str| {
            // Of two members with one name the last counts.
            let label = labels.iter().rev().find(|(name, _)| name == key);
            label.is_some_and(|(_, label)| label.string().as_deref() == Some(value))
        };
        let mut reading = Reading::lazy();
        let mut found = (None, self.role().delegation());
        for (index, (_, value)) in self.namespaces.iter().enumerate() {
            let path = Path::Index(&PATH, index);
            let entry = Entry::read(*value, &path, &mut reading);
            if entry.matches(namespace, has_label) {
                found = (Some(index), entry.delegation);
                break;
            }
        }
        reading.end(found)
    }

    /// Notes everything that is wrong with the entries, and gives what each says, with its place.
    pub(super) fn check_namespaces(&self, reading: &mut Reading) -> Vec<(usize, Delegation)> {
        if self.namespaces.len() > MAX_ENTRIES {
            let text = format!(
                "got {} entries, expected at most {MAX_ENTRIES}",
                self.namespaces.len()
            );
            reading.push(Problem::new(&PATH, text));
            return Vec::new();
        }
        let mut delegations = Vec::new();
        let mut earlier = Earlier::default();
        let mut count: usize = 0;
        let mut wildcards: usize = 0;
        for (index, (_, value)) in self.namespaces.iter().enumerate() {
            let path = Path::Index(&PATH, index);
            let entry = Entry::read(*value, &path, reading);
            delegations.push((index, entry.delegation));
            // An entry without patterns, and with labels, is about all namespaces, and leaves something to every later one.
            let patterns = entry.patterns.unwrap_or_default();
            count = count.saturating_add(patterns.len());
            let with_star = patterns.iter().filter(|p| p.contains('*')).count();
            wildcards = wildcards.saturating_add(with_star);
            if count > MAX_PATTERNS || wildcards > MAX_WILDCARDS {
                continue;
            }
            let list = Path::Member(&path, "match");
            for (item, pattern) in patterns.iter().enumerate() {
                if let Some(by) = earlier.covering(pattern) {
                    let pattern = shown(pattern, "string");
                    let by = Path::Index(&PATH, by);
                    let text = format!("{pattern} is never reached: {by} matches all of it");
                    reading.push(Problem::semantic(&Path::Index(&list, item), text));
                }
            }
            // An entry that asks for labels leaves the other objects to later ones.
            if entry.labels.is_empty() {
                earlier.add(index, patterns);
            }
        }
        if count > MAX_PATTERNS {
            let text = format!("got {count} patterns in all, expected at most {MAX_PATTERNS}");
            reading.push(Problem::semantic(&PATH, text));
        } else if wildcards > MAX_WILDCARDS {
            let text = format!("got {wildcards} patterns with *, expected at most {MAX_WILDCARDS}");
            reading.push(Problem::semantic(&PATH, text));
        }
        delegations
    }
}

/// The patterns of earlier entries, with the entries' places.
#[derive(Default)]
struct Earlier<'a> {
    names: BTreeMap<Cow<'a, str>, usize>,
    patterns: Vec<(usize, Cow<'a, str>)>,
}

impl<'a> Earlier<'a> {
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
