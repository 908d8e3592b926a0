//! Dividing a stream into documents.
//!
//! kube-apiserver writes one JSON document a line, kubectl writes documents over many lines that begin and end at the
//! margin. Either way a document begins where a line begins with `{`, and nothing else in it does. So a document that was
//! cut costs no other.

/// How many of the bytes are documents to the end: what follows may go on. All of them, if no more comes.
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

/// A document as it stands in a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part<'a> {
    /// The document.
    pub bytes: &'a [u8],
    /// The number that the caller gave the source.
    pub source: usize,
    /// How many lines of the source are before it.
    pub lines_before: u64,
}

/// The documents in bytes that are complete ([`complete`]), and how many lines the bytes have. The first may be the end of one that
/// was cut.
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

/// When the request of an audit event came, as far as its text tells. Such times are in their order as texts.
pub fn time_of(event: &[u8]) -> Option<&[u8]> {
    let key = b"\"requestReceivedTimestamp\":";
    let start = memchr::memmem::rfind(event, key)?.saturating_add(key.len());
    let value = event.get(start..)?.trim_ascii_start().strip_prefix(b"\"")?;
    value.get(..memchr::memchr(b'"', value)?)
}
