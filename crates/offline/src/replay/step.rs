//! Reported steps of a history.

use crate::asks::Asks;
use crate::judge::ObjectReport;
use crate::object_name::ObjectName;
use crate::unjudged::Unjudged;

/// The position and time of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The source's number, chosen by the caller, such as the index of the file.
    pub source: usize,
    /// The line of the source, from 1.
    pub line: u64,
    /// The time, if recorded.
    pub time: Option<String>,
}

/// A reported step of a history: a request with findings, or a record that could not be evaluated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Position of the record.
    pub seen: Seen,
    /// The object; empty if unknown.
    pub object: ObjectName,
    /// The result.
    pub said: Said,
}

/// The result of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// A request with findings.
    Found(Box<Asked>),
    /// A record that could not be evaluated.
    Unjudged(Unjudged),
}

/// An evaluated request or stored object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The operation.
    pub asks: Asks,
    /// The user, if recorded.
    pub user: Option<String>,
    /// The result of the evaluation.
    pub judgement: ObjectReport,
}
