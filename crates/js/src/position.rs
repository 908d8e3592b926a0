//! Positions in a text in UTF-16 code units, which JavaScript counts.

use std::cell::Cell;

use managed_by_offline::ValueLocation;
use serde::Serialize;

/// A position in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS), ts(rename = "Position"))]
pub struct Position {
    /// Start in UTF-16 code units, for `text.slice(from, to)`.
    pub from: usize,
    /// End in UTF-16 code units.
    pub to: usize,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// True for the value or key itself. False for the nearest parent if it is missing, and for the rest of the line after a syntax
    /// error.
    pub exact: bool,
}

/// Converts positions in a text. A lookup counts from the previous one, so that looking up all findings of a text in order scans it
/// once.
#[derive(Debug)]
pub(crate) struct PositionIndex<'t> {
    text: &'t str,
    /// Byte offset of the previous lookup, and the UTF-16 code units before it.
    offset: Cell<(usize, usize)>,
    /// Line of the previous lookup by line, and the byte offset of its start.
    line: Cell<(usize, usize)>,
}

impl<'t> PositionIndex<'t> {
    pub(crate) const fn new(text: &'t str) -> Self {
        Self {
            text,
            offset: Cell::new((0, 0)),
            line: Cell::new((1, 0)),
        }
    }

    /// Converts the position of a value.
    pub(crate) fn located(&self, located: &ValueLocation) -> Position {
        Position {
            from: self.utf_16(located.span.start),
            to: self.utf_16(located.span.end),
            line: located.line,
            column: located.column,
            exact: located.is_exact,
        }
    }

    /// Returns the position from a line and column, both from 1, to the end of the line. 0 (unknown) is treated as 1.
    pub(crate) fn to_line_end(&self, line: usize, column: usize) -> Position {
        let (line, column) = (line.max(1), column.max(1));
        let start = self.line_start(line);
        let rest = self.text.get(start..).unwrap_or_default();
        let rest = rest.lines().next().unwrap_or_default().trim_end();
        let mut characters = rest.char_indices().skip(column.saturating_sub(1));
        let before = characters.next().map_or(rest.len(), |(before, _)| before);
        Position {
            from: self.utf_16(start.saturating_add(before)),
            to: self.utf_16(start.saturating_add(rest.len())),
            line,
            column,
            exact: false,
        }
    }

    /// Returns the byte offset of the start of a line, or of the end of the text.
    fn line_start(&self, line: usize) -> usize {
        let (mut current, mut start) = self.line.get();
        if line < current {
            (current, start) = (1, 0);
        }
        let rest = self.text.get(start..).unwrap_or_default();
        let skipped = rest.split_inclusive('\n');
        for skipped in skipped.take(line.saturating_sub(current)) {
            #[cfg(test)]
            tests::SCANNED_BYTES.set(tests::SCANNED_BYTES.get().saturating_add(skipped.len()));
            start = start.saturating_add(skipped.len());
        }
        self.line.set((line, start));
        start
    }

    /// Converts a byte offset.
    fn utf_16(&self, offset: usize) -> usize {
        let offset = self.text.floor_char_boundary(offset);
        let (previous, before) = self.offset.get();
        let between = |start, end| utf_16_len(self.text.get(start..end).unwrap_or_default());
        let units = if offset < previous {
            before.saturating_sub(between(offset, previous))
        } else {
            before.saturating_add(between(previous, offset))
        };
        self.offset.set((offset, units));
        units
    }
}

/// Returns the length of a text in UTF-16 code units.
fn utf_16_len(text: &str) -> usize {
    #[cfg(test)]
    tests::SCANNED_BYTES.set(tests::SCANNED_BYTES.get().saturating_add(text.len()));
    text.chars()
        .map(char::len_utf16)
        .fold(0, usize::saturating_add)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use managed_by_offline::ValueLocation;

    use super::PositionIndex;

    thread_local! {
        /// Number of bytes scanned.
        pub(super) static SCANNED_BYTES: Cell<usize> = const { Cell::new(0) };
    }

    fn located(start: usize, end: usize) -> ValueLocation {
        ValueLocation {
            span: start..end,
            line: 1,
            column: 1,
            is_exact: true,
        }
    }

    #[test]
    fn lookups_in_order_take_linear_time() {
        let text = "a: \u{e4}\u{1f600} # comment\n".repeat(2000);
        let positions = PositionIndex::new(&text);
        SCANNED_BYTES.set(0);
        let line_length = text.find('\n').unwrap() + 1;
        for start in (0..text.len()).step_by(line_length) {
            positions.located(&located(start, start + 3));
            positions.located(&located(start + 1, start + 2));
        }
        for line in 1..=2000 {
            positions.to_line_end(line, 3);
        }
        // About one pass for the values, one back to the first line, and two for the lines.
        let scanned = SCANNED_BYTES.get();
        assert!(scanned < 5 * text.len(), "{scanned} of {}", text.len());
    }

    #[test]
    fn positions_count_utf_16_code_units_in_any_order() {
        let text = "a: \u{e4}\nb: \u{1f600} x  \r\nc: y";
        let positions = PositionIndex::new(text);
        let utf_16 = |end: usize| text.get(..end).unwrap().encode_utf16().count();
        for (value, key) in [("y", "c"), ("\u{e4}", "a"), ("\u{1f600}", "b"), ("x", "c")] {
            for part in [value, key] {
                let start = text.find(part).unwrap();
                let end = start + part.len();
                let position = positions.located(&located(start, end));
                assert_eq!((position.from, position.to), (utf_16(start), utf_16(end)));
            }
        }
        let all = text.encode_utf16().count();
        for (line, column, expected) in [
            (3, 1, (all - 4, all)),
            (1, 4, (3, 4)),
            (2, 5, (10, 12)),
            (2, 0, (5, 12)),
            (0, 0, (0, 4)),
            (2, 99, (12, 12)),
            (9, 1, (all, all)),
        ] {
            let position = positions.to_line_end(line, column);
            assert_eq!((position.from, position.to), expected, "{line}:{column}");
        }
    }
}
