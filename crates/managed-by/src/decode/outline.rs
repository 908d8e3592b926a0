//! A value by its parts and theirs, as text.

use serde::de::Deserializer;

use super::raw::USUAL;
use super::{Members, Raw, Type, Value};

/// An object or an array by what is in it, and by what is in that. Nothing deeper is read, and what is not read later was
/// passed over just once.
#[derive(Debug)]
pub(crate) struct Outline<'a> {
    is_outer: bool,
    pub(crate) json_type: Type,
    /// The members with their names, or the elements.
    pub(crate) parts: Vec<(String, Part<'a>)>,
}

/// A part of a value.
#[derive(Debug)]
pub(crate) enum Part<'a> {
    /// What is in the value.
    Outline(Outline<'a>),
    /// What is in that.
    Text(Raw<'a>),
}

impl<'a> Outline<'a> {
    /// Takes a value apart.
    ///
    /// # Errors
    /// If the bytes are not JSON.
    pub(crate) fn read<D: Deserializer<'a>>(value: Value<'_, D>) -> Result<Self, D::Error> {
        Self::part(value, true)
    }

    fn part<D: Deserializer<'a>>(value: Value<'_, D>, is_outer: bool) -> Result<Self, D::Error> {
        let mut outline = Self {
            is_outer,
            json_type: Type::Null,
            parts: Vec::new(),
        };
        outline.json_type = value.visit(&mut outline)?;
        Ok(outline)
    }

    /// The parts that are text, with their names.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&str, Raw<'a>)> {
        self.parts.iter().filter_map(|(name, part)| match part {
            Part::Text(raw) => Some((&**name, *raw)),
            Part::Outline(_) => None,
        })
    }

    fn keep<D: Deserializer<'a>>(
        &mut self,
        name: &str,
        value: Value<'_, D>,
    ) -> Result<(), D::Error> {
        let part = if self.is_outer {
            Part::Outline(Self::part(value, false)?)
        } else {
            Part::Text(value.raw()?)
        };
        if self.parts.is_empty() {
            self.parts.reserve(USUAL);
        }
        self.parts.push((name.to_owned(), part));
        Ok(())
    }
}

impl<'a> Members<'a> for Outline<'a> {
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
