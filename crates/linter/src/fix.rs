//! `--fix`: applies suggestions to a file. Only the bytes of the values change, so comments stay.

use std::ops::Range;

use managed_by_offline::{Document, ValueLocation};
use serde_json::Value;

/// A string in a text, and its replacement.
pub(crate) struct Edit {
    span: Range<usize>,
    pub(crate) old: String,
    pub(crate) new: String,
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

/// Returns true if a value is a known name with a slip of the keyboard, so that a program may correct it. A suggestion may guess, but
/// `runner-a` and `runner-b`, `v1` and `v3`, or `cpu` and `gpu` are different controllers.
///
/// The names may differ in case, white space and separators, or by one inserted, missing or transposed letter after the domain. `old`
/// must not be that close to another known name.
pub(crate) fn is_slip<'c>(old: &str, new: &str, known: impl IntoIterator<Item = &'c str>) -> bool {
    let old = normalized(old);
    let is_close = |name: &str| {
        let name = normalized(name);
        let domain = |name: &str| name.split_once('/').map(|(domain, _)| domain.to_owned());
        let differs_by_a_letter = domain(&old) == domain(&name)
            && (has_one_letter_more(&old, &name)
                || has_one_letter_more(&name, &old)
                || has_two_letters_swapped(&old, &name));
        old == name || differs_by_a_letter
    };
    is_close(new)
        && !known
            .into_iter()
            .any(|other| other != new && is_close(other))
}

/// Returns a name in lowercase, without white space, and with `-` as its separator.
fn normalized(name: &str) -> String {
    let kept = name.chars().filter(|c| !c.is_whitespace());
    let unified = kept.map(|c| {
        if c == '_' {
            '-'
        } else {
            c.to_ascii_lowercase()
        }
    });
    unified.collect()
}

/// Returns the parts of two texts between their common prefix and suffix.
fn difference<'t>(one: &'t str, other: &'t str) -> (&'t str, &'t str) {
    let same = |(a, b): &(char, char)| a == b;
    let prefix = one.chars().zip(other.chars()).take_while(same);
    let prefix: usize = prefix.map(|(c, _)| c.len_utf8()).sum();
    let rest = |text: &'t str| text.get(prefix..).unwrap_or_default();
    let (one, other) = (rest(one), rest(other));
    let suffix = one.chars().rev().zip(other.chars().rev()).take_while(same);
    let suffix: usize = suffix.map(|(c, _)| c.len_utf8()).sum();
    let start = |text: &'t str| {
        let end = text.len().saturating_sub(suffix);
        text.get(..end).unwrap_or_default()
    };
    (start(one), start(other))
}

fn is_letter(text: &str) -> bool {
    text.len() == 1 && text.chars().all(|c| c.is_ascii_alphabetic())
}

fn has_one_letter_more(longer: &str, shorter: &str) -> bool {
    let (more, less) = difference(longer, shorter);
    less.is_empty() && is_letter(more)
}

fn has_two_letters_swapped(one: &str, other: &str) -> bool {
    let (one, other) = difference(one, other);
    let swapped: String = other.chars().rev().collect();
    one.len() == 2 && one == swapped && one.chars().all(|c| c.is_ascii_alphabetic())
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

#[cfg(test)]
mod tests {
    use super::is_slip;

    #[test]
    fn only_slips_are_corrected() {
        for (old, new, expected) in [
            ("Acme.io/Runner", "acme.io/runner", true),
            ("acme.io/my_runner", "acme.io/my-runner", true),
            ("acme.io/ runner", "acme.io/runner", true),
            ("acme.io/runer", "acme.io/runner", true),
            ("acme.io/runnner", "acme.io/runner", true),
            ("acme.io/rnuner", "acme.io/runner", true),
            // Other controllers.
            ("acme.io/test", "acme.io/prod", false),
            ("acme.io/runner-b", "acme.io/runner-a", false),
            ("acme.io/runner-v3", "acme.io/runner-v1", false),
            ("acme.io/runner-v1", "acme.io/runner-v", false),
            ("acme.io/runner-v12", "acme.io/runner-v21", false),
            ("acme.io/cpu", "acme.io/gpu", false),
            ("acme.io/rxnner", "acme.io/runner", false),
            ("acme.io/rune", "acme.io/runner", false),
            ("team-b.acme.io/runner", "team-a.acme.io/runner", false),
            ("team.acme.io/runner", "teams.acme.io/runner", false),
            ("runner", "acme.io/runner", false),
        ] {
            assert_eq!(is_slip(old, new, [new]), expected, "{old} -> {new}");
        }
        // A tie.
        let known = ["acme.io/runner-ab", "acme.io/runner-ac"];
        assert!(!is_slip("acme.io/runner-a", known[0], known));
        let known = ["acme.io/runner", "acme.io/walker"];
        assert!(is_slip("acme.io/runer", known[0], known));
    }
}
