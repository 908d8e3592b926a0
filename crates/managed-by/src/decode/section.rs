//! An object by its members, the large ones taken apart in passing.

use std::borrow::Cow;

use serde::de::{Deserializer, Error};

use super::raw::Apart;
use super::{Members, Parts, Raw, Type, Value};

/// A value as its text, or by its parts.
#[derive(Debug, Clone)]
pub(crate) enum Section<'a> {
    Text(Raw<'a>),
    Parts(Type, Parts<'a>),
}

impl<'a> Section<'a> {
    /// The members with their names, or the elements; none of anything else.
    pub(crate) fn parts(&self) -> Parts<'a> {
        match self {
            Self::Text(raw) => raw.parts(raw.json_type()),
            Self::Parts(_, parts) => parts.clone(),
        }
    }
}

/// A value of the same type, with the same text if it was not taken apart.
impl<'a> From<&Section<'a>> for Raw<'a> {
    fn from(section: &Section<'a>) -> Self {
        match section {
            Section::Text(raw) => *raw,
            Section::Parts(Type::Object, _) => Self::EMPTY_OBJECT,
            Section::Parts(Type::Array, _) => Self::EMPTY_ARRAY,
            Section::Parts(..) => Self::NULL,
        }
    }
}

/// An object by its members.
#[derive(Debug)]
pub(crate) struct Sections<'a> {
    /// Its text; an empty object where it is one.
    pub(crate) raw: Raw<'a>,
    pub(crate) members: Vec<(Cow<'a, str>, Section<'a>)>,
}

impl<'a> Sections<'a> {
    /// The members of a value that was kept as text; none of anything else than an object.
    pub(crate) fn of(raw: Raw<'a>) -> Self {
        let members = raw.members().into_iter();
        let members = members.map(|(name, raw)| (name, Section::Text(raw)));
        Self {
            raw,
            members: members.collect(),
        }
    }

    /// Reads a value, and takes the members of these names apart.
    ///
    /// # Errors
    /// If the bytes are not JSON. Where another type is found than expected, the document has to be read with care, so that
    /// there is a text to show.
    pub(crate) fn read<D: Deserializer<'a>>(
        value: Value<'_, D>,
        large: &'static [&'static str],
    ) -> Result<Self, D::Error> {
        if value.with_care {
            return value.raw().map(Self::of);
        }
        let mut reading = Reading {
            large,
            members: Vec::new(),
        };
        let raw = match value.visit(&mut reading)? {
            Type::Object => Raw::EMPTY_OBJECT,
            Type::Null => Raw::NULL,
            _ => return Err(D::Error::custom("expected an object")),
        };
        Ok(Self {
            raw,
            members: reading.members,
        })
    }
}

struct Reading<'a> {
    large: &'static [&'static str],
    members: Vec<(Cow<'a, str>, Section<'a>)>,
}

impl<'a> Members<'a> for Reading<'a> {
    fn member<D: Deserializer<'a>>(
        &mut self,
        name: &str,
        value: Value<'_, D>,
    ) -> Result<(), D::Error> {
        let section = if self.large.contains(&name) {
            let with_care = value.with_care;
            let (json_type, parts) = value.json.deserialize_any(Apart { with_care })?;
            Section::Parts(json_type, parts)
        } else {
            Section::Text(value.raw()?)
        };
        self.members.push((Cow::Owned(name.to_owned()), section));
        Ok(())
    }
}
