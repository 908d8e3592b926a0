//! `namespaces`: where workloads must, may and must not be delegated.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::glob;
use super::path::Path;
use super::problem::{Problem, Problems};
use super::reading::{List, MAX_ENTRIES, Reading};
use crate::json::{Reader, Result, Type};

const PATH: Path<'_> = Path::Field(&Path::Settings, "namespaces");

const KEYS: [&str; 2] = ["delegation", "match"];

/// So many patterns with a star are compared with those behind them; a list that is longer is checked so far.
const MAX_COMPARED: usize = 512;

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
    pub const ALL: [(&'static str, Self); 3] = [
        ("required", Self::Required),
        ("forbidden", Self::Forbidden),
        ("allowed", Self::Allowed),
    ];
}

/// The entries, in order. One is decoded when it is its turn.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Namespaces<'a> {
    entries: Vec<&'a [u8]>,
}

const MATCH_LIST: List = List {
    expected: "a list of namespaces",
    wrong: glob::wrong,
    covers: glob::covers,
    may_be_empty: false,
};

/// One entry.
struct Entry<'a> {
    patterns: Vec<Cow<'a, str>>,
    delegation: Delegation,
}

impl<'a> Entry<'a> {
    fn read(bytes: &'a [u8], path: &Path<'_>, reading: &mut Reading) -> Result<Self> {
        let mut patterns = None;
        let mut delegation = None;
        let mut reader = Reader::again(bytes);
        let before = reading.problems.len();
        reading.fields(
            &mut reader,
            path,
            &KEYS,
            &mut |reading, reader, name, path| {
                if name == "match" {
                    patterns = Some(reading.strings(reader, path, &MATCH_LIST)?);
                } else {
                    delegation = reading.word(reader, path, Delegation::ALL)?;
                }
                Ok(())
            },
        )?;
        // What is wrong is there, at least.
        if reading.problems.len() == before {
            if patterns.is_none() {
                let path = Path::Field(path, "match");
                reading.push(Problem::missing(&path, MATCH_LIST.expected));
            }
            if delegation.is_none() {
                let path = Path::Field(path, "delegation");
                let words = Delegation::ALL.map(|(word, _)| word);
                let expected = format!("one of {}", words.join(", "));
                reading.push(Problem::missing(&path, &expected));
            }
        }
        Ok(Self {
            patterns: patterns.unwrap_or_default(),
            delegation: delegation.unwrap_or_default(),
        })
    }
}

impl<'a> Namespaces<'a> {
    /// Finds the entries.
    pub(super) fn read(reader: &mut Reader<'a>, reading: &mut Reading) -> Result<Self> {
        let mut entries = Vec::new();
        if reading.is(
            reader,
            Type::Array,
            &PATH,
            "a list of entries with match and delegation",
        )? {
            reader.array(|reader, _| {
                entries.push(reader.raw()?);
                Ok(())
            })?;
        }
        Ok(Self { entries })
    }

    /// What the first entry that matches a namespace says, with its place.
    pub(super) fn of(
        &self,
        namespace: &str,
    ) -> std::result::Result<Option<(usize, Delegation)>, Problems> {
        let mut reading = Reading::new(false);
        for (index, bytes) in self.entries.iter().enumerate() {
            let path = Path::Item(&PATH, index);
            let entry = reading.within(&path, |r| Entry::read(bytes, &path, r));
            if !reading.problems.is_empty() {
                break;
            }
            let matched = |e: &Entry<'_>| e.patterns.iter().any(|p| glob::matches(p, namespace));
            if let Some(entry) = entry.filter(matched) {
                return Ok(Some((index, entry.delegation)));
            }
        }
        Problems::none_or(reading.problems).map(|()| None)
    }

    /// Notes everything that is wrong, and gives the place of the first entry of each kind of delegation.
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
        for (index, bytes) in self.entries.iter().enumerate() {
            let path = Path::Item(&PATH, index);
            let Some(entry) = reading.within(&path, |r| Entry::read(bytes, &path, r)) else {
                continue;
            };
            delegations.push((index, entry.delegation));
            let list = Path::Field(&path, "match");
            for (item, pattern) in entry.patterns.iter().enumerate() {
                if let Some(by) = earlier.covering(pattern) {
                    let pattern = super::path::shown(pattern, "string");
                    let by = Path::Item(&PATH, by);
                    let text = format!("{pattern} is never reached: {by} matches all of it");
                    reading.push(Problem::new(&Path::Item(&list, item), text));
                }
            }
            earlier.add(index, entry.patterns);
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
            if pattern.contains('*') && self.patterns.len() < MAX_COMPARED {
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
