//! `status/...`: invariants of the status of custom resources. The API server checks almost none of them: the CRDs have no
//! transition rules (CEL with `oldSelf`) for the status, and no project has a webhook for it. TrainJob's schema rejects negative
//! counters.
//!
//! Each rule is one invariant for all kinds, configured by the status profiles in [`crate::kind`]. The rules evaluate only what a
//! change modifies, and never deny transitions that a kind's built-in controller makes.

pub(crate) mod counters;
pub(crate) mod outcome;
pub(crate) mod times;

use crate::kind::Kind;
use crate::kind::status::{FailureReasons, OutcomeProfile, StatusProfile, TerminalStates};
use crate::kind::transitions::{AllowedTransition, ReconciledBy, TransitionCondition};
use crate::object::Object;
use crate::object::custom::{EMPTY_STATUS, Status};
use crate::request::Change;

/// A status change of a custom resource, with the parts of the spec and metadata that decide which outcomes are final.
#[derive(Clone, Copy)]
pub(crate) struct CustomStatusChange<'a> {
    pub(crate) profile: &'a StatusProfile<'a>,
    pub(crate) new: &'a Status<'a>,
    /// The old status, or [`None`] for a stored object.
    pub(crate) old: Option<&'a Status<'a>>,
    /// True if an external controller writes the status. It may restart the workload elsewhere.
    pub(crate) is_delegated: bool,
    pub(crate) is_being_deleted: bool,
    pub(crate) retries: usize,
}

impl<'a> CustomStatusChange<'a> {
    /// Returns the status change of a custom resource, or [`None`] for other changes.
    pub(crate) fn from_change(kind: &'a Kind<'a>, change: &'a Change<Object<'a>>) -> Option<Self> {
        let profile = kind.status_profile()?;
        let (object, old) = match change {
            Change::Stored { object } => (object, None),
            Change::UpdateStatus { object, old } => (object, Some(old)),
            Change::Create { .. } | Change::Update { .. } => return None,
        };
        let new = object
            .custom
            .as_deref()
            .map_or(&EMPTY_STATUS, |c| &c.status);
        let old_status = old.map(|old| old.custom.as_deref().map_or(&EMPTY_STATUS, |c| &c.status));
        if old_status.unwrap_or(&EMPTY_STATUS) == new {
            return None;
        }
        // kube-apiserver keeps the old spec in a status update.
        let stored = old.unwrap_or(object);
        Some(Self {
            profile,
            new,
            old: old_status,
            is_delegated: stored.reconciler(kind).is_delegated(),
            is_being_deleted: stored.metadata.is_being_deleted,
            retries: stored.custom.as_deref().map_or(0, |c| c.retries),
        })
    }

    /// Returns the old status, which is empty for a stored object.
    fn old_or_empty(&self) -> &'a Status<'a> {
        self.old.unwrap_or(&EMPTY_STATUS)
    }

    /// Returns the terminal states that this update may leave.
    fn leavable_states(&self, outcome: &OutcomeProfile<'_>) -> TerminalStates {
        let rows = outcome.allowed_transitions.iter();
        rows.filter(|row| self.matches(**row))
            .fold(TerminalStates::empty(), |states, row| states | row.from)
    }

    /// Returns true if this update has the new state, the writer and the condition of a row.
    fn matches(&self, row: AllowedTransition) -> bool {
        let is_writer = match row.reconciled_by {
            ReconciledBy::Any => true,
            ReconciledBy::BuiltIn => !self.is_delegated,
            ReconciledBy::External => self.is_delegated,
        };
        is_writer
            && row.to.is_none_or(|to| self.new.states.contains(to))
            && self.satisfies(row.condition)
    }

    fn satisfies(&self, condition: TransitionCondition) -> bool {
        let (old, new) = (self.old_or_empty(), self.new);
        let is_retry = new.attempts > old.attempts && new.attempts <= self.retries;
        match condition {
            TransitionCondition::Always => true,
            TransitionCondition::BeingDeleted => self.is_being_deleted,
            TransitionCondition::NotBeingDeleted => !self.is_being_deleted,
            TransitionCondition::NoEndTime => old.end.is_none(),
            TransitionCondition::EndTimeKept => old.end.is_some() && new.end.is_some(),
            TransitionCondition::Retry => is_retry,
            TransitionCondition::RetryAfterStopSidecarFailed => {
                let reason = FailureReasons::LAST_ATTEMPT_STOP_SIDECAR_FAILED;
                is_retry && new.failure_reasons.contains(reason)
            }
            TransitionCondition::StopSidecarFailed => {
                let reason = FailureReasons::STOP_SIDECAR_FAILED;
                !is_retry && new.attempts >= old.attempts && new.failure_reasons.contains(reason)
            }
            TransitionCondition::NotDeadlineExceeded => !old
                .failure_reasons
                .contains(FailureReasons::DEADLINE_EXCEEDED),
            TransitionCondition::ResourcesDeployed => old.is_deployed,
        }
    }
}
