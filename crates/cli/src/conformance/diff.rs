//! Renders the change of a value as lines of YAML.

use serde_json::Value;

/// Marker of a line, as in a unified diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Marker {
    Unchanged,
    Removed,
    Added,
}

/// A line of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DiffLine {
    pub(crate) marker: Marker,
    /// Line of YAML with its indentation. Strings are quoted as in JSON.
    pub(crate) text: String,
}

/// Returns the lines of a field before and after a change. Members of objects are compared by name, and items of arrays by index.
pub(crate) fn diff_lines(field: &str, before: &Value, after: &Value) -> Vec<DiffLine> {
    let mut lines = Vec::new();
    let present = |value: &Value| !value.is_null();
    match (present(before), present(after)) {
        (true, true) => diff_value(&mut lines, "", &key(field), before, after),
        (true, false) => push_value(&mut lines, Marker::Removed, "", &key(field), before),
        (false, true) => push_value(&mut lines, Marker::Added, "", &key(field), after),
        (false, false) => {}
    }
    lines
}

/// Adds the lines of a value that exists before and after the change. `label` is the key with its colon, or `-` for an item.
fn diff_value(lines: &mut Vec<DiffLine>, indent: &str, label: &str, before: &Value, after: &Value) {
    let inner = format!("{indent}  ");
    match (before, after) {
        _ if before == after => push_value(lines, Marker::Unchanged, indent, label, before),
        (Value::Object(old), Value::Object(new)) if !old.is_empty() && !new.is_empty() => {
            push_line(lines, Marker::Unchanged, indent, label, "");
            for (name, old) in old {
                match new.get(name) {
                    Some(new) => diff_value(lines, &inner, &key(name), old, new),
                    None => push_value(lines, Marker::Removed, &inner, &key(name), old),
                }
            }
            for (name, new) in new.iter().filter(|(name, _)| !old.contains_key(*name)) {
                push_value(lines, Marker::Added, &inner, &key(name), new);
            }
        }
        (Value::Array(old), Value::Array(new)) if !old.is_empty() && !new.is_empty() => {
            push_line(lines, Marker::Unchanged, indent, label, "");
            for (old, new) in old.iter().zip(new) {
                diff_value(lines, &inner, "-", old, new);
            }
            for old in old.iter().skip(new.len()) {
                push_value(lines, Marker::Removed, &inner, "-", old);
            }
            for new in new.iter().skip(old.len()) {
                push_value(lines, Marker::Added, &inner, "-", new);
            }
        }
        _ => {
            push_value(lines, Marker::Removed, indent, label, before);
            push_value(lines, Marker::Added, indent, label, after);
        }
    }
}

/// Adds the lines of a value with one marker.
fn push_value(lines: &mut Vec<DiffLine>, marker: Marker, indent: &str, label: &str, value: &Value) {
    let inner = format!("{indent}  ");
    match value {
        Value::Object(members) if !members.is_empty() => {
            push_line(lines, marker, indent, label, "");
            for (name, value) in members {
                push_value(lines, marker, &inner, &key(name), value);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            push_line(lines, marker, indent, label, "");
            for item in items {
                push_value(lines, marker, &inner, "-", item);
            }
        }
        scalar => push_line(lines, marker, indent, label, &format!(" {scalar}")),
    }
}

fn push_line(lines: &mut Vec<DiffLine>, marker: Marker, indent: &str, label: &str, value: &str) {
    let text = format!("{indent}{label}{value}");
    lines.push(DiffLine { marker, text });
}

/// Returns the key of a member, quoted unless it is a plain word.
fn key(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(is_plain) {
        format!("{name}:")
    } else {
        format!("{}:", Value::from(name))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Marker, diff_lines};

    #[test]
    fn changed_lines_are_marked() {
        let before = json!({
            "conditions": [{"type": "Suspended", "status": "True"}],
            "failed": 2, "ready": 1, "terminating": 0,
        });
        let after = json!({
            "conditions": [{"type": "Suspended", "status": "False"}, {"type": "Complete"}],
            "failed": 1, "terminating": 0, "uncountedTerminatedPods": {}, "a b": [],
        });
        let lines = diff_lines("status", &before, &after);
        let lines: Vec<_> = lines
            .iter()
            .map(|line| match line.marker {
                Marker::Unchanged => format!("  {}", line.text),
                Marker::Removed => format!("- {}", line.text),
                Marker::Added => format!("+ {}", line.text),
            })
            .collect();
        let expected = [
            "  status:",
            "    conditions:",
            "      -",
            "-       status: \"True\"",
            "+       status: \"False\"",
            "        type: \"Suspended\"",
            "+     -",
            "+       type: \"Complete\"",
            "-   failed: 2",
            "+   failed: 1",
            "-   ready: 1",
            "    terminating: 0",
            "+   \"a b\": []",
            "+   uncountedTerminatedPods: {}",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn missing_field_is_added_or_removed() {
        let (null, status) = (json!(null), json!({"failed": 1}));
        let marked = |before, after| diff_lines("status", before, after);
        assert_eq!(marked(&null, &null), []);
        for (lines, marker) in [
            (marked(&null, &status), Marker::Added),
            (marked(&status, &null), Marker::Removed),
        ] {
            assert_eq!(lines.len(), 2);
            assert!(lines.iter().all(|line| line.marker == marker));
        }
    }
}
