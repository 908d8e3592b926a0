//! What status rules read of a `batch/v1` Job.

use std::borrow::Cow;

use super::KindProfile;
use crate::json::{Malformed, Reader, Result, Type};
use crate::request::{Metadata, Object};
use crate::time::Time;

/// The parts of a Job that status rules read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Job<'a> {
    /// `spec`.
    pub spec: JobSpec,
    /// `status`.
    pub status: JobStatus<'a>,
}

/// The parts of a Job's spec that status rules read, with the defaults of `SetDefaults_Job`: objects in a request have
/// them already, manifests may not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobSpec {
    /// `completions`.
    pub completions: Option<i32>,
    /// `parallelism`.
    pub parallelism: Option<i32>,
    /// `completionMode`.
    pub completion_mode: CompletionMode,
    /// Whether `backoffLimitPerIndex` is set.
    pub backoff_limit_per_index: bool,
    /// `suspend`.
    pub suspend: bool,
    /// Whether `successPolicy` is set.
    pub success_policy: bool,
}

impl JobSpec {
    /// Whether each pod completes an index.
    pub fn is_indexed(&self) -> bool {
        self.completion_mode == CompletionMode::Indexed
    }
}

/// How a Job counts its pods. kube-apiserver lets no other word pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompletionMode {
    /// All alike.
    NonIndexed,
    /// Each completes an index.
    Indexed,
}

/// A Job's status.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobStatus<'a> {
    /// `active`.
    pub active: i32,
    /// `succeeded`.
    pub succeeded: i32,
    /// `failed`.
    pub failed: i32,
    /// `ready`.
    pub ready: Option<i32>,
    /// `terminating`.
    pub terminating: Option<i32>,
    /// `startTime`.
    pub start_time: Option<Time>,
    /// `completionTime`.
    pub completion_time: Option<Time>,
    /// `completedIndexes`; unset is empty.
    pub completed_indexes: Cow<'a, str>,
    /// `failedIndexes`.
    pub failed_indexes: Option<Cow<'a, str>>,
    /// `uncountedTerminatedPods`.
    pub uncounted: Option<Uncounted<'a>>,
    /// `conditions`.
    pub conditions: Conditions,
}

/// `uncountedTerminatedPods`: UIDs; [`None`] is an absent list, which prints otherwise than an empty one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Uncounted<'a> {
    /// `succeeded`.
    pub succeeded: Option<Vec<Cow<'a, str>>>,
    /// `failed`.
    pub failed: Option<Vec<Cow<'a, str>>>,
}

/// The condition types that rules read, as bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ConditionType {
    /// The job has completed.
    Complete = 1,
    /// The job has failed.
    Failed = 2,
    /// The job is about to fail.
    FailureTarget = 4,
    /// The job is about to complete.
    SuccessCriteriaMet = 8,
    /// The job is suspended.
    Suspended = 16,
}

impl ConditionType {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Complete,
        Self::Failed,
        Self::FailureTarget,
        Self::SuccessCriteriaMet,
        Self::Suspended,
    ];

    /// The type as the API writes it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "Complete",
            Self::Failed => "Failed",
            Self::FailureTarget => "FailureTarget",
            Self::SuccessCriteriaMet => "SuccessCriteriaMet",
            Self::Suspended => "Suspended",
        }
    }
}

/// Which conditions are true, and which are false: each in any of its entries, for a type may have several
/// (`IsConditionTrue`, `IsConditionFalse`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Conditions {
    is_true: u8,
    is_false: u8,
}

impl Conditions {
    /// Whether an entry of the type says `True`.
    pub fn is_true(self, condition: ConditionType) -> bool {
        self.is_true & condition as u8 != 0
    }

    /// Whether an entry of the type says `False`.
    pub fn is_false(self, condition: ConditionType) -> bool {
        self.is_false & condition as u8 != 0
    }

    /// Whether the job has completed or failed (`IsJobFinished`).
    pub fn is_finished(self) -> bool {
        self.is_true(ConditionType::Complete) || self.is_true(ConditionType::Failed)
    }

    fn add(&mut self, condition: &str, status: &str) {
        let known = ConditionType::ALL
            .into_iter()
            .find(|c| c.as_str() == condition);
        let bit = known.map_or(0, |c| c as u8);
        match status {
            "True" => self.is_true |= bit,
            "False" => self.is_false |= bit,
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

/// Reads a Job.
pub(super) fn read<'a>(_: &KindProfile, reader: &mut Reader<'a>) -> Result<Object<'a>> {
    let mut object = Object::default();
    let mut job = Job::default();
    reader.object(|reader, key| {
        match key {
            b"metadata" => {
                object.metadata = Metadata::read(reader).map_err(|e| e.within("metadata"))?;
            }
            b"spec" => {
                object.managed_by = None;
                job.spec =
                    JobSpec::read(reader, &mut object.managed_by).map_err(|e| e.within("spec"))?;
            }
            b"status" => job.status = JobStatus::read(reader).map_err(|e| e.within("status"))?,
            _ => reader.skip()?,
        }
        Ok(())
    })?;
    object.job = Some(Box::new(job));
    Ok(object)
}

impl JobSpec {
    fn read<'a>(reader: &mut Reader<'a>, managed_by: &mut Option<Cow<'a, str>>) -> Result<Self> {
        let mut spec = Self {
            completions: None,
            parallelism: None,
            ..Self::default()
        };
        reader.object_or_null(|reader, key| {
            match key {
                b"managedBy" => {
                    *managed_by = reader.string_or_null().map_err(|e| e.within("managedBy"))?;
                }
                b"completions" => spec.completions = int(reader, "completions")?,
                b"parallelism" => spec.parallelism = int(reader, "parallelism")?,
                b"completionMode" => {
                    let mode = reader
                        .string_or_null()
                        .map_err(|e| e.within("completionMode"))?;
                    spec.completion_mode = match mode.as_deref() {
                        Some("Indexed") => CompletionMode::Indexed,
                        _ => CompletionMode::NonIndexed,
                    };
                }
                b"backoffLimitPerIndex" => {
                    spec.backoff_limit_per_index = int(reader, "backoffLimitPerIndex")?.is_some();
                }
                b"suspend" => {
                    let suspend = reader.bool_or_null().map_err(|e| e.within("suspend"))?;
                    spec.suspend = suspend.unwrap_or_default();
                }
                b"successPolicy" => {
                    spec.success_policy = reader.peek()? != Type::Null;
                    let policy = reader.object_or_null(|reader, _| reader.skip());
                    policy.map_err(|e| e.within("successPolicy"))?;
                }
                _ => reader.skip()?,
            }
            Ok(())
        })?;
        if spec.parallelism.is_none() {
            // SetDefaults_Job: completions only where both are unset.
            spec.parallelism = Some(1);
            if spec.completions.is_none() {
                spec.completions = Some(1);
            }
        }
        Ok(spec)
    }
}

impl<'a> JobStatus<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self> {
        let mut status = Self::default();
        reader.object_or_null(|reader, key| {
            match key {
                b"active" => status.active = int(reader, "active")?.unwrap_or_default(),
                b"succeeded" => status.succeeded = int(reader, "succeeded")?.unwrap_or_default(),
                b"failed" => status.failed = int(reader, "failed")?.unwrap_or_default(),
                b"ready" => status.ready = int(reader, "ready")?,
                b"terminating" => status.terminating = int(reader, "terminating")?,
                b"startTime" => status.start_time = time(reader, "startTime")?,
                b"completionTime" => status.completion_time = time(reader, "completionTime")?,
                b"completedIndexes" => {
                    let indexes = reader
                        .string_or_null()
                        .map_err(|e| e.within("completedIndexes"))?;
                    status.completed_indexes = indexes.unwrap_or_default();
                }
                b"failedIndexes" => {
                    status.failed_indexes = reader
                        .string_or_null()
                        .map_err(|e| e.within("failedIndexes"))?;
                }
                b"uncountedTerminatedPods" => {
                    let pods = Uncounted::read_or_null(reader);
                    status.uncounted = pods.map_err(|e| e.within("uncountedTerminatedPods"))?;
                }
                b"conditions" => {
                    status.conditions =
                        Conditions::read(reader).map_err(|e| e.within("conditions"))?;
                }
                _ => reader.skip()?,
            }
            Ok(())
        })?;
        Ok(status)
    }
}

impl<'a> Uncounted<'a> {
    fn read_or_null(reader: &mut Reader<'a>) -> Result<Option<Self>> {
        if reader.peek()? == Type::Null {
            return reader.skip().map(|()| None);
        }
        let mut pods = Self::default();
        reader.object(|reader, key| {
            match key {
                b"succeeded" => pods.succeeded = uids(reader).map_err(|e| e.within("succeeded"))?,
                b"failed" => pods.failed = uids(reader).map_err(|e| e.within("failed"))?,
                _ => reader.skip()?,
            }
            Ok(())
        })?;
        Ok(Some(pods))
    }

    /// Both lists, succeeded first, with the path of each.
    pub fn lists(&self) -> [(&'static str, &[Cow<'a, str>]); 2] {
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
    pub fn len(&self) -> usize {
        let lengths = self.lists().map(|(_, uids)| uids.len());
        lengths.into_iter().fold(0, usize::saturating_add)
    }

    /// Whether there is no UID in either list.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A list of UIDs; a `null` among them is an empty string for Go.
fn uids<'a>(reader: &mut Reader<'a>) -> Result<Option<Vec<Cow<'a, str>>>> {
    if reader.peek()? == Type::Null {
        return reader.skip().map(|()| None);
    }
    let mut uids = Vec::new();
    reader.array(|reader, index| {
        let uid = reader
            .string_or_null()
            .map_err(|e| e.within(format!("[{index}]")))?;
        uids.push(uid.unwrap_or_default());
        Ok(())
    })?;
    Ok(Some(uids))
}

impl Conditions {
    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let mut conditions = Self::default();
        if reader.peek()? == Type::Null {
            reader.skip()?;
            return Ok(conditions);
        }
        reader.array(|reader, index| {
            let (mut condition, mut status) = (Cow::Borrowed(""), Cow::Borrowed(""));
            let entry = reader.object_or_null(|reader, key| {
                let (field, name) = match key {
                    b"type" => (&mut condition, "type"),
                    b"status" => (&mut status, "status"),
                    _ => return reader.skip(),
                };
                *field = reader
                    .string_or_null()
                    .map_err(|e| e.within(name))?
                    .unwrap_or_default();
                Ok(())
            });
            entry.map_err(|e: Malformed| e.within(format!("[{index}]")))?;
            conditions.add(&condition, &status);
            Ok(())
        })?;
        Ok(conditions)
    }
}

fn int(reader: &mut Reader<'_>, name: &'static str) -> Result<Option<i32>> {
    reader.int32_or_null().map_err(|e| e.within(name))
}

fn time(reader: &mut Reader<'_>, name: &'static str) -> Result<Option<Time>> {
    Time::read_or_null(reader).map_err(|e| e.within(name))
}
