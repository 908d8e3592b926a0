//! Strings as Go prints them, since kube-apiserver's messages hold what Go printed.

mod printable;

use std::fmt::Write as _;

/// No text is printed further than that. Upstream prints all of it, several times over, which for a request that is one
/// huge string takes a hundred megabytes.
pub(crate) const MAX_PRINTED: usize = 64 * 1024;

/// The text, or the beginning of it, with three dots if that is not all.
fn beginning(text: &str) -> (&str, &'static str) {
    if text.len() <= MAX_PRINTED {
        return (text, "");
    }
    (
        text.get(..text.floor_char_boundary(MAX_PRINTED))
            .unwrap_or_default(),
        "...",
    )
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
    let code = u32::from(c);
    // Writing to a String cannot fail.
    let _ = if code < 0x20 || code == 0x7f {
        write!(out, "\\x{code:02x}")
    } else if code < 0x1_0000 {
        write!(out, "\\u{code:04x}")
    } else {
        write!(out, "\\U{code:08x}")
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

fn unicode(out: &mut String, c: char) {
    let _ = write!(out, "\\u{:04x}", u32::from(c));
}

#[cfg(test)]
mod tests {
    use super::{json_string, quote};

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
