//! Error type of decoding.

use std::fmt;

use super::Type;
use super::locate::locate;

/// Error of decoding a document. Its message is one line and never contains a value of the document, only keys in the path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeError(Box<Reason>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Reason {
    /// Path of the value, or [`None`] if the document is not JSON.
    path: Option<String>,
    message: String,
}

/// Prefix of serde's error about a duplicate member.
const DUPLICATE: &str = "duplicate field";

/// Prefix of serde's error about an invalid value of the right type.
const INVALID_VALUE: &str = "invalid value";

/// Creates an error about a duplicate member, which visitors return before they read the value, so that its path is known.
#[cold]
pub(crate) fn duplicate<E: serde::de::Error>() -> E {
    E::custom(DUPLICATE)
}

impl DecodeError {
    /// Converts an error of `serde_json`, and determines its path.
    #[cold]
    pub(super) fn from_serde(text: &str, error: &serde_json::Error) -> Self {
        let message = error.to_string();
        if !error.is_data() {
            return Self::new(None, format!("not JSON: {message}"));
        }
        let (path, json_type) = locate(text, error.line(), error.column());
        if message.starts_with(DUPLICATE) {
            return Self::duplicate(path);
        }
        // In `invalid type: string "...", expected an object at line 1 column 5`, only the type after "expected" is kept.
        let (_, expected) = message.rsplit_once(", expected ").unwrap_or_default();
        let expected = expected.split(" at line ").next().unwrap_or_default();
        let got = match json_type {
            Type::Number if message.starts_with(INVALID_VALUE) => "a different number",
            Type::String if message.starts_with(INVALID_VALUE) => "a different string",
            _ => json_type.name(),
        };
        Self::unexpected(path, expected, got)
    }

    pub(super) fn invalid_utf8(at: usize) -> Self {
        Self::new(None, format!("not JSON: expected UTF-8 at byte {at}"))
    }

    /// Creates an error about a value that is missing, or has an unexpected type or form.
    pub(crate) fn unexpected(path: impl Into<String>, expected: &str, got: &str) -> Self {
        Self::new(Some(path.into()), format!("expected {expected}, got {got}"))
    }

    /// Creates an error about a duplicate member.
    pub(crate) fn duplicate(path: impl Into<String>) -> Self {
        Self::new(Some(path.into()), DUPLICATE.to_owned())
    }

    fn new(path: Option<String>, message: String) -> Self {
        Self(Box::new(Reason { path, message }))
    }

    /// Returns the path of the value in the document, or [`None`] if the document is not JSON.
    pub fn path(&self) -> Option<&str> {
        self.0.path.as_deref()
    }

    /// Prefixes the path with the name of the member that contains the document.
    #[must_use]
    pub fn within(mut self, name: &str) -> Self {
        if let Some(path) = &mut self.0.path {
            let is_joined = path.is_empty() || path.starts_with('[');
            *path = format!("{name}{}{path}", if is_joined { "" } else { "." });
        }
        self
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Reason { path, message } = &*self.0;
        match path.as_deref() {
            None | Some("") => f.write_str(message),
            Some(path) => write!(f, "{path}: {message}"),
        }
    }
}

impl std::error::Error for DecodeError {}
