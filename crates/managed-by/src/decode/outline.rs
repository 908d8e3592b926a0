//! An object of which each member may be split, too.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess};

use super::fields::Text;
use super::raw::Split;
use super::{Lenient, Parts, Raw, Type, VisitContainer};

/// A value split into its members, of which some are split into theirs. What is below stays text. To split large settings at once
/// saves a third of the fuel of a request with 200 controllers and 200 namespaces: their text would be scanned twice.
#[derive(Debug)]
pub(crate) struct Outline<'a> {
    /// The value, or an empty one of its type.
    pub(crate) raw: Raw<'a>,
    /// The members of an object, with their names.
    pub(crate) parts: Vec<(Cow<'a, str>, Part<'a>)>,
    /// The names of the members that are split.
    split: &'static [&'static str],
}

/// A member of an outline.
#[derive(Debug)]
pub(crate) enum Part<'a> {
    /// Its text.
    Text(Raw<'a>),
    /// Its type, and its members or elements.
    Split(Type, Parts<'a>),
}

impl<'a> Part<'a> {
    /// The value, or an empty one of its type if it was split.
    pub(crate) fn raw(&self) -> Raw<'a> {
        match self {
            Self::Text(raw) => *raw,
            Self::Split(json_type, _) => Raw::empty(*json_type),
        }
    }

    /// The members with their names, or the elements; none of anything else.
    pub(crate) fn parts(&self) -> Cow<'_, [(Cow<'a, str>, Raw<'a>)]> {
        match self {
            Self::Text(raw) => Cow::Owned(raw.parts(raw.json_type())),
            Self::Split(_, parts) => Cow::Borrowed(parts),
        }
    }
}

impl<'a> Outline<'a> {
    /// Creates the outline of an object without members, for a visitor.
    pub(crate) fn splitting(split: &'static [&'static str]) -> Self {
        Self {
            raw: Raw::empty(Type::Object),
            parts: Vec::new(),
            split,
        }
    }

    /// Splits a value that is text. Its members stay text.
    pub(crate) fn of(raw: Raw<'a>) -> Self {
        let members = raw.members().into_iter();
        Self {
            raw,
            parts: members.map(|(name, raw)| (name, Part::Text(raw))).collect(),
            split: &[],
        }
    }
}

/// Collects the members of an object, and splits some of them. A scalar instead of such a member is an error, because its text would
/// be lost: [`Outline::of`] keeps it.
impl<'a> VisitContainer<'a> for Outline<'a> {
    fn visit_members<A: MapAccess<'a>>(&mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(Text(name)) = map.next_key()? {
            let part = if self.split.contains(&&*name) {
                map.next_value()?
            } else {
                Part::Text(map.next_value()?)
            };
            if let Part::Split(Type::String | Type::Number | Type::Bool, _) = part {
                return Err(A::Error::custom("scalar, expected an object or an array"));
            }
            self.parts.push((name, part));
        }
        Ok(())
    }
}

impl<'a> DeserializeSeed<'a> for Split<'a> {
    type Value = Part<'a>;

    fn deserialize<D: Deserializer<'a>>(mut self, json: D) -> Result<Part<'a>, D::Error> {
        let json_type = json.deserialize_any(Lenient(&mut self))?;
        Ok(Part::Split(json_type, self.parts))
    }
}

/// Splits the value.
impl<'de: 'a, 'a> Deserialize<'de> for Part<'a> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        Split::default().deserialize(json)
    }
}
