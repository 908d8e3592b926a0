//! Objects of a request, decoded as far as their kind is known.

use std::borrow::Cow;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, MapAccess};

use super::identity::GroupVersionKind;
use crate::decode::fields::{StrictObject, Text};
use crate::decode::{self, DecodeError, Node, Raw, Splitter, Strict, VisitContainer, decode_str};
use crate::kind::Kind;
use crate::object::pod::Pod;
use crate::object::{Object, ObjectSeed, decode_members};

#[derive(Debug, Default)]
pub(super) enum RequestObject<'a> {
    #[default]
    Absent,
    /// An undecoded object: a pod, or an object that comes before its kind in the document.
    Raw(Raw<'a>),
    /// An object of an unknown kind, split because `custom_kinds` may declare the kind. The settings come after the request in the
    /// document.
    Members(SplitMembers<'a>),
    /// A decoded object of a known kind.
    Decoded(Object<'a>),
}

impl<'a> RequestObject<'a> {
    /// Decodes the object as a kind.
    ///
    /// # Errors
    /// Fails if there is no object, or a strict value has the wrong type, with its path in the request.
    #[inline(never)]
    pub(super) fn read_as<'k>(&self, kind: &'k Kind<'k>, name: &str) -> decode::Result<Object<'k>>
    where
        'a: 'k,
    {
        let object = match self {
            Self::Absent => Ok(None),
            Self::Raw(raw) => decode_str(raw.as_str(), ObjectSeed(kind)),
            Self::Members(SplitMembers(members)) => decode_members(members, kind).map(Some),
            Self::Decoded(object) => Ok(Some(object.clone())),
        };
        let object = object.map_err(|e| e.within(name))?;
        object.ok_or_else(|| DecodeError::unexpected(name, "an object", "nothing"))
    }

    /// Decodes the object as a kind, like [`RequestObject::read_as`], without a copy.
    #[inline(never)]
    pub(super) fn into_object(self, kind: &'a Kind<'a>, name: &str) -> decode::Result<Object<'a>> {
        match self {
            Self::Decoded(object) => Ok(object),
            object => object.read_as(kind, name),
        }
    }

    /// Decodes a pod.
    ///
    /// # Errors
    /// Fails like [`RequestObject::read_as`].
    pub(super) fn pod(&self) -> decode::Result<Pod<'a>> {
        let Self::Raw(raw) = self else {
            return Err(DecodeError::unexpected("object", "an object", "nothing"));
        };
        let pod = decode_str(raw.as_str(), PhantomData);
        pod.map(|StrictObject(pod)| pod)
            .map_err(|e| e.within("object"))
    }
}

/// Seed that decodes an object, given its kind if known.
pub(super) struct RequestObjectSeed<'r, 'a>(pub(super) Option<&'r GroupVersionKind<'a>>);

impl<'a> DeserializeSeed<'a> for RequestObjectSeed<'_, 'a> {
    type Value = RequestObject<'a>;

    fn deserialize<D: Deserializer<'a>>(self, json: D) -> Result<RequestObject<'a>, D::Error> {
        let Some(kind) = self.0.filter(|kind| !kind.is_pod()) else {
            let text = Option::<Raw<'a>>::deserialize(json)?;
            return Ok(text.map_or(RequestObject::Absent, RequestObject::Raw));
        };
        if let Some(known) = kind.known_kind() {
            let object = ObjectSeed(known).deserialize(json)?;
            return Ok(object.map_or(RequestObject::Absent, RequestObject::Decoded));
        }
        let mut members = SplitMembers::default();
        let is_set = json.deserialize_option(Strict(&mut members))?;
        Ok(is_set
            .then_some(members)
            .map_or(RequestObject::Absent, RequestObject::Members))
    }
}

/// Members of an object of an unknown kind, split again except for the metadata.
#[derive(Debug, Default)]
pub(super) struct SplitMembers<'a>(Vec<(Cow<'a, str>, Node<'a>)>);

impl<'a> VisitContainer<'a> for SplitMembers<'a> {
    fn visit_members<A: MapAccess<'a>>(&mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(Text(name)) = map.next_key()? {
            let part = if name == "metadata" {
                Node::Raw(map.next_value()?)
            } else {
                map.next_value_seed(Splitter::members_only())?
            };
            self.0.push((name, part));
        }
        Ok(())
    }
}
