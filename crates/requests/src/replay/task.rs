//! What is to be done about a record, and what the library says to it.

use managed_by::AdmissionRequest;

use super::past::Old;
use super::step::{ObjectName, Unjudged};
use crate::judge::{Judge, Judgement, NotJudged};
use crate::record::{State, Write};
use crate::request::{Asked, Operation};

/// What is to be done about a record.
pub(super) enum Task<'c> {
    Nothing,
    Tell(ObjectName, Unjudged),
    Judge(Asking<'c>),
    Unknown(&'c State<'c>),
}

/// A request to ask for.
pub(super) struct Asking<'c> {
    pub(super) state: &'c State<'c>,
    pub(super) old: Option<Old<'c>>,
    pub(super) operation: Operation,
    pub(super) is_status: bool,
    pub(super) write: Option<&'c Write<'c>>,
}

impl<'c> Asking<'c> {
    pub(super) fn request(&self) -> Asked<'c> {
        Asked {
            operation: self.operation,
            is_status: self.is_status,
            namespace: &self.state.metadata.namespace,
            user: self.write.and_then(|write| write.user),
            object: self.state,
            old: self.old.map(Old::json),
        }
    }

    /// When, if the record says.
    pub(super) fn time(&self) -> Option<String> {
        match self.write {
            Some(write) => write.time.as_deref().map(str::to_owned),
            None => self.state.time(self.operation == Operation::Create),
        }
    }
}

/// What the library said to a task.
pub(super) enum Answer {
    Nothing,
    /// Judged, and nothing is to be said.
    Quiet,
    Said(Box<Judgement>),
    Malformed(String),
}

impl Answer {
    pub(super) fn to(task: &Task<'_>, judge: &Judge<'_>) -> Self {
        let Task::Judge(asking) = task else {
            return Self::Nothing;
        };
        match asking.ask(judge) {
            Ok(judgement) if judgement.is_quiet() => Self::Quiet,
            Ok(judgement) => Self::Said(Box::new(judgement)),
            Err(malformed) => Self::Malformed(malformed.to_string()),
        }
    }
}

impl Asking<'_> {
    /// Asks the library. Each object is read once, where that can be.
    fn ask(&self, judge: &Judge<'_>) -> Result<Judgement, NotJudged> {
        let user = self.write.and_then(|write| write.user);
        let namespace = &*self.state.metadata.namespace;
        let old = self.old.map(|old| old.read(self.state));
        if let Some(object) = &self.state.object
            && old.as_ref().is_none_or(Option::is_some)
        {
            let old = old.flatten();
            let (old, is_status) = (old.as_ref(), self.is_status);
            let request = AdmissionRequest::from_objects(object, old, is_status, namespace, user)?;
            return Ok(judge.review(&request));
        }
        let mut json = Vec::new();
        self.request().write(&mut json);
        judge.ask(&json)
    }
}
