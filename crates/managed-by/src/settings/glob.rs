//! Patterns for namespace names, in `controllers` and `namespaces`.

use super::error::Rejection;

/// Maximum length of a namespace name (RFC 1123 label).
const MAX_LEN: usize = 63;

/// Wildcard for any number of characters.
const STAR: u8 = b'*';

/// Returns true if a pattern matches the whole text. Takes linear time: each piece of the pattern is searched after the previous
/// one, and is no longer than a name.
///
/// If a pattern matches another pattern as text, it matches every name that the other one does: names have no `*`, so only a `*`
/// can match the other one's `*`.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    // Compare the literal prefix first, because most patterns of a long list already differ there.
    let mut letters = pattern.iter().zip(text);
    let prefix = letters.position(|(p, t)| p != t || *p == STAR);
    let prefix = prefix.unwrap_or(pattern.len().min(text.len()));
    let (pattern, mut rest) = match pattern.get(prefix..) {
        Some([STAR, pattern @ ..]) => (pattern, text.get(prefix..).unwrap_or_default()),
        Some([]) => return text.len() == prefix,
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

pub(super) fn validate(pattern: &str) -> Option<Rejection> {
    let mut is_valid = (1..=MAX_LEN).contains(&pattern.len());
    let mut previous = 0;
    for b in pattern.bytes() {
        let known =
            matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-') || (b == STAR && previous != STAR);
        is_valid &= known;
        previous = b;
    }
    (!is_valid).then(|| {
        format!(
            "must be a namespace or a pattern such as team-*: at most {MAX_LEN} characters of a-z, 0-9, - and *, without **"
        )
        .into()
    })
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn matches_whole_names() {
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
