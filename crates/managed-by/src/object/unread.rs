//! Objects whose kind is not known when the document comes to them.

use serde::de::Deserializer;

use super::{Object, walk};
use crate::decode::{Members, Note, Place, Raw, Result, Type, Value, late};
use crate::kind::Kind;

/// An object that was kept, to be read once its kind is known.
#[derive(Debug)]
pub(crate) enum Unread<'a> {
    /// Its text: the kind comes later in the document.
    Text(Raw<'a>),
    /// Its parts: the library does not know the kind, the settings may declare it.
    Outline(Outline<'a>),
}

/// A value by its members and their members: what is not read later was passed over once, and is not again.
#[derive(Debug)]
pub(crate) struct Outline<'a> {
    pub(super) json_type: Type,
    pub(super) parts: Vec<(String, Part<'a>)>,
}

/// A member of an object: `metadata`, `spec`, `status`.
#[derive(Debug)]
pub(super) struct Part<'a> {
    pub(super) json_type: Type,
    pub(super) members: Vec<(String, Raw<'a>)>,
}

impl<'a> Unread<'a> {
    /// Takes a value apart; [`None`] is `null`.
    ///
    /// # Errors
    /// If the bytes are not JSON.
    pub(crate) fn outline<D: Deserializer<'a>>(
        value: Value<'_, D>,
    ) -> std::result::Result<Option<Self>, D::Error> {
        let mut outline = Outline {
            json_type: Type::Null,
            parts: Vec::new(),
        };
        outline.json_type = value.visit(&mut outline)?;
        let is_there = outline.json_type != Type::Null;
        Ok(is_there.then_some(Self::Outline(outline)))
    }

    /// Reads it as an object of a kind; [`None`] is `null`.
    ///
    /// # Errors
    /// If something in it is of another type than the rules of the kind need.
    pub(crate) fn read<'k>(&'k self, kind: &'k Kind<'k>) -> Result<Option<Object<'k>>>
    where
        'a: 'k,
    {
        match self {
            Self::Text(raw) => read_text(*raw, kind),
            Self::Outline(outline) => {
                let note = Note::default();
                let object = walk::read_outline(outline, kind, Place::root(&note))?;
                note.or(Some(object))
            }
        }
    }
}

/// Reads an object of a kind from its text; [`None`] is `null`.
///
/// # Errors
/// As [`Unread::read`].
pub(crate) fn read_text<'a>(raw: Raw<'a>, kind: &'a Kind<'a>) -> Result<Option<Object<'a>>> {
    let unheard = Note::default();
    late(raw, Place::root(&unheard), |value| {
        Object::read(value, kind)
    })?
}

impl<'a> Members<'a> for Outline<'a> {
    fn member<D: Deserializer<'a>>(
        &mut self,
        name: &str,
        value: Value<'_, D>,
    ) -> std::result::Result<(), D::Error> {
        let mut part = Part {
            json_type: Type::Null,
            members: Vec::new(),
        };
        part.json_type = value.visit(&mut part)?;
        self.parts.push((name.to_owned(), part));
        Ok(())
    }
}

impl<'a> Members<'a> for Part<'a> {
    fn member<D: Deserializer<'a>>(
        &mut self,
        name: &str,
        value: Value<'_, D>,
    ) -> std::result::Result<(), D::Error> {
        self.members.push((name.to_owned(), value.raw()?));
        Ok(())
    }
}
