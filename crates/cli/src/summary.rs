//! What a replay has found at its end.

use std::sync::Arc;

use managed_by::Release;
use managed_by_offline::Tally;

use crate::args::Judging;
use crate::diagnostic::Diagnostic;
use crate::exit::Exit;
use crate::report::Outcome;

/// What a replay has to tell at its end.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    /// The one release that was asked, if the settings choose one.
    pub(crate) release: Option<Release>,
    /// The files, by their numbers.
    pub(crate) files: Vec<Arc<str>>,
    pub(crate) tally: Tally,
    /// The first requests with findings.
    pub(crate) shown: Vec<Outcome>,
    /// Files that could not be read.
    pub(crate) unreadable: Vec<Diagnostic>,
    /// The same, and the first of each kind with parts of files.
    pub(crate) unjudged: Vec<Diagnostic>,
}

impl Summary {
    /// Returns how the run ends.
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

    /// Whether nothing was judged, though there is nothing wrong with what was read.
    pub(crate) fn is_nothing(&self) -> bool {
        let tally = &self.tally;
        tally.judged == 0
            && tally.stored == 0
            && tally.unjudged_count() == 0
            && self.unreadable.is_empty()
    }
}
