//! What a document is made of, before it is read: whether it is ASCII, and how deep it is nested.
//!
//! kube-apiserver's decoder gives up at 10,000 levels (`maxNestingDepth` of `sigs.k8s.io/json`, all releases), and
//! `serde_json` passes over any number of them.

use super::Malformed;

/// The deepest level that kube-apiserver reads.
const MAX_DEPTH: usize = 10_000;

/// What one pass over the bytes of a document shows.
pub(super) struct Survey {
    /// Whether all of them are ASCII, and so UTF-8.
    pub(super) is_ascii: bool,
    /// How many `{` and `[` there are, in strings too.
    openings: usize,
}

impl Survey {
    /// Looks at the bytes, eight at a time.
    pub(super) fn of(bytes: &[u8]) -> Self {
        const ONES: u64 = u64::MAX / 255;
        const LOW: u64 = ONES * 0x7f;
        const BRACKET: u64 = ONES * 0x7b;
        const CASE: u64 = ONES << 5;
        let (words, rest) = bytes.as_chunks::<8>();
        let mut all = 0;
        let mut openings = 0_usize;
        for word in words {
            let word = u64::from_le_bytes(*word);
            all |= word;
            // `[` is 0x5b and `{` is 0x7b: one bit apart. What is one of them becomes zero.
            let other = (word | CASE) ^ BRACKET;
            // The high bit of each byte that is not zero.
            let not_zero = (other & LOW).wrapping_add(LOW) | other | LOW;
            openings = openings.wrapping_add((!not_zero).count_ones() as usize);
        }
        let in_rest = rest.iter().filter(|b| matches!(b, b'[' | b'{')).count();
        Self {
            is_ascii: all & !LOW == 0 && rest.is_ascii(),
            openings: openings.wrapping_add(in_rest),
        }
    }

    /// Makes sure that no value is nested too deep. Nearly every document has too few brackets for that.
    ///
    /// # Errors
    /// If one is, with its place. What is not JSON may be taken for nested.
    pub(super) fn check_nesting(&self, bytes: &[u8]) -> Result<(), Malformed> {
        if self.openings <= MAX_DEPTH {
            return Ok(());
        }
        follow(bytes)
    }
}

#[cold]
fn follow(bytes: &[u8]) -> Result<(), Malformed> {
    let mut depth = 0_usize;
    let mut bytes = bytes.iter().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match *byte {
            b'{' | b'[' if depth == MAX_DEPTH => return Err(Malformed::nesting(at)),
            b'{' | b'[' => depth = depth.saturating_add(1),
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => loop {
                match bytes.next() {
                    Some((_, b'\\')) => {
                        bytes.next();
                    }
                    Some((_, b'"')) | None => break,
                    Some(_) => {}
                }
            },
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{MAX_DEPTH, Survey};

    fn check(text: &str) -> Result<(), super::Malformed> {
        Survey::of(text.as_bytes()).check_nesting(text.as_bytes())
    }

    #[test]
    fn openings_are_counted_wherever_they_are() {
        for text in [
            "",
            "{",
            "[",
            "{[{[{[{[{[",
            "[[[[[[[[[[[[[[[[",
            "aaaa[aaa{aaaaaaa[",
            "\u{7f}\u{db}\u{fb}[z{;",
        ] {
            let expected = text.bytes().filter(|b| b"{[".contains(b)).count();
            let survey = Survey::of(text.as_bytes());
            assert_eq!(survey.openings, expected, "{text}");
            assert_eq!(survey.is_ascii, text.is_ascii(), "{text}");
        }
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(Survey::of(&all).openings, 2);
    }

    #[test]
    fn nesting_ends_where_kube_apiserver_s_does() {
        let nested = |n: usize| "[".repeat(n) + &"]".repeat(n);
        assert_eq!(check(&nested(MAX_DEPTH)), Ok(()));
        let error = check(&nested(MAX_DEPTH + 1)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "not JSON: expected at most 10,000 levels of nesting at byte 10000"
        );
        // Brackets side by side, and brackets in strings.
        assert_eq!(check(&format!("[{}]", "[],".repeat(20_000))), Ok(()));
        assert_eq!(check(&format!("[\"\\\"{}\"]", "[".repeat(30_000))), Ok(()));
    }
}
