//! `status/...`: what the status of a custom resource promises. Nobody else judges it: a schema knows no old value, and
//! no project has a webhook for it.
//!
//! A rule is one promise for all kinds; what differs stands in [`crate::kind`]. What a kind's own controller writes is
//! never denied, and what it may leave undone is no finding. Only what a change brings in is judged.

pub(crate) mod counters;
pub(crate) mod outcome;
pub(crate) mod times;

use crate::kind::KindProfile;
use crate::kind::custom::{Status, StatusProfile, Step};
use crate::request::Change;

/// The status that a change brings in, beside the one before.
pub(crate) struct Transition<'a> {
    pub(crate) profile: &'static StatusProfile,
    pub(crate) new: &'a Status<'a>,
    /// [`None`] on create.
    pub(crate) old: Option<&'a Status<'a>>,
    /// Whether another controller than the kind's own writes it, and may start it over somewhere else.
    pub(crate) delegated: bool,
    pub(crate) is_being_deleted: bool,
    pub(crate) retries: usize,
}

static NONE: Status<'static> = Status::NONE;

impl<'a> Transition<'a> {
    /// The change of a custom resource's status in a change, if there is one.
    pub(crate) fn of(kind: &'static KindProfile, change: &'a Change<'a>) -> Option<Self> {
        let profile = kind.status?;
        let (object, old) = match change {
            Change::Create { object } => (object, None),
            Change::UpdateStatus { object, old } => (object, Some(old)),
            Change::Update { .. } => return None,
        };
        let new = object.custom.as_deref().map_or(&NONE, |c| &c.status);
        let old_status = old.map(|old| old.custom.as_deref().map_or(&NONE, |c| &c.status));
        if old_status.unwrap_or(&NONE) == new {
            return None;
        }
        // On a status update the old spec counts.
        let stored = old.unwrap_or(object);
        let managed_by = stored.managed_by.as_deref();
        Some(Self {
            profile,
            new,
            old: old_status,
            delegated: kind.is_delegated(managed_by),
            is_being_deleted: stored.metadata.is_being_deleted,
            retries: stored.custom.as_deref().map_or(0, |c| c.retries),
        })
    }

    /// The same for those who know which outcomes a kind's own controller takes back.
    fn step(&self) -> Step<'a> {
        Step {
            old: self.before(),
            new: self.new,
            delegated: self.delegated,
            is_being_deleted: self.is_being_deleted,
            retries: self.retries,
        }
    }

    /// What was there before; on create, nothing.
    fn before(&self) -> &'a Status<'a> {
        self.old.unwrap_or(&NONE)
    }
}

/// A status update of a custom resource as an example: its group, version and kind, the old status and the new one.
macro_rules! status_update {
    ($settings:literal, $group:literal, $version:literal, $kind:literal, $old:literal, $new:literal) => {
        Example {
            settings: $settings,
            request: concat!(
                r#"{"operation":"UPDATE","subResource":"status","kind":{"group":""#,
                $group,
                r#"","version":""#,
                $version,
                r#"","kind":""#,
                $kind,
                r#""},"oldObject":{"metadata":{"name":"train"},"spec":{},"status":"#,
                $old,
                r#"},"object":{"metadata":{"name":"train"},"spec":{},"status":"#,
                $new,
                "}}"
            ),
        }
    };
}
use status_update;
