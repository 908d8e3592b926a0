//! Text that cannot be judged, and where.

use std::fmt;

use crate::places::Places;

/// What is malformed in a text that was read, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MalformedText {
    /// The line, from 1; 0 where it is the whole text.
    pub line: usize,
    /// The column in characters, from 1; 0 where it is the whole line.
    pub column: usize,
    /// What is wrong, in one line.
    pub text: String,
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
        }
    }

    /// The same at a byte of a text, for the only error in this text.
    pub(crate) fn in_text(text: &str, offset: usize, what: impl Into<String>) -> Self {
        Places::new(text).malformed(offset, what)
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

/// The text of a file, without a byte order mark.
///
/// # Errors
/// If the bytes are no UTF-8: UTF-16 and binary files are called by their names.
pub fn decode(bytes: &[u8]) -> Result<&str, MalformedText> {
    let utf_16 = [&b"\xff\xfe"[..], b"\xfe\xff"];
    if utf_16.iter().any(|mark| bytes.starts_with(mark)) {
        return Err(MalformedText::whole("is UTF-16, expected UTF-8"));
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let start = bytes.get(..SNIFFED).unwrap_or(bytes);
    if memchr::memchr(0, start).is_some() {
        return Err(MalformedText::whole(
            "is a binary file, expected YAML or JSON",
        ));
    }
    std::str::from_utf8(bytes).map_err(|e| {
        let (valid, _) = bytes.split_at_checked(e.valid_up_to()).unwrap_or_default();
        let valid = std::str::from_utf8(valid).unwrap_or_default();
        MalformedText::in_text(valid, valid.len(), "is not UTF-8")
    })
}

/// So much of a file tells whether it is text.
const SNIFFED: usize = 8192;
