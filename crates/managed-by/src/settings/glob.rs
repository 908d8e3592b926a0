//! Patterns for the names of namespaces.

/// The longest name of a namespace (RFC 1123 label).
const MAX_LEN: usize = 63;

/// What stands in a pattern for any number of any characters.
const STAR: u8 = b'*';

/// Whether a pattern matches all of a text. Time is linear in the text: pieces of the pattern are looked for one after
/// the other, each behind the one before, and none is longer than a name.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let mut pieces = pattern.split(|b| *b == STAR);
    let Some(mut rest) = pieces.next().and_then(|prefix| text.strip_prefix(prefix)) else {
        return false;
    };
    let Some(suffix) = pieces.next_back() else {
        return rest.is_empty();
    };
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

/// Whether a pattern matches everything that another one matches. A star of the other one can only be taken up by one of
/// this, for no name has one.
pub(super) fn covers(pattern: &str, other: &str) -> bool {
    matches(pattern, other)
}

/// What is wrong with a pattern, if anything.
pub(super) fn wrong(pattern: &str) -> Option<String> {
    let known = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == STAR;
    let right = (1..=MAX_LEN).contains(&pattern.len())
        && pattern.bytes().all(known)
        && !pattern.contains("**");
    (!right).then(|| {
        format!(
            "expected a namespace or a pattern such as team-*: up to {MAX_LEN} of a-z, 0-9, - and single *"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::{matches, wrong};

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

    #[test]
    fn patterns_are_names_with_stars() {
        for right in ["a", "team-*", "*", "*-a-*", "0", &"a".repeat(63)] {
            assert_eq!(wrong(right), None, "{right}");
        }
        for bad in [
            "",
            "Team",
            "a b",
            "**",
            "a**b",
            "té",
            "a/b",
            "a?",
            &"a".repeat(64),
        ] {
            assert!(
                wrong(bad).is_some_and(|text| text.starts_with("expected a namespace")),
                "{bad}"
            );
        }
    }
}
