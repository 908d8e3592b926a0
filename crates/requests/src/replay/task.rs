//! What is to be done about a record, and what the library says to it.

use std::borrow::Cow;

use managed_by::{AdmissionRequest, Change, ReadObject};

use super::past::Old;
use super::step::{ObjectName, Unjudged};
use crate::judge::{Judge, Judgement, NotJudged};
use crate::record::{State, Write};
use crate::request::{Asked, Asks, with_status};

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
    pub(super) asks: Asks,
    /// Whether it is half of a change of the status and the rest.
    pub(super) is_half: bool,
    pub(super) write: Option<&'c Write<'c>>,
}

impl Asking<'_> {
    /// Writes the request.
    pub(super) fn write(&self, json: &mut Vec<u8>) {
        let half = self.half();
        let half = half.as_deref();
        let old = self.old.map(Old::json);
        let (object, old) = match self.asks {
            Asks::Create => (Cow::Owned(with_status(self.state.text, None)), None),
            Asks::Update => (Cow::Borrowed(half.unwrap_or(self.state.text)), old),
            _ => (Cow::Borrowed(self.state.text), half.or(old)),
        };
        let asked = Asked {
            asks: self.asks,
            namespace: &self.state.metadata.namespace,
            user: self.write.and_then(|write| write.user),
            state: self.state,
            object: &object,
            old,
        };
        asked.write(json);
    }

    /// Of a change of the status and the rest, the update that comes before the one of the status.
    pub(super) fn first_half(&self) -> Option<Self> {
        self.is_half.then_some(Self {
            asks: Asks::Update,
            ..*self
        })
    }

    /// Of a change of the status and the rest, the state between the two: the new object with the old status.
    fn half(&self) -> Option<String> {
        let old = self.old.filter(|_| self.is_half)?;
        Some(with_status(self.state.text, old.status()))
    }

    /// When, if the record says.
    pub(super) fn time(&self) -> Option<String> {
        match self.write {
            Some(write) => write.time.as_deref().map(str::to_owned),
            None => self.state.time(self.old.is_none()),
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

impl<'c> Asking<'c> {
    /// Asks the library. Each object is read once, where that can be.
    fn ask(&self, judge: &Judge<'_>) -> Result<Judgement, NotJudged> {
        let half = self.half();
        if let Some(change) = self.change(half.as_deref()) {
            let user = self.write.and_then(|write| write.user);
            let namespace = &*self.state.metadata.namespace;
            let request = AdmissionRequest::from_objects(change, namespace, user)?;
            return Ok(judge.review(&request));
        }
        let mut json = Vec::new();
        self.write(&mut json);
        judge.ask(&json)
    }

    /// The change of the objects as the library reads them, if it knows their kind.
    fn change<'h>(&self, half: Option<&'h str>) -> Option<Change<ReadObject<'h>>>
    where
        'c: 'h,
    {
        let state = self.state;
        let object = state.object.clone()?;
        let old = || self.old?.read(state);
        let half =
            half.map(|text| ReadObject::from_json(&state.group, &state.version, &state.kind, text));
        Some(match self.asks {
            Asks::Create | Asks::Delete => Change::Create { object },
            Asks::Stored => Change::Stored { object },
            Asks::Update => Change::Update {
                object: half.unwrap_or(Some(object))?,
                old: old()?,
            },
            Asks::UpdateStatus => Change::UpdateStatus {
                object,
                old: half.unwrap_or_else(old)?,
            },
        })
    }
}
