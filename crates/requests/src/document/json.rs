//! JSON documents: `serde_json` reads them, and borrowed values tell where they stand.

use std::ops::Range;

use serde_json::Deserializer;
use serde_json::value::RawValue;

use super::offset_in;
use crate::json::{Members, elements, what};
use crate::path::{Path, Segment};
use crate::trouble::Trouble;

/// The values of a text that holds JSON values one after another.
pub(super) fn values<'t>(text: &str, part: &'t str) -> Result<Vec<&'t str>, Trouble> {
    let mut values = Vec::new();
    for value in Deserializer::from_str(part).into_iter::<&'t RawValue>() {
        match value {
            Ok(value) => values.push(value.get()),
            Err(e) => return Err(trouble(text, part, &e)),
        }
    }
    Ok(values)
}

/// The error of `serde_json`, which counts lines from the start of the part, at its place in the text.
fn trouble(text: &str, part: &str, error: &serde_json::Error) -> Trouble {
    let lines = part
        .split_inclusive('\n')
        .take(error.line().saturating_sub(1));
    let line_start = lines.fold(0_usize, |sum, line| sum.saturating_add(line.len()));
    let offset = offset_in(text, part)
        .saturating_add(line_start)
        .saturating_add(error.column().saturating_sub(1));
    Trouble::in_text(text, offset, what(part, error))
}

/// Where the value at a path of a JSON value stands in the text, or the nearest value around it; and whether it was found.
pub(super) fn find(text: &str, json: &str, path: &Path, is_key: bool) -> (Range<usize>, bool) {
    let mut value = json;
    let mut key = json;
    let mut is_exact = true;
    for segment in path.segments() {
        let Some(found) = step(value, segment) else {
            is_exact = false;
            break;
        };
        (key, value) = found;
    }
    let shown = if is_key { key } else { value };
    let start = offset_in(text, shown);
    (start..start.saturating_add(shown.len()), is_exact)
}

/// The member or the element at one step: its name, or else itself, and itself.
fn step<'t>(json: &'t str, segment: &Segment) -> Option<(&'t str, &'t str)> {
    if let Some(members) = Members::of(json) {
        let (name, value) = members.find(segment.key())?;
        let name = name.strip_prefix('"')?.strip_suffix('"')?;
        return Some((name, value));
    }
    let element = *elements(json)?.get(segment.index()?)?;
    Some((element, element))
}
