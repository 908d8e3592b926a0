//! Raw JSON values, which are decoded on demand.

use std::borrow::Cow;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::fields::{self, Text};
use super::{DecodeError, Lenient, VisitContainer};

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
    /// Returns the type with an article, for messages.
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

/// Text of one valid JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Raw<'a>(&'a str);

/// Members of an object with their names, or elements of an array with empty names.
pub(crate) type Entries<'a> = Vec<(Cow<'a, str>, Raw<'a>)>;

impl<'de: 'a, 'a> Deserialize<'de> for Raw<'a> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        <&RawValue>::deserialize(json).map(|value| Self(value.get()))
    }
}

impl<'a> Raw<'a> {
    /// Returns the value of a document.
    ///
    /// # Errors
    /// Fails if the bytes are not UTF-8 or not JSON.
    pub(crate) fn document(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        super::decode(bytes, PhantomData)
    }

    /// Returns the value of valid JSON text.
    pub(crate) fn new(text: &'a str) -> Self {
        Self(text.trim_ascii())
    }

    pub(super) fn empty(json_type: Type) -> Self {
        Self(match json_type {
            Type::Object => "{}",
            Type::Array => "[]",
            Type::String => "\"\"",
            Type::Number => "0",
            Type::Bool => "false",
            Type::Null => "null",
        })
    }

    pub(crate) fn as_str(self) -> &'a str {
        self.0
    }

    /// Returns the type, which the first character determines.
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

    /// Returns the string, borrowed unless it contains escapes, or [`None`] for other types.
    pub(crate) fn string(self) -> Option<Cow<'a, str>> {
        let body = self.0.strip_prefix('"')?.strip_suffix('"')?;
        // Most strings have no escapes and need no decoding.
        if !body.as_bytes().contains(&b'\\') {
            return Some(Cow::Borrowed(body));
        }
        self.decode::<Text<'a>>().map(|Text(text)| text)
    }

    /// Returns the number as an integer, or [`None`] for other types. Rounds down, so that negative numbers stay negative, and
    /// saturates.
    pub(crate) fn number(self) -> Option<i64> {
        if self.json_type() != Type::Number {
            return None;
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "`as` saturates, as documented"
        )]
        let round_down = |number: f64| number.floor() as i64;
        let saturated = if self.0.starts_with('-') {
            i64::MIN
        } else {
            i64::MAX
        };
        // `serde_json` already contains a float parser; `str::parse` would add 15 KB.
        let float = || self.decode().map_or(saturated, round_down);
        Some(self.0.parse().unwrap_or_else(|_| float()))
    }

    /// Decodes the value as a type; [`None`] on failure.
    pub(crate) fn decode<T: Deserialize<'a>>(self) -> Option<T> {
        serde_json::from_str(self.0).ok()
    }

    /// Returns a member of the object. If it occurs twice, the last one wins.
    pub(crate) fn member(self, name: &str) -> Option<Self> {
        let mut members = self.members().into_iter().rev();
        members.find_map(|(known, value)| (known == name).then_some(value))
    }

    /// Returns the members of the object in order; empty for other types.
    pub(crate) fn members(self) -> Entries<'a> {
        self.entries(Type::Object)
    }

    /// Returns the elements of the array; empty for other types.
    pub(crate) fn elements(self) -> Entries<'a> {
        self.entries(Type::Array)
    }

    /// Calls a function with each element of the array, and with none for `null`. Returns false if the value or an element has the
    /// wrong type.
    pub(crate) fn for_each<T: Deserialize<'a>>(self, element: impl FnMut(T)) -> bool {
        let mut json = serde_json::Deserializer::from_str(self.0);
        fields::for_each(&mut json, element).is_ok()
    }

    /// Returns the entry for a value that can't be split, because a member name in it is half of a surrogate pair. Its name,
    /// U+FFFD, matches no known key.
    pub(crate) fn invalid_name_entry(self) -> (Cow<'a, str>, Self) {
        (Cow::Borrowed("\u{fffd}"), self)
    }

    /// Returns the members or elements of a value of the given type; empty for other types.
    pub(crate) fn entries(self, wanted: Type) -> Entries<'a> {
        let mut split = Splitter::default();
        if self.json_type() == wanted {
            let mut json = serde_json::Deserializer::from_str(self.0);
            if json.deserialize_any(Lenient(&mut split)).is_err() {
                return vec![self.invalid_name_entry()];
            }
        }
        split.entries
    }
}

/// Visitor that collects the entries of an object or an array.
#[derive(Default)]
pub(crate) struct Splitter<'a> {
    pub(super) entries: Entries<'a>,
    /// True to skip the elements of arrays, which may be many.
    members_only: bool,
}

impl Splitter<'_> {
    pub(crate) fn members_only() -> Self {
        Self {
            entries: Vec::new(),
            members_only: true,
        }
    }
}

impl<'a> VisitContainer<'a> for Splitter<'a> {
    fn visit_members<A: MapAccess<'a>>(&mut self, mut map: A) -> Result<(), A::Error> {
        while let Some((Text(name), value)) = map.next_entry()? {
            self.entries.push((name, value));
        }
        Ok(())
    }

    fn visit_elements<A: SeqAccess<'a>>(&mut self, mut seq: A) -> Result<(), A::Error> {
        if self.members_only {
            return IgnoredAny.visit_seq(seq).map(|_| ());
        }
        while let Some(value) = seq.next_element()? {
            self.entries.push((Cow::Borrowed(""), value));
        }
        Ok(())
    }
}
