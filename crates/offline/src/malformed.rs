//! Text that cannot be judged, and where.

use std::borrow::Cow;
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

/// The text of a file, without a byte order mark, which must be there before UTF-16.
///
/// # Errors
/// If the bytes are no text: binary files are called by their name.
pub fn decode(bytes: &[u8]) -> Result<Cow<'_, str>, MalformedText> {
    let utf_16 = match bytes {
        [0xff, 0xfe, units @ ..] => Some((units, u16::from_le_bytes as fn([u8; 2]) -> u16)),
        [0xfe, 0xff, units @ ..] => Some((units, u16::from_be_bytes as fn([u8; 2]) -> u16)),
        _ => None,
    };
    if let Some((units, unit)) = utf_16 {
        let (units, rest) = units.as_chunks::<2>();
        let text = String::from_utf16(&units.iter().map(|bytes| unit(*bytes)).collect::<Vec<_>>());
        let text = text.ok().filter(|_| rest.is_empty());
        return text
            .map(Cow::Owned)
            .ok_or_else(|| MalformedText::whole("is not UTF-16"));
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let start = bytes.get(..SNIFFED).unwrap_or(bytes);
    if memchr::memchr(0, start).is_some() {
        return Err(MalformedText::whole(
            "is a binary file, expected YAML or JSON",
        ));
    }
    std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(|e| {
        let (valid, _) = bytes.split_at_checked(e.valid_up_to()).unwrap_or_default();
        let valid = std::str::from_utf8(valid).unwrap_or_default();
        MalformedText::in_text(valid, valid.len(), "is not UTF-8")
    })
}

/// So much of a file tells whether it is text.
const SNIFFED: usize = 8192;
