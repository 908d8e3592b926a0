//! Objects that are read by themselves, and become part of requests.

use std::borrow::Cow;

use super::identity::GroupVersionKind;
use crate::decode::{Malformed, Result, decode_str};
use crate::kind::Kind;
use crate::object::{Object, OfKind};

/// An object that was read once, to be part of several requests: the new one of an update is the old one of the next.
#[derive(Debug, Clone)]
pub struct ReadObject<'a> {
    pub(super) kind: GroupVersionKind<'a>,
    pub(super) text: &'a str,
    read: Option<(&'a Kind<'a>, Result<Object<'a>>)>,
}

impl<'a> ReadObject<'a> {
    /// Reads an object of a kind from JSON. One of a kind that the library does not know is read with the request that it becomes
    /// part of, as the settings declare the kind. An object that makes no sense is trouble for these requests.
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

    /// The kind, if the library knows it.
    pub(super) fn profile(&self) -> Option<&'a Kind<'a>> {
        self.read.as_ref().map(|(profile, _)| *profile)
    }

    /// The object as one of a kind, whatever kind it says that it is of.
    pub(super) fn of_kind(&self, profile: &'a Kind<'a>) -> Result<Object<'a>> {
        match &self.read {
            Some((known, read)) if std::ptr::eq(*known, profile) => read.clone(),
            _ => object(self.text, profile),
        }
    }
}

/// Reads an object of a kind.
fn object<'a>(text: &'a str, kind: &'a Kind<'a>) -> Result<Object<'a>> {
    let read = decode_str(text, OfKind(kind))?;
    read.ok_or_else(|| Malformed::unexpected("", "an object", "nothing"))
}
