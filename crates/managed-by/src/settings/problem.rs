//! One line for each thing wrong with the settings: its path, what was got, what is allowed, the nearest word.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

use super::path::{Path, shown};
use crate::json::{Malformed, Reader, Result, Type};
use crate::nearest::nearest;
use crate::release::Release;

/// Enough of a value to know it again.
pub(super) const MAX_SHOWN: usize = 80;

/// A value as found in the settings.
pub(super) struct Got<'a> {
    json_type: Type,
    raw: Cow<'a, str>,
    string: Option<Cow<'a, str>>,
}

impl<'a> Got<'a> {
    pub(super) fn read(reader: &mut Reader<'a>) -> Result<Self> {
        let json_type = reader.peek()?;
        let start = reader.mark();
        let raw = String::from_utf8_lossy(reader.raw()?);
        let mut string = None;
        if json_type == Type::String {
            reader.rewind(start);
            string = reader.string_or_null()?;
        }
        Ok(Self {
            json_type,
            raw,
            string,
        })
    }

    pub(super) fn string(&self) -> Option<&str> {
        self.string.as_deref()
    }
}

impl fmt::Display for Got<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.json_type, self.string()) {
            (Type::Number, _) if self.raw.len() <= MAX_SHOWN => {
                write!(f, "the number {}", self.raw)
            }
            (Type::Bool, _) => f.write_str(&self.raw),
            (_, Some(text)) => f.write_str(&shown(text, "string")),
            (json_type, None) => f.write_str(json_type.name()),
        }
    }
}

/// One thing wrong with the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    path: String,
    text: String,
    /// Whether what is there makes no sense beside something else, rather than having a wrong form.
    is_of_sense: bool,
}

/// Problems are made out of the way: settings are right as a rule, and read for every request.
impl Problem {
    /// Where it is: `rules["managed-by/format"]`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Whether it takes more than a look at the value: what is never reached, contradicts another part, or is too much
    /// together. A schema sees all the others.
    pub fn is_of_sense(&self) -> bool {
        self.is_of_sense
    }

    #[cold]
    #[inline(never)]
    pub(super) fn new(path: &Path<'_>, text: impl Into<String>) -> Self {
        Self {
            path: path.to_string(),
            text: text.into(),
            is_of_sense: false,
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn of_sense(path: &Path<'_>, text: impl Into<String>) -> Self {
        Self {
            is_of_sense: true,
            ..Self::new(path, text)
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn unreadable(malformed: &Malformed) -> Self {
        Self::new(&Path::Settings, malformed.to_string())
    }

    #[cold]
    #[inline(never)]
    pub(super) fn wrong(path: &Path<'_>, got: &Got<'_>, expected: &str) -> Self {
        Self::new(path, format!("got {got}, expected {expected}"))
    }

    #[cold]
    #[inline(never)]
    pub(super) fn not_one_of(path: &Path<'_>, got: &Got<'_>, words: &[&str]) -> Self {
        let mut text = format!("got {got}, expected one of {}", words.join(", "));
        hint(&mut text, got.string().unwrap_or_default(), words);
        Self::new(path, text)
    }

    #[cold]
    #[inline(never)]
    pub(super) fn unknown_key(parent: &Path<'_>, key: &[u8], keys: &[&str]) -> Self {
        let key = String::from_utf8_lossy(key);
        let keys_list = keys.join(", ");
        let mut text = format!("{parent} has no such key, expected one of {keys_list}");
        hint(&mut text, &key, keys);
        Self::new(&Path::Key(parent, &key), text)
    }

    #[cold]
    #[inline(never)]
    pub(super) fn twice(path: &Path<'_>) -> Self {
        Self::new(path, "given twice")
    }

    /// An item of a list that an earlier one, by its place in the list, leaves nothing to do.
    #[cold]
    #[inline(never)]
    pub(super) fn useless(path: &Path<'_>, item: &str, earlier: usize) -> Self {
        let item = shown(item, "string");
        Self::of_sense(path, format!("{item} is covered by item {earlier} already"))
    }

    #[cold]
    #[inline(never)]
    pub(super) fn missing(path: &Path<'_>, expected: &str) -> Self {
        Self::new(path, format!("missing, expected {expected}"))
    }

    #[cold]
    #[inline(never)]
    pub(super) fn version(path: &Path<'_>, got: &Got<'_>) -> Self {
        let words = Release::ALL.map(|r| format!("\"{}\"", r.as_str()));
        let mut text = format!("got {got}, expected a string, one of {}", words.join(", "));
        if got.json_type == Type::Number {
            // YAML reads 1.30 as a number, which is 1.3.
            let meant = [got.raw.clone().into_owned(), format!("{}0", got.raw)];
            let meant = meant.iter().find_map(|m| Release::parse(m));
            let meant = meant.unwrap_or_default().as_str();
            let _ = write!(text, "; write it in quotes, such as \"{meant}\"");
        } else if let Some(word) = got.string() {
            // Of equally near ones the newest: who writes "1.38" runs something newer than "1.30".
            let mut releases = Release::ALL.map(Release::as_str);
            releases.reverse();
            hint(&mut text, minor(word), &releases);
        }
        Self::new(path, text)
    }
}

/// `1.36` of `v1.36.3+k3s1`, as kubectl prints versions.
fn minor(version: &str) -> &str {
    let version = version.strip_prefix('v').unwrap_or(version);
    let patch = version.match_indices('.').nth(1);
    let end = patch.map_or(version.len(), |(at, _)| at);
    version.get(..end).unwrap_or(version)
}

pub(super) fn hint(text: &mut String, word: &str, words: &[&str]) {
    if let Some(word) = nearest(word, words.iter().copied()) {
        // Writing to a String cannot fail.
        let _ = write!(text, "; did you mean \"{word}\"?");
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.text)
    }
}

/// Everything wrong with the settings; at least one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems {
    list: Vec<Problem>,
    more: usize,
}

impl Problems {
    pub(super) fn none_or(list: Vec<Problem>, more: usize) -> std::result::Result<(), Self> {
        if list.is_empty() {
            Ok(())
        } else {
            Err(Self { list, more })
        }
    }

    /// Them, in the order in which they stand in the settings; no more than 50.
    pub fn as_slice(&self) -> &[Problem] {
        &self.list
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [problem] = self.as_slice() {
            return write!(f, "invalid settings: {problem}");
        }
        let count = self.list.len().saturating_add(self.more);
        write!(f, "{count} problems in the settings:")?;
        for (i, problem) in (1..).zip(self.as_slice()) {
            let separator = if i > 1 { ";" } else { "" };
            write!(f, "{separator} ({i}) {problem}")?;
        }
        if self.more > 0 {
            write!(f, "; and {} more", self.more)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}
