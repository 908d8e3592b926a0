//! Objects that are read by themselves, and become part of requests.

use std::borrow::Cow;

use super::identity::GroupVersionKind;
use super::source::{Part, StatusOf};
use crate::decode::{Malformed, Result, decode_str};
use crate::kind::Kind;
use crate::object::unread::Unread;
use crate::object::{Object, OfKind};

/// An object that was read once, to be part of several requests: the new one of an update is the old one of the next.
#[derive(Debug, Clone)]
pub struct ReadObject<'a> {
    pub(super) kind: GroupVersionKind<'a>,
    pub(super) text: &'a str,
    /// The text that the status is taken from, if it is not the object's own.
    status_of: Option<&'a str>,
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
        Self {
            kind,
            text,
            status_of: None,
            read,
        }
    }

    /// The object with the status of another object of its kind. It is the state between two updates, one of the object and
    /// one of its status.
    #[must_use]
    pub fn with_status_of(&self, other: &Self) -> Self {
        let read = self.read.as_ref().map(|(profile, own)| {
            let both = own.as_ref().ok().zip(other.of_kind(profile).ok());
            let read = match both {
                Some((own, other)) => Ok(own.clone().with_status_of(other)),
                // Its own trouble first.
                None => own.clone().and_then(|_| other.of_kind(profile)),
            };
            (*profile, read)
        });
        Self {
            kind: self.kind.clone(),
            text: self.text,
            status_of: Some(other.status_of.unwrap_or(other.text)),
            read,
        }
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

    /// The object by its text.
    pub(super) fn part(&self) -> Part<'a> {
        Part {
            text: self.text,
            status: self.status_of.map_or(StatusOf::Itself, StatusOf::Other),
        }
    }

    /// The object as it is kept until its kind is known.
    pub(super) fn unread(&self) -> Unread<'a> {
        Unread::of_text(self.text, self.status_of)
    }
}

/// Reads an object of a kind.
fn object<'a>(text: &'a str, kind: &'a Kind<'a>) -> Result<Object<'a>> {
    let read = decode_str(text, OfKind(kind))?;
    read.ok_or_else(|| Malformed::unexpected("", "an object", "nothing"))
}
