//! A record and its position.

use super::step::Seen;
use crate::record::Record;
use crate::unjudged::Unjudged;

/// A record and its position.
pub(super) struct Item<'c> {
    /// Index of its document.
    pub(super) place: usize,
    pub(super) source: usize,
    pub(super) line: u64,
    pub(super) record: Result<Record<'c>, Unjudged>,
}

impl Item<'_> {
    pub(super) fn seen(&self, time: Option<String>) -> Seen {
        let (source, line) = (self.source, self.line);
        Seen { source, line, time }
    }
}
