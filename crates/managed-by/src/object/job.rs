//! The `batch/v1` Job: fields that the `managed-by/...`, `job-spec/...` and `job-status/...` rules read.

use std::borrow::Cow;
use std::fmt;

use bitflags::bitflags;
use serde::Deserialize;
use serde::de::{Deserializer, Error, Unexpected, Visitor};

use super::{Metadata, Object};
use crate::decode::Raw;
use crate::decode::fields::{self, Text};
use crate::upstream::time::Time;

/// Job, with the fields that rules read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, expecting = "an object")]
pub(crate) struct Job<'a> {
    /// Empty after decoding: [`read`] moves it to [`Object::metadata`].
    #[serde(borrow, deserialize_with = "fields::object")]
    pub(crate) metadata: Metadata<'a>,
    #[serde(borrow, deserialize_with = "fields::object")]
    pub(crate) spec: JobSpec<'a>,
    #[serde(borrow, deserialize_with = "fields::object")]
    pub(crate) status: JobStatus<'a>,
}

/// Job spec as written. Methods apply the defaults of `SetDefaults_Job`, which manifests may lack.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, expecting = "an object", rename_all = "camelCase")]
pub(crate) struct JobSpec<'a> {
    /// Unset after decoding: [`read`] moves it to [`Object::managed_by`].
    #[serde(borrow, deserialize_with = "fields::optional_string")]
    pub(crate) managed_by: Option<Cow<'a, str>>,
    #[serde(deserialize_with = "fields::optional_int32")]
    pub(crate) completions: Option<i32>,
    #[serde(deserialize_with = "fields::optional_int32")]
    pub(crate) parallelism: Option<i32>,
    #[serde(borrow, deserialize_with = "fields::optional_string")]
    pub(crate) completion_mode: Option<Cow<'a, str>>,
    #[serde(deserialize_with = "fields::optional_int32")]
    pub(crate) backoff_limit_per_index: Option<i32>,
    #[serde(deserialize_with = "fields::or_default")]
    pub(crate) suspend: bool,
    #[serde(deserialize_with = "fields::or_default")]
    pub(crate) manual_selector: bool,
    #[serde(deserialize_with = "fields::optional_int32")]
    pub(crate) ttl_seconds_after_finished: Option<i32>,
    #[serde(rename = "successPolicy", deserialize_with = "is_object")]
    pub(crate) has_success_policy: bool,
    /// Decoded by the rules that read it.
    #[serde(borrow)]
    pub(crate) template: Option<Raw<'a>>,
}

impl JobSpec<'_> {
    /// Returns true if each pod completes an index. kube-apiserver accepts `Indexed` and `NonIndexed`.
    pub(crate) fn is_indexed(&self) -> bool {
        self.completion_mode.as_deref() == Some("Indexed")
    }

    /// Returns true if the Job may shrink, so that fewer of its pods have succeeded than before.
    pub(crate) fn is_elastic(&self) -> bool {
        self.is_indexed() && self.completions() == self.parallelism.or(Some(1))
    }

    /// Returns the completions, which default to 1 only if `parallelism` is unset, too.
    pub(crate) fn completions(&self) -> Option<i32> {
        match (self.completions, self.parallelism) {
            (None, None) => Some(1),
            (completions, _) => completions,
        }
    }
}

/// Job status, with the fields that rules read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, expecting = "an object", rename_all = "camelCase")]
pub(crate) struct JobStatus<'a> {
    #[serde(deserialize_with = "fields::int32")]
    pub(crate) active: i32,
    #[serde(deserialize_with = "fields::int32")]
    pub(crate) succeeded: i32,
    #[serde(deserialize_with = "fields::int32")]
    pub(crate) failed: i32,
    #[serde(deserialize_with = "fields::optional_int32")]
    pub(crate) ready: Option<i32>,
    #[serde(deserialize_with = "fields::optional_int32")]
    pub(crate) terminating: Option<i32>,
    pub(crate) start_time: Option<Time>,
    pub(crate) completion_time: Option<Time>,
    #[serde(borrow, deserialize_with = "fields::string")]
    pub(crate) completed_indexes: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "fields::optional_string")]
    pub(crate) failed_indexes: Option<Cow<'a, str>>,
    #[serde(
        borrow,
        rename = "uncountedTerminatedPods",
        deserialize_with = "fields::optional_object"
    )]
    pub(crate) uncounted: Option<Uncounted<'a>>,
    pub(crate) conditions: Conditions,
}

/// UIDs of `uncountedTerminatedPods`. kube-apiserver formats an absent list ([`None`]) and an empty one differently.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, expecting = "an object")]
pub(crate) struct Uncounted<'a> {
    #[serde(borrow, deserialize_with = "optional_uids")]
    pub(crate) succeeded: Option<Vec<Cow<'a, str>>>,
    #[serde(borrow, deserialize_with = "optional_uids")]
    pub(crate) failed: Option<Vec<Cow<'a, str>>>,
}

bitflags! {
    /// Set of condition types that rules read.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub(crate) struct ConditionTypes: u8 {
        const COMPLETE = 1;
        const FAILED = 2;
        /// The job is about to fail.
        const FAILURE_TARGET = 4;
        /// The job is about to complete.
        const SUCCESS_CRITERIA_MET = 8;
        const SUSPENDED = 16;
        /// The job has completed or failed (`IsJobFinished`).
        const FINISHED = Self::COMPLETE.bits() | Self::FAILED.bits();
    }
}

impl ConditionTypes {
    /// Returns the type with the given name, or the empty set if no rule reads it.
    pub(crate) fn from_type_name(name: &str) -> Self {
        match name {
            "Complete" => Self::COMPLETE,
            "Failed" => Self::FAILED,
            "FailureTarget" => Self::FAILURE_TARGET,
            "SuccessCriteriaMet" => Self::SUCCESS_CRITERIA_MET,
            "Suspended" => Self::SUSPENDED,
            _ => Self::empty(),
        }
    }
}

/// Condition types that are True, and that are False. A type may have several entries, and each counts (`IsConditionTrue`,
/// `IsConditionFalse`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Conditions {
    is_true: ConditionTypes,
    is_false: ConditionTypes,
}

impl Conditions {
    /// Returns true if any condition of the given types is True.
    pub(crate) fn is_true(self, condition: ConditionTypes) -> bool {
        self.is_true.intersects(condition)
    }

    /// Returns true if any condition of the given types is False.
    pub(crate) fn is_false(self, condition: ConditionTypes) -> bool {
        self.is_false.intersects(condition)
    }

    pub(crate) fn add(&mut self, condition: &str, status: &str) {
        let known = ConditionTypes::from_type_name(condition);
        match status {
            "True" => self.is_true |= known,
            "False" => self.is_false |= known,
            _ => {}
        }
    }
}

/// Decodes a Job, or [`None`] for `null`.
pub(super) fn read<'a, D: Deserializer<'a>>(json: D) -> Result<Option<Object<'a>>, D::Error> {
    let job: Option<Job<'a>> = fields::optional_object(json)?;
    Ok(job.map(|mut job| Object {
        metadata: std::mem::take(&mut job.metadata),
        managed_by: job.spec.managed_by.take(),
        job: Some(Box::new(job)),
        custom: None,
    }))
}

/// Decodes an object as true, and `null` as false.
fn is_object<'de, D: Deserializer<'de>>(json: D) -> Result<bool, D::Error> {
    #[derive(Deserialize)]
    #[serde(expecting = "an object")]
    struct Any {}

    fields::optional_object(json).map(|object: Option<Any>| object.is_some())
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        struct Rfc3339;

        impl Visitor<'_> for Rfc3339 {
            type Value = Time;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an RFC 3339 time")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Time, E> {
                Time::parse(text).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
            }
        }

        json.deserialize_str(Rfc3339)
    }
}

/// Decodes an optional list of UIDs. Go decodes `null` elements as empty strings.
fn optional_uids<'de, D>(json: D) -> Result<Option<Vec<Cow<'de, str>>>, D::Error>
where
    D: Deserializer<'de>,
{
    let mut uids = Vec::new();
    let is_set = fields::for_each(json, |uid: Option<Text<'de>>| {
        uids.push(uid.unwrap_or_default().0);
    })?;
    Ok(is_set.then_some(uids))
}

impl<'de> Deserialize<'de> for Conditions {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(default, expecting = "an object")]
        #[derive(Default)]
        struct Condition<'a> {
            #[serde(borrow, rename = "type", deserialize_with = "fields::string")]
            name: Cow<'a, str>,
            #[serde(borrow, deserialize_with = "fields::string")]
            status: Cow<'a, str>,
        }

        let mut conditions = Self::default();
        // Conditions are not collected, because there may be thousands.
        fields::for_each(
            json,
            |condition: Option<fields::StrictObject<Condition<'de>>>| {
                if let Some(fields::StrictObject(condition)) = condition {
                    conditions.add(&condition.name, &condition.status);
                }
            },
        )?;
        Ok(conditions)
    }
}

impl Uncounted<'_> {
    pub(crate) fn into_owned(self) -> Uncounted<'static> {
        let owned = |uids: Vec<Cow<'_, str>>| {
            let uids = uids.into_iter();
            uids.map(|uid| Cow::Owned(uid.into_owned())).collect()
        };
        Uncounted {
            succeeded: self.succeeded.map(owned),
            failed: self.failed.map(owned),
        }
    }
}

impl<'a> Uncounted<'a> {
    /// Returns both lists with their paths, succeeded first.
    pub(crate) fn lists(&self) -> [(&'static str, &[Cow<'a, str>]); 2] {
        let uids = [&self.succeeded, &self.failed].map(|uids| uids.as_deref().unwrap_or_default());
        let [succeeded, failed] = uids;
        [
            ("status.uncountedTerminatedPods.succeeded", succeeded),
            ("status.uncountedTerminatedPods.failed", failed),
        ]
    }

    pub(crate) fn len(&self) -> usize {
        let lengths = self.lists().map(|(_, uids)| uids.len());
        lengths.into_iter().fold(0, usize::saturating_add)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
