//! `status/...`: what the status of a custom resource promises. Nobody else judges it: a schema knows no old value, and
//! no project has a webhook for it.
//!
//! A rule is one promise for all kinds; what differs stands in [`crate::kind`]. What a kind's own controller writes is
//! never denied, and what it may leave undone is no finding. Only what a change brings in is judged.

pub(crate) mod counters;
pub(crate) mod outcome;
pub(crate) mod times;

use crate::kind::Kind;
use crate::kind::status::{FailureReasons, Outcome, StatusProfile, TerminalStates};
use crate::kind::transitions::{AllowedTransition, TransitionCondition, Writer};
use crate::object::Object;
use crate::object::custom::{NO_STATUS, Status};
use crate::request::Change;

/// The status that a change brings in, beside the one before, and what else decides which outcomes are final.
#[derive(Clone, Copy)]
pub(crate) struct Transition<'a> {
    pub(crate) profile: &'a StatusProfile<'a>,
    pub(crate) new: &'a Status<'a>,
    /// [`None`] of a stored object.
    pub(crate) old: Option<&'a Status<'a>>,
    /// Whether another controller than the kind's own writes it, and may start it over somewhere else.
    pub(crate) is_delegated: bool,
    pub(crate) is_being_deleted: bool,
    /// How often the workload may be tried again.
    pub(crate) retries: usize,
}

impl<'a> Transition<'a> {
    /// The change of a custom resource's status in a change, if there is one.
    pub(crate) fn of(kind: &'a Kind<'a>, change: &'a Change<Object<'a>>) -> Option<Self> {
        let profile = kind.status_profile()?;
        let (object, old) = match change {
            Change::Stored { object } => (object, None),
            Change::UpdateStatus { object, old } => (object, Some(old)),
            Change::Create { .. } | Change::Update { .. } => return None,
        };
        let new = object.custom.as_deref().map_or(&NO_STATUS, |c| &c.status);
        let old_status = old.map(|old| old.custom.as_deref().map_or(&NO_STATUS, |c| &c.status));
        if old_status.unwrap_or(&NO_STATUS) == new {
            return None;
        }
        // On a status update the old spec counts.
        let stored = old.unwrap_or(object);
        Some(Self {
            profile,
            new,
            old: old_status,
            is_delegated: stored.mode(kind).is_delegated(),
            is_being_deleted: stored.metadata.is_being_deleted,
            retries: stored.custom.as_deref().map_or(0, |c| c.retries),
        })
    }

    /// What was there before; of a stored object, nothing.
    fn before(&self) -> &'a Status<'a> {
        self.old.unwrap_or(&NO_STATUS)
    }

    /// Returns the terminal states that this update may leave.
    fn leavable_states(&self, outcome: &Outcome<'_>) -> TerminalStates {
        let rows = outcome.allowed_transitions.iter();
        rows.filter(|row| self.matches(**row))
            .fold(TerminalStates::empty(), |states, row| states | row.from)
    }

    /// Returns true if this update has the new state, the writer and the condition of a row.
    fn matches(&self, row: AllowedTransition) -> bool {
        let is_writer = match row.writer {
            Writer::Any => true,
            Writer::BuiltIn => !self.is_delegated,
            Writer::External => self.is_delegated,
        };
        is_writer
            && row.to.is_none_or(|to| self.new.ends.contains(to))
            && self.satisfies(row.condition)
    }

    fn satisfies(&self, condition: TransitionCondition) -> bool {
        let (old, new) = (self.before(), self.new);
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
                is_retry && new.notes.contains(reason)
            }
            TransitionCondition::StopSidecarFailed => {
                let reason = FailureReasons::STOP_SIDECAR_FAILED;
                !is_retry && new.attempts >= old.attempts && new.notes.contains(reason)
            }
            TransitionCondition::NotDeadlineExceeded => {
                !old.notes.contains(FailureReasons::DEADLINE_EXCEEDED)
            }
            TransitionCondition::ResourcesDeployed => old.is_deployed,
        }
    }
}
