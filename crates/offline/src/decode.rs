//! Decodes bytes to text.

use std::borrow::Cow;

use crate::malformed::MalformedText;
use crate::places::Places;

/// Decodes a file's text without its byte order mark. UTF-16 requires a byte order mark.
///
/// # Errors
/// Returns an error if the bytes are not text; binary files get a specific message.
pub fn decode(bytes: &[u8]) -> Result<Cow<'_, str>, MalformedText> {
    let utf_16 = match bytes {
        [0xff, 0xfe, units @ ..] => Some((units, u16::from_le_bytes as fn([u8; 2]) -> u16)),
        [0xfe, 0xff, units @ ..] => Some((units, u16::from_be_bytes as fn([u8; 2]) -> u16)),
        _ => None,
    };
    if let Some((units, unit)) = utf_16 {
        let (units, rest) = units.as_chunks::<2>();
        let text = String::from_utf16(&units.iter().map(|bytes| unit(*bytes)).collect::<Vec<_>>());
        let text = text.ok().filter(|_| rest.is_empty());
        return text
            .map(Cow::Owned)
            .ok_or_else(|| MalformedText::whole("is not UTF-16"));
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let start = bytes.get(..SNIFFED).unwrap_or(bytes);
    if memchr::memchr(0, start).is_some() {
        return Err(MalformedText::whole(
            "is a binary file, expected YAML or JSON",
        ));
    }
    std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(|e| {
        let (valid, _) = bytes.split_at_checked(e.valid_up_to()).unwrap_or_default();
        let valid = std::str::from_utf8(valid).unwrap_or_default();
        Places::new(valid).malformed(valid.len(), "is not UTF-8")
    })
}

/// Number of bytes that are checked to detect a binary file.
const SNIFFED: usize = 8192;
