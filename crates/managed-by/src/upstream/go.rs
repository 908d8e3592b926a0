//! Strings as Go prints them, since kube-apiserver's messages hold what Go printed.

mod printable;

use std::fmt::Write as _;
use std::ops::Range;

/// No text is printed further than that. Upstream prints all of it, several times over, which for a request that is one
/// huge string takes a hundred megabytes.
pub(crate) const MAX_PRINTED: usize = 64 * 1024;

/// The text, or the beginning of it, with three dots if that is not all.
fn beginning(text: &str) -> (&str, &'static str) {
    if text.len() <= MAX_PRINTED {
        return (text, "");
    }
    (prefix(text, MAX_PRINTED), "...")
}

/// As much of the beginning as fits, without half a character. (The standard library has it from Rust 1.91 on.)
pub(crate) fn prefix(text: &str, max: usize) -> &str {
    let mut ends = (0..=max.min(text.len())).rev();
    let end = ends.find(|end| text.is_char_boundary(*end));
    text.get(..end.unwrap_or_default()).unwrap_or_default()
}

/// `strconv.Quote`, which `%q` uses.
pub(crate) fn quote(text: &str) -> String {
    let (text, dots) = beginning(text);
    let mut out = String::with_capacity(text.len().saturating_add(2));
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            ' '..='~' => out.push(c),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            _ if printable::is_printable(c) => out.push(c),
            c => escape(&mut out, c),
        }
    }
    out.push_str(dots);
    out.push('"');
    out
}

fn escape(out: &mut String, c: char) {
    // Writing to a String cannot fail.
    let _ = match u32::from(c) {
        code @ (0..=0x1f | 0x7f) => write!(out, "\\x{code:02x}"),
        code @ 0..=0xffff => write!(out, "\\u{code:04x}"),
        code => write!(out, "\\U{code:08x}"),
    };
}

/// A string as `encoding/json` marshals it, with its escapes for HTML.
pub(crate) fn json_string(text: &str) -> String {
    let (text, dots) = beginning(text);
    let mut out = String::with_capacity(text.len().saturating_add(2));
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0'..=' ' if c != ' ' => unicode(&mut out, c),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => unicode(&mut out, c),
            c => out.push(c),
        }
    }
    out.push_str(dots);
    out.push('"');
    out
}

/// `encoding/json` writes no byte as more than so many: `\u003c` for `<`.
pub(crate) const MAX_JSON_GROWTH: usize = 6;

/// How many bytes a JSON text has as `encoding/json` writes it, with its escapes for HTML. Blanks between the values count.
///
/// Looks at eight bytes at once, which saves two thirds of the fuel of an update of 500 KB.
pub(crate) fn json_size(json: &[u8]) -> usize {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    let has = |word: u64, byte: u8| {
        let zero_there = word ^ ONES.wrapping_mul(byte.into());
        zero_there.wrapping_sub(ONES) & !zero_there & (ONES << 7)
    };
    let (words, _) = json.as_chunks();
    let mut size = json.len();
    for (index, bytes) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*bytes);
        // `<` and `>` differ in one bit, which is not looked at here.
        if has(word & !(ONES << 1), b'<') | has(word, b'&') | has(word, SEPARATOR[0]) != 0 {
            let start = index.saturating_mul(8);
            size = size.saturating_add(added(json, start..start.saturating_add(8)));
        }
    }
    let rest = words.len().saturating_mul(8);
    size.saturating_add(added(json, rest..json.len()))
}

/// The first bytes of U+2028 and U+2029 in UTF-8.
const SEPARATOR: [u8; 2] = [0xe2, 0x80];

/// How many bytes the escapes of what begins in a part of a text add to it.
fn added(json: &[u8], part: Range<usize>) -> usize {
    let added = part.map(|at| match json.get(at..).unwrap_or_default() {
        [b'<' | b'>' | b'&', ..] => MAX_JSON_GROWTH - 1,
        [first, second, 0xa8 | 0xa9, ..] if [*first, *second] == SEPARATOR => 3,
        _ => 0,
    });
    added.sum()
}

fn unicode(out: &mut String, c: char) {
    let _ = write!(out, "\\u{:04x}", u32::from(c));
}

#[cfg(test)]
mod tests {
    use super::{json_size, json_string, prefix, quote};

    #[test]
    fn a_prefix_has_whole_characters() {
        let text = "aé🙂";
        let cut: Vec<_> = (0..9).map(|max| prefix(text, max)).collect();
        let whole = ["", "a", "a", "aé", "aé", "aé", "aé", text, text];
        assert_eq!(cut, whole);
    }

    /// The sizes of what Go 1.26 prints: `json.Marshal` of what `json.Unmarshal` makes of the text.
    #[test]
    fn json_has_the_size_of_gos() {
        for (json, size) in [
            ("{}", 2),
            (r#"{"a b":"c  d"}"#, 14),
            ("\"<>&\u{2028}\u{2029}\u{2030}é🙂\"", 41),
            (r#""\u003c""#, 8),
            ("\"0123456\u{2028}<9\u{2029}abcd>\"", 38),
        ] {
            assert_eq!(json_size(json.as_bytes()), size, "{json}");
        }
        // Wherever it stands among eight bytes.
        for (c, more) in [
            ('<', 5),
            ('>', 5),
            ('&', 5),
            ('\u{2028}', 3),
            ('\u{2029}', 3),
            ('=', 0),
        ] {
            for at in 0..16 {
                let json = format!("{}{c}{}", "x".repeat(at), "x".repeat(16 - at));
                assert_eq!(json_size(json.as_bytes()), json.len() + more, "{json}");
            }
        }
    }

    /// Each row was printed by Go 1.26: `fmt.Sprintf("%q", s)` and `json.Marshal(s)`.
    #[test]
    fn strings_print_as_in_go() {
        let rows = [
            ("plain/~", r#""plain/~""#, r#""plain/~""#),
            ("a\"b\\c", r#""a\"b\\c""#, r#""a\"b\\c""#),
            (
                "\0\u{1}\u{1f}\u{7f}",
                r#""\x00\x01\x1f\x7f""#,
                "\"\\u0000\\u0001\\u001f\u{7f}\"",
            ),
            (
                "\u{7}\u{8}\u{c}\n\r\t\u{b}",
                r#""\a\b\f\n\r\t\v""#,
                r#""\u0007\b\f\n\r\t\u000b""#,
            ),
            ("<&>", r#""<&>""#, r#""\u003c\u0026\u003e""#),
            ("é世🙂", r#""é世🙂""#, r#""é世🙂""#),
            (
                "\u{a0}\u{2028}\u{feff}",
                r#""\u00a0\u2028\ufeff""#,
                "\"\u{a0}\\u2028\u{feff}\"",
            ),
            (
                "\u{fffd}\u{10ffff}\u{e000}",
                r#""�\U0010ffff\ue000""#,
                "\"\u{fffd}\u{10ffff}\u{e000}\"",
            ),
            (
                "e\u{301}\u{200d}",
                "\"e\u{301}\\u200d\"",
                "\"e\u{301}\u{200d}\"",
            ),
        ];
        for (text, quoted, json) in rows {
            assert_eq!(quote(text), quoted, "{text:?}");
            assert_eq!(json_string(text), json, "{text:?}");
        }
    }
}
