//! Why bytes could not be read.

use std::borrow::Cow;
use std::fmt;

use super::scan::Stop;

/// Why bytes could not be read, in one line that never repeats them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed(Box<Reason>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Reason {
    /// Not JSON: what was expected, and the byte offset.
    Syntax {
        offset: usize,
        expected: &'static str,
    },
    /// JSON of the wrong shape at a path, innermost segment first while the error travels up.
    Shape {
        path: Vec<Cow<'static, str>>,
        expected: &'static str,
        got: &'static str,
    },
}

impl Malformed {
    pub(super) fn syntax(offset: usize, expected: &'static str) -> Self {
        Self(Box::new(Reason::Syntax { offset, expected }))
    }

    /// A value of the wrong type, or one that is missing, at the place where the caller stands.
    pub fn shape(expected: &'static str, got: &'static str) -> Self {
        let path = Vec::new();
        Self(Box::new(Reason::Shape {
            path,
            expected,
            got,
        }))
    }

    /// The same trouble, seen from the object that holds it under `segment`.
    #[must_use]
    pub fn within(mut self, segment: impl Into<Cow<'static, str>>) -> Self {
        if let Reason::Shape { path, .. } = &mut *self.0 {
            path.push(segment.into());
        }
        self
    }

    /// Whether the bytes are no JSON at all, so that nothing after this place can be read.
    pub fn is_syntax(&self) -> bool {
        matches!(*self.0, Reason::Syntax { .. })
    }
}

impl From<Stop> for Malformed {
    fn from(stop: Stop) -> Self {
        Self::syntax(stop.at, stop.expected)
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Reason::Syntax { offset, expected } => {
                write!(f, "not JSON: expected {expected} at byte {offset}")
            }
            Reason::Shape {
                path,
                expected,
                got,
            } => {
                for (i, segment) in path.iter().rev().enumerate() {
                    let dot = if i > 0 && !segment.starts_with('[') {
                        "."
                    } else {
                        ""
                    };
                    write!(f, "{dot}{segment}")?;
                }
                let colon = if path.is_empty() { "" } else { ": " };
                write!(f, "{colon}expected {expected}, got {got}")
            }
        }
    }
}

impl std::error::Error for Malformed {}
