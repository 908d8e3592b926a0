//! Splits a stream into documents.
//!
//! kube-apiserver writes one JSON document per line; kubectl writes documents over many lines that start and end without
//! indentation. In both cases a document starts at a line that begins with `{`, and no other line begins with it. A
//! truncated document therefore does not affect others.

/// Returns the length of the complete documents at the start of the bytes; with `is_last`, all bytes are complete.
pub fn complete_len(bytes: &[u8], is_last: bool) -> usize {
    if is_last {
        return bytes.len();
    }
    starts(bytes).next_back().unwrap_or_default()
}

/// Returns the position of the first document that starts after the first byte.
pub fn next_start(bytes: &[u8]) -> Option<usize> {
    starts(bytes).next()
}

/// Returns the positions of all documents that start after the first byte. A search for both bytes would add 3 KB to the npm module.
fn starts(bytes: &[u8]) -> impl DoubleEndedIterator<Item = usize> {
    let lines = memchr::memchr_iter(b'\n', bytes).map(|end| end.saturating_add(1));
    lines.filter(|start| bytes.get(*start) == Some(&b'{'))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceDocument<'a> {
    pub bytes: &'a [u8],
    /// The source's number, chosen by the caller.
    pub source: usize,
    /// Number of lines before the document in its source.
    pub lines_before: u64,
}

/// Splits complete bytes (see [`complete_len`]) into documents, and returns the number of lines. The first document may be the
/// rest of a truncated one.
pub fn split_documents(
    bytes: &[u8],
    source: usize,
    lines_before: u64,
) -> (Vec<SourceDocument<'_>>, u64) {
    let mut documents = Vec::new();
    let (mut start, mut lines) = (0_usize, 0_u64);
    for end in starts(bytes).chain([bytes.len()]) {
        let bytes = bytes.get(start..end).unwrap_or_default();
        if !bytes.trim_ascii().is_empty() {
            documents.push(SourceDocument {
                bytes,
                source,
                lines_before: lines_before.saturating_add(lines),
            });
        }
        let more = memchr::memchr_iter(b'\n', bytes).count();
        lines = lines.saturating_add(u64::try_from(more).unwrap_or(u64::MAX));
        start = end;
    }
    (documents, lines)
}

/// Returns the time at which the request of an audit event was received, by text search. Such times sort as text.
pub fn received_time(event: &[u8]) -> Option<&[u8]> {
    let key = b"\"requestReceivedTimestamp\":";
    let start = memchr::memmem::rfind(event, key)?.saturating_add(key.len());
    let value = event.get(start..)?.trim_ascii_start().strip_prefix(b"\"")?;
    value.get(..memchr::memchr(b'"', value)?)
}
