//! Objects that are decoded without a request, for tools that build requests from them.

use std::borrow::Cow;

use super::identity::GroupVersionKind;
use crate::decode::{Malformed, Result, decode_str};
use crate::kind::Kind;
use crate::object::{Object, ObjectSeed};

/// Object that is decoded once and used in several requests: the new object of an update is the old one of the next.
#[derive(Debug, Clone)]
pub struct ReadObject<'a> {
    pub(super) kind: GroupVersionKind<'a>,
    pub(super) text: &'a str,
    read: Option<(&'a Kind<'a>, Result<Object<'a>>)>,
}

impl<'a> ReadObject<'a> {
    /// Decodes an object of a kind from JSON. An object of an unknown kind is decoded in the requests that use it, with
    /// `custom_kinds`. These requests also return any error.
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
        let read = kind
            .profile()
            .map(|profile| (profile, object(text, profile)));
        Self { kind, text, read }
    }

    pub(super) fn profile(&self) -> Option<&'a Kind<'a>> {
        self.read.as_ref().map(|(profile, _)| *profile)
    }

    /// Returns the object decoded as a kind, which may differ from its own.
    pub(super) fn decode_as(&self, profile: &'a Kind<'a>) -> Result<Object<'a>> {
        match &self.read {
            Some((known, read)) if std::ptr::eq(*known, profile) => read.clone(),
            _ => object(self.text, profile),
        }
    }
}

fn object<'a>(text: &'a str, kind: &'a Kind<'a>) -> Result<Object<'a>> {
    let object = decode_str(text, ObjectSeed(kind))?;
    object.ok_or_else(|| Malformed::unexpected("", "an object", "nothing"))
}
