//! Objects of requests: the fields that rules read, borrowed from the JSON. [`crate::request`] decodes them with [`ObjectSeed`].

pub(crate) mod custom;
pub(crate) mod job;
pub(crate) mod pod;
pub(crate) mod template;
mod walk;

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer};

use crate::decode::{Raw, fields};
#[cfg(feature = "manifests")]
use crate::kind::status::TerminalStates;
use crate::kind::{Kind, Reconciler, StatusRules};
use custom::{CustomResource, EMPTY_STATUS};
#[cfg(feature = "manifests")]
use job::ConditionTypes;
use job::{Job, JobStatus};
pub(crate) use walk::decode_members;

/// Outcome of a workload.
#[cfg(feature = "manifests")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The status shows a success.
    Succeeded,
    /// The status shows a failure, maybe after a success.
    Failed,
    /// The status shows another state that the built-in controller never leaves, such as `ValidationFailed` of a RayJob.
    DeadEnd,
}

/// Object, with the fields that rules read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Object<'a> {
    pub(crate) metadata: Metadata<'a>,
    /// Value of `managedBy`, at the path of the kind. [`None`] if unset, which differs from `""`.
    pub(crate) managed_by: Option<Cow<'a, str>>,
    /// Other fields of a Job. Boxed to keep `Object` small, because it is moved often.
    pub(crate) job: Option<Box<Job<'a>>>,
    /// Other fields of a custom resource, if there are any.
    pub(crate) custom: Option<Box<CustomResource<'a>>>,
}

impl Object<'_> {
    pub(crate) fn reconciler(&self, kind: &Kind<'_>) -> Reconciler<'_> {
        kind.reconciler(self.managed_by.as_deref())
    }

    /// Returns the outcome in the status: for a Job as in `IsJobFinished`, for other kinds as in the kind's status profile.
    #[cfg(feature = "manifests")]
    pub(crate) fn outcome(&self) -> Option<Outcome> {
        let job = self.job.as_deref();
        let is_true = |condition| job.is_some_and(|job| job.status.conditions.is_true(condition));
        let states = self
            .custom
            .as_deref()
            .map_or(TerminalStates::empty(), |custom| custom.status.states);
        if is_true(ConditionTypes::FAILED) || states.contains(TerminalStates::FAILED) {
            Some(Outcome::Failed)
        } else if is_true(ConditionTypes::COMPLETE) || states.contains(TerminalStates::SUCCEEDED) {
            Some(Outcome::Succeeded)
        } else if states.contains(TerminalStates::DEAD_END) {
            Some(Outcome::DeadEnd)
        } else {
            None
        }
    }

    /// Returns true if the object has a status with fields that rules read.
    pub(crate) fn has_status(&self) -> bool {
        let job = self.job.as_deref();
        let custom = self.custom.as_deref();
        job.is_some_and(|job| job.status != JobStatus::default())
            || custom.is_some_and(|custom| custom.status != EMPTY_STATUS)
    }
}

/// Seed that decodes an object of a kind, or [`None`] for `null`.
///
/// For a Job, a value of the wrong type is an error in every field that rules read; for other kinds, only in `managedBy`, its
/// parent objects and the metadata.
#[derive(Clone, Copy)]
pub(crate) struct ObjectSeed<'k>(pub(crate) &'k Kind<'k>);

impl<'a> DeserializeSeed<'a> for ObjectSeed<'a> {
    type Value = Option<Object<'a>>;

    fn deserialize<D: Deserializer<'a>>(self, json: D) -> Result<Self::Value, D::Error> {
        match self.0.status {
            StatusRules::Job => job::read(json),
            StatusRules::Unchecked | StatusRules::Custom(_) => walk::read(json, self.0),
        }
    }
}

/// Fields of `metadata` that rules read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, expecting = "an object", rename_all = "camelCase")]
pub(crate) struct Metadata<'a> {
    #[serde(borrow, deserialize_with = "fields::string")]
    pub(crate) name: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "fields::string")]
    pub(crate) uid: Cow<'a, str>,
    /// True if the object has a `deletionTimestamp`.
    #[serde(rename = "deletionTimestamp", deserialize_with = "fields::is_set")]
    pub(crate) is_being_deleted: bool,
    /// Decoded by the rules that read them, like the fields below.
    #[serde(borrow)]
    pub(crate) labels: Option<Raw<'a>>,
    #[serde(borrow)]
    pub(crate) finalizers: Option<Raw<'a>>,
    #[serde(borrow)]
    pub(crate) owner_references: Option<Raw<'a>>,
}
