//! `--fix`: applies suggestions to a file. Only the bytes of the values change, so comments stay.

use std::ops::Range;

use managed_by_offline::{Document, Located};
use serde_json::Value;

/// A string in a text, and its replacement.
pub(crate) struct Edit {
    span: Range<usize>,
    old: String,
    new: String,
}

/// Returns the edit that replaces the string at a position. The error is the reason why the file must be edited by hand.
pub(crate) fn edit(text: &str, located: &Located, new: String) -> Result<Edit, &'static str> {
    let by_hand = Err("it has an anchor, a tag, an escape or several lines");
    let (before, rest) = text
        .split_at_checked(located.span.start)
        .unwrap_or_default();
    let written = rest
        .get(..located.span.len())
        .unwrap_or_default()
        .trim_end();
    let line = before.rsplit('\n').next().unwrap_or_default();
    let marked = line.split_whitespace().next_back().unwrap_or_default();
    let quote = ['"', '\''].into_iter().find(|q| rest.starts_with(*q));
    let (start, old) = match quote {
        // The range of a quoted value may extend past the closing quote.
        Some(quote) => (1, rest.split(quote).nth(1).unwrap_or_default()),
        None => (0, written),
    };
    let is_marked = [marked, old]
        .iter()
        .any(|s| s.starts_with(['&', '!', '*', '|', '>']));
    if is_marked || old.contains(|c: char| c.is_whitespace() || "\\\"'".contains(c)) {
        return by_hand;
    }
    let start = located.span.start.saturating_add(start);
    let span = start..start.saturating_add(old.len());
    let old = old.to_owned();
    Ok(Edit { span, old, new })
}

/// Applies the edits, unless they would change anything other than the edited values.
pub(crate) fn apply(text: &str, edits: &mut Vec<Edit>) -> Option<String> {
    edits.sort_by_key(|edit| edit.span.start);
    edits.dedup_by_key(|edit| edit.span.start);
    let mut edited = String::with_capacity(text.len());
    let mut at = 0;
    for edit in &*edits {
        edited.push_str(text.get(at..edit.span.start)?);
        edited.push_str(&edit.new);
        at = edit.span.end;
    }
    edited.push_str(text.get(at..)?);
    let values = |text: &str| -> Option<Vec<Value>> {
        let documents = Document::all(text).into_iter();
        let values = documents
            .flatten()
            .map(|document| serde_json::from_str(document.json()));
        values.collect::<Result<_, _>>().ok()
    };
    let mut changes = Vec::new();
    differences(
        &Value::from(values(text)?),
        &Value::from(values(&edited)?),
        &mut changes,
    );
    let mut meant: Vec<_> = edits
        .iter()
        .map(|edit| Some((edit.old.clone(), edit.new.clone())))
        .collect();
    changes.sort_unstable();
    meant.sort_unstable();
    (changes == meant).then_some(edited)
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
            let gone = old.iter().filter(|(key, _)| !new.contains_key(*key));
            let come = new.iter().filter(|(key, _)| !old.contains_key(*key));
            for ((key, value), (other, new)) in gone.zip(come) {
                changes.push(Some((key.clone(), other.clone())));
                differences(value, new, changes);
            }
        }
        _ => changes.push(None),
    }
}
