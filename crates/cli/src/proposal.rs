//! Proposed lists of status writers, from audit logs.

use std::sync::Arc;

use managed_by_offline::replay::{StatusWriter, WriterSums};

use crate::diagnostic::Diagnostic;

/// Proposed lists of status writers, from audit logs.
#[derive(Debug)]
pub(crate) struct Proposal {
    /// The files, by index.
    pub(crate) files: Vec<Arc<str>>,
    /// `builtin_status_writers`, by kind.
    pub(crate) builtin: Vec<List>,
    /// `status_writers` of `controllers`, by controller name.
    pub(crate) delegated: Vec<List>,
    pub(crate) sums: WriterSums,
    /// Unreadable files.
    pub(crate) unreadable: Vec<Diagnostic>,
}

#[derive(Debug)]
pub(crate) struct List {
    /// The kind or the controller.
    pub(crate) name: String,
    /// The reason why the settings reject the name, if they do.
    pub(crate) refused: Option<String>,
    pub(crate) writers: Vec<Listed>,
}

#[derive(Debug)]
pub(crate) struct Listed {
    pub(crate) writer: StatusWriter,
    /// The reason why the settings reject the name in this list, if they do.
    pub(crate) refused: Option<String>,
}

impl Proposal {
    /// Returns true if there is a proposal that covers all input.
    pub(crate) fn is_whole(&self) -> bool {
        let sums = &self.sums;
        let is_read = sums.unjudged.is_empty() && self.unreadable.is_empty();
        is_read && sums.undecided == 0 && sums.writes > 0
    }
}
