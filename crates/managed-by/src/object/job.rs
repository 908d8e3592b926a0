//! What status rules read of a `batch/v1` Job.

use std::borrow::Cow;

use bitflags::bitflags;
use serde::de::Deserializer;

use super::{Metadata, Object, ObjectNames};
use crate::decode::{Members, Raw, Strings, Value};
use crate::upstream::time::Time;

/// The parts of a Job that status rules read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Job<'a> {
    /// `spec`.
    pub(crate) spec: JobSpec,
    /// `spec.template`, decoded where a rule asks for it.
    pub(crate) template: Option<Raw<'a>>,
    /// `status`.
    pub(crate) status: JobStatus<'a>,
}

/// The parts of a Job's spec that status rules read, with the defaults of `SetDefaults_Job`: objects in a request have
/// them already, manifests may not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JobSpec {
    /// `completions`.
    pub(crate) completions: Option<i32>,
    /// `parallelism`.
    pub(crate) parallelism: Option<i32>,
    /// `completionMode`.
    pub(crate) completion_mode: CompletionMode,
    /// Whether `backoffLimitPerIndex` is set.
    pub(crate) backoff_limit_per_index: bool,
    /// `suspend`.
    pub(crate) suspend: bool,
    /// Whether `successPolicy` is set.
    pub(crate) success_policy: bool,
}

impl JobSpec {
    /// Whether each pod completes an index.
    pub(crate) fn is_indexed(&self) -> bool {
        self.completion_mode == CompletionMode::Indexed
    }

    /// Whether it may shrink, so that fewer of its pods have succeeded than before.
    pub(crate) fn is_elastic(&self) -> bool {
        self.is_indexed() && self.completions == self.parallelism
    }

    /// The spec with these numbers, as `SetDefaults_Job` leaves them: completions get a default only where both are unset.
    pub(crate) fn with_numbers(self, completions: Option<i32>, parallelism: Option<i32>) -> Self {
        let completions = match (completions, parallelism) {
            (None, None) => Some(1),
            (completions, _) => completions,
        };
        Self {
            completions,
            parallelism: parallelism.or(Some(1)),
            ..self
        }
    }
}

/// How a Job counts its pods. kube-apiserver lets no other word pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CompletionMode {
    /// All alike.
    NonIndexed,
    /// Each completes an index.
    Indexed,
}

impl CompletionMode {
    /// The mode that the API writes as a word; without one it is the default.
    pub(crate) fn named(word: Option<&str>) -> Self {
        match word {
            Some("Indexed") => Self::Indexed,
            _ => Self::NonIndexed,
        }
    }
}

/// A Job's status.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct JobStatus<'a> {
    /// `active`.
    pub(crate) active: i32,
    /// `succeeded`.
    pub(crate) succeeded: i32,
    /// `failed`.
    pub(crate) failed: i32,
    /// `ready`.
    pub(crate) ready: Option<i32>,
    /// `terminating`.
    pub(crate) terminating: Option<i32>,
    /// `startTime`.
    pub(crate) start_time: Option<Time>,
    /// `completionTime`.
    pub(crate) completion_time: Option<Time>,
    /// `completedIndexes`; unset is empty.
    pub(crate) completed_indexes: Cow<'a, str>,
    /// `failedIndexes`.
    pub(crate) failed_indexes: Option<Cow<'a, str>>,
    /// `uncountedTerminatedPods`.
    pub(crate) uncounted: Option<Uncounted<'a>>,
    /// `conditions`.
    pub(crate) conditions: Conditions,
}

/// `uncountedTerminatedPods`: UIDs; [`None`] is an absent list, which prints otherwise than an empty one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Uncounted<'a> {
    /// `succeeded`.
    pub(crate) succeeded: Option<Vec<Cow<'a, str>>>,
    /// `failed`.
    pub(crate) failed: Option<Vec<Cow<'a, str>>>,
}

bitflags! {
    /// The condition types that rules read.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub(crate) struct ConditionTypes: u8 {
        /// The job has completed.
        const COMPLETE = 1;
        /// The job has failed.
        const FAILED = 2;
        /// The job is about to fail.
        const FAILURE_TARGET = 4;
        /// The job is about to complete.
        const SUCCESS_CRITERIA_MET = 8;
        /// The job is suspended.
        const SUSPENDED = 16;
        /// The job has completed or failed (`IsJobFinished`).
        const FINISHED = Self::COMPLETE.bits() | Self::FAILED.bits();
    }
}

impl ConditionTypes {
    /// The type that the API writes as a word; none for one that no rule reads.
    pub(crate) fn named(word: &str) -> Self {
        match word {
            "Complete" => Self::COMPLETE,
            "Failed" => Self::FAILED,
            "FailureTarget" => Self::FAILURE_TARGET,
            "SuccessCriteriaMet" => Self::SUCCESS_CRITERIA_MET,
            "Suspended" => Self::SUSPENDED,
            _ => Self::empty(),
        }
    }
}

/// Which conditions are true, and which are false: each in any of its entries, because a type may have several
/// (`IsConditionTrue`, `IsConditionFalse`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Conditions {
    is_true: ConditionTypes,
    is_false: ConditionTypes,
}

impl Conditions {
    /// Whether an entry of one of the types says `True`.
    pub(crate) fn is_true(self, condition: ConditionTypes) -> bool {
        self.is_true.intersects(condition)
    }

    /// Whether an entry of one of the types says `False`.
    pub(crate) fn is_false(self, condition: ConditionTypes) -> bool {
        self.is_false.intersects(condition)
    }

    /// Adds an entry of the list.
    pub(crate) fn add(&mut self, condition: &str, status: &str) {
        let known = ConditionTypes::named(condition);
        match status {
            "True" => self.is_true |= known,
            "False" => self.is_false |= known,
            _ => {}
        }
    }
}

impl Default for JobSpec {
    fn default() -> Self {
        Self {
            completions: Some(1),
            parallelism: Some(1),
            completion_mode: CompletionMode::NonIndexed,
            backoff_limit_per_index: false,
            suspend: false,
            success_policy: false,
        }
    }
}

/// Reads a Job; [`None`] is `null`.
///
/// # Errors
/// If the bytes are not JSON.
pub(super) fn read<'a, D: Deserializer<'a>>(
    value: Value<'_, D>,
    names: Option<&ObjectNames>,
) -> Result<Option<Object<'a>>, D::Error> {
    let mut reading = Reading {
        names,
        ..Reading::default()
    };
    let is_there = value.object_or_null(&mut reading)?;
    Ok(is_there.then(|| Object {
        job: Some(Box::new(reading.job)),
        ..reading.object
    }))
}

#[derive(Default)]
struct Reading<'n, 'a> {
    names: Option<&'n ObjectNames>,
    object: Object<'a>,
    job: Job<'a>,
}

impl<'a> Members<'a> for Reading<'_, 'a> {
    fn member<D: Deserializer<'a>>(
        &mut self,
        name: &str,
        value: Value<'_, D>,
    ) -> Result<(), D::Error> {
        if let Some(names) = self.names {
            names.members.read(name);
        }
        match name {
            "metadata" => self.object.metadata = Metadata::read(value, self.names)?,
            "spec" => {
                let mut spec = SpecReading::default();
                value.object_or_null(&mut spec)?;
                self.object.managed_by = spec.managed_by;
                self.job.template = spec.template;
                self.job.spec = spec.spec.with_numbers(spec.completions, spec.parallelism);
            }
            "status" => {
                self.job.status = JobStatus::default();
                value.object_or_null(&mut self.job.status)?;
            }
            _ => value.skip()?,
        }
        Ok(())
    }
}

/// A spec before its defaults are applied.
#[derive(Default)]
struct SpecReading<'a> {
    spec: JobSpec,
    completions: Option<i32>,
    parallelism: Option<i32>,
    managed_by: Option<Cow<'a, str>>,
    template: Option<Raw<'a>>,
}

impl<'a> Members<'a> for SpecReading<'a> {
    fn member<D: Deserializer<'a>>(
        &mut self,
        name: &str,
        value: Value<'_, D>,
    ) -> Result<(), D::Error> {
        match name {
            "managedBy" => self.managed_by = value.string_or_null()?,
            "completions" => self.completions = value.int32_or_null()?,
            "parallelism" => self.parallelism = value.int32_or_null()?,
            "completionMode" => {
                self.spec.completion_mode =
                    CompletionMode::named(value.string_or_null()?.as_deref());
            }
            "backoffLimitPerIndex" => {
                self.spec.backoff_limit_per_index = value.int32_or_null()?.is_some();
            }
            "template" => self.template = Some(value.raw()?),
            "suspend" => self.spec.suspend = value.keep()?.bool_or_null(),
            "successPolicy" => {
                self.spec.success_policy = value.keep()?.is_object();
            }
            _ => value.skip()?,
        }
        Ok(())
    }
}

impl<'a> Members<'a> for JobStatus<'a> {
    fn member<D: Deserializer<'a>>(
        &mut self,
        name: &str,
        value: Value<'_, D>,
    ) -> Result<(), D::Error> {
        match name {
            "active" => self.active = value.int32_or_null()?.unwrap_or_default(),
            "succeeded" => self.succeeded = value.int32_or_null()?.unwrap_or_default(),
            "failed" => self.failed = value.int32_or_null()?.unwrap_or_default(),
            "ready" => self.ready = value.int32_or_null()?,
            "terminating" => self.terminating = value.int32_or_null()?,
            "startTime" => self.start_time = time_or_null(value)?,
            "completionTime" => self.completion_time = time_or_null(value)?,
            "completedIndexes" => {
                self.completed_indexes = value.string_or_null()?.unwrap_or_default();
            }
            "failedIndexes" => self.failed_indexes = value.string_or_null()?,
            "uncountedTerminatedPods" => {
                let mut pods = Uncounted::default();
                let is_there = value.object_or_null(&mut pods)?;
                self.uncounted = is_there.then_some(pods);
            }
            "conditions" => {
                self.conditions = Conditions::default();
                value.array_or_null(&mut self.conditions)?;
            }
            _ => value.skip()?,
        }
        Ok(())
    }
}

/// A time; `null` is an absent one.
fn time_or_null<'a, D: Deserializer<'a>>(value: Value<'_, D>) -> Result<Option<Time>, D::Error> {
    let place = value.place();
    let Some(text) = value.string_or_null()? else {
        return Ok(None);
    };
    let time = Time::parse(&text);
    if time.is_none() {
        place.expected("an RFC 3339 time", "another string");
    }
    Ok(time)
}

impl<'a> Members<'a> for Uncounted<'a> {
    fn member<D: Deserializer<'a>>(
        &mut self,
        name: &str,
        value: Value<'_, D>,
    ) -> Result<(), D::Error> {
        match name {
            "succeeded" => self.succeeded = uids_or_null(value)?,
            "failed" => self.failed = uids_or_null(value)?,
            _ => value.skip()?,
        }
        Ok(())
    }
}

/// A list of UIDs; `null` is an absent one.
fn uids_or_null<'a, D: Deserializer<'a>>(
    value: Value<'_, D>,
) -> Result<Option<Vec<Cow<'a, str>>>, D::Error> {
    let mut uids = Vec::new();
    let is_list = value.array_or_null(&mut uids)?;
    Ok(is_list.then_some(uids))
}

/// Each UID; a `null` among them is an empty string for Go. There may be thousands, so that they are read in passing.
impl<'a> Members<'a> for Vec<Cow<'a, str>> {
    const OF_OBJECT: bool = false;
    const OF_ARRAY: bool = true;

    fn element<D: Deserializer<'a>>(
        &mut self,
        _: usize,
        value: Value<'_, D>,
    ) -> Result<(), D::Error> {
        let uid = value.keep()?;
        self.push(uid.string_or_null().unwrap_or_default());
        Ok(())
    }
}

impl<'a> Members<'a> for Conditions {
    const OF_OBJECT: bool = false;
    const OF_ARRAY: bool = true;
    const IS_SMALL: bool = true;

    fn element<D: Deserializer<'a>>(
        &mut self,
        _: usize,
        value: Value<'_, D>,
    ) -> Result<(), D::Error> {
        let mut found = <[Cow<'a, str>; 2]>::default();
        value.object_or_null(&mut Strings::new(&["type", "status"], &mut found))?;
        let [condition, status] = &found;
        self.add(condition, status);
        Ok(())
    }
}

impl Uncounted<'_> {
    /// The same, with nothing borrowed.
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
    /// Both lists, succeeded first, with the path of each.
    pub(crate) fn lists(&self) -> [(&'static str, &[Cow<'a, str>]); 2] {
        [
            (
                "status.uncountedTerminatedPods.succeeded",
                self.succeeded.as_deref().unwrap_or_default(),
            ),
            (
                "status.uncountedTerminatedPods.failed",
                self.failed.as_deref().unwrap_or_default(),
            ),
        ]
    }

    /// How many UIDs there are in both lists.
    pub(crate) fn len(&self) -> usize {
        let lengths = self.lists().map(|(_, uids)| uids.len());
        lengths.into_iter().fold(0, usize::saturating_add)
    }

    /// Whether there is no UID in either list.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
