//! `status/...`: what the status of a custom resource promises. Nobody else judges it: a schema knows no old value, and
//! no project has a webhook for it.
//!
//! A rule is one promise for all kinds; what differs stands in [`crate::kind`]. What a kind's own controller writes is
//! never denied, and what it may leave undone is no finding. Only what a change brings in is judged.

pub(crate) mod counters;
pub(crate) mod outcome;
pub(crate) mod times;

use crate::kind::Kind;
use crate::kind::status::StatusProfile;
use crate::object::Object;
use crate::object::custom::{NO_STATUS, Status, Step};
use crate::request::Change;

/// The status that a change brings in, beside the one before.
pub(crate) struct Transition<'a> {
    pub(crate) profile: &'a StatusProfile<'a>,
    pub(crate) new: &'a Status<'a>,
    /// [`None`] of a stored object.
    pub(crate) old: Option<&'a Status<'a>>,
    /// Whether another controller than the kind's own writes it, and may start it over somewhere else.
    pub(crate) is_delegated: bool,
    pub(crate) is_being_deleted: bool,
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

    /// The same as a step, which says which outcomes the kind's own controller takes back.
    fn step(&self) -> Step<'a> {
        Step {
            old: self.before(),
            new: self.new,
            is_delegated: self.is_delegated,
            is_being_deleted: self.is_being_deleted,
            retries: self.retries,
        }
    }

    /// What was there before; of a stored object, nothing.
    fn before(&self) -> &'a Status<'a> {
        self.old.unwrap_or(&NO_STATUS)
    }
}
