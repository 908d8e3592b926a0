//! The results of commands that read recordings, before they are printed.

use std::sync::Arc;

use managed_by::{Release, ReleaseSet};
use managed_by_console::diagnostic::Diagnostic;
use managed_by_console::exit::ExitStatus;
use managed_by_offline::Tally;

use crate::args::EvaluationArgs;
use crate::result::RequestResult;

#[derive(Debug, Default)]
pub(crate) struct ReplaySummary {
    /// The evaluated release, if the settings select one.
    pub(crate) release: Option<Release>,
    /// The releases that `--kubernetes` selects, or all.
    pub(crate) releases: ReleaseSet,
    /// The files, by index.
    pub(crate) files: Vec<Arc<str>>,
    pub(crate) tally: Tally,
    /// The first requests with findings.
    pub(crate) shown: Vec<RequestResult>,
    /// Errors about files, and skipped records: the first ones of each file and reason, then the number of the others.
    pub(crate) errors: Vec<Diagnostic>,
}

impl ReplaySummary {
    pub(crate) fn exit_status(&self, args: &EvaluationArgs) -> ExitStatus {
        let tally = &self.tally;
        let is_warned = tally.warned.max(tally.stored_with_findings) > 0;
        let is_denied = tally.denied > 0 || args.deny_warnings && is_warned;
        ExitStatus::first([
            (!self.errors.is_empty(), ExitStatus::Error),
            (is_denied, ExitStatus::Denied),
            (
                self.evaluated_nothing() && !args.allow_empty,
                ExitStatus::NothingEvaluated,
            ),
        ])
    }

    /// Returns true if nothing was evaluated although all input could be read.
    pub(crate) fn evaluated_nothing(&self) -> bool {
        self.tally.evaluated == 0 && self.tally.stored == 0 && self.errors.is_empty()
    }
}
