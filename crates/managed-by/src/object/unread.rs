//! Objects whose kind is not known when the document comes to them.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};

use super::{Metadata, Object, OfKind, walk};
use crate::decode::fields::{Nullable, Text, put};
use crate::decode::{self, Part, Raw, decode_str};
use crate::kind::Kind;

/// An object that was kept, to be read once its kind is known.
#[derive(Debug)]
pub(crate) enum Unread<'a> {
    /// Its text: the kind comes later in the document.
    Text(Raw<'a>),
    /// Its text, and the one that its status is taken from.
    WithStatusOf(Raw<'a>, Raw<'a>),
    /// Its members, split: the library does not know the kind, but the settings, which come later, may declare it.
    Members(Box<Metadata<'a>>, Vec<(Cow<'a, str>, Part<'a>)>),
}

impl<'a> Unread<'a> {
    /// Keeps the text of an object, with the status of another one if there is one.
    pub(crate) fn of_text(text: &'a str, status_of: Option<&'a str>) -> Self {
        let raw = Raw::new(text);
        status_of.map_or(Self::Text(raw), |other| {
            Self::WithStatusOf(raw, Raw::new(other))
        })
    }

    /// Reads it as an object of a kind; [`None`] for `null`.
    ///
    /// # Errors
    /// If a strict value is of the wrong type, with its path from the object.
    pub(crate) fn read<'k>(&'k self, kind: &'k Kind<'k>) -> decode::Result<Option<Object<'k>>>
    where
        'a: 'k,
    {
        let text = |raw: Raw<'k>| decode_str(raw.as_str(), OfKind(kind));
        match self {
            Self::Text(raw) => text(*raw),
            Self::WithStatusOf(raw, other) => {
                let (object, other) = (text(*raw)?, text(*other)?);
                let with_status =
                    |object: Object<'k>| object.with_status_of(other.unwrap_or_default());
                Ok(object.map(with_status))
            }
            Self::Members(metadata, members) => {
                walk::read_members((**metadata).clone(), members, kind).map(Some)
            }
        }
    }
}

/// The seed of the members of an object of an unknown kind; [`None`] for `null`.
pub(crate) struct MembersOf;

impl<'a> DeserializeSeed<'a> for MembersOf {
    type Value = Option<Unread<'a>>;

    fn deserialize<D: Deserializer<'a>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_option(self)
    }
}

impl<'a> Visitor<'a> for MembersOf {
    type Value = Option<Unread<'a>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_none<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'a>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_map(self)
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut metadata = None;
        let mut members = Vec::new();
        while let Some(Text(name)) = map.next_key()? {
            if name == "metadata" {
                put(&mut metadata, &mut map)?;
            } else {
                members.push((name, map.next_value()?));
            }
        }
        let metadata = metadata.map(|Nullable(metadata)| metadata);
        let metadata = Box::new(metadata.unwrap_or_default());
        Ok(Some(Unread::Members(metadata, members)))
    }
}
