//! Patterns for the names of namespaces.

use super::problem::Rejection;

/// The longest name of a namespace (RFC 1123 label).
const MAX_LEN: usize = 63;

/// What stands in a pattern for any number of any characters.
const STAR: u8 = b'*';

/// Whether a pattern matches all of a text. Time is linear in the text: pieces of the pattern are looked for one after
/// the other, each behind the one before, and none is longer than a name.
///
/// A pattern that matches another one as a text matches all that this matches: a star of the other one can only be taken up by
/// one of the pattern, for no name has one.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    // Most patterns of a long list end here, at their first letters.
    let mut letters = pattern.iter().zip(text);
    let same = letters.position(|(p, t)| p != t || *p == STAR);
    let same = same.unwrap_or(pattern.len().min(text.len()));
    let (pattern, mut rest) = match pattern.get(same..) {
        Some([STAR, pattern @ ..]) => (pattern, text.get(same..).unwrap_or_default()),
        Some([]) => return text.len() == same,
        _ => return false,
    };
    let mut pieces = pattern.split(|b| *b == STAR);
    let suffix = pieces.next_back().unwrap_or_default();
    for piece in pieces.filter(|piece| !piece.is_empty()) {
        let Some(at) = rest.windows(piece.len()).position(|w| w == piece) else {
            return false;
        };
        rest = rest
            .get(at.saturating_add(piece.len())..)
            .unwrap_or_default();
    }
    rest.ends_with(suffix)
}

/// What is wrong with a pattern, if anything.
pub(super) fn wrong(pattern: &str) -> Option<Rejection> {
    let mut right = (1..=MAX_LEN).contains(&pattern.len());
    let mut before = 0;
    for b in pattern.bytes() {
        let known = matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-') || (b == STAR && before != STAR);
        right &= known;
        before = b;
    }
    (!right).then(|| {
        format!(
            "expected a namespace or a pattern such as team-*: up to {MAX_LEN} of a-z, 0-9, - and single *"
        )
        .into()
    })
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_pattern_matches_the_whole_name() {
        for (pattern, text, expected) in [
            ("team-a", "team-a", true),
            ("team-a", "team-ab", false),
            ("team-*", "team-", true),
            ("team-*", "team-a", true),
            ("team-*", "my-team-a", false),
            ("*-prod", "team-prod", true),
            ("*-prod", "team-prod-2", false),
            ("*", "", true),
            ("*", "anything", true),
            ("*", "team-*", true),
            ("a*b*c", "abc", true),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "acb", false),
            ("ab*ba", "aba", false),
            ("*aa*aa*", "aaa", false),
            ("*aa*aa*", "aaaa", true),
            ("team-*", "*", false),
            ("team-*", "team-a-*", true),
            ("", "", true),
            ("", "a", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }
}
