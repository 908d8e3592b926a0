//! `namespaces`: where workloads must, may and must not be delegated.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::glob;
use super::problem::{Problem, Problems};
use super::reading::{List, MAX_ENTRIES, Reading};
use crate::decode::{Path, Raw, Type, shown};

const PATH: Path<'_> = Path::Member(&Path::Root, "namespaces");

const KEYS: [&str; 2] = ["delegation", "match"];

/// No settings may have more patterns for namespaces in all: each is compared with those before it.
const MAX_PATTERNS: usize = 4096;

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
    entries: Vec<Raw<'a>>,
}

const MATCH_LIST: List = List {
    expected: "a list of namespaces",
    wrong: glob::wrong,
    covers: glob::covers,
    instead_of_none: Some("write \"*\""),
};

/// One entry.
struct Entry<'a> {
    patterns: Vec<Cow<'a, str>>,
    delegation: Delegation,
}

impl<'a> Entry<'a> {
    fn read(value: Raw<'a>, path: &Path<'_>, reading: &mut Reading) -> Self {
        let mut patterns = None;
        // The outer one: whether the key is there. The inner one: whether what it holds is right.
        let mut delegation: Option<Option<Delegation>> = None;
        reading.fields(value, path, &KEYS, |reading, value, name, path| {
            if name == "match" {
                patterns = Some(reading.strings(value, path, &MATCH_LIST));
            } else {
                delegation = Some(reading.word(value, path, Delegation::ALL));
            }
        });
        let is_object = value.json_type() == Type::Object;
        if is_object && patterns.is_none() {
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
            patterns: patterns.unwrap_or_default(),
            delegation: delegation.flatten().unwrap_or_default(),
        }
    }
}

impl<'a> Namespaces<'a> {
    /// Finds the entries.
    pub(super) fn read(value: Raw<'a>, reading: &mut Reading) -> Self {
        let expected = "a list of entries with match and delegation";
        reading.is(value, Type::Array, &PATH, expected);
        let entries = value.elements();
        Self { entries }
    }

    /// What the first entry that matches a namespace says, with its place.
    pub(super) fn of(&self, namespace: &str) -> Result<Option<(usize, Delegation)>, Problems> {
        let mut reading = Reading::lazy();
        let mut found = None;
        for (index, value) in self.entries.iter().enumerate() {
            let path = Path::Index(&PATH, index);
            let entry = Entry::read(*value, &path, &mut reading);
            if !reading.is_clean() {
                break;
            }
            if entry.patterns.iter().any(|p| glob::matches(p, namespace)) {
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
        for (index, value) in self.entries.iter().enumerate() {
            let path = Path::Index(&PATH, index);
            let entry = Entry::read(*value, &path, reading);
            delegations.push((index, entry.delegation));
            count = count.saturating_add(entry.patterns.len());
            if count > MAX_PATTERNS {
                continue;
            }
            let list = Path::Member(&path, "match");
            for (item, pattern) in entry.patterns.iter().enumerate() {
                if let Some(by) = earlier.covering(pattern) {
                    let pattern = shown(pattern, "string");
                    let by = Path::Index(&PATH, by);
                    let text = format!("{pattern} is never reached: {by} matches all of it");
                    reading.push(Problem::semantic(&Path::Index(&list, item), text));
                }
            }
            earlier.add(index, entry.patterns);
        }
        if count > MAX_PATTERNS {
            let text = format!("got {count} patterns in all, expected at most {MAX_PATTERNS}");
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
