//! Lookup of the path of a value by line and column, for error messages.

use super::path::{is_plain, quote_or_size};
use super::{Raw, Type};

enum Step<'t> {
    /// Name of the last member, as raw JSON.
    Member(&'t str),
    Element(usize),
}

/// Returns the path and type of the value that an error of `serde_json` is about. The document is valid JSON up to the position
/// where `serde_json` stopped: after a scalar, before an object or an array, or after the name of a member.
#[cold]
pub(super) fn locate(text: &str, line: usize, column: usize) -> (String, Type) {
    let lines = text.split_inclusive('\n').take(line.saturating_sub(1));
    let line_start: usize = lines.map(str::len).sum();
    let end = line_start.saturating_add(column);
    let mut steps = Vec::new();
    let mut json_type = Type::Null;
    let mut at = 0_usize;
    while let Some(rest) = text.get(at..)
        && let Some(token) = token(rest)
    {
        let is_end = at >= end;
        at = at.saturating_add(token.len());
        match token {
            "{" | "[" if is_end => {
                json_type = Raw::new(token).json_type();
                break;
            }
            _ if is_end => break,
            "{" => steps.push(Step::Member("")),
            "[" => steps.push(Step::Element(0)),
            "}" | "]" => {
                steps.pop();
            }
            "," => {
                if let Some(Step::Element(index)) = steps.last_mut() {
                    *index = index.saturating_add(1);
                }
            }
            " " | "\t" | "\r" | "\n" | ":" => {}
            name if is_name(text, at) => {
                if let Some(step) = steps.last_mut() {
                    *step = Step::Member(name);
                }
            }
            _ if at < end => {}
            scalar => {
                json_type = Raw::new(scalar).json_type();
                break;
            }
        }
    }
    (path(&steps), json_type)
}

/// Returns the next token: a string, a number, a word, or one character.
fn token(text: &str) -> Option<&str> {
    let mut bytes = text.bytes().enumerate();
    let (_, first) = bytes.next()?;
    let length = match first {
        b'"' => loop {
            match bytes.next() {
                Some((_, b'\\')) => {
                    bytes.next();
                }
                Some((at, b'"')) => break at.saturating_add(1),
                Some(_) => {}
                None => return None,
            }
        },
        b'{' | b'}' | b'[' | b']' | b',' | b':' | b' ' | b'\t' | b'\r' | b'\n' => 1,
        _ => {
            let end = bytes.find(|(_, byte)| b",]} \t\r\n".contains(byte));
            end.map_or(text.len(), |(at, _)| at)
        }
    };
    text.get(..length)
}

/// Returns true if the token before a position is the name of a member.
fn is_name(text: &str, end: usize) -> bool {
    let rest = text.get(end..).unwrap_or_default();
    rest.trim_ascii_start().starts_with(':')
}

fn path(steps: &[Step<'_>]) -> String {
    let mut path = String::new();
    for step in steps {
        let step = match step {
            Step::Member("") => continue,
            Step::Member(name) => match Raw::new(name).string().unwrap_or_default() {
                name if !is_plain(&name) => format!("[{}]", quote_or_size(&name, "key")),
                name if path.is_empty() => name.into_owned(),
                name => format!(".{name}"),
            },
            Step::Element(index) => format!("[{index}]"),
        };
        path.push_str(&step);
    }
    path
}
