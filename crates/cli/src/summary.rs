//! Results of a replay.

use std::sync::Arc;

use managed_by::Release;
use managed_by_offline::Tally;

use crate::args::Judging;
use crate::diagnostic::Diagnostic;
use crate::exit::Exit;
use crate::report::Outcome;

/// Results of a replay.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    /// The evaluated release, if the settings select one.
    pub(crate) release: Option<Release>,
    /// The files, by index.
    pub(crate) files: Vec<Arc<str>>,
    pub(crate) tally: Tally,
    /// The first requests with findings.
    pub(crate) shown: Vec<Outcome>,
    /// Unreadable files.
    pub(crate) unreadable: Vec<Diagnostic>,
    /// Unreadable files, and the first skipped records of each kind.
    pub(crate) unjudged: Vec<Diagnostic>,
}

impl Summary {
    /// Returns the exit status of the run.
    pub(crate) fn exit(&self, judging: &Judging) -> Exit {
        let tally = &self.tally;
        let is_warned = tally.warned.max(tally.stored_found) > 0;
        let is_unjudged = tally.unjudged_count() > 0 || !self.unreadable.is_empty();
        Exit::first([
            (is_unjudged, Exit::Unjudged),
            (
                tally.denied > 0 || judging.deny_warnings && is_warned,
                Exit::Denied,
            ),
            (self.is_nothing() && !judging.allow_empty, Exit::Nothing),
        ])
    }

    /// Returns true if nothing was evaluated although all input could be read.
    pub(crate) fn is_nothing(&self) -> bool {
        let tally = &self.tally;
        tally.judged == 0
            && tally.stored == 0
            && tally.unjudged_count() == 0
            && self.unreadable.is_empty()
    }
}
