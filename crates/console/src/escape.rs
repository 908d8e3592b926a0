//! Makes untrusted text safe to print, so that names cannot inject lines or commands.

use std::borrow::Cow;

/// Returns true for control characters, line separators, and bidirectional or invisible characters.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{feff}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{e0000}'..='\u{e007f}')
}

/// Escapes unsafe characters ([`is_unsafe`]), and `##[`, which starts a GitHub Actions command anywhere in a line.
pub fn escape_control(text: &str) -> Cow<'_, str> {
    let is_command = text.contains("##[");
    if !is_command && !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if is_unsafe(c) {
            escaped.extend(c.escape_default());
        } else {
            escaped.push(c);
        }
    }
    Cow::Owned(escaped.replace("##[", "#\\u{23}["))
}

/// Replaces unsafe characters other than tabs, and `##[`, with text of the same number of bytes, so that byte positions stay
/// valid.
pub fn replace_control(line: &str) -> Cow<'_, str> {
    let is_replaced = |c: char| is_unsafe(c) && c != '\t';
    if !line.contains(is_replaced) && !line.contains("##[") {
        return Cow::Borrowed(line);
    }
    let mut escaped = String::with_capacity(line.len());
    for c in line.chars() {
        match c.len_utf8() {
            _ if !is_replaced(c) => escaped.push(c),
            3 => escaped.push('\u{fffd}'),
            bytes => escaped.extend(std::iter::repeat_n('?', bytes)),
        }
    }
    Cow::Owned(escaped.replace("##[", "#?["))
}

#[cfg(test)]
mod tests {
    use super::{escape_control, replace_control};

    #[test]
    fn special_characters_are_escaped() {
        for (text, expected) in [
            ("team-a/pi", "team-a/pi"),
            ("\u{e4} \u{1f600} ::error::", "\u{e4} \u{1f600} ::error::"),
            ("a\n::error::b", "a\\n::error::b"),
            ("a\u{1b}[2Jb\r", "a\\u{1b}[2Jb\\r"),
            (
                "a\u{202e}b\u{2028}c\u{85}d",
                "a\\u{202e}b\\u{2028}c\\u{85}d",
            ),
            ("##[error]a", "#\\u{23}[error]a"),
        ] {
            assert_eq!(escape_control(text), expected);
        }
        for line in [
            "a: \u{202e}b",
            "a:\tb",
            "a: \u{1b}[1mb",
            "\u{85}\u{e0001}",
            "##[error]",
        ] {
            let shown = replace_control(line);
            assert_eq!(shown.len(), line.len());
            assert_eq!(
                escape_control(&shown.replace('\t', " ")),
                shown.replace('\t', " ")
            );
        }
    }
}
