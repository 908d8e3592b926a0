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
    instead_of_none: Some("write \"*\""),
};

/// One entry.
struct Entry<'a> {
    patterns: Vec<Cow<'a, str>>,
    delegation: Delegation,
}

impl<'a> Entry<'a> {
    fn read(bytes: &'a [u8], path: &Path<'_>, reading: &mut Reading) -> Result<Self> {
        // Outside: whether the key is there. Inside: whether what it holds is right.
        let mut patterns = None;
        let mut delegation: Option<Option<Delegation>> = None;
        let mut reader = Reader::again(bytes);
        let is_object = reader.peek()? == Type::Object;
        reading.fields(
            &mut reader,
            path,
            &KEYS,
            &mut |reading, reader, name, path| {
                if name == "match" {
                    patterns = Some(reading.strings(reader, path, &MATCH_LIST)?);
                } else {
                    delegation = Some(reading.word(reader, path, Delegation::ALL)?);
                }
                Ok(())
            },
        )?;
        if is_object && patterns.is_none() {
            let path = Path::Field(path, "match");
            reading.push(Problem::missing(&path, MATCH_LIST.expected));
        }
        if is_object && delegation.is_none() {
            let path = Path::Field(path, "delegation");
            let words = Delegation::ALL.map(|(word, _)| word);
            let expected = format!("one of {}", words.join(", "));
            reading.push(Problem::missing(&path, &expected));
        }
        Ok(Self {
            patterns: patterns.unwrap_or_default(),
            delegation: delegation.flatten().unwrap_or_default(),
        })
    }
}

/// An entry as `serde_json` writes it for PolicyServer: its keys sorted, no space, no escape. Says whether it matches a
/// namespace, and what it says; [`None`] is any other form, and an entry that is wrong.
///
/// A long list is read for every request, and this is a fifth of the cost.
fn canonical(bytes: &[u8], namespace: &[u8]) -> Option<(bool, Delegation)> {
    let rest = bytes.strip_prefix(br#"{"delegation":""#)?;
    let word = |(word, delegation): (&str, Delegation)| {
        Some((rest.strip_prefix(word.as_bytes())?, delegation))
    };
    let (rest, delegation) = Delegation::ALL.into_iter().find_map(word)?;
    let mut rest = rest.strip_prefix(br#"","match":[""#)?;
    let mut matched = false;
    loop {
        let end = rest.iter().position(|b| *b == b'"')?;
        let (pattern, behind) = rest.split_at_checked(end)?;
        if !glob::is_right(pattern) {
            return None;
        }
        matched |= glob::matches_bytes(pattern, namespace);
        match behind.strip_prefix(br#"",""#) {
            Some(next) => rest = next,
            None if behind == br#""]}"# => return Some((matched, delegation)),
            None => return None,
        }
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
                entries.push(reader.raw_container()?);
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
            match canonical(bytes, namespace.as_bytes()) {
                Some((true, delegation)) => return Ok(Some((index, delegation))),
                Some((false, _)) => continue,
                None => {}
            }
            let path = Path::Item(&PATH, index);
            let entry = reading.within(&path, |r| Entry::read(bytes, &path, r));
            if !reading.is_clean() {
                break;
            }
            let matched = |e: &Entry<'_>| e.patterns.iter().any(|p| glob::matches(p, namespace));
            if let Some(entry) = entry.filter(matched) {
                return Ok(Some((index, entry.delegation)));
            }
        }
        reading.end().map(|()| None)
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
        for (index, bytes) in self.entries.iter().enumerate() {
            let path = Path::Item(&PATH, index);
            let Some(entry) = reading.within(&path, |r| Entry::read(bytes, &path, r)) else {
                continue;
            };
            delegations.push((index, entry.delegation));
            count = count.saturating_add(entry.patterns.len());
            if count > MAX_PATTERNS {
                continue;
            }
            let list = Path::Field(&path, "match");
            for (item, pattern) in entry.patterns.iter().enumerate() {
                if let Some(by) = earlier.covering(pattern) {
                    let pattern = super::path::shown(pattern, "string");
                    let by = Path::Item(&PATH, by);
                    let text = format!("{pattern} is never reached: {by} matches all of it");
                    reading.push(Problem::of_sense(&Path::Item(&list, item), text));
                }
            }
            earlier.add(index, entry.patterns);
        }
        if count > MAX_PATTERNS {
            let text = format!("got {count} patterns in all, expected at most {MAX_PATTERNS}");
            reading.push(Problem::of_sense(&PATH, text));
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

#[cfg(test)]
mod tests {
    use super::{Delegation, canonical};

    #[test]
    fn the_canonical_form_and_no_other_is_read_in_short() {
        let forbidden = |matched| Some((matched, Delegation::Forbidden));
        for (entry, expected) in [
            (
                r#"{"delegation":"forbidden","match":["infra-*"]}"#,
                forbidden(true),
            ),
            (
                r#"{"delegation":"forbidden","match":["x","infra-1"]}"#,
                forbidden(true),
            ),
            (
                r#"{"delegation":"forbidden","match":["infra-2"]}"#,
                forbidden(false),
            ),
            (r#"{"delegation":"forbidden","match":[]}"#, None),
            (r#"{"delegation":"forbidden","match":["infra-*",1]}"#, None),
            (r#"{"delegation":"forbidden","match":["Infra-*"]}"#, None),
            (
                r#"{"delegation":"forbidden","match":["infra-\u002a"]}"#,
                None,
            ),
            (
                r#"{"delegation":"forbidden","match":["infra-*"],"x":1}"#,
                None,
            ),
            (r#"{"delegation":"forbiddenly","match":["infra-*"]}"#, None),
            (r#"{"match":["infra-*"],"delegation":"forbidden"}"#, None),
            (r#"{"delegation":"forbidden","match":["infra-*"#, None),
            ("", None),
        ] {
            assert_eq!(canonical(entry.as_bytes(), b"infra-1"), expected, "{entry}");
        }
    }
}
