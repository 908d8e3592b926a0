//! JSON decoding with serde, with kube-apiserver's semantics, and errors with paths.
//!
//! Objects of a fixed shape derive [`serde::Deserialize`], with functions of [`fields`] for Go's semantics: `null` is an absent
//! value, and an array is not an object. The request and custom resources, whose shape depends on the kind, have visitors
//! (`request/decoding.rs`, `object/walk/`), so that each byte is read once.
//!
//! [`DecodeError`] converts the line and column of a `serde_json` error to a path.

mod error;
pub(crate) mod fields;
mod locate;
mod outline;
mod path;
mod raw;
mod visit;

use serde::de::DeserializeSeed;

pub use error::DecodeError;
pub(crate) use error::duplicate;
pub(crate) use outline::{Node, Outline};
pub(crate) use path::{MAX_QUOTED, Path, is_plain, quote_or_size};
pub(crate) use raw::{Entries, Raw, Splitter, Type};
pub(crate) use visit::{Collect, Lenient, Strict, VisitContainer};

pub(crate) type Result<T> = std::result::Result<T, DecodeError>;

/// Decodes a document with a single value.
///
/// # Errors
/// Fails if the document is not UTF-8 or not JSON, or if the seed rejects the value.
pub(crate) fn decode<'de, S: DeserializeSeed<'de>>(bytes: &'de [u8], seed: S) -> Result<S::Value> {
    let text =
        std::str::from_utf8(bytes).map_err(|e| DecodeError::invalid_utf8(e.valid_up_to()))?;
    decode_str(text, seed)
}

/// Decodes a document like [`decode`], from a string.
pub(crate) fn decode_str<'de, S: DeserializeSeed<'de>>(
    text: &'de str,
    seed: S,
) -> Result<S::Value> {
    let mut json = serde_json::Deserializer::from_str(text);
    seed.deserialize(&mut json)
        .and_then(|value| json.end().map(|()| value))
        .map_err(|e| DecodeError::from_serde(text, &e))
}

#[cfg(test)]
mod tests;
