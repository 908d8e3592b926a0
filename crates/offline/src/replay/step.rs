//! What there is to tell of a history.

use crate::asks::Asks;
use crate::judge::ObjectReport;
use crate::object_name::ObjectName;
use crate::unjudged::Unjudged;

/// Where something was recorded, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The number that the caller gave the source, such as the place of the file among the files.
    pub source: usize,
    /// The line of the source, from 1.
    pub line: u64,
    /// When, if the record says.
    pub time: Option<String>,
}

/// Something to tell of a history: a request with findings, or what could not be judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Where it was recorded.
    pub seen: Seen,
    /// What it is about; empty where nobody knows.
    pub object: ObjectName,
    /// What it says.
    pub said: Said,
}

/// What is to tell of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// A request that the rules found something in.
    Found(Box<Asked>),
    /// What could not be judged.
    Unjudged(Unjudged),
}

/// A request that was judged, or an object as it was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// What was asked for.
    pub asks: Asks,
    /// Who asked, if the record says.
    pub user: Option<String>,
    /// What the library said.
    pub judgement: ObjectReport,
}
