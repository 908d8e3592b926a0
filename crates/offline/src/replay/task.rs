//! What is to be done about a record, and what the library says to it.

use managed_by::Malformed;

use crate::judge::{Judge, ObjectReport};
use crate::object_name::ObjectName;
use crate::record::{State, Write};
use crate::request::Request;
use crate::unjudged::Unjudged;

/// What is to be done about a record.
pub(super) enum Task<'c> {
    Nothing,
    Tell(ObjectName, Unjudged),
    Judge(Asking<'c>),
    Unknown(&'c State<'c>),
}

impl Task<'_> {
    /// Whether it is half of a change of the status and the rest.
    pub(super) fn is_half(&self) -> bool {
        matches!(self, Self::Judge(asking) if asking.request.is_half)
    }

    /// What the library says to it, if it is to be judged.
    pub(super) fn answer(&self, judge: &Judge<'_>) -> Option<Result<Box<ObjectReport>, Malformed>> {
        let Self::Judge(asking) = self else {
            return None;
        };
        let judgement = asking.request.read(|request| judge.review(request));
        Some(judgement.map(Box::new))
    }
}

/// A request to ask for, and the write that a record says it was.
#[derive(Clone, Copy)]
pub(super) struct Asking<'c> {
    pub(super) request: Request<'c>,
    pub(super) write: Option<&'c Write<'c>>,
}

impl Asking<'_> {
    /// When, if the record says.
    pub(super) fn time(&self) -> Option<String> {
        match self.write {
            Some(write) => write.time.as_deref().map(str::to_owned),
            None => self.request.state.time(self.request.before.is_none()),
        }
    }
}
