//! Formats counts and single-line texts.

use indicatif::HumanCount;
use serde_json::Value;

/// Formats a count: `1`, `1,204`.
pub fn number(count: impl TryInto<u64>) -> HumanCount {
    HumanCount(count.try_into().unwrap_or(u64::MAX))
}

/// Formats a count with its noun: `1 write`, `1,204 writes`.
pub fn pluralize(count: impl TryInto<u64>, noun: &str) -> String {
    let count = number(count);
    let plural = if count.0 == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// Formats the non-zero counts: `; 3 deleted; 1 fixed`.
pub fn counts<N: Copy + TryInto<u64>>(counts: &[(N, &str)]) -> String {
    let counts = counts.iter().map(|(count, label)| (number(*count), label));
    let counts = counts.filter(|(count, _)| count.0 > 0);
    let counts: Vec<_> = counts.map(|(n, label)| format!("; {n} {label}")).collect();
    counts.concat()
}

/// Joins the lines of a text.
pub fn single_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Sets a member of a JSON object.
pub fn set(object: &mut Value, name: &str, value: Value) {
    if let Value::Object(members) = object {
        members.insert(name.to_owned(), value);
    }
}
