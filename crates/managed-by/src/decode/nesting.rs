//! How deep a document is nested.
//!
//! kube-apiserver's decoder gives up at 10,000 levels (`maxNestingDepth` of `sigs.k8s.io/json`, all releases), and
//! `serde_json` passes over any number of them.

use super::Malformed;

/// The deepest level that kube-apiserver reads.
const MAX_DEPTH: usize = 10_000;

/// Makes sure that no value is nested too deep. Nearly every document has too few brackets for that, and counting them costs
/// less than following them.
///
/// # Errors
/// If one is, with its place. What is not JSON may be taken for nested.
pub(super) fn check(bytes: &[u8]) -> Result<(), Malformed> {
    // Each level takes two brackets.
    if bytes.len() <= MAX_DEPTH.saturating_mul(2) || openings(bytes) <= MAX_DEPTH {
        return Ok(());
    }
    follow(bytes)
}

/// How many `{` and `[` there are, in strings too: eight bytes at a time.
fn openings(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::MAX / 255;
    const LOW: u64 = ONES * 0x7f;
    const BRACKET: u64 = ONES * 0x7b;
    const CASE: u64 = ONES << 5;
    let (words, rest) = bytes.as_chunks::<8>();
    let mut openings = rest.iter().filter(|b| matches!(b, b'[' | b'{')).count();
    for word in words {
        // `[` is 0x5b and `{` is 0x7b: one bit apart. What is one of them becomes zero.
        let other = (u64::from_le_bytes(*word) | CASE) ^ BRACKET;
        // The high bit of each byte that is not zero.
        let not_zero = (other & LOW).wrapping_add(LOW) | other | LOW;
        openings = openings.wrapping_add((!not_zero).count_ones() as usize);
    }
    openings
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
    use super::{MAX_DEPTH, check as check_bytes, openings};

    fn check(text: &str) -> Result<(), super::Malformed> {
        check_bytes(text.as_bytes())
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
            assert_eq!(openings(text.as_bytes()), expected, "{text}");
        }
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(openings(&all), 2);
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
