//! `--fix`: applies suggestions to a file. Only the bytes of the values change, so comments stay.

use std::ops::Range;

use managed_by_offline::{Document, ValueLocation};
use serde_json::Value;

/// A string in a text, and its replacement.
pub(crate) struct Edit {
    span: Range<usize>,
    old: String,
    new: String,
}

impl Edit {
    /// Creates the edit that replaces the string at a position. The error is the reason why the file must be edited by
    /// hand.
    pub(crate) fn new(
        text: &str,
        located: &ValueLocation,
        new: String,
    ) -> Result<Self, &'static str> {
        let Range { start, end } = located.span;
        let (before, rest) = text.split_at_checked(start).unwrap_or_default();
        let line = before.rsplit('\n').next().unwrap_or_default();
        let property = line.split_whitespace().next_back().unwrap_or_default();
        let quote = ['"', '\''].into_iter().find(|q| rest.starts_with(*q));
        let (start, old) = match quote {
            // The range of a quoted value may extend past the closing quote.
            Some(quote) => (
                start.saturating_add(1),
                rest.split(quote).nth(1).unwrap_or_default(),
            ),
            None => (start, text.get(start..end).unwrap_or_default().trim_end()),
        };
        let is_special = |s: &str| s.starts_with(['&', '!', '*', '|', '>']);
        let is_plain = |c: char| !c.is_whitespace() && !"\\\"'".contains(c);
        if is_special(property) || is_special(old) || !old.chars().all(is_plain) {
            return Err("the value has an anchor, a tag, an escape or several lines");
        }
        Ok(Self {
            span: start..start.saturating_add(old.len()),
            old: old.to_owned(),
            new,
        })
    }
}

/// Applies the edits, unless they would change anything other than the edited values.
pub(crate) fn apply(text: &str, edits: &mut Vec<Edit>) -> Option<String> {
    edits.sort_by_key(|edit| edit.span.start);
    edits.dedup_by_key(|edit| edit.span.start);
    let mut edited = text.to_owned();
    for edit in edits.iter().rev() {
        edited.get(edit.span.clone())?;
        edited.replace_range(edit.span.clone(), &edit.new);
    }
    let values = |text: &str| -> Option<Vec<Value>> {
        let documents = Document::parse_all(text).into_iter().flatten();
        let values = documents.map(|document| serde_json::from_str(document.json()));
        values.collect::<Result<_, _>>().ok()
    };
    let (old, new) = (Value::from(values(text)?), Value::from(values(&edited)?));
    let mut changes = Vec::new();
    differences(&old, &new, &mut changes);
    let expected = edits
        .iter()
        .map(|edit| Some((edit.old.clone(), edit.new.clone())));
    let mut expected: Vec<_> = expected.collect();
    changes.sort_unstable();
    expected.sort_unstable();
    (changes == expected).then_some(edited)
}

/// Collects changed strings and keys, and [`None`] for any other difference.
fn differences(old: &Value, new: &Value, changes: &mut Vec<Option<(String, String)>>) {
    match (old, new) {
        (old, new) if old == new => {}
        (Value::String(old), Value::String(new)) => changes.push(Some((old.clone(), new.clone()))),
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            old.iter()
                .zip(new)
                .for_each(|(old, new)| differences(old, new, changes));
        }
        (Value::Object(old), Value::Object(new)) if old.len() == new.len() => {
            for (key, value) in old {
                if let Some(other) = new.get(key) {
                    differences(value, other, changes);
                }
            }
            let removed = old.iter().filter(|(key, _)| !new.contains_key(*key));
            let added = new.iter().filter(|(key, _)| !old.contains_key(*key));
            for ((key, value), (other, new)) in removed.zip(added) {
                changes.push(Some((key.clone(), other.clone())));
                differences(value, new, changes);
            }
        }
        _ => changes.push(None),
    }
}
