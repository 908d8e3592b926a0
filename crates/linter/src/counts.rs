//! Counts of results, which need no memory per result.

use crate::result::RequestResult;

#[derive(Debug, Clone, Default)]
pub(crate) struct ResultCounts {
    pub(crate) evaluated: usize,
    pub(crate) denied: usize,
    pub(crate) warned: usize,
    pub(crate) excepted: usize,
    /// The position of the first object without findings whose `managedBy` the API server drops, a note about it, and their number.
    pub(crate) dropped_field: Option<(String, String, u64)>,
}

impl ResultCounts {
    pub(crate) fn add(&mut self, result: &RequestResult) {
        let count = |counter: &mut usize, is_counted: bool| {
            *counter = counter.saturating_add(usize::from(is_counted));
        };
        let is_allowed = result.decision.is_allowed();
        count(&mut self.evaluated, true);
        count(&mut self.denied, !is_allowed);
        count(&mut self.warned, is_allowed && result.has_warning());
        for finding in &result.findings {
            count(&mut self.excepted, finding.exception.is_some());
        }
        if result.findings.is_empty()
            && let Some(note) = result.dropped_field_note()
        {
            let (.., times) = self.dropped_field.get_or_insert_with(|| {
                let line = result.span.as_ref().map(|span| format!(":{}", span.line));
                let position = format!("{}{}", result.file, line.unwrap_or_default());
                (position, note, 0)
            });
            *times = times.saturating_add(1);
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) evaluated: usize,
    pub(crate) denied: usize,
    /// Requests allowed with a warning.
    pub(crate) warned: usize,
    /// Objects and files that could not be evaluated.
    pub(crate) errors: usize,
    /// Other warnings.
    pub(crate) warnings: usize,
    /// Findings suppressed by an exception in the object.
    pub(crate) excepted: usize,
}
