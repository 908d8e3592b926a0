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
    pub(crate) fn json_type(&self) -> Type {
        match self {
            Self::Text(raw) => raw.json_type(),
            Self::Split(json_type, _) => *json_type,
        }
    }

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
    /// Splits a value that is text. Its members stay text.
    pub(crate) fn of(raw: Raw<'a>) -> Self {
        let members = raw.members().into_iter();
        Self {
            raw,
            parts: members.map(|(name, raw)| (name, Part::Text(raw))).collect(),
        }
    }
}

/// The seed of an outline, with the names of the members that are split. A scalar instead of the outline or of such a member is an
/// error, because its text would be lost: [`Outline::of`] keeps it.
pub(crate) struct OutlineOf(pub(crate) &'static [&'static str]);

impl<'a> DeserializeSeed<'a> for OutlineOf {
    type Value = Outline<'a>;

    fn deserialize<D: Deserializer<'a>>(self, json: D) -> Result<Outline<'a>, D::Error> {
        let mut reading = Reading {
            split: self.0,
            parts: Vec::new(),
        };
        let json_type = json.deserialize_any(Lenient(&mut reading))?;
        no_scalar(json_type)?;
        Ok(Outline {
            raw: Raw::empty(json_type),
            parts: reading.parts,
        })
    }
}

fn no_scalar<E: Error>(json_type: Type) -> Result<(), E> {
    match json_type {
        Type::Object | Type::Array | Type::Null => Ok(()),
        Type::String | Type::Number | Type::Bool => {
            Err(E::custom("scalar, expected an object or an array"))
        }
    }
}

struct Reading<'a> {
    split: &'static [&'static str],
    parts: Vec<(Cow<'a, str>, Part<'a>)>,
}

impl<'a> VisitContainer<'a> for Reading<'a> {
    fn visit_members<A: MapAccess<'a>>(&mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(Text(name)) = map.next_key()? {
            let part = if self.split.contains(&&*name) {
                let part: Part<'a> = map.next_value()?;
                no_scalar(part.json_type())?;
                part
            } else {
                Part::Text(map.next_value()?)
            };
            self.parts.push((name, part));
        }
        Ok(())
    }
}

/// Splits the value.
impl<'de: 'a, 'a> Deserialize<'de> for Part<'a> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        let mut split = Split::default();
        let json_type = json.deserialize_any(Lenient(&mut split))?;
        Ok(Self::Split(json_type, split.0))
    }
}

/// A part of which the members are split. No rule reads the elements of an array there, which may be many.
pub(crate) struct MembersOnly<'a>(pub(crate) Part<'a>);

impl<'de: 'a, 'a> Deserialize<'de> for MembersOnly<'a> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        struct OfObject<'a>(Split<'a>);

        impl<'a> VisitContainer<'a> for OfObject<'a> {
            fn visit_members<A: MapAccess<'a>>(&mut self, map: A) -> Result<(), A::Error> {
                self.0.visit_members(map)
            }
        }

        let mut members = OfObject(Split::default());
        let json_type = json.deserialize_any(Lenient(&mut members))?;
        Ok(Self(Part::Split(json_type, members.0.0)))
    }
}
