//! Errors in the syntax of a text, with positions.

use std::fmt;

/// A syntax error in a text, with its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MalformedText {
    /// The line, from 1; 0 for the whole text.
    pub line: usize,
    /// The column in characters, from 1; 0 for the whole line.
    pub column: usize,
    /// The error, in one line.
    pub text: String,
    /// True if kubectl may accept the text.
    pub is_refused: bool,
}

impl MalformedText {
    /// Creates an error for the whole text.
    pub fn whole(text: impl Into<String>) -> Self {
        Self::at(0, 0, text)
    }

    /// Creates an error at a position.
    pub fn at(line: usize, column: usize, text: impl Into<String>) -> Self {
        Self {
            line,
            column,
            text: text.into(),
            is_refused: false,
        }
    }

    /// Marks the error as one for text that kubectl may accept.
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
