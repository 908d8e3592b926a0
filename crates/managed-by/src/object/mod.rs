//! Objects, by the fields that rules read, borrowed from the request.

pub(crate) mod custom;
pub(crate) mod job;
pub(crate) mod pod;
pub(crate) mod template;
mod walk;

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer};

use crate::decode::{Raw, fields};
use crate::kind::{Kind, Mode, Status};
use custom::{Custom, NO_STATUS};
use job::{Job, JobStatus};
pub(crate) use walk::read_members;

/// An object, by the fields that rules read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Object<'a> {
    pub(crate) metadata: Metadata<'a>,
    /// `managedBy`, wherever the kind has it. [`None`] is unset, which `""` is not.
    pub(crate) managed_by: Option<Cow<'a, str>>,
    /// The other parts of a Job. Boxed, because objects are moved.
    pub(crate) job: Option<Box<Job<'a>>>,
    /// The other parts of a custom resource, if there are any.
    pub(crate) custom: Option<Box<Custom<'a>>>,
}

impl Object<'_> {
    /// Returns who reconciles the object, which is of a kind.
    pub(crate) fn mode(&self, kind: &Kind<'_>) -> Mode<'_> {
        kind.mode(self.managed_by.as_deref())
    }

    /// Returns true if the object has a status, as far as rules read it.
    pub(crate) fn has_status(&self) -> bool {
        let job = self.job.as_deref();
        let custom = self.custom.as_deref();
        job.is_some_and(|job| job.status != JobStatus::default())
            || custom.is_some_and(|custom| custom.status != NO_STATUS)
    }
}

/// The seed of an object of a kind; [`None`] for `null`.
///
/// A value of the wrong type is an error in the fields that rules read of a Job and, for other kinds, in `managedBy`, the objects
/// that it is in, and the metadata.
#[derive(Clone, Copy)]
pub(crate) struct OfKind<'k>(pub(crate) &'k Kind<'k>);

impl<'a> DeserializeSeed<'a> for OfKind<'a> {
    type Value = Option<Object<'a>>;

    fn deserialize<D: Deserializer<'a>>(self, json: D) -> Result<Self::Value, D::Error> {
        match self.0.status {
            Status::Job => job::read(json),
            Status::Unjudged | Status::Custom(_) => walk::read(json, self.0),
        }
    }
}

/// The parts of `metadata` that are needed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, expecting = "an object", rename_all = "camelCase")]
pub(crate) struct Metadata<'a> {
    #[serde(borrow, deserialize_with = "fields::string")]
    pub(crate) name: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "fields::string")]
    pub(crate) uid: Cow<'a, str>,
    /// True if the object is being deleted and waits for its finalizers.
    #[serde(rename = "deletionTimestamp", deserialize_with = "fields::is_set")]
    pub(crate) is_being_deleted: bool,
    /// Decoded where a setting asks for them.
    #[serde(borrow)]
    pub(crate) labels: Option<Raw<'a>>,
    /// Decoded where a rule asks for them.
    #[serde(borrow)]
    pub(crate) owner_references: Option<Raw<'a>>,
}
