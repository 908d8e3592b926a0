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
/// If a value is nested too deep, with its place. Bytes that are not JSON may give this error, too.
pub(super) fn check(bytes: &[u8]) -> Result<(), Malformed> {
    // Each level takes two brackets.
    if bytes.len() <= MAX_DEPTH.saturating_mul(2) || openings(bytes) <= MAX_DEPTH {
        return Ok(());
    }
    follow(bytes)
}

/// How many `{` and `[` there are at most, in strings too: eight bytes at a time.
fn openings(bytes: &[u8]) -> usize {
    let (blocks, rest) = bytes.as_chunks::<32>();
    let mut openings = rest.len();
    let count = |word| candidates(word).count_ones() as usize;
    for block in blocks {
        if let ([a, b, c, d], _) = block.as_chunks() {
            // Written out, because a loop costs as much again.
            let (first, second) = (
                count(*a).wrapping_add(count(*b)),
                count(*c).wrapping_add(count(*d)),
            );
            openings = openings.wrapping_add(first.wrapping_add(second));
        }
    }
    openings
}

/// The high bit of each byte that has all bits that `[` (0x5b) and `{` (0x7b) share. Few others have them: `_`, and bytes that
/// are no ASCII.
fn candidates(bytes: [u8; 8]) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    let shared = u64::from_le_bytes(bytes) & (ONES * 0x5b);
    // The sum reaches the high bit where all are set, and no byte more than that.
    shared.wrapping_add(ONES * 0x25) & (ONES * 0x80)
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
    use super::{candidates, openings};

    #[test]
    fn openings_are_counted_wherever_they_are() {
        for byte in 0..=u8::MAX {
            for at in 0..8 {
                let mut bytes = [b' '; 8];
                bytes[at] = byte;
                let is_one = byte & 0x5b == 0x5b;
                let flag = if is_one { 0x80 << (8 * at) } else { 0 };
                assert_eq!(candidates(bytes), flag, "{byte}");
            }
        }
        for text in ["", "{", "aaaa[aaa{aaaaaaa[", &"[{".repeat(50)] {
            let expected = text.bytes().filter(|b| b"{[".contains(b)).count();
            let openings = openings(text.as_bytes());
            assert!((expected..expected + 32).contains(&openings), "{text}");
        }
    }
}
