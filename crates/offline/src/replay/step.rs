//! Records of a history, the tasks that they become, and the reported steps.

use managed_by::{DecodeError, Evaluation};
use serde::Serialize;

use crate::evaluator::Evaluator;
use crate::object_ref::ObjectRef;
use crate::operation::Operation;
use crate::record::{Record, RejectedWrite, State, Write};
use crate::request::Request;
use crate::skipped::SkippedRecord;

/// The position and time of a record.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(
    feature = "package",
    derive(ts_rs::TS),
    ts(rename = "ReplayPosition", optional_fields)
)]
pub struct RecordPosition {
    /// The source's number, chosen by the caller, such as the index of the file.
    #[serde(skip)]
    pub source: usize,
    /// The line of the source, from 1.
    pub line: u64,
    /// The time, if recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
}

/// A reported step of a history: a request or stored object with findings, or a record that could not be evaluated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub position: RecordPosition,
    /// The object; empty if unknown.
    pub object: ObjectRef,
    pub result: StepResult,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepResult {
    /// A request or stored object with findings.
    Evaluated(Box<EvaluatedRequest>),
    /// A write that the API server rejected for a reason that does not pass.
    Rejected(Box<RejectedRequest>),
    /// A record that could not be evaluated.
    Skipped(SkippedRecord),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvaluatedRequest {
    pub operation: Operation,
    pub user: Option<String>,
    pub report: Evaluation,
}

/// A write that the API server rejected, and its evaluation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedRequest {
    pub operation: Operation,
    pub user: Option<String>,
    /// HTTP status of the API server's response.
    pub code: u16,
    /// Message of the response; empty if it has none.
    pub message: String,
    /// The evaluation of the sent object, or the reason why it could not be evaluated.
    pub report: Result<Evaluation, String>,
}

/// A change in a history, before its evaluation.
#[derive(Debug)]
pub enum RecordedChange<'r, 'c> {
    /// A request that the API server accepted, or a stored object.
    Accepted(&'r Request<'c>),
    /// A write that the API server rejected, and its request, if the recording has both states of the object.
    Rejected(&'r RejectedWrite<'c>, Option<&'r Request<'c>>),
    /// A record that could not be evaluated, and its object; empty if unknown.
    Skipped(&'r ObjectRef, &'r SkippedRecord),
}

pub(super) struct PositionedRecord<'c> {
    pub(super) document: usize,
    pub(super) source: usize,
    pub(super) line: u64,
    pub(super) record: Result<Record<'c>, SkippedRecord>,
}

impl PositionedRecord<'_> {
    pub(super) fn position(&self, time: Option<String>) -> RecordPosition {
        let (source, line) = (self.source, self.line);
        RecordPosition { source, line, time }
    }
}

pub(super) enum Task<'c> {
    Ignore,
    /// Count a write that the API server rejected. The request to evaluate, or the reason why there is none.
    Rejected(&'c RejectedWrite<'c>, Result<Request<'c>, &'static str>),
    /// Count an object of an unsupported kind.
    Unsupported(&'c State<'c>),
    Skip(ObjectRef, SkippedRecord),
    Evaluate(RecordedRequest<'c>),
}

/// A request to evaluate, and the recorded write, if any.
#[derive(Clone, Copy)]
pub(super) struct RecordedRequest<'c> {
    pub(super) request: Request<'c>,
    pub(super) write: Option<&'c Write<'c>>,
}

impl Task<'_> {
    /// Returns true if the task is one of the two requests for an event that changes both the status and other fields.
    pub(super) fn is_split_update(&self) -> bool {
        matches!(self, Self::Evaluate(recorded) if recorded.request.is_split_update)
    }

    pub(super) fn evaluate(
        &self,
        evaluator: &Evaluator<'_>,
    ) -> Option<Result<Box<Evaluation>, DecodeError>> {
        let (Self::Evaluate(RecordedRequest { request, .. }) | Self::Rejected(_, Ok(request))) =
            self
        else {
            return None;
        };
        let evaluated = request.with_request(|request| evaluator.evaluate(request));
        Some(evaluated.flatten().map(Box::new))
    }
}

impl RecordedRequest<'_> {
    /// Returns the time of the request, if recorded.
    pub(super) fn time(&self) -> Option<String> {
        match self.write {
            Some(write) => write.time.as_deref().map(str::to_owned),
            None => self.request.state.time(self.request.old.is_none()),
        }
    }
}
