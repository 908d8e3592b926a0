//! Objects whose kind is not known when the document comes to them.

use serde::de::Deserializer;

use super::{Object, walk};
use crate::decode::{Note, Outline, Place, Raw, Result, Type, Value, late};
use crate::kind::Kind;

/// An object that was kept, to be read once its kind is known.
#[derive(Debug)]
pub(crate) enum Unread<'a> {
    /// Its text: the kind comes later in the document.
    Text(Raw<'a>),
    /// Its text, and the one that its status is taken from.
    WithStatusOf(Raw<'a>, Raw<'a>),
    /// Its parts: the library does not know the kind, the settings may declare it.
    Outline(Outline<'a>),
}

impl<'a> Unread<'a> {
    /// Keeps the text of an object, with the status of another one if there is one.
    pub(crate) fn of_text(text: &'a str, status_of: Option<&'a str>) -> Self {
        let raw = Raw::unread(text);
        status_of.map_or(Self::Text(raw), |other| {
            Self::WithStatusOf(raw, Raw::unread(other))
        })
    }

    /// Takes a value apart; [`None`] is `null`.
    ///
    /// # Errors
    /// If the bytes are not JSON.
    pub(crate) fn outline<D: Deserializer<'a>>(
        value: Value<'_, D>,
    ) -> std::result::Result<Option<Self>, D::Error> {
        let outline = Outline::read(value)?;
        let is_there = outline.raw.json_type() != Type::Null;
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
            Self::WithStatusOf(raw, other) => {
                let (object, other) = (read_text(*raw, kind)?, read_text(*other, kind)?);
                let with_status =
                    |object: Object<'k>| object.with_status_of(other.unwrap_or_default());
                Ok(object.map(with_status))
            }
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
        Object::read(value, kind, None)
    })?
}
