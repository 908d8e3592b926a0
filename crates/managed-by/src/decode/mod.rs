//! Decoding: `serde_json` reads the bytes, and this module says what of them is kept.
//!
//! A request is read in one pass. A view implements [`Members`]: it is handed each member of an object and each element of
//! an array, and keeps, descends into or skips it. What is skipped costs a scan and no memory.
//!
//! The rules are those of Kubernetes' Go decoder, because a verdict may depend on them:
//!
//! - `null` is an absent value.
//! - Of two members with one name the last counts.
//! - An integer is written without fraction and exponent: `1.0` is none.
//! - A lone surrogate in a string becomes U+FFFD.
//! - Nesting ends at 10,000 levels ([`nesting`]).
//!
//! `serde_json` refuses a lone surrogate where it reads a string as text. Hardly any document has one. So a document is read
//! that way first; if that fails, it is read once more *with care*: names as bytes, and scalars as they are written. What fails
//! then too is not JSON.
//!
//! Trouble is of two kinds. Bytes that are not JSON end the reading, as an error of `serde_json`. A value of another type than
//! a view expects is noted in a [`Note`] and passed over, because whether it matters may depend on what comes after it: the
//! operation follows the object in a request.

mod kept;
mod malformed;
mod names;
mod nesting;
mod outline;
mod path;
mod raw;
mod strings;

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess,
    Visitor,
};
use serde_json::value::RawValue;

pub(crate) use kept::{Kept, late};
pub use malformed::Malformed;
pub(crate) use names::{Names, Written};
pub(crate) use outline::{Outline, Part};
pub(crate) use path::{MAX_SHOWN, Path, shown};
use raw::Text;
pub(crate) use raw::{Parts, Raw, Type};
pub(crate) use strings::Strings;

/// The one deserializer that views are read with.
type Json<'j, 'de> = &'j mut serde_json::Deserializer<serde_json::de::StrRead<'de>>;

/// What reading gives.
pub(crate) type Result<T> = std::result::Result<T, Malformed>;

/// Reads a document that holds one value and nothing else.
///
/// # Errors
/// If it is not UTF-8, not JSON, or nested too deep. What `read` notes is no error here.
pub(crate) fn document<'a, T>(
    bytes: &'a [u8],
    place: Place<'_>,
    read: impl Fn(Value<'_, Json<'_, 'a>>) -> std::result::Result<T, serde_json::Error>,
) -> Result<T> {
    document_of_text(utf_8(bytes)?, place, read)
}

/// As [`document`], of what is known to be UTF-8.
///
/// # Errors
/// If it is not JSON, or nested too deep.
pub(crate) fn document_of_text<'a, T>(
    text: &'a str,
    place: Place<'_>,
    read: impl Fn(Value<'_, Json<'_, 'a>>) -> std::result::Result<T, serde_json::Error>,
) -> Result<T> {
    // `serde_json` passes over any number of levels.
    nesting::check(text.as_bytes())?;
    let attempt = |with_care| {
        let mut json = serde_json::Deserializer::from_str(text);
        let read = read(Value {
            json: &mut json,
            place,
            with_care,
        })?;
        json.end()?;
        Ok(read)
    };
    attempt(false)
        .or_else(|_| {
            // As bytes, `serde_json` takes a name with control characters too.
            serde_json::from_str::<IgnoredAny>(text)?;
            attempt(true)
        })
        .map_err(|e: serde_json::Error| Malformed::syntax(&e))
}

fn utf_8(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|e| Malformed::utf_8(e.valid_up_to()))
}

/// The first thing of another type than expected.
#[derive(Debug, Default)]
pub(crate) struct Note(RefCell<Option<Malformed>>);

impl Note {
    /// What was read, unless something was noted.
    pub(crate) fn or<T>(self, read: T) -> Result<T> {
        match self.0.into_inner() {
            None => Ok(read),
            Some(malformed) => Err(malformed),
        }
    }
}

/// Where a value is, and where to note that it is of another type than expected.
#[derive(Clone, Copy)]
pub(crate) struct Place<'t> {
    path: Path<'t>,
    note: &'t Note,
}

impl<'t> Place<'t> {
    /// The root of what is read.
    pub(crate) fn root(note: &'t Note) -> Self {
        Self {
            path: Path::Root,
            note,
        }
    }

    /// The path from the root.
    pub(crate) fn path(&self) -> &Path<'t> {
        &self.path
    }

    /// The path of a member of what is here.
    pub(crate) fn member<'p>(&'p self, name: &'p str) -> Path<'p> {
        Path::Member(&self.path, name)
    }

    /// Another place in the same document.
    pub(crate) fn at<'p>(&self, path: &'p Path<'p>) -> Place<'p>
    where
        't: 'p,
    {
        Place {
            path: *path,
            note: self.note,
        }
    }

    /// Notes that something else than expected was found, unless that is noted of another value already.
    #[cold]
    pub(crate) fn expected(&self, expected: &'static str, got: &'static str) {
        let mut noted = self.note.0.borrow_mut();
        if noted.is_none() {
            *noted = Some(Malformed::shape(self.path.to_string(), expected, got));
        }
    }
}

/// A view of a JSON object or array. What it does not ask for is skipped.
pub(crate) trait Members<'de> {
    /// Whether it reads objects. If not, there is no code for it in the module.
    const OF_OBJECT: bool = true;

    /// Whether it reads arrays.
    const OF_ARRAY: bool = false;

    /// Whether it is small. With care its text is taken first, which may be a scalar that `serde_json` does not read.
    const IS_SMALL: bool = false;

    /// Reads a member of the object.
    ///
    /// # Errors
    /// If the bytes are not JSON.
    fn member<D: Deserializer<'de>>(
        &mut self,
        _: &str,
        value: Value<'_, D>,
    ) -> std::result::Result<(), D::Error> {
        value.skip()
    }

    /// Reads an element of the array.
    ///
    /// # Errors
    /// If the bytes are not JSON.
    fn element<D: Deserializer<'de>>(
        &mut self,
        _: usize,
        value: Value<'_, D>,
    ) -> std::result::Result<(), D::Error> {
        value.skip()
    }
}

/// A value that comes next in the document.
pub(crate) struct Value<'t, D> {
    json: D,
    place: Place<'t>,
    /// Whether this is the second reading.
    with_care: bool,
}

impl<'t, 'de, D: Deserializer<'de>> Value<'t, D> {
    /// Where it is.
    pub(crate) fn place(&self) -> Place<'t> {
        self.place
    }

    /// The same value, as if it were somewhere else.
    pub(crate) fn at(self, place: Place<'_>) -> Value<'_, D> {
        Value {
            json: self.json,
            place,
            with_care: self.with_care,
        }
    }

    /// The same value, as one of a map: its path has the member's name in brackets.
    pub(crate) fn keyed(mut self) -> Self {
        if let Path::Member(parent, name) = self.place.path {
            self.place.path = Path::Key(parent, name);
        }
        self
    }

    /// Passes over it.
    pub(crate) fn skip(self) -> std::result::Result<(), D::Error> {
        IgnoredAny::deserialize(self.json).map(|_| ())
    }

    /// Its text. Scalars are taken from it: `serde_json` gives a number without the form that it was written in.
    pub(crate) fn raw(self) -> std::result::Result<Raw<'de>, D::Error> {
        <&RawValue>::deserialize(self.json).map(Raw::from)
    }

    /// Reads an object or an array by its members, passes over anything else, and says what it was.
    pub(crate) fn visit<M: Members<'de>>(
        self,
        members: &mut M,
    ) -> std::result::Result<Type, D::Error> {
        let walk = Walk {
            members,
            place: self.place,
            with_care: self.with_care,
        };
        if !(M::IS_SMALL && self.with_care) {
            return self.json.deserialize_any(walk);
        }
        let raw = self.raw()?;
        match raw.json_type() {
            Type::Object | Type::Array => {
                let mut json = serde_json::Deserializer::from_str(raw.as_str());
                json.deserialize_any(walk).map_err(D::Error::custom)
            }
            scalar => Ok(scalar),
        }
    }

    /// Reads an object. Anything else is noted.
    pub(crate) fn object(
        self,
        members: &mut impl Members<'de>,
    ) -> std::result::Result<(), D::Error> {
        let place = self.place;
        if !self.object_or_null(members)? {
            place.expected("an object", Type::Null.name());
        }
        Ok(())
    }

    /// Reads an object; `null` is an absent one, and gives `false`. Anything else is noted.
    pub(crate) fn object_or_null(
        self,
        members: &mut impl Members<'de>,
    ) -> std::result::Result<bool, D::Error> {
        let place = self.place;
        match self.visit(members)? {
            Type::Null => return Ok(false),
            Type::Object => {}
            got => place.expected("an object", got.name()),
        }
        Ok(true)
    }

    /// Reads an array; `null` is an absent one, and gives `false`. Anything else is noted.
    pub(crate) fn array_or_null(
        self,
        members: &mut impl Members<'de>,
    ) -> std::result::Result<bool, D::Error> {
        let place = self.place;
        match self.visit(members)? {
            Type::Array => return Ok(true),
            Type::Null => {}
            got => place.expected("an array", got.name()),
        }
        Ok(false)
    }

    /// Keeps its text, to be read from there.
    pub(crate) fn keep(self) -> std::result::Result<Kept<'t, 'de>, D::Error> {
        let place = self.place;
        let raw = self.raw()?;
        Ok(Kept::new(raw, place))
    }

    /// As [`Kept::string_or_null`].
    pub(crate) fn string_or_null(self) -> std::result::Result<Option<Cow<'de, str>>, D::Error> {
        if self.with_care {
            return Ok(self.keep()?.string_or_null());
        }
        let text = Option::<Plain<'de>>::deserialize(self.json)?;
        Ok(text.map(|Plain(text)| text))
    }

    /// As [`Kept::int32_or_null`].
    pub(crate) fn int32_or_null(self) -> std::result::Result<Option<i32>, D::Error> {
        Ok(self.keep()?.int32_or_null())
    }
}

/// Hands out the members or elements of a value.
struct Walk<'t, 'm, M> {
    members: &'m mut M,
    place: Place<'t>,
    with_care: bool,
}

impl<'de, M: Members<'de>> Visitor<'de> for Walk<'_, '_, M> {
    type Value = Type;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Type, A::Error> {
        let with_care = self.with_care;
        if !M::OF_OBJECT {
            skip_members(map, with_care)?;
            return Ok(Type::Object);
        }
        while let Some(name) = map.next_key_seed(Name { with_care })? {
            map.next_value_seed(Member {
                members: &mut *self.members,
                name: &name,
                place: self.place,
                with_care,
            })?;
        }
        Ok(Type::Object)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> std::result::Result<Type, A::Error> {
        if !M::OF_ARRAY {
            IgnoredAny.visit_seq(seq)?;
            return Ok(Type::Array);
        }
        let mut index = 0_usize;
        while let Some(()) = seq.next_element_seed(Element {
            members: &mut *self.members,
            index,
            place: self.place,
            with_care: self.with_care,
        })? {
            index = index.saturating_add(1);
        }
        Ok(Type::Array)
    }

    fn visit_unit<E>(self) -> std::result::Result<Type, E> {
        Ok(Type::Null)
    }

    fn visit_bool<E>(self, _: bool) -> std::result::Result<Type, E> {
        Ok(Type::Bool)
    }

    fn visit_i64<E>(self, _: i64) -> std::result::Result<Type, E> {
        Ok(Type::Number)
    }

    fn visit_u64<E>(self, _: u64) -> std::result::Result<Type, E> {
        Ok(Type::Number)
    }

    fn visit_f64<E>(self, _: f64) -> std::result::Result<Type, E> {
        Ok(Type::Number)
    }

    fn visit_str<E>(self, _: &str) -> std::result::Result<Type, E> {
        Ok(Type::String)
    }
}

/// Passes over the members of an object where something else is expected.
#[cold]
fn skip_members<'de, A: MapAccess<'de>>(
    mut map: A,
    with_care: bool,
) -> std::result::Result<(), A::Error> {
    while map.next_key_seed(Name { with_care })?.is_some() {
        map.next_value::<IgnoredAny>()?;
    }
    Ok(())
}

struct Member<'t, 'm, M> {
    members: &'m mut M,
    name: &'m str,
    place: Place<'t>,
    with_care: bool,
}

impl<'de, M: Members<'de>> DeserializeSeed<'de> for Member<'_, '_, M> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> std::result::Result<(), D::Error> {
        let path = Path::Member(&self.place.path, self.name);
        let value = Value {
            json,
            place: self.place.at(&path),
            with_care: self.with_care,
        };
        self.members.member(self.name, value)
    }
}

struct Element<'t, 'm, M> {
    members: &'m mut M,
    index: usize,
    place: Place<'t>,
    with_care: bool,
}

impl<'de, M: Members<'de>> DeserializeSeed<'de> for Element<'_, '_, M> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> std::result::Result<(), D::Error> {
        let path = Path::Index(&self.place.path, self.index);
        let value = Value {
            json,
            place: self.place.at(&path),
            with_care: self.with_care,
        };
        self.members.element(self.index, value)
    }
}

/// The name of a member: with care as bytes, because `serde_json` refuses a lone surrogate in a text.
struct Name {
    with_care: bool,
}

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(
        self,
        json: D,
    ) -> std::result::Result<Self::Value, D::Error> {
        if self.with_care {
            json.deserialize_bytes(Text)
        } else {
            json.deserialize_str(Text)
        }
    }
}

/// A string. Anything else is an error, so that the document is read with care.
struct Plain<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for Plain<'de> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> std::result::Result<Self, D::Error> {
        json.deserialize_str(Text).map(Self)
    }
}

#[cfg(test)]
mod tests;
