//! `job-status/...`: kube-apiserver's checks on the status of a Job.
//!
//! Upstream enables most checks only if the fields that they read have changed (`getStatusValidationOptions`,
//! `pkg/registry/batch/job/strategy.go`), so that an invalid status can still be updated in other fields. A stored object, which
//! the audit scanner submits as a create, is compared with an empty status, and transition checks don't run.

pub(crate) mod conditions;
pub(crate) mod counters;
pub(crate) mod indexes;
pub(crate) mod times;
pub(crate) mod uncounted;

use crate::description::{Rule, Upstream};
use crate::object::Object;
use crate::object::job::{ConditionTypes, JobSpec, JobStatus};
use crate::release::Release;
use crate::request::Change;

/// Functions in `pkg/apis/batch/validation`.
const VALIDATE_STATUS: &str = "validateJobStatus";
const VALIDATE_STATUS_UPDATE: &str = "ValidateJobStatusUpdate";

/// A change of a Job's status, with the old status and the fields that differ.
pub(crate) struct JobStatusChange<'a> {
    pub(crate) release: Release,
    /// The spec that applies. kube-apiserver keeps the old spec in a status update.
    pub(crate) spec: &'a JobSpec<'a>,
    pub(crate) new: &'a JobStatus<'a>,
    /// The old status, or [`None`] for a stored object.
    pub(crate) old: Option<&'a JobStatus<'a>>,
    pub(crate) changed: ChangedFields,
}

/// Fields that differ between the old and the new status, by the comparisons of `getStatusValidationOptions`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "one for each of upstream's comparisons, and none follows from another"
)]
pub(crate) struct ChangedFields {
    pub(crate) finished: bool,
    pub(crate) complete: bool,
    pub(crate) failed: bool,
    pub(crate) failure_target: bool,
    pub(crate) success_criteria_met: bool,
    pub(crate) completed_indexes: bool,
    pub(crate) failed_indexes: bool,
    pub(crate) active: bool,
    pub(crate) ready: bool,
    pub(crate) terminating: bool,
    pub(crate) start_time: bool,
    pub(crate) completion_time: bool,
    pub(crate) uncounted: bool,
}

impl<'a> JobStatusChange<'a> {
    /// Returns the status change of a Job, or [`None`] for other changes.
    pub(crate) fn from_change(change: &'a Change<Object<'a>>, release: Release) -> Option<Self> {
        let (spec, new, old) = match change {
            Change::Stored { object } => {
                let job = object.job.as_ref()?;
                (&job.spec, &job.status, None)
            }
            Change::UpdateStatus { object, old } => {
                let (new, old) = (object.job.as_ref()?, old.job.as_ref()?);
                (&old.spec, &new.status, Some(&old.status))
            }
            Change::Create { .. } | Change::Update { .. } => return None,
        };
        let changed = ChangedFields::between(old.unwrap_or(&JobStatus::default()), new);
        Some(Self {
            release,
            spec,
            new,
            old,
            changed,
        })
    }

    fn is_true(&self, condition: ConditionTypes) -> bool {
        self.new.conditions.is_true(condition)
    }

    fn is_finished(&self) -> bool {
        self.new.conditions.is_true(ConditionTypes::FINISHED)
    }

    /// Returns true if there is an old status and it satisfies the predicate.
    fn old_is_some_and(&self, holds: impl Fn(&JobStatus<'a>) -> bool) -> bool {
        self.old.is_some_and(holds)
    }
}

impl ChangedFields {
    fn between(old: &JobStatus<'_>, new: &JobStatus<'_>) -> Self {
        let condition = |c| old.conditions.is_true(c) != new.conditions.is_true(c);
        Self {
            finished: old.conditions.is_true(ConditionTypes::FINISHED)
                != new.conditions.is_true(ConditionTypes::FINISHED),
            complete: condition(ConditionTypes::COMPLETE),
            failed: condition(ConditionTypes::FAILED),
            failure_target: condition(ConditionTypes::FAILURE_TARGET),
            success_criteria_met: condition(ConditionTypes::SUCCESS_CRITERIA_MET),
            completed_indexes: old.completed_indexes != new.completed_indexes,
            failed_indexes: old.failed_indexes != new.failed_indexes,
            active: old.active != new.active,
            ready: old.ready != new.ready,
            terminating: old.terminating != new.terminating,
            start_time: old.start_time != new.start_time,
            completion_time: old.completion_time != new.completion_time,
            uncounted: uncounted::differ(old.uncounted.as_ref(), new.uncounted.as_ref()),
        }
    }
}

/// Creates a kube-apiserver rule about the status of a Job.
const fn rule(id: &'static str, page: &'static str, check: Upstream) -> Rule {
    Rule::upstream(id, page, check).for_jobs()
}
