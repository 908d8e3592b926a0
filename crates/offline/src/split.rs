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

/// A document as it stands in a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part<'a> {
    pub(crate) bytes: &'a [u8],
    /// How many lines are before it in what was divided.
    pub(crate) lines_before: usize,
}

/// The documents in bytes that are complete. The first may be the end of one that was cut.
pub(crate) fn parts(bytes: &[u8]) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let (mut start, mut at, mut lines, mut lines_before) = (0_usize, 0_usize, 0_usize, 0_usize);
    let mut add = |start: usize, end: usize, lines_before: usize| {
        let bytes = bytes.get(start..end).unwrap_or_default();
        if !bytes.trim_ascii().is_empty() {
            parts.push(Part {
                bytes,
                lines_before,
            });
        }
    };
    for end in memchr::memchr_iter(b'\n', bytes) {
        if at > start && bytes.get(at) == Some(&b'{') {
            add(start, at, lines_before);
            (start, lines_before) = (at, lines);
        }
        at = end.saturating_add(1);
        lines = lines.saturating_add(1);
    }
    if at > start && bytes.get(at) == Some(&b'{') {
        add(start, at, lines_before);
        (start, lines_before) = (at, lines);
    }
    add(start, bytes.len(), lines_before);
    parts
}
