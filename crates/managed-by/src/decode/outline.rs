//! A value by its parts and theirs, as text.

use std::borrow::Cow;

use serde::de::{Deserializer, Error};

use super::raw::{Apart, USUAL};
use super::{Members, Parts, Raw, Type, Value};

/// An object or an array, taken apart two levels deep. Deeper values stay text, so a value that no rule needs is scanned only
/// once.
#[derive(Debug)]
pub(crate) struct Outline<'a> {
    /// A value of the same type.
    pub(crate) raw: Raw<'a>,
    /// The members with their names, or the elements.
    pub(crate) parts: Vec<(Cow<'a, str>, Part<'a>)>,
}

/// A part of a value.
#[derive(Debug)]
pub(crate) enum Part<'a> {
    /// Its text.
    Text(Raw<'a>),
    /// What is in it.
    Apart(Type, Parts<'a>),
}

impl<'a> Part<'a> {
    /// A value of the same type, with the same text if it was not taken apart.
    pub(crate) fn raw(&self) -> Raw<'a> {
        match self {
            Self::Text(raw) => *raw,
            Self::Apart(json_type, _) => Raw::of_type(*json_type),
        }
    }

    /// The members with their names, or the elements; none of anything else.
    pub(crate) fn parts(&self) -> Cow<'_, [(Cow<'a, str>, Raw<'a>)]> {
        match self {
            Self::Text(raw) => Cow::Owned(raw.parts(raw.json_type())),
            Self::Apart(_, parts) => Cow::Borrowed(parts),
        }
    }
}

impl<'a> Outline<'a> {
    /// The parts of a value as text.
    pub(crate) fn of(raw: Raw<'a>) -> Self {
        let parts = raw.parts(raw.json_type()).into_iter();
        let parts = parts.map(|(name, raw)| (name, Part::Text(raw)));
        Self {
            raw,
            parts: parts.collect(),
        }
    }

    /// Takes a value apart, and each part of it.
    ///
    /// # Errors
    /// If the bytes are not JSON.
    pub(crate) fn read<D: Deserializer<'a>>(value: Value<'_, D>) -> Result<Self, D::Error> {
        let reading = Reading {
            only: None,
            parts: Vec::new(),
        };
        reading.of(value)
    }

    /// Takes an object apart, and of its members those with these names.
    ///
    /// # Errors
    /// If the bytes are not JSON. If a scalar is found instead, so that the document is read with care, which keeps its text.
    pub(crate) fn read_object<D: Deserializer<'a>>(
        value: Value<'_, D>,
        only: &'static [&'static str],
    ) -> Result<Self, D::Error> {
        if value.with_care {
            return value.raw().map(Self::of);
        }
        let reading = Reading {
            only: Some(only),
            parts: Vec::new(),
        };
        reading.of(value)
    }
}

struct Reading<'a> {
    only: Option<&'static [&'static str]>,
    parts: Vec<(Cow<'a, str>, Part<'a>)>,
}

impl<'a> Reading<'a> {
    fn of<D: Deserializer<'a>>(mut self, value: Value<'_, D>) -> Result<Outline<'a>, D::Error> {
        let json_type = value.visit(&mut self)?;
        self.check(json_type)?;
        Ok(Outline {
            raw: Raw::of_type(json_type),
            parts: self.parts,
        })
    }

    fn check<E: Error>(&self, json_type: Type) -> Result<(), E> {
        let has_text = matches!(json_type, Type::String | Type::Number | Type::Bool);
        if has_text && self.only.is_some() {
            return Err(E::custom("expected an object or an array"));
        }
        Ok(())
    }

    fn keep<D: Deserializer<'a>>(
        &mut self,
        name: &str,
        value: Value<'_, D>,
    ) -> Result<(), D::Error> {
        let part = if self.only.is_none_or(|only| only.contains(&name)) {
            let with_care = value.with_care;
            let (json_type, parts) = value.json.deserialize_any(Apart { with_care })?;
            self.check(json_type)?;
            Part::Apart(json_type, parts)
        } else {
            Part::Text(value.raw()?)
        };
        if self.parts.is_empty() {
            self.parts.reserve(USUAL);
        }
        self.parts.push((Cow::Owned(name.to_owned()), part));
        Ok(())
    }
}

impl<'a> Members<'a> for Reading<'a> {
    const OF_ARRAY: bool = true;

    fn member<D: Deserializer<'a>>(
        &mut self,
        name: &str,
        value: Value<'_, D>,
    ) -> Result<(), D::Error> {
        self.keep(name, value)
    }

    fn element<D: Deserializer<'a>>(
        &mut self,
        _: usize,
        value: Value<'_, D>,
    ) -> Result<(), D::Error> {
        self.keep("", value)
    }
}
