//! `status/...`: what the status of a custom resource promises. Nobody else judges it: a schema knows no old value, and
//! no project has a webhook for it.
//!
//! A rule is one promise for all kinds; what differs stands in [`crate::kind`]. What a kind's own controller writes is
//! never denied, and what it may leave undone is no finding. Only what a change brings in is judged.

pub(crate) mod counters;
pub(crate) mod outcome;
pub(crate) mod times;

use crate::kind::Kind;
use crate::kind::status::{Exit, StatusProfile, TerminalStates, When};
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

    /// The states that the kind's own controller leaves in a step like this.
    fn leaves(&self, exits: &[Exit]) -> TerminalStates {
        let open = exits
            .iter()
            .filter(|exit| exit.when.iter().all(|when| self.is(*when)));
        open.fold(TerminalStates::empty(), |ends, exit| ends | exit.from)
    }

    fn is(&self, when: When) -> bool {
        let (old, new) = (self.before(), self.new);
        let tried_again = new.attempts > old.attempts && new.attempts <= self.retries;
        match when {
            When::Delegated => self.is_delegated,
            When::Standard => !self.is_delegated,
            When::BeingDeleted => self.is_being_deleted,
            When::NotBeingDeleted => !self.is_being_deleted,
            When::WithoutEnd => old.end.is_none(),
            When::KeepsEnd => old.end.is_some() && new.end.is_some(),
            When::To(ends) => new.ends.contains(ends),
            When::TriedAgain => tried_again,
            When::NotTriedAgain => !tried_again,
            When::KeepsAttempts => new.attempts >= old.attempts,
            When::Noting(notes) => new.notes.contains(notes),
            When::UnlessNoted(notes) => !old.notes.contains(notes),
            When::StillDeployed => old.is_deployed,
        }
    }
}
