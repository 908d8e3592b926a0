//! Converts byte offsets to lines and columns. The text is scanned once, not once per lookup: a list of a thousand Jobs
//! has thousands of values, possibly on a single line.

use std::cell::OnceCell;

use crate::malformed::MalformedText;

/// Distance between two marks in bytes. A lookup scans no more than that.
const STEP: usize = 1024;

/// Converts byte offsets in a text to lines and columns.
#[derive(Debug)]
pub(crate) struct Places<'t> {
    pub(crate) text: &'t str,
    /// Position of every `STEP`th byte, computed on first use.
    marks: OnceCell<Vec<Position>>,
}

/// A line and a column in characters, both from 0.
#[derive(Debug, Clone, Copy, Default)]
struct Position {
    line: usize,
    column: usize,
}

impl Position {
    /// Returns the position after a text that starts here.
    fn behind(self, text: &str) -> Self {
        let lines = memchr::memchr_iter(b'\n', text.as_bytes()).count();
        let last = text.rsplit('\n').next().unwrap_or_default();
        let column = if lines == 0 { self.column } else { 0 };
        Self {
            line: self.line.saturating_add(lines),
            column: column.saturating_add(last.chars().count()),
        }
    }
}

impl<'t> Places<'t> {
    pub(crate) const fn new(text: &'t str) -> Self {
        Self {
            text,
            marks: OnceCell::new(),
        }
    }

    /// Returns the line and column of a byte offset, both from 1. Columns count characters.
    pub(crate) fn position(&self, offset: usize) -> (usize, usize) {
        let step = offset.min(self.text.len()) / STEP;
        let marks = self.marks.get_or_init(|| self.marks());
        let mark = marks.get(step).copied().unwrap_or_default();
        let start = step.saturating_mul(STEP);
        let place = mark.behind(self.between(start, offset));
        (place.line.saturating_add(1), place.column.saturating_add(1))
    }

    /// Creates a `MalformedText` at a byte offset.
    pub(crate) fn malformed(&self, offset: usize, what: impl Into<String>) -> MalformedText {
        let (line, column) = self.position(offset);
        MalformedText::at(line, column, what)
    }

    fn marks(&self) -> Vec<Position> {
        let mut marks = Vec::with_capacity((self.text.len() / STEP).saturating_add(1));
        let mut place = Position::default();
        for start in (0..=self.text.len()).step_by(STEP) {
            marks.push(place);
            place = place.behind(self.between(start, start.saturating_add(STEP)));
        }
        marks
    }

    /// Returns the text between two offsets. A character across a bound belongs to the text after it.
    fn between(&self, start: usize, end: usize) -> &'t str {
        let bound = |at| self.text.floor_char_boundary(at);
        self.text.get(bound(start)..bound(end)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::{Places, STEP};

    /// Computes a position by scanning the whole text before it.
    fn plainly(text: &str, offset: usize) -> (usize, usize) {
        let before = text.get(..text.floor_char_boundary(offset)).unwrap();
        let column = before.rsplit('\n').next().unwrap_or_default();
        let (line, column) = (before.matches('\n').count(), column.chars().count());
        (line.saturating_add(1), column.saturating_add(1))
    }

    #[test]
    fn a_place_is_what_is_counted_from_the_start() {
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
            let places = Places::new(&text);
            for offset in 0..text.len() + 2 {
                assert_eq!(places.position(offset), plainly(&text, offset), "{offset}");
            }
        }
    }
}
