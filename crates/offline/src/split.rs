//! Splits a stream into documents.
//!
//! kube-apiserver writes one JSON document per line; kubectl writes documents over many lines that start and end without
//! indentation. In both cases a document starts at a line that begins with `{`, and no other line begins with it. A
//! truncated document therefore does not affect others.

/// Returns the length of the complete documents at the start of the bytes; with `is_last`, all bytes are complete.
pub fn complete(bytes: &[u8], is_last: bool) -> usize {
    if is_last {
        return bytes.len();
    }
    let mut rest = bytes;
    while let Some(end) = memchr::memrchr(b'\n', rest) {
        let next = end.saturating_add(1);
        if bytes.get(next) == Some(&b'{') {
            return next;
        }
        rest = rest.get(..end).unwrap_or_default();
    }
    0
}

/// A document in a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part<'a> {
    /// The bytes of the document.
    pub bytes: &'a [u8],
    /// The source's number, chosen by the caller.
    pub source: usize,
    /// Number of lines before the document in its source.
    pub lines_before: u64,
}

/// Splits complete bytes (see [`complete`]) into documents, and returns the number of lines. The first document may be the
/// rest of a truncated one.
pub fn parts(bytes: &[u8], source: usize, lines_before: u64) -> (Vec<Part<'_>>, u64) {
    let mut parts = Vec::new();
    let (mut start, mut at, mut lines, mut before) = (0_usize, 0_usize, 0_u64, 0_u64);
    let mut add = |start: usize, end: usize, before: u64| {
        let bytes = bytes.get(start..end).unwrap_or_default();
        if !bytes.trim_ascii().is_empty() {
            let lines_before = lines_before.saturating_add(before);
            parts.push(Part {
                bytes,
                source,
                lines_before,
            });
        }
    };
    for end in memchr::memchr_iter(b'\n', bytes).chain([bytes.len()]) {
        if at > start && bytes.get(at) == Some(&b'{') {
            add(start, at, before);
            (start, before) = (at, lines);
        }
        at = end.saturating_add(1);
        lines = lines.saturating_add(u64::from(end < bytes.len()));
    }
    add(start, bytes.len(), before);
    (parts, lines)
}

/// Returns the time at which the request of an audit event was received, by text search. Such times sort as text.
pub fn time_of(event: &[u8]) -> Option<&[u8]> {
    let key = b"\"requestReceivedTimestamp\":";
    let start = memchr::memmem::rfind(event, key)?.saturating_add(key.len());
    let value = event.get(start..)?.trim_ascii_start().strip_prefix(b"\"")?;
    value.get(..memchr::memchr(b'"', value)?)
}
