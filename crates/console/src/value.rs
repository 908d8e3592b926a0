//! Values of arguments.

use managed_by::{did_you_mean, nearest};

/// Parses the name of a namespace: a label as in `IsDNS1123Label` of `k8s.io/apimachinery`.
pub fn parse_namespace(name: &str) -> Result<String, String> {
    let is_valid = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let has_valid_ends = !name.starts_with('-') && !name.ends_with('-');
    // Empty for objects of kinds without a namespace.
    if name.len() > 63 || !has_valid_ends || !name.chars().all(is_valid) {
        let text = "expected at most 63 lowercase letters, digits and `-`, with a letter or digit at both ends";
        return Err(text.to_owned());
    }
    Ok(name.to_owned())
}

/// Formats the suggestion `; did you mean "deny"?`, if a known word is similar.
pub fn suggestion<'w>(word: &str, words: impl IntoIterator<Item = &'w str>) -> String {
    nearest(word, words).map_or_else(String::new, |near| format!("; {}", did_you_mean(near)))
}
