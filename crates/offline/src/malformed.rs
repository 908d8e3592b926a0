//! Text that cannot be judged, and where.

use std::fmt;

/// What is malformed in a text that was read, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MalformedText {
    /// The line, from 1; 0 where it is the whole text.
    pub line: usize,
    /// The column in characters, from 1; 0 where it is the whole line.
    pub column: usize,
    /// What is wrong, in one line.
    pub text: String,
    /// Whether kubectl may read it all the same.
    pub is_refused: bool,
}

impl MalformedText {
    /// The whole text is malformed.
    pub fn whole(text: impl Into<String>) -> Self {
        Self::at(0, 0, text)
    }

    /// What is malformed stands at a place.
    pub fn at(line: usize, column: usize, text: impl Into<String>) -> Self {
        Self {
            line,
            column,
            text: text.into(),
            is_refused: false,
        }
    }

    /// The same, of something that kubectl may read.
    pub(crate) fn refused(self) -> Self {
        Self {
            is_refused: true,
            ..self
        }
    }
}

impl fmt::Display for MalformedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.line, self.column) {
            (0, _) => f.write_str(&self.text),
            (line, 0) => write!(f, "line {line}: {}", self.text),
            (line, column) => write!(f, "line {line}, column {column}: {}", self.text),
        }
    }
}

impl std::error::Error for MalformedText {}
