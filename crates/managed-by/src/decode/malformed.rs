//! Why a document could not be read.

use std::fmt;

/// Why a document could not be read, in one line that never repeats its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed(Box<Reason>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Reason {
    /// Not JSON.
    Syntax(String),
    /// JSON that has something else than expected at a path.
    Shape {
        path: String,
        expected: &'static str,
        got: &'static str,
    },
}

impl Malformed {
    /// An error of `serde_json`. It says what was expected and where, and does not repeat the input.
    pub(super) fn syntax(error: &serde_json::Error) -> Self {
        Self(Box::new(Reason::Syntax(error.to_string())))
    }

    pub(super) fn utf_8(at: usize) -> Self {
        let text = format!("expected UTF-8 at byte {at}");
        Self(Box::new(Reason::Syntax(text)))
    }

    pub(super) fn nesting(at: usize) -> Self {
        let text = format!("expected at most 10,000 levels of nesting at byte {at}");
        Self(Box::new(Reason::Syntax(text)))
    }

    /// A value of the wrong type, or one that is missing, at a path.
    pub(crate) fn shape(
        path: impl Into<String>,
        expected: &'static str,
        got: &'static str,
    ) -> Self {
        let path = path.into();
        Self(Box::new(Reason::Shape {
            path,
            expected,
            got,
        }))
    }

    /// The path of the value that has the wrong type, from the root of the document. [`None`] if the document is not JSON.
    pub fn path(&self) -> Option<&str> {
        match &*self.0 {
            Reason::Syntax(_) => None,
            Reason::Shape { path, .. } => Some(path),
        }
    }

    /// The same trouble, seen from the object that holds the document as its member `name`.
    #[must_use]
    pub fn within(mut self, name: &str) -> Self {
        if let Reason::Shape { path, .. } = &mut *self.0 {
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
            Reason::Shape {
                path,
                expected,
                got,
            } => {
                let colon = if path.is_empty() { "" } else { ": " };
                write!(f, "{path}{colon}expected {expected}, got {got}")
            }
        }
    }
}

impl std::error::Error for Malformed {}
