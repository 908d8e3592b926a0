//! Decoding with serde: what derived types need to read JSON as kube-apiserver does, and errors with paths.
//!
//! Objects of a fixed shape derive [`serde::Deserialize`], with the functions of [`fields`] where Go's decoder differs from serde:
//! `null` is an absent value, and no object is written as an array. The request and custom resources, whose shape depends on the
//! kind, have visitors (`request/reading.rs`, `object/walk/`), so that each byte is read once.
//!
//! An error of `serde_json` has a line and a column. [`Malformed`] makes a path of them, out of the way of requests that decode.

pub(crate) mod fields;
mod locate;
mod malformed;
mod outline;
mod path;
mod raw;
mod visit;

use serde::de::DeserializeSeed;

pub use malformed::Malformed;
pub(crate) use malformed::duplicate;
pub(crate) use outline::{Outline, Part};
pub(crate) use path::{MAX_SHOWN, Path, shown};
pub(crate) use raw::{Parts, Raw, Split, Type};
pub(crate) use visit::{Collect, Lenient, Strict, VisitContainer};

/// The result of decoding.
pub(crate) type Result<T> = std::result::Result<T, Malformed>;

/// Decodes a document that holds one value and nothing else.
///
/// # Errors
/// If it is not UTF-8 or not JSON, or if the value is not what the seed expects.
pub(crate) fn decode<'de, S: DeserializeSeed<'de>>(bytes: &'de [u8], seed: S) -> Result<S::Value> {
    let text = std::str::from_utf8(bytes).map_err(|e| Malformed::utf_8(e.valid_up_to()))?;
    decode_str(text, seed)
}

/// Decodes a document that is known to be UTF-8, as [`decode`] does.
pub(crate) fn decode_str<'de, S: DeserializeSeed<'de>>(
    text: &'de str,
    seed: S,
) -> Result<S::Value> {
    let mut json = serde_json::Deserializer::from_str(text);
    seed.deserialize(&mut json)
        .and_then(|value| json.end().map(|()| value))
        .map_err(|e| Malformed::decoding(text, &e))
}

#[cfg(test)]
mod tests;
