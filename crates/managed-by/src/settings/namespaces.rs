//! `namespaces`: where workloads must, may and must not be delegated.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::glob;
use super::problem::{Problem, Problems};
use super::reading::{List, MAX_ENTRIES, MAX_ITEMS, Reading};
use crate::decode::{Part, Parts, Path, Raw, Type, shown};

const PATH: Path<'_> = Path::Member(&Path::Root, "namespaces");

const KEYS: [&str; 3] = ["delegation", "match", "matchLabels"];

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

/// The entries, in order. One is decoded when it is its turn.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Namespaces<'a> {
    entries: Parts<'a>,
}

const MATCH_LIST: List<'_> = List {
    expected: "a list of namespaces",
    wrong: &glob::wrong,
    is_semantic: false,
    covers: glob::covers,
    at_most: MAX_ITEMS,
    instead_of_none: Some("; write \"*\" to mean all"),
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
            &KEYS,
            |reading, value, name, path| match name {
                "match" => patterns = Some(reading.strings(value, path, &MATCH_LIST)),
                "matchLabels" => labels = Some(read_labels(value, path, reading)),
                _ => delegation = Some(reading.word(value, path, Delegation::ALL)),
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
    fn matches(&self, namespace: &str, labels: &mut Labels<'_>) -> bool {
        let of_namespace =
            |patterns: &Vec<Cow<'_, str>>| patterns.iter().any(|p| glob::matches(p, namespace));
        self.patterns.as_ref().is_none_or(of_namespace)
            && self
                .labels
                .iter()
                .all(|(key, value)| labels.has(key, value))
    }
}

/// The labels of an object, decoded when an entry asks for one.
struct Labels<'a> {
    json: Option<Raw<'a>>,
    decoded: Option<Vec<(Cow<'a, str>, Raw<'a>)>>,
}

impl Labels<'_> {
    fn has(&mut self, key: &str, value: &str) -> bool {
        let json = self.json;
        let decode = || json.map(Raw::members).unwrap_or_default();
        let labels = self.decoded.get_or_insert_with(decode);
        // Of two members with one name the last counts.
        let label = labels.iter().rev().find(|(name, _)| name == key);
        label.is_some_and(|(_, label)| label.string().as_deref() == Some(value))
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

impl<'a> Namespaces<'a> {
    /// Finds the entries.
    pub(super) fn read(section: &Part<'a>, reading: &mut Reading) -> Self {
        let expected = "a list of entries with match and delegation";
        let is_list = reading.is(section.raw(), Type::Array, &PATH, expected);
        Self {
            entries: if is_list {
                section.parts().into_owned()
            } else {
                Parts::new()
            },
        }
    }

    /// Whether there is an entry.
    pub(super) fn is_given(&self) -> bool {
        !self.entries.is_empty()
    }

    /// What the first entry that matches says, with its place.
    pub(super) fn of(
        &self,
        namespace: &str,
        labels: Option<Raw<'_>>,
    ) -> Result<Option<(usize, Delegation)>, Problems> {
        let mut labels = Labels {
            json: labels,
            decoded: None,
        };
        let mut reading = Reading::lazy();
        let mut found = None;
        for (index, (_, value)) in self.entries.iter().enumerate() {
            let path = Path::Index(&PATH, index);
            let entry = Entry::read(*value, &path, &mut reading);
            if entry.matches(namespace, &mut labels) {
                found = Some((index, entry.delegation));
                break;
            }
        }
        reading.end(found)
    }

    /// Notes everything that is wrong, and gives what each entry says, with its place.
    pub(super) fn check(&self, reading: &mut Reading) -> Vec<(usize, Delegation)> {
        if self.entries.len() > MAX_ENTRIES {
            let text = format!(
                "got {} entries, expected at most {MAX_ENTRIES}",
                self.entries.len()
            );
            reading.push(Problem::new(&PATH, text));
            return Vec::new();
        }
        let mut delegations = Vec::new();
        let mut earlier = Earlier::default();
        let mut count: usize = 0;
        let mut wildcards: usize = 0;
        for (index, (_, value)) in self.entries.iter().enumerate() {
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
        let wider = wider.find(|(_, earlier)| glob::covers(earlier, pattern));
        same.or_else(|| wider.map(|&(index, _)| index))
    }
}
