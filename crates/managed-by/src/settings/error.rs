//! Problems in settings: path, actual value, expected value, suggestion. The parser in [`super`] and the CLI report them.

use std::fmt;

use crate::decode::{DecodeError, MAX_QUOTED, Path, Raw, Type, is_plain, quote_or_size};
use crate::release::Release;
use crate::suggest::{did_you_mean, nearest};

/// Formats a value of the settings for messages.
struct DisplayValue<'a>(Raw<'a>);

impl fmt::Display for DisplayValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.as_str();
        match self.0.json_type() {
            Type::Number if text.len() <= MAX_QUOTED => write!(f, "the number {text}"),
            Type::Bool => f.write_str(text),
            Type::String => f.write_str(&quote_or_size(
                &self.0.string().unwrap_or_default(),
                "string",
            )),
            json_type => f.write_str(json_type.name()),
        }
    }
}

/// Reason to reject something in the settings.
pub(super) struct Rejection {
    text: String,
    /// Suggested value, which the text contains.
    suggestion: Option<String>,
    /// True if the reason depends on other parts of the settings.
    is_semantic: bool,
}

impl Rejection {
    /// Creates a rejection that suggests the nearest allowed value, if one is near.
    pub(super) fn with_nearest(text: String, word: &str, variants: &[&str]) -> Self {
        match nearest(word, variants.iter().copied()) {
            Some(near) => {
                let text = format!("{text}; {}", did_you_mean(near));
                Self::with_suggestion(text, Some(near.to_owned()))
            }
            None => text.into(),
        }
    }

    /// Creates a rejection with a suggestion, which the text must contain.
    pub(super) fn with_suggestion(text: String, word: Option<String>) -> Self {
        Self {
            text,
            suggestion: word,
            is_semantic: false,
        }
    }

    /// Marks the rejection as dependent on other parts of the settings.
    pub(super) fn semantic(self) -> Self {
        Self {
            is_semantic: true,
            ..self
        }
    }

    /// Prepends a prefix to the text.
    pub(super) fn with_prefix(self, prefix: &str) -> Self {
        Self {
            text: [prefix, &self.text].concat(),
            ..self
        }
    }
}

impl From<String> for Rejection {
    fn from(text: String) -> Self {
        Self::with_suggestion(text, None)
    }
}

impl From<&str> for Rejection {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

/// Error in the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsError {
    path: String,
    text: String,
    suggestion: Option<String>,
    /// See [`SettingsError::is_semantic`].
    is_semantic: bool,
    /// True if the key is invalid, not the value.
    is_key: bool,
}

// The constructors are cold, because settings are usually valid and parsed for every request.
impl SettingsError {
    /// Returns the path, such as `rules[managed-by/format]`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns true if the JSON schema can't detect the problem, such as an entry that never matches or contradictory keys.
    pub fn is_semantic(&self) -> bool {
        self.is_semantic
    }

    /// Returns true if the key at the path is invalid, not the value.
    pub fn is_key(&self) -> bool {
        self.is_key
    }

    /// Returns the suggested replacement: for the key at the path if [`SettingsError::is_key`], otherwise for the value.
    pub fn suggestion(&self) -> Option<&str> {
        self.suggestion.as_deref()
    }

    #[cold]
    #[inline(never)]
    pub(super) fn new(path: &Path<'_>, reason: impl Into<Rejection>) -> Self {
        let reason = reason.into();
        Self {
            path: match path {
                Path::Root => "settings".to_owned(),
                path => path.to_string(),
            },
            text: reason.text,
            suggestion: reason.suggestion,
            is_semantic: reason.is_semantic,
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

    /// Marks the key as invalid, not the value.
    pub(super) fn for_key(self) -> Self {
        Self {
            is_key: true,
            ..self
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn wrong_type(path: &Path<'_>, got: Raw<'_>, expected: &str) -> Self {
        // A form leaves null, or an empty string, if nothing is entered in a row.
        if matches!(got.as_str(), "null" | "\"\"") && matches!(path, Path::Index(..)) {
            let text = "Required value: the row is empty; fill it in or remove it";
            return Self::new(path, text);
        }
        let got = DisplayValue(got);
        Self::new(path, format!("Invalid value: {got}: must be {expected}"))
    }

    #[cold]
    #[inline(never)]
    pub(super) fn not_one_of(path: &Path<'_>, got: Raw<'_>, variants: &[&str]) -> Self {
        let text = format!(
            "Unsupported value: {}: supported values: {}",
            DisplayValue(got),
            variants.join(", ")
        );
        let reason = if got.as_str() == "false" && variants.contains(&"off") {
            let text = text + "; quote it as \"off\": YAML parses off as false";
            Rejection::with_suggestion(text, Some("off".to_owned()))
        } else {
            Rejection::with_nearest(text, &got.string().unwrap_or_default(), variants)
        };
        Self::new(path, reason)
    }

    #[cold]
    #[inline(never)]
    pub(super) fn unknown_field(parent: &Path<'_>, key: &str, keys: &[&str]) -> Self {
        let path = if is_plain(key) && !key.contains(['.', '/']) {
            Path::Member(parent, key)
        } else {
            Path::Key(parent, key)
        };
        let supported = ["; supported fields: ", &keys.join(", ")].concat();
        Self::unknown(&path, "unknown field", (key, keys), &supported)
    }

    #[cold]
    pub(super) fn unknown_rule(path: &Path<'_>, id: &str, ids: &[&str]) -> Self {
        let example = ", must be an id such as managed-by/format";
        Self::unknown(path, "unknown rule", (id, ids), example)
    }

    /// Suggests the nearest known key, or else adds a text.
    #[cold]
    #[inline(never)]
    fn unknown(path: &Path<'_>, text: &str, (key, known): (&str, &[&str]), or_else: &str) -> Self {
        let mut reason = Rejection::with_nearest(text.to_owned(), key, known);
        if reason.suggestion.is_none() {
            reason.text += or_else;
        }
        Self::new(path, reason).for_key()
    }

    #[cold]
    #[inline(never)]
    pub(super) fn duplicate_field(path: &Path<'_>) -> Self {
        Self::new(path, "duplicate field")
    }

    /// Creates a problem for a list item that an earlier item covers.
    #[cold]
    #[inline(never)]
    pub(super) fn covered(path: &Path<'_>, item: &str, earlier: usize) -> Self {
        let item = quote_or_size(item, "string");
        Self::semantic(
            path,
            format!("Duplicate value: {item}: covered by item {earlier}"),
        )
    }

    #[cold]
    #[inline(never)]
    pub(super) fn missing(path: &Path<'_>, expected: &str) -> Self {
        Self::new(path, format!("Required value: must be {expected}"))
    }

    #[cold]
    #[inline(never)]
    pub(super) fn invalid_version(path: &Path<'_>, got: Raw<'_>) -> Self {
        let text = format!(
            "Unsupported value: {}: supported values: \"{}\" to \"{}\", or a patch release such as \"1.36.1\"",
            DisplayValue(got),
            Release::OLDEST.as_str(),
            Release::default().as_str()
        );
        let reason = if got.json_type() == Type::Number {
            // YAML parses 1.30 as the number 1.3.
            let written = got.as_str();
            let candidates = [written.to_owned(), format!("{written}0")];
            let release = candidates.iter().find_map(|m| m.parse::<Release>().ok());
            let example = release.unwrap_or_default();
            let text = format!("{text}; quote the version, for example \"{example}\"");
            Rejection::with_suggestion(text, release.map(|release| release.to_string()))
        } else if let Some(word) = got.string() {
            // Newest first, because the first candidate wins a tie: "1.37" is suggested for "1.39", not "1.30".
            let releases: Vec<_> = Release::ALL.iter().rev().map(|r| r.as_str()).collect();
            Rejection::with_nearest(text, minor(&word), &releases)
        } else {
            text.into()
        };
        Self::new(path, reason)
    }
}

/// Returns the minor version of a version in kubectl's format: `1.36` for `v1.36.3+k3s1`.
fn minor(version: &str) -> &str {
    let version = version.strip_prefix('v').unwrap_or(version);
    let patch = version.match_indices('.').nth(1);
    let end = patch.map_or(version.len(), |(at, _)| at);
    version.get(..end).unwrap_or(version)
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.text)
    }
}

/// Maximum number of problems to list.
const MAX_PROBLEMS: usize = 50;

/// Problems in the settings. Never empty outside of the module `settings`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsErrors {
    list: Vec<SettingsError>,
    /// Number of further problems.
    more: usize,
}

impl SettingsErrors {
    pub(super) fn new() -> Self {
        Self {
            list: Vec::new(),
            more: 0,
        }
    }

    /// Adds a problem. Beyond [`MAX_PROBLEMS`], only counts it and doesn't format its text.
    pub(super) fn push_with(&mut self, problem: impl FnOnce() -> SettingsError) {
        if self.list.len() < MAX_PROBLEMS {
            self.list.push(problem());
        } else {
            self.more = self.more.saturating_add(1);
        }
    }

    pub(super) fn count(&self) -> usize {
        self.list.len().saturating_add(self.more)
    }

    /// Creates a problem for settings that are not JSON.
    pub(crate) fn malformed(malformed: &DecodeError) -> Self {
        Self {
            list: vec![SettingsError::new(&Path::Root, malformed.to_string())],
            more: 0,
        }
    }

    /// Returns the first 50 problems, in the order of the settings.
    pub fn as_slice(&self) -> &[SettingsError] {
        &self.list
    }
}

/// Formats one problem per line.
impl fmt::Display for SettingsErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [problem] = self.as_slice() {
            return write!(f, "invalid settings: {problem}");
        }
        write!(f, "invalid settings: {} problems:", self.count())?;
        for problem in self.as_slice() {
            write!(f, "\n- {problem}")?;
        }
        if self.more > 0 {
            write!(f, "\n- and {} more", self.more)?;
        }
        Ok(())
    }
}

impl std::error::Error for SettingsErrors {}
