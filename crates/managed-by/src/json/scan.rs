//! The inner loops of the whole policy: where a token ends.
//!
//! Each function takes the bytes and a place, and gives the place behind what it passed over: values in registers, where
//! a cursor behind a reference would be kept in memory.

#![expect(
    clippy::inline_always,
    reason = "measured: 15 % off the fuel of a large request"
)]

/// What should have stood somewhere.
pub(super) type Expected = &'static str;

/// Where scanning stopped, and what should have stood there.
pub(super) struct Stop {
    pub(super) at: usize,
    pub(super) expected: Expected,
}

type Scan = Result<usize, Stop>;

impl Stop {
    #[cold]
    pub(super) fn new(at: usize, expected: Expected) -> Self {
        Self { at, expected }
    }
}

/// Whether no byte is above 0x7f. Never stops early, so that the loop has nothing else to do.
pub(super) fn is_ascii(bytes: &[u8]) -> bool {
    let (words, rest) = bytes.as_chunks::<8>();
    let all = words.iter().fold(0, |all, w| all | u64::from_le_bytes(*w));
    all & 0x8080_8080_8080_8080 == 0 && rest.is_ascii()
}

/// Whether bytes begin with others. Many at a time, where the target's own comparison takes one.
pub(super) fn starts_with(bytes: &[u8], beginning: &[u8]) -> bool {
    let Some(bytes) = bytes.get(..beginning.len()) else {
        return false;
    };
    let ((blocks, rest), (known, known_rest)) =
        (bytes.as_chunks::<32>(), beginning.as_chunks::<32>());
    let same = |(a, b): (&[u8; 32], &[u8; 32])| {
        let words = a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0);
        let differ = |(a, b): (&[u8; 8], &[u8; 8])| u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
        words.map(differ).fold(0, |all, bits| all | bits) == 0
    };
    blocks.iter().zip(known).all(same) && rest == known_rest
}

/// The byte at a place; NUL, which begins no token, behind the end.
#[inline(always)]
pub(super) fn byte(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or(0)
}

/// Past one byte that has been seen; places stay far below where they could overflow.
#[inline(always)]
pub(super) fn after(at: usize) -> usize {
    at.wrapping_add(1)
}

/// The next place with no white space, and the byte there. JSON from a machine has none, so that case is made short.
#[inline(always)]
pub(super) fn significant(bytes: &[u8], at: usize) -> (usize, u8) {
    match byte(bytes, at) {
        first @ b'!'.. => (at, first),
        _ => behind_white_space(bytes, at),
    }
}

#[cold]
fn behind_white_space(bytes: &[u8], mut at: usize) -> (usize, u8) {
    loop {
        match byte(bytes, at) {
            b' ' | b'\n' | b'\r' | b'\t' => at = after(at),
            other => return (at, other),
        }
    }
}

/// Past a key and its colon; white space may stand before either.
#[inline(always)]
pub(super) fn key(bytes: &[u8], at: usize) -> Scan {
    let (at, first) = significant(bytes, at);
    if first != b'"' {
        return Err(Stop::new(at, "a key"));
    }
    colon(bytes, string(bytes, after(at))?)
}

/// Past a colon.
#[inline(always)]
pub(super) fn colon(bytes: &[u8], at: usize) -> Scan {
    match significant(bytes, at) {
        (at, b':') => Ok(after(at)),
        (at, _) => Err(Stop::new(at, "`:`")),
    }
}

/// Past a string, from behind its opening quote.
#[inline(always)]
pub(super) fn string(bytes: &[u8], mut at: usize) -> Scan {
    loop {
        let (end, last) = run(bytes, at);
        match last {
            b'"' => return Ok(after(end)),
            b'\\' => (at, _) = escape(bytes, end)?,
            _ => return Err(not_in_string(bytes, end)),
        }
    }
}

/// What is wrong with a string that has neither a quote nor a backslash at a place where it cannot go on.
#[cold]
pub(super) fn not_in_string(bytes: &[u8], at: usize) -> Stop {
    if at < bytes.len() {
        Stop::new(at, "no control character in a string")
    } else {
        Stop::new(at, "the end of a string")
    }
}

/// The next place in a string whose byte does not stand for itself, and that byte: a quote, a backslash, a control
/// character, or NUL at the end of the bytes.
#[inline(always)]
pub(super) fn run(bytes: &[u8], mut at: usize) -> (usize, u8) {
    let mut rest = bytes.get(at..).unwrap_or_default();
    while let Some((chunk, behind)) = rest.split_first_chunk::<8>() {
        let word = u64::from_le_bytes(*chunk);
        let hits = hits(word);
        if hits != 0 {
            let bits = hits.trailing_zeros() & 0x38;
            let end = at.wrapping_add(bits as usize >> 3);
            return (end, byte(bytes, end));
        }
        at = at.wrapping_add(chunk.len());
        rest = behind;
    }
    loop {
        match byte(bytes, at) {
            last @ (b'"' | b'\\' | 0..0x20) => return (at, last),
            _ => at = after(at),
        }
    }
}

/// Where a quote, a backslash or a control character stands among eight bytes: the lowest bit that is set is its
/// highest.
///
/// Flipping one bit puts the quote right behind the control characters, so that one subtraction finds both. A byte below
/// what was taken from it ends up with its high bit set; borrows disturb only bytes above the lowest such one. Bytes
/// above 0x7f are never hits.
#[inline(always)]
fn hits(word: u64) -> u64 {
    const ONES: u64 = u64::MAX / 0xff;
    let quote_or_control = (word ^ (ONES << 1)).wrapping_sub(ONES.wrapping_mul(0x21));
    let backslash = (word ^ ONES.wrapping_mul(0x5c)).wrapping_sub(ONES);
    (quote_or_control | backslash) & !word & (ONES << 7)
}

/// Reads one escape sequence from its backslash, or two that make a surrogate pair.
#[inline(never)]
pub(super) fn escape(bytes: &[u8], at: usize) -> Result<(usize, char), Stop> {
    let at = after(at);
    let plain = match byte(bytes, at) {
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return code_point(bytes, after(at)),
        _ => return Err(Stop::new(at, "an escape sequence")),
    };
    Ok((after(at), plain))
}

/// A high surrogate and a low one make one character; any other surrogate is replaced, and what follows it is read on
/// its own.
fn code_point(bytes: &[u8], at: usize) -> Result<(usize, char), Stop> {
    let (at, first) = four_hex_digits(bytes, at)?;
    if let Some(c) = char::from_u32(first) {
        return Ok((at, c));
    }
    if first < 0xdc00 && byte(bytes, at) == b'\\' && byte(bytes, after(at)) == b'u' {
        let (end, second) = four_hex_digits(bytes, at.wrapping_add(2))?;
        if (0xdc00..0xe000).contains(&second) {
            let offset = (first & 0x3ff) << 10 | (second & 0x3ff);
            let pair = char::from_u32(offset.wrapping_add(0x1_0000));
            return Ok((end, pair.unwrap_or(char::REPLACEMENT_CHARACTER)));
        }
    }
    Ok((at, char::REPLACEMENT_CHARACTER))
}

fn four_hex_digits(bytes: &[u8], mut at: usize) -> Result<(usize, u32), Stop> {
    let mut value = 0;
    for _ in 0..4 {
        let digit = char::from(byte(bytes, at)).to_digit(16);
        value = value << 4 | digit.ok_or_else(|| Stop::new(at, "four hexadecimal digits"))?;
        at = after(at);
    }
    Ok((at, value))
}

/// Past `true`, `false` or `null`.
#[inline(always)]
pub(super) fn word(bytes: &[u8], at: usize, word: Expected) -> Scan {
    let rest = bytes.get(at..).unwrap_or_default();
    if rest.starts_with(word.as_bytes()) {
        Ok(at.wrapping_add(word.len()))
    } else {
        Err(Stop::new(at, word))
    }
}

/// Past a container, from its opening bracket, judging no more of what is in it than where strings and containers end.
pub(super) fn container(bytes: &[u8], mut at: usize) -> Scan {
    let mut depth = 0_usize;
    loop {
        match byte(bytes, at) {
            b'"' => {
                at = string(bytes, after(at))?;
                continue;
            }
            b'{' | b'[' => depth = depth.wrapping_add(1),
            b'}' | b']' => {
                depth = depth.wrapping_sub(1);
                if depth == 0 {
                    return Ok(after(at));
                }
            }
            0 if at >= bytes.len() => return Err(Stop::new(at, "`}` or `]`")),
            _ => {}
        }
        at = after(at);
    }
}

/// Past a number.
#[inline(always)]
pub(super) fn number(bytes: &[u8], mut at: usize) -> Scan {
    if byte(bytes, at) == b'-' {
        at = after(at);
    }
    if byte(bytes, at) == b'0' {
        at = after(at);
    } else {
        at = digits(bytes, at)?;
    }
    if byte(bytes, at) == b'.' {
        at = digits(bytes, after(at))?;
    }
    if byte(bytes, at) | 0x20 == b'e' {
        at = after(at);
        if matches!(byte(bytes, at), b'+' | b'-') {
            at = after(at);
        }
        at = digits(bytes, at)?;
    }
    Ok(at)
}

#[inline(always)]
fn digits(bytes: &[u8], start: usize) -> Scan {
    let mut at = start;
    while byte(bytes, at).is_ascii_digit() {
        at = after(at);
    }
    if at == start {
        return Err(Stop::new(at, "a digit"));
    }
    Ok(at)
}
