//! Objects that are read by themselves, and become part of requests.

use crate::decode::{Malformed, Note, Place, Result, document_of_text};
use crate::kind::Kind;
use crate::object::Object;

/// An object that was read once, to be part of several requests: the new one of an update is the old one of the next.
#[derive(Debug, Clone)]
pub struct ReadObject<'a> {
    pub(super) kind: &'a Kind<'a>,
    pub(super) version: &'a str,
    pub(super) text: &'a str,
    object: Result<Object<'a>>,
}

impl<'a> ReadObject<'a> {
    /// Reads an object of a kind in a version from JSON. [`None`] if the library does not know the kind. An object that makes
    /// no sense is trouble for the requests that it is part of.
    pub fn from_json(group: &str, version: &'a str, kind: &str, text: &'a str) -> Option<Self> {
        let kind = Kind::find(group, version, kind)?;
        let note = Note::default();
        let read = document_of_text(text, Place::root(&note), |value| Object::read(value, kind));
        let object = match read {
            Ok(object) => object.and_then(|object| {
                object.ok_or_else(|| Malformed::shape("", "an object", "nothing"))
            }),
            Err(malformed) => Err(malformed),
        };
        Some(Self {
            kind,
            version,
            text,
            object,
        })
    }

    pub(super) fn object(self, member: &str) -> Result<Object<'a>> {
        self.object.map_err(|malformed| malformed.within(member))
    }
}
