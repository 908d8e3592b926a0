//! A JSON value as its text.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::{Malformed, Name};

/// The types of JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    /// `{...}`
    Object,
    /// `[...]`
    Array,
    /// `"..."`
    String,
    /// `1`, `-0.5e3`
    Number,
    /// `true`, `false`
    Bool,
    /// `null`
    Null,
}

impl Type {
    /// The type with its article, for messages.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Object => "an object",
            Self::Array => "an array",
            Self::String => "a string",
            Self::Number => "a number",
            Self::Bool => "a boolean",
            Self::Null => "null",
        }
    }
}

/// The text of one JSON value, which `serde_json` has checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Raw<'a>(&'a str);

impl<'a> From<&'a RawValue> for Raw<'a> {
    fn from(value: &'a RawValue) -> Self {
        Self(value.get())
    }
}

impl<'a> Raw<'a> {
    /// A value of a type, for where no more is asked for.
    pub(super) fn of_type(json_type: Type) -> Self {
        Self(match json_type {
            Type::Object => "{}",
            Type::Array => "[]",
            Type::String => "\"\"",
            Type::Number => "0",
            Type::Bool => "false",
            Type::Null => "null",
        })
    }

    /// The one value of a document.
    ///
    /// # Errors
    /// If the bytes are not UTF-8, not JSON, or nested too deep.
    pub(crate) fn document(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let text = super::utf_8(bytes)?;
        super::nesting::check(bytes)?;
        let value: &RawValue = serde_json::from_str(text).map_err(|e| Malformed::syntax(&e))?;
        Ok(Self::from(value))
    }

    /// The one value of a document that has been read before.
    pub(crate) fn document_again(bytes: &'a [u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        Some(Self(text.trim_ascii()))
    }

    /// A text that is decoded later.
    pub(crate) fn unread(text: &'a str) -> Self {
        Self(text.trim_ascii())
    }

    /// The value as it is written.
    pub(crate) fn as_str(self) -> &'a str {
        self.0
    }

    /// Its type, which the first character tells.
    pub(crate) fn json_type(self) -> Type {
        match self.0.as_bytes().first() {
            Some(b'{') => Type::Object,
            Some(b'[') => Type::Array,
            Some(b'"') => Type::String,
            Some(b't' | b'f') => Type::Bool,
            Some(b'n') => Type::Null,
            _ => Type::Number,
        }
    }

    /// The string that it is, borrowed unless it is written with escapes.
    pub(crate) fn string(self) -> Option<Cow<'a, str>> {
        let body = self.0.strip_prefix('"')?.strip_suffix('"')?;
        if !body.as_bytes().contains(&b'\\') {
            return Some(Cow::Borrowed(body));
        }
        let mut json = serde_json::Deserializer::from_str(self.0);
        json.deserialize_bytes(Text).ok()
    }

    /// The whole number that it is. One that no `i64` holds, or that is written as a fraction, is the nearest one that is
    /// held: what counts downwards without end is still negative.
    pub(crate) fn number(self) -> Option<i64> {
        if self.json_type() != Type::Number {
            return None;
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "saturates, which is what is wanted"
        )]
        let nearest = |number: f64| number.floor() as i64;
        let past_all = if self.0.starts_with('-') {
            i64::MIN
        } else {
            i64::MAX
        };
        // `serde_json` has the code for floats already; the one of `str::parse` takes 15 KB more.
        let float = || serde_json::from_str(self.0).map_or(past_all, nearest);
        Some(self.0.parse().unwrap_or_else(|_| float()))
    }

    /// The members of the object that it is, in their order; none of anything else.
    pub(crate) fn members(self) -> Parts<'a> {
        self.parts(Type::Object)
    }

    /// The elements of the array that it is, without names; none of anything else.
    pub(crate) fn elements(self) -> Parts<'a> {
        self.parts(Type::Array)
    }

    pub(super) fn parts(self, wanted: Type) -> Parts<'a> {
        if self.json_type() != wanted {
            return Parts::new();
        }
        let read = |with_care| {
            let mut json = serde_json::Deserializer::from_str(self.0);
            json.deserialize_any(Apart { with_care })
        };
        let read = read(false).or_else(|_| read(true));
        read.map(|(_, parts)| parts).unwrap_or_default()
    }
}

/// A string, with a lone surrogate as U+FFFD, which is what Go makes of it.
#[derive(Clone, Copy)]
pub(super) struct Text;

impl<'de> Visitor<'de> for Text {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }

    fn visit_borrowed_bytes<E>(self, bytes: &'de [u8]) -> Result<Self::Value, E> {
        Ok(match std::str::from_utf8(bytes) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => Cow::Owned(without_surrogates(bytes.to_vec())),
        })
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Self::Value, E> {
        Ok(Cow::Owned(without_surrogates(bytes.to_vec())))
    }
}

/// `serde_json` gives a lone surrogate as the three bytes that UTF-8 would have for it, if it had any.
fn without_surrogates(bytes: Vec<u8>) -> String {
    match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(e) => {
            let mut bytes = e.into_bytes();
            let mut rest = &mut *bytes;
            while let [first, tail @ ..] = rest {
                if let (0xed, [second @ 0xa0..=0xbf, third, ..]) = (*first, &mut *tail) {
                    (*first, *second, *third) = (0xef, 0xbf, 0xbd);
                }
                rest = tail;
            }
            String::from_utf8_lossy(&bytes).into_owned()
        }
    }
}

/// Few objects have more members.
pub(super) const USUAL: usize = 8;

/// The members of an object with their names, or the elements of an array without, as their texts.
pub(crate) type Parts<'a> = Vec<(Cow<'a, str>, Raw<'a>)>;

/// Takes an object or an array apart, passes over anything else, and says what it was.
pub(super) struct Apart {
    pub(super) with_care: bool,
}

impl<'de> Visitor<'de> for Apart {
    type Value = (Type, Parts<'de>);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or an array")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok((Type::Null, Parts::new()))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok((Type::Bool, Parts::new()))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok((Type::Number, Parts::new()))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok((Type::Number, Parts::new()))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok((Type::Number, Parts::new()))
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok((Type::String, Parts::new()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::with_capacity(USUAL);
        let with_care = self.with_care;
        while let Some(name) = map.next_key_seed(Name { with_care })? {
            members.push((name, Raw::from(map.next_value::<&RawValue>()?)));
        }
        Ok((Type::Object, members))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut elements = Vec::new();
        while let Some(value) = seq.next_element::<&RawValue>()? {
            elements.push((Cow::default(), Raw::from(value)));
        }
        Ok((Type::Array, elements))
    }
}
