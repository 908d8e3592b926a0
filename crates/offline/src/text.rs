//! Decodes the bytes of files, and converts offsets to lines and columns.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::fmt;

/// Number of bytes that are checked to detect a binary file.
const SNIFFED: usize = 8192;

/// Distance between two checkpoints in bytes. A lookup scans no more than that.
const STEP: usize = 1024;

/// A syntax error in a text, with its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MalformedText {
    /// The line, from 1; 0 for the whole text.
    pub line: usize,
    /// The column in characters, from 1; 0 for the whole line.
    pub column: usize,
    /// The error, in one line.
    pub text: String,
    /// True for valid text that exceeds a limit or uses an unsupported feature. kubectl may accept it.
    pub is_unsupported: bool,
}

impl MalformedText {
    pub fn new(text: impl Into<String>) -> Self {
        Self::at(0, 0, text)
    }

    pub fn at(line: usize, column: usize, text: impl Into<String>) -> Self {
        Self {
            line,
            column,
            text: text.into(),
            is_unsupported: false,
        }
    }

    /// Marks the error as one for text that kubectl may accept.
    pub(crate) fn unsupported(self) -> Self {
        Self {
            is_unsupported: true,
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

/// Decodes a file's text without its byte order mark. UTF-16 requires a byte order mark.
///
/// # Errors
/// Returns an error if the bytes are not text; binary files get a specific message.
pub fn decode(bytes: &[u8]) -> Result<Cow<'_, str>, MalformedText> {
    let utf_16 = match bytes {
        [0xff, 0xfe, units @ ..] => Some((units, u16::from_le_bytes as fn([u8; 2]) -> u16)),
        [0xfe, 0xff, units @ ..] => Some((units, u16::from_be_bytes as fn([u8; 2]) -> u16)),
        _ => None,
    };
    if let Some((units, unit)) = utf_16 {
        let (units, rest) = units.as_chunks::<2>();
        let text = String::from_utf16(&units.iter().map(|bytes| unit(*bytes)).collect::<Vec<_>>());
        let text = text.ok().filter(|_| rest.is_empty()).map(Cow::Owned);
        return text.ok_or_else(|| MalformedText::new("not UTF-16"));
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let start = bytes.get(..SNIFFED).unwrap_or(bytes);
    if memchr::memchr(0, start).is_some() {
        let text = "binary file, expected YAML or JSON";
        return Err(MalformedText::new(text));
    }
    let text = std::str::from_utf8(bytes).map(Cow::Borrowed);
    text.map_err(|e| {
        let (valid, _) = bytes.split_at_checked(e.valid_up_to()).unwrap_or_default();
        let valid = std::str::from_utf8(valid).unwrap_or_default();
        LineIndex::new(valid).malformed(valid.len(), "not UTF-8")
    })
}

/// Converts byte offsets to lines and columns. The text is scanned once, not once per lookup: a list of a thousand Jobs
/// has thousands of values, possibly on a single line.
#[derive(Debug)]
pub(crate) struct LineIndex<'t> {
    text: &'t str,
    /// Line and column of every `STEP`th byte, computed on first use.
    checkpoints: OnceCell<Vec<(usize, usize)>>,
}

impl<'t> LineIndex<'t> {
    pub(crate) const fn new(text: &'t str) -> Self {
        let checkpoints = OnceCell::new();
        Self { text, checkpoints }
    }

    /// Returns the line and column of a byte offset, both from 1. Columns count characters.
    pub(crate) fn position(&self, offset: usize) -> (usize, usize) {
        let checkpoints = self.checkpoints.get_or_init(|| {
            let mut next = (1, 1);
            let starts = (0..=self.text.len()).step_by(STEP);
            let position = |start: usize| {
                let end = start.saturating_add(STEP);
                let checkpoint = next;
                next = advance(next, self.between(start, end));
                checkpoint
            };
            starts.map(position).collect()
        });
        let index = offset.min(self.text.len()) / STEP;
        let checkpoint = checkpoints.get(index).copied().unwrap_or((1, 1));
        advance(checkpoint, self.between(index.saturating_mul(STEP), offset))
    }

    /// Returns the byte offset of a part of the text.
    pub(crate) fn offset_of(&self, part: &str) -> usize {
        let address = part.as_ptr().addr();
        address.saturating_sub(self.text.as_ptr().addr())
    }

    pub(crate) fn malformed(&self, offset: usize, text: impl Into<String>) -> MalformedText {
        let (line, column) = self.position(offset);
        MalformedText::at(line, column, text)
    }

    /// Returns the text between two offsets. A character across a bound belongs to the text after it.
    fn between(&self, start: usize, end: usize) -> &'t str {
        let bound = |at| self.text.floor_char_boundary(at);
        self.text.get(bound(start)..bound(end)).unwrap_or_default()
    }
}

/// Returns the line and column after a text that starts at a position.
fn advance((line, column): (usize, usize), text: &str) -> (usize, usize) {
    let lines = memchr::memchr_iter(b'\n', text.as_bytes()).count();
    let last = text.rsplit('\n').next().unwrap_or_default();
    let column = if lines == 0 { column } else { 1 };
    let characters = last.chars().count();
    (
        line.saturating_add(lines),
        column.saturating_add(characters),
    )
}

#[cfg(test)]
mod tests {
    use super::{LineIndex, STEP};

    /// Computes a position by scanning the whole text before it.
    fn position_by_scan(text: &str, offset: usize) -> (usize, usize) {
        let before = text.get(..text.floor_char_boundary(offset)).unwrap();
        let column = before.rsplit('\n').next().unwrap_or_default();
        let (line, column) = (before.matches('\n').count(), column.chars().count());
        (line.saturating_add(1), column.saturating_add(1))
    }

    #[test]
    fn positions_equal_a_scan_from_the_start() {
        for text in [
            String::new(),
            "one line".to_owned(),
            "\n\n\n".to_owned(),
            "a: \u{e4}\u{1f600}\r\nb: x\n".repeat(300),
            "\u{1f600}".repeat(STEP),
            "x".repeat(STEP * 3),
            format!("{}\n{}", "x".repeat(STEP - 1), "y".repeat(STEP)),
            format!("{}\n", "\u{e4}".repeat(STEP)).repeat(3),
        ] {
            let index = LineIndex::new(&text);
            for offset in 0..text.len() + 2 {
                assert_eq!(
                    index.position(offset),
                    position_by_scan(&text, offset),
                    "{offset}"
                );
            }
        }
    }
}
