//! Errors of decoding.

use std::fmt;

use super::Type;
use super::locate::locate;

/// The error of a document that does not decode: one line that never repeats the document's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed(Box<Reason>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Reason {
    /// The document is not JSON.
    Syntax(String),
    /// A value is missing, or is of another type or form than expected.
    Unexpected {
        path: String,
        expected: String,
        got: &'static str,
    },
    /// A member occurs twice.
    Duplicate { path: String },
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
            return Self(Box::new(Reason::Syntax(message)));
        }
        let located = locate(text, error.line(), error.column());
        let path = located.path;
        if message.starts_with(DUPLICATE) {
            return Self::duplicate(path);
        }
        // `invalid type: string "...", expected an object at line 1 column 5`: only what was expected is ours.
        let (_, expected) = message.rsplit_once(", expected ").unwrap_or_default();
        let expected = expected.split(" at line ").next().unwrap_or_default();
        let got = match located.json_type {
            Type::Number if message.starts_with(INVALID_VALUE) => "another number",
            Type::String if message.starts_with(INVALID_VALUE) => "another string",
            json_type => json_type.name(),
        };
        Self::unexpected(path, expected, got)
    }

    pub(super) fn utf_8(at: usize) -> Self {
        let text = format!("expected UTF-8 at byte {at}");
        Self(Box::new(Reason::Syntax(text)))
    }

    /// A value that is missing, or is of another type or form than expected.
    pub(crate) fn unexpected(path: impl Into<String>, expected: &str, got: &'static str) -> Self {
        Self(Box::new(Reason::Unexpected {
            path: path.into(),
            expected: expected.to_owned(),
            got,
        }))
    }

    /// A member that occurs twice.
    pub(crate) fn duplicate(path: impl Into<String>) -> Self {
        Self(Box::new(Reason::Duplicate { path: path.into() }))
    }

    /// The path of the value, from the root of the document. [`None`] if the document is not JSON.
    pub fn path(&self) -> Option<&str> {
        match &*self.0 {
            Reason::Syntax(_) => None,
            Reason::Unexpected { path, .. } | Reason::Duplicate { path } => Some(path),
        }
    }

    /// Prefixes the path with the name of the member that holds the document.
    #[must_use]
    pub fn within(mut self, name: &str) -> Self {
        if let Reason::Unexpected { path, .. } | Reason::Duplicate { path } = &mut *self.0 {
            let dot = if path.is_empty() || path.starts_with('[') {
                ""
            } else {
                "."
            };
            *path = format!("{name}{dot}{path}");
        }
        self
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Reason::Syntax(text) => write!(f, "not JSON: {text}"),
            Reason::Unexpected {
                path,
                expected,
                got,
            } => {
                let colon = if path.is_empty() { "" } else { ": " };
                write!(f, "{path}{colon}expected {expected}, got {got}")
            }
            Reason::Duplicate { path } => write!(f, "{path}: duplicate field"),
        }
    }
}

impl std::error::Error for Malformed {}
