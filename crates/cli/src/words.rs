//! Counts and texts in a line.

use std::fmt::Display;

use indicatif::HumanCount;

/// `; 3 gone; 1 fixed`: what there is any of.
pub(crate) fn counts<N: Display + PartialEq + Default>(counts: &[(N, &str)]) -> String {
    let counts = counts.iter().filter(|(count, _)| *count != N::default());
    let counts: Vec<_> = counts.map(|(n, what)| format!("; {n} {what}")).collect();
    counts.concat()
}

/// A text in one line.
pub(crate) fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `1 write`, `1,204 writes`
pub(crate) fn count_of(count: u64, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {what}{plural}", HumanCount(count))
}
