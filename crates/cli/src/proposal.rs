//! Lists of status writers that audit logs propose for the settings.

use std::sync::Arc;

use managed_by_offline::replay::{StatusWriter, WriterSums};

use crate::diagnostic::Diagnostic;

/// What the audit logs propose for the settings.
#[derive(Debug)]
pub(crate) struct Proposal {
    /// The files, by their numbers.
    pub(crate) files: Vec<Arc<str>>,
    /// `standard_status_writers`, by kind.
    pub(crate) standard: Vec<List>,
    /// The `status_writers` of `controllers`, by the controller's name.
    pub(crate) delegated: Vec<List>,
    pub(crate) sums: WriterSums,
    /// Files that could not be read.
    pub(crate) unreadable: Vec<Diagnostic>,
}

#[derive(Debug)]
pub(crate) struct List {
    /// Whose it is: the kind, or the controller.
    pub(crate) name: String,
    /// Why the settings refuse this name, if they do.
    pub(crate) refused: Option<String>,
    pub(crate) writers: Vec<Listed>,
}

#[derive(Debug)]
pub(crate) struct Listed {
    pub(crate) writer: StatusWriter,
    /// Why the settings refuse this name in this list, if they do.
    pub(crate) refused: Option<String>,
}

impl Proposal {
    /// Whether there is a proposal, and everything in the files was taken into account.
    pub(crate) fn is_whole(&self) -> bool {
        let sums = &self.sums;
        let is_read = sums.unjudged.is_empty() && self.unreadable.is_empty();
        is_read && sums.undecided == 0 && sums.writes > 0
    }
}
