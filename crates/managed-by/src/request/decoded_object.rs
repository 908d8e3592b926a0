//! Objects that are decoded without a request, for tools that build requests from them.

use std::borrow::Cow;

use super::identity::GroupVersionKind;
use crate::decode::{DecodeError, Result, decode_str};
use crate::kind::Kind;
use crate::object::{Object, ObjectSeed};

/// Object that is decoded once and used in several requests. For example, the new object of one update is the old object of the
/// next.
#[derive(Debug, Clone)]
pub struct DecodedObject<'a> {
    pub(super) kind: GroupVersionKind<'a>,
    pub(super) text: &'a str,
    decoded: Option<(&'a Kind<'a>, Result<Object<'a>>)>,
}

impl<'a> DecodedObject<'a> {
    /// Decodes an object of the given kind from JSON. If the kind is unknown, decoding is deferred to the requests that use the
    /// object, whose settings may declare it in `custom_kinds`. Those requests also return decoding errors.
    pub fn from_json(
        group: Cow<'a, str>,
        version: Cow<'a, str>,
        kind: Cow<'a, str>,
        text: &'a str,
    ) -> Self {
        let kind = GroupVersionKind {
            group,
            version,
            kind,
        };
        let decoded = kind.known_kind().map(|kind| (kind, object(text, kind)));
        Self {
            kind,
            text,
            decoded,
        }
    }

    pub(super) fn known_kind(&self) -> Option<&'a Kind<'a>> {
        self.decoded.as_ref().map(|(kind, _)| *kind)
    }

    /// Returns the object decoded as the given kind, which may differ from its own kind.
    pub(super) fn decode_as(&self, kind: &'a Kind<'a>) -> Result<Object<'a>> {
        match &self.decoded {
            Some((known, decoded)) if std::ptr::eq(*known, kind) => decoded.clone(),
            _ => object(self.text, kind),
        }
    }
}

fn object<'a>(text: &'a str, kind: &'a Kind<'a>) -> Result<Object<'a>> {
    let object = decode_str(text, ObjectSeed(kind))?;
    object.ok_or_else(|| DecodeError::unexpected("", "an object", "nothing"))
}
