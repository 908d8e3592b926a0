//! The task for a record, and its evaluation.

use managed_by::Malformed;

use crate::judge::{Judge, ObjectReport};
use crate::object_name::ObjectName;
use crate::record::{State, Write};
use crate::request::Request;
use crate::unjudged::Unjudged;

/// The task for a record.
pub(super) enum Task<'c> {
    Nothing,
    Tell(ObjectName, Unjudged),
    Judge(Asking<'c>),
    Unknown(&'c State<'c>),
}

impl Task<'_> {
    /// Returns true for one of the two requests that a change of the status and the rest becomes.
    pub(super) fn is_half(&self) -> bool {
        matches!(self, Self::Judge(asking) if asking.request.is_half)
    }

    /// Evaluates the request of the task, if it has one.
    pub(super) fn answer(&self, judge: &Judge<'_>) -> Option<Result<Box<ObjectReport>, Malformed>> {
        let Self::Judge(asking) = self else {
            return None;
        };
        let judgement = asking.request.read(|request| judge.review(request));
        Some(judgement.map(Box::new))
    }
}

/// A request to evaluate, and the recorded write, if any.
#[derive(Clone, Copy)]
pub(super) struct Asking<'c> {
    pub(super) request: Request<'c>,
    pub(super) write: Option<&'c Write<'c>>,
}

impl Asking<'_> {
    /// Returns the time of the request, if recorded.
    pub(super) fn time(&self) -> Option<String> {
        match self.write {
            Some(write) => write.time.as_deref().map(str::to_owned),
            None => self.request.state.time(self.request.before.is_none()),
        }
    }
}
