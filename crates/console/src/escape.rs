//! Makes untrusted text safe to print, so that it cannot inject lines, rows, formatting or the commands of a CI system. Every format
//! uses this, and the text has a bounded length.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;

/// Maximum number of bytes of a text in any format.
pub const MAX_TEXT: usize = 16 << 10;

/// Maximum number of characters of a cell of a table but the last, and of a value in Markdown.
pub const MAX_CELL: usize = 200;

/// Returns true for control characters, line separators, and bidirectional or invisible characters.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{feff}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{e0000}'..='\u{e007f}')
}

/// Returns true if the text is `#`, after another `#`, and the rest of a command of GitHub Actions (`##[group]`), Azure Pipelines
/// (`##vso[`) or `TeamCity` (`##teamcity[`), which they find anywhere in a line.
fn is_in_command(before: Option<char>, rest: &str) -> bool {
    let name = rest.strip_prefix('#').filter(|_| before == Some('#'));
    name.is_some_and(|name| {
        let rest = name.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
        rest.starts_with('[')
    })
}

/// Returns the text, cut at a maximum number of bytes.
fn bounded(text: &str, max: usize) -> Cow<'_, str> {
    if text.len() <= max {
        return Cow::Borrowed(text);
    }
    let shown = text.get(..text.floor_char_boundary(max));
    Cow::Owned(format!("{}...", shown.unwrap_or_default()))
}

/// Returns the text, cut after [`MAX_CELL`] characters.
pub fn bounded_cell(text: &str) -> Cow<'_, str> {
    let end = text.char_indices().nth(MAX_CELL);
    end.map_or(Cow::Borrowed(text), |(end, _)| bounded(text, end))
}

/// Escapes unsafe characters ([`is_unsafe`]) and commands of CI systems. Only at the start, `::` starts one of GitHub Actions.
pub fn escape_control(text: &str) -> Cow<'_, str> {
    let is_command = text.trim_start().starts_with("::");
    if !is_command && text.len() <= MAX_TEXT && !text.contains("##") && !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let text = bounded(text, MAX_TEXT);
    let mut escaped = String::with_capacity(text.len());
    let mut before = None;
    for (at, c) in text.char_indices() {
        let is_start = is_command && before.is_none_or(char::is_whitespace) && c == ':';
        if is_unsafe(c) {
            escaped.extend(c.escape_default());
        } else if is_start || is_in_command(before, text.get(at..).unwrap_or_default()) {
            escaped.extend(c.escape_unicode());
        } else {
            escaped.push(c);
        }
        before = Some(c);
    }
    Cow::Owned(escaped)
}

/// Replaces unsafe characters other than tabs, and commands, with text of the same number of bytes, so that byte positions stay
/// valid.
pub fn replace_control(line: &str) -> Cow<'_, str> {
    let is_replaced = |c: char| is_unsafe(c) && c != '\t';
    if !line.contains(is_replaced) && !line.contains("##") {
        return Cow::Borrowed(line);
    }
    let mut escaped = String::with_capacity(line.len());
    let mut before = None;
    for (at, c) in line.char_indices() {
        let rest = line.get(at..).unwrap_or_default();
        match c.len_utf8() {
            _ if is_in_command(before, rest) => escaped.push('?'),
            _ if !is_replaced(c) => escaped.push(c),
            3 => escaped.push('\u{fffd}'),
            bytes => escaped.extend(std::iter::repeat_n('?', bytes)),
        }
        before = Some(c);
    }
    Cow::Owned(escaped)
}

/// Formats text as code in one line of Markdown, where neither links, HTML nor mentions have an effect. A longer run of backticks than in
/// the text encloses it.
pub fn markdown_code(text: &str) -> String {
    enclosed(&bounded_cell(text))
}

fn enclosed(text: &str) -> String {
    let text = escape_control(text);
    let runs = text.split(|c| c != '`').map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or_default().saturating_add(1));
    let pad = if text.starts_with('`') || text.ends_with('`') || text.is_empty() {
        " "
    } else {
        ""
    };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// Like [`markdown_code`], for a cell of a table, which may be a long command.
pub fn markdown_cell(text: &str) -> String {
    enclosed(text).replace('|', "\\|")
}

/// Escapes all texts of a value, for a format that does not escape them itself.
pub fn escape_values(value: &mut Value) {
    match value {
        Value::String(text) => *text = escape_control(text).into_owned(),
        Value::Array(values) => values.iter_mut().for_each(escape_values),
        Value::Object(members) => {
            let all = std::mem::take(members).into_iter();
            members.extend(all.map(|(name, mut value)| {
                escape_values(&mut value);
                (escape_control(&name).into_owned(), value)
            }));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

pub fn json_line(value: &impl Serialize) -> String {
    // Only maps with keys other than text cannot be JSON.
    safe_json(&serde_json::to_string(value).unwrap_or_default())
}

pub fn json_document(value: &impl Serialize) -> String {
    safe_json(&serde_json::to_string_pretty(value).unwrap_or_default())
}

/// Escapes unsafe characters and commands in JSON, so that the values stay the same, and cuts long texts.
fn safe_json(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    // Number of bytes of the text, inside of one.
    let mut text: Option<usize> = None;
    let mut before = None;
    let mut chars = json.char_indices();
    while let Some((at, c)) = chars.next() {
        let Some(written) = &mut text else {
            text = (c == '"').then_some(0);
            safe.push(c);
            continue;
        };
        if c == '"' {
            safe.push_str(if *written > MAX_TEXT { "...\"" } else { "\"" });
            (text, before) = (None, None);
            continue;
        }
        let rest = json.get(at..).unwrap_or_default();
        let (len, width) = match (c, rest.as_bytes().get(1)) {
            ('\\', Some(b'u')) => (6, 1),
            ('\\', _) => (2, 1),
            _ => (c.len_utf8(), c.len_utf8()),
        };
        if c == '\\' {
            chars.nth(len.saturating_sub(2));
        }
        *written = written.saturating_add(width);
        if *written > MAX_TEXT {
            continue;
        }
        if is_unsafe(c) || is_in_command(before, rest) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(safe, "\\u{unit:04x}");
            }
        } else {
            safe.push_str(rest.get(..len).unwrap_or_default());
        }
        before = Some(c);
    }
    safe
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::{
        MAX_TEXT, escape_control, is_unsafe, json_document, json_line, markdown_cell,
        replace_control,
    };
    use crate::table::table;

    #[test]
    fn special_characters_are_escaped() {
        for (text, expected) in [
            ("team-a/pi", "team-a/pi"),
            ("\u{e4} \u{1f600} ::error::", "\u{e4} \u{1f600} ::error::"),
            ("a\n::error::b", "a\\n::error::b"),
            ("::error::b", "\\u{3a}:error::b"),
            ("a\u{1b}[2Jb\r", "a\\u{1b}[2Jb\\r"),
            (
                "a\u{202e}b\u{2028}c\u{85}d",
                "a\\u{202e}b\\u{2028}c\\u{85}d",
            ),
            ("##[error]a", "#\\u{23}[error]a"),
            ("###vso[task.a]", "##\\u{23}vso[task.a]"),
            ("##teamcity[a]", "#\\u{23}teamcity[a]"),
            ("## a [b]", "## a [b]"),
        ] {
            assert_eq!(escape_control(text), expected);
        }
    }

    /// Text with what terminals, CI systems and Markdown act on.
    fn hostile() -> impl Strategy<Value = String> {
        let part = prop_oneof![
            any::<String>(),
            prop::sample::select(vec![
                "\n::error::",
                "::set-output name=a::",
                "##[group]",
                "##vso[task.setvariable]",
                "###vso[",
                "##teamcity[a",
                "\r\u{1b}[0Ksection_start:1:a\r\u{1b}[0K",
                "\u{202e}",
                "\u{85}",
                "\u{7f}",
                "\n",
                "\r",
                "\t",
                "|",
                "`",
                "``",
                "\\",
                "[a](https://b)",
                "![a](b)",
                "<img src=a>",
                "@a",
                "#1",
                "\"",
                "#",
                " ",
            ])
            .prop_map(str::to_owned),
            (1..70_000_usize).prop_map(|length| "x\u{e4}".repeat(length)),
        ];
        prop::collection::vec(part, 0..6).prop_map(|parts| parts.concat())
    }

    /// Checks that a text with lines of its own has neither an unsafe character nor a command.
    fn assert_safe(text: &str) {
        for line in text.split('\n') {
            assert!(!line.contains(is_unsafe), "{line:?}");
            assert!(!line.trim_start().starts_with("::"), "{line:?}");
            for command in ["##[", "##vso[", "##teamcity["] {
                assert!(!line.contains(command), "{line:?}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn text_has_no_effect(text in hostile()) {
            let escaped = escape_control(&text);
            assert_safe(&escaped);
            // Each escape has at most ten characters.
            assert!(!escaped.contains('\n') && escaped.len() < 11_usize.saturating_mul(MAX_TEXT));
        }

        #[test]
        fn shown_lines_keep_positions(text in hostile()) {
            let shown = replace_control(&text);
            assert_eq!(shown.len(), text.len());
            assert!(!shown.contains(|c| is_unsafe(c) && c != '\t'));
            assert!(!shown.contains("##vso[") && !shown.contains("##["));
        }

        #[test]
        fn json_has_the_same_value(text in hostile()) {
            let value = json!({text.clone(): [text.clone()], "a": text});
            for json in [json_line(&value), json_document(&value)] {
                assert_safe(&json);
                let read: Value = serde_json::from_str(&json).unwrap();
                let read = read["a"].as_str().unwrap();
                match read.strip_suffix("...").filter(|_| text.len() > MAX_TEXT) {
                    Some(read) => assert!(text.starts_with(read)),
                    None => assert_eq!(read, text),
                }
            }
        }

        #[test]
        fn cells_stay_in_their_row(text in hostile()) {
            let rows = [[text.clone(), text.clone()], ["b".to_owned(), "c".to_owned()]];
            let text_table = table(["A", "B"], rows.into_iter());
            assert_safe(&text_table);
            assert_eq!(text_table.lines().count(), 3);
            let whole = escape_control(&text);
            assert!(text_table.lines().nth(1).unwrap().ends_with(whole.trim_end()));
            assert!(text_table.lines().all(|line| line.chars().count() < 11_usize.saturating_mul(MAX_TEXT)));
            let cell = markdown_cell(&text);
            let mut row = String::new();
            write!(row, "| {cell} |").unwrap();
            assert_safe(&row);
            let plain = cell.replace("\\|", " ");
            assert!(!plain.contains('|'));
            // All but the fences is code: no run of backticks is as long as them.
            let code = plain.trim_start_matches('`');
            let fence = plain.strip_suffix(code).unwrap_or_default();
            let code = code.strip_suffix(fence).unwrap();
            assert!(!fence.is_empty() && code.split(|c| c != '`').all(|run| run != fence));
        }
    }
}
