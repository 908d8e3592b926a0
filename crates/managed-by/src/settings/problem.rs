//! One line for each thing wrong with the settings: its path, what was got, what is allowed, the nearest word.

use std::fmt;

use crate::decode::{MAX_SHOWN, Malformed, Path, Raw, Type, shown};
use crate::near::nearest;
use crate::release::Release;

/// A value as it was found in the settings.
struct Got<'a>(Raw<'a>);

impl fmt::Display for Got<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.as_str();
        match self.0.json_type() {
            Type::Number if text.len() <= MAX_SHOWN => write!(f, "the number {text}"),
            Type::Bool => f.write_str(text),
            Type::String => f.write_str(&shown(&self.0.string().unwrap_or_default(), "string")),
            json_type => f.write_str(json_type.name()),
        }
    }
}

/// Reason to reject something in the settings.
pub(super) struct Rejection {
    text: String,
    /// The word that was probably meant; the text names it too.
    suggestion: Option<String>,
}

impl Rejection {
    /// Adds the allowed word that is nearest to the rejected one, if one is near.
    pub(super) fn with_nearest(text: String, word: &str, words: &[&str]) -> Self {
        match nearest(word, words.iter().copied()) {
            Some(near) => Self {
                text: format!("{text}; did you mean \"{near}\"?"),
                suggestion: Some(near.to_owned()),
            },
            None => text.into(),
        }
    }

    /// Adds the word that was probably meant. The text must name it.
    pub(super) fn suggesting(text: String, word: Option<String>) -> Self {
        Self {
            text,
            suggestion: word,
        }
    }

    /// Puts text before the reason.
    pub(super) fn after(self, before: &str) -> Self {
        Self {
            text: [before, &self.text].concat(),
            ..self
        }
    }
}

impl From<String> for Rejection {
    fn from(text: String) -> Self {
        Self {
            text,
            suggestion: None,
        }
    }
}

impl From<&str> for Rejection {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

/// One thing wrong with the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    path: String,
    text: String,
    suggestion: Option<String>,
    /// Whether the value has the right form, but contradicts another part of the settings.
    is_semantic: bool,
    /// Whether it is the key itself that is wrong.
    is_key: bool,
}

/// Problems are made out of the way: settings are right as a rule, and read for every request.
impl Problem {
    /// Where it is: `rules["managed-by/format"]`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Whether only the settings as a whole show the problem: an entry that never matches, a contradiction, or too many entries.
    /// A schema finds all other problems.
    pub fn is_semantic(&self) -> bool {
        self.is_semantic
    }

    /// Whether it is about the key at the path, rather than about the value.
    pub fn is_key(&self) -> bool {
        self.is_key
    }

    /// Returns the string that was probably meant: to be written as the key at the path if [`Problem::is_key`], otherwise as the
    /// value there.
    pub fn suggestion(&self) -> Option<&str> {
        self.suggestion.as_deref()
    }

    #[cold]
    #[inline(never)]
    pub(super) fn new(path: &Path<'_>, reason: impl Into<Rejection>) -> Self {
        let Rejection { text, suggestion } = reason.into();
        Self {
            path: match path {
                Path::Root => "settings".to_owned(),
                path => path.to_string(),
            },
            text,
            suggestion,
            is_semantic: false,
            is_key: false,
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn semantic(path: &Path<'_>, reason: impl Into<Rejection>) -> Self {
        Self {
            is_semantic: true,
            ..Self::new(path, reason)
        }
    }

    /// The same problem, with the key at the path rather than with the value.
    pub(super) fn of_key(self) -> Self {
        Self {
            is_key: true,
            ..self
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn wrong(path: &Path<'_>, got: Raw<'_>, expected: &str) -> Self {
        let got = Got(got);
        Self::new(path, format!("got {got}, expected {expected}"))
    }

    #[cold]
    #[inline(never)]
    pub(super) fn not_one_of(path: &Path<'_>, got: Raw<'_>, words: &[&str]) -> Self {
        let text = format!("got {}, expected one of {}", Got(got), words.join(", "));
        let reason = if got.as_str() == "false" && words.contains(&"off") {
            let text = text + "; write it in quotes, \"off\": YAML takes off for false";
            Rejection::suggesting(text, Some("off".to_owned()))
        } else {
            Rejection::with_nearest(text, &got.string().unwrap_or_default(), words)
        };
        Self::new(path, reason)
    }

    #[cold]
    #[inline(never)]
    pub(super) fn unknown_key(parent: &Path<'_>, key: &str, keys: &[&str]) -> Self {
        let keys_list = keys.join(", ");
        let within = match parent {
            Path::Root => "settings".to_owned(),
            path => path.to_string(),
        };
        let text = format!("{within} has no such key, expected one of {keys_list}");
        let reason = Rejection::with_nearest(text, key, keys);
        Self::new(&Path::Quoted(parent, key), reason).of_key()
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
        Self::semantic(path, format!("{item} is covered by item {earlier} already"))
    }

    #[cold]
    #[inline(never)]
    pub(super) fn missing(path: &Path<'_>, expected: &str) -> Self {
        Self::new(path, format!("missing, expected {expected}"))
    }

    #[cold]
    #[inline(never)]
    pub(super) fn version(path: &Path<'_>, got: Raw<'_>) -> Self {
        let words: Vec<_> = Release::ALL.iter().map(|r| format!("\"{r}\"")).collect();
        let list = words.join(", ");
        let text = format!("got {}, expected a string, one of {list}", Got(got));
        let reason = if got.json_type() == Type::Number {
            // YAML reads 1.30 as a number, which is 1.3.
            let written = got.as_str();
            let meant = [written.to_owned(), format!("{written}0")];
            let meant = meant.iter().find_map(|m| m.parse::<Release>().ok());
            let example = meant.unwrap_or_default();
            let text = format!("{text}; write it in quotes, such as \"{example}\"");
            Rejection::suggesting(text, meant.map(|release| release.to_string()))
        } else if let Some(word) = got.string() {
            // Of equally near ones the newest: who writes "1.38" runs something newer than "1.30".
            let releases: Vec<_> = Release::ALL.iter().rev().map(|r| r.as_str()).collect();
            Rejection::with_nearest(text, minor(&word), &releases)
        } else {
            text.into()
        };
        Self::new(path, reason)
    }
}

/// `1.36` of `v1.36.3+k3s1`, as kubectl prints versions.
fn minor(version: &str) -> &str {
    let version = version.strip_prefix('v').unwrap_or(version);
    let patch = version.match_indices('.').nth(1);
    let end = patch.map_or(version.len(), |(at, _)| at);
    version.get(..end).unwrap_or(version)
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.text)
    }
}

/// No more problems are told one by one.
const MAX_PROBLEMS: usize = 50;

/// Everything wrong with the settings; at least one thing, where somebody sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems {
    list: Vec<Problem>,
    /// How many more there are.
    more: usize,
}

impl Problems {
    pub(super) fn none() -> Self {
        Self {
            list: Vec::new(),
            more: 0,
        }
    }

    /// Takes in a problem, unless there are so many that nobody reads on: its text is made only where it is kept.
    pub(super) fn push_with(&mut self, problem: impl FnOnce() -> Problem) {
        if self.list.len() < MAX_PROBLEMS {
            self.list.push(problem());
        } else {
            self.more = self.more.saturating_add(1);
        }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.list.len().saturating_add(self.more)
    }

    /// Settings that are not JSON.
    pub(crate) fn unreadable(malformed: &Malformed) -> Self {
        Self {
            list: vec![Problem::new(&Path::Root, malformed.to_string())],
            more: 0,
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
        let count = self.count();
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
