//! An object of the controller, as far as it is recorded.

use managed_by_offline::profile::{Transitions, is_finished, is_suspended};
use serde_json::{Map, Value};

use super::report::OutcomeProblem;

/// Number of rejections of the same object, without an accepted write between them, that count as a loop.
const MIN_REPEATED_REJECTIONS: u64 = 3;

/// State of an object of the controller.
#[derive(Debug, Default)]
pub(super) struct TrackedObject {
    pub(super) name: String,
    /// `kind` of the request.
    pub(super) kind: Value,
    pub(super) last: Value,
    pub(super) last_location: String,
    pub(super) transitions: Transitions,
    /// Number of rejections since the last accepted write.
    pub(super) rejections: u64,
}

impl TrackedObject {
    pub(super) fn is_job(&self) -> bool {
        let member = |name: &str| self.kind.get(name).and_then(Value::as_str);
        member("group") == Some("batch") && member("kind") == Some("Job")
    }

    /// Returns why the object did not reach an end, or [`None`] if it did, or waits.
    pub(super) fn problem(&self) -> Option<OutcomeProblem> {
        let status = self.last.get("status").and_then(Value::as_object);
        if self.rejections >= MIN_REPEATED_REJECTIONS {
            Some(OutcomeProblem::RejectedRepeatedly)
        } else if is_suspended(&self.last) {
            None
        } else if status.is_none_or(Map::is_empty) {
            Some(OutcomeProblem::StatusNeverWritten)
        } else if self.is_job() && !is_finished(&self.last) {
            Some(OutcomeProblem::NotFinished)
        } else {
            None
        }
    }
}
