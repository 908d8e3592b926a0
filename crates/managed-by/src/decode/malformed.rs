//! Errors of decoding.

use std::fmt;

use super::Type;
use super::locate::locate;

/// The error of a document that does not decode: one line that never repeats the document's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed(Box<Reason>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Reason {
    /// [`None`] if the document is not JSON.
    path: Option<String>,
    message: String,
}

/// The beginning of serde's error about a member that occurs twice.
const DUPLICATE: &str = "duplicate field";

/// The beginning of serde's error about a value of the right type.
const INVALID_VALUE: &str = "invalid value";

/// The error about a member that occurs twice, for visitors: they return it before they read the value, so that it has a path.
#[cold]
pub(crate) fn duplicate<E: serde::de::Error>() -> E {
    E::custom(DUPLICATE)
}

impl Malformed {
    /// Converts an error of `serde_json` in a document, and finds its path.
    #[cold]
    pub(super) fn decoding(text: &str, error: &serde_json::Error) -> Self {
        let message = error.to_string();
        if !error.is_data() {
            return Self::new(None, format!("not JSON: {message}"));
        }
        let (path, json_type) = locate(text, error.line(), error.column());
        if message.starts_with(DUPLICATE) {
            return Self::duplicate(path);
        }
        // `invalid type: string "...", expected an object at line 1 column 5`: only what was expected is ours.
        let (_, expected) = message.rsplit_once(", expected ").unwrap_or_default();
        let expected = expected.split(" at line ").next().unwrap_or_default();
        let got = match json_type {
            Type::Number if message.starts_with(INVALID_VALUE) => "another number",
            Type::String if message.starts_with(INVALID_VALUE) => "another string",
            _ => json_type.name(),
        };
        Self::unexpected(path, expected, got)
    }

    pub(super) fn utf_8(at: usize) -> Self {
        Self::new(None, format!("not JSON: expected UTF-8 at byte {at}"))
    }

    /// A value that is missing, or is of another type or form than expected.
    pub(crate) fn unexpected(path: impl Into<String>, expected: &str, got: &str) -> Self {
        Self::new(Some(path.into()), format!("expected {expected}, got {got}"))
    }

    /// A member that occurs twice.
    pub(crate) fn duplicate(path: impl Into<String>) -> Self {
        Self::new(Some(path.into()), DUPLICATE.to_owned())
    }

    fn new(path: Option<String>, message: String) -> Self {
        Self(Box::new(Reason { path, message }))
    }

    /// The path of the value, from the root of the document. [`None`] if the document is not JSON.
    pub fn path(&self) -> Option<&str> {
        self.0.path.as_deref()
    }

    /// Prefixes the path with the name of the member that holds the document.
    #[must_use]
    pub fn within(mut self, name: &str) -> Self {
        if let Some(path) = &mut self.0.path {
            let is_joined = path.is_empty() || path.starts_with('[');
            *path = format!("{name}{}{path}", if is_joined { "" } else { "." });
        }
        self
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Reason { path, message } = &*self.0;
        match path.as_deref() {
            None | Some("") => f.write_str(message),
            Some(path) => write!(f, "{path}: {message}"),
        }
    }
}

impl std::error::Error for Malformed {}
