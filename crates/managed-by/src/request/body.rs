//! The objects of a request.

use std::borrow::Cow;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, MapAccess};

use super::identity::GroupVersionKind;
use crate::decode::fields::{StrictObject, Text};
use crate::decode::{Malformed, Part, Raw, Result, Split, Strict, VisitContainer, decode_str};
use crate::kind::Kind;
use crate::object::pod::Pod;
use crate::object::{Object, OfKind, read_members};

/// An object of a request, read as far as its kind is known.
#[derive(Debug, Default)]
pub(super) enum Body<'a> {
    #[default]
    Absent,
    /// The object of a pod, or of a kind that comes later in the document.
    Text(Raw<'a>),
    /// The object of a kind that the library does not know, but the settings, which come later, may declare.
    Members(Members<'a>),
    /// The object of a kind that the library knows.
    Read(Object<'a>),
}

impl<'a> Body<'a> {
    /// Reads the object of a kind.
    ///
    /// # Errors
    /// If there is none, or a strict value is of the wrong type, with its path from the request.
    #[inline(never)]
    pub(super) fn of_kind<'k>(&self, kind: &'k Kind<'k>, member: &str) -> Result<Object<'k>>
    where
        'a: 'k,
    {
        let object = match self {
            Self::Absent => Ok(None),
            Self::Text(raw) => decode_str(raw.as_str(), OfKind(kind)),
            Self::Members(Members(members)) => read_members(members, kind).map(Some),
            Self::Read(object) => Ok(Some(object.clone())),
        };
        let object = object.map_err(|e| e.within(member))?;
        object.ok_or_else(|| Malformed::unexpected(member, "an object", "nothing"))
    }

    /// Converts to the object of a kind, as [`Body::of_kind`] does.
    #[inline(never)]
    pub(super) fn into_kind(self, kind: &'a Kind<'a>, member: &str) -> Result<Object<'a>> {
        match self {
            Self::Read(object) => Ok(object),
            body => body.of_kind(kind, member),
        }
    }

    /// Reads a pod.
    ///
    /// # Errors
    /// Errors as in [`Body::of_kind`].
    pub(super) fn pod(&self) -> Result<Pod<'a>> {
        let Self::Text(raw) = self else {
            return Err(Malformed::unexpected("object", "an object", "nothing"));
        };
        let pod = decode_str(raw.as_str(), PhantomData);
        pod.map(|StrictObject(pod)| pod)
            .map_err(|e| e.within("object"))
    }
}

/// The seed of a body, with its kind if that is known.
pub(super) struct BodyOf<'r, 'a>(pub(super) Option<&'r GroupVersionKind<'a>>);

impl<'a> DeserializeSeed<'a> for BodyOf<'_, 'a> {
    type Value = Body<'a>;

    fn deserialize<D: Deserializer<'a>>(self, json: D) -> std::result::Result<Body<'a>, D::Error> {
        let Some(kind) = self.0.filter(|kind| !kind.is_pod()) else {
            let text = Option::<Raw<'a>>::deserialize(json)?;
            return Ok(text.map_or(Body::Absent, Body::Text));
        };
        if let Some(profile) = kind.profile() {
            let object = OfKind(profile).deserialize(json)?;
            return Ok(object.map_or(Body::Absent, Body::Read));
        }
        let mut members = Members::default();
        let is_set = json.deserialize_option(Strict(&mut members))?;
        Ok(is_set
            .then_some(members)
            .map_or(Body::Absent, Body::Members))
    }
}

/// The members of an object of a kind that the library does not know, with theirs, but for the metadata.
#[derive(Debug, Default)]
pub(super) struct Members<'a>(Vec<(Cow<'a, str>, Part<'a>)>);

impl<'a> VisitContainer<'a> for Members<'a> {
    fn visit_members<A: MapAccess<'a>>(&mut self, mut map: A) -> std::result::Result<(), A::Error> {
        while let Some(Text(name)) = map.next_key()? {
            let part = if name == "metadata" {
                Part::Text(map.next_value()?)
            } else {
                map.next_value_seed(Split::members_only())?
            };
            self.0.push((name, part));
        }
        Ok(())
    }
}
