//! Counts of results, which need no memory per result.

use managed_by_offline::Operation;
use managed_by_offline::replay::ObjectRef;

use crate::result::RequestResult;

#[derive(Debug, Clone, Default)]
pub(crate) struct ResultCounts {
    pub(crate) evaluated: usize,
    pub(crate) denied: usize,
    /// Requests allowed with a warning.
    pub(crate) warned: usize,
    /// Findings suppressed by an exception in the object.
    pub(crate) excepted: usize,
    /// The position of the first object without findings whose `managedBy` the API server drops, a note about it, and their number.
    pub(crate) dropped_field: Option<(String, String, u64)>,
    /// The last update, and whether it was denied or warned about. An update of the status that follows is one of the same object.
    last: Option<(ObjectRef, Operation, [bool; 2])>,
}

impl ResultCounts {
    pub(crate) fn add(&mut self, result: &RequestResult) {
        let count = |counter: &mut usize, is_counted: bool| {
            *counter = counter.saturating_add(usize::from(is_counted));
        };
        let is_allowed = result.decision.is_allowed();
        let [mut is_denied, mut is_warned] = [!is_allowed, is_allowed && result.has_warning()];
        let last = self.last.take().filter(|(object, operation, _)| {
            let is_second = result.operation == Operation::UpdateStatus;
            is_second && *operation == Operation::Update && *object == result.object
        });
        if let Some((.., [was_denied, was_warned])) = last {
            let uncount = |counter: &mut usize, is_counted: bool| {
                *counter = counter.saturating_sub(usize::from(is_counted));
            };
            uncount(&mut self.evaluated, true);
            uncount(&mut self.denied, was_denied);
            uncount(&mut self.warned, was_warned);
            is_denied |= was_denied;
            is_warned = !is_denied && (is_warned || was_warned);
        }
        count(&mut self.evaluated, true);
        count(&mut self.denied, is_denied);
        count(&mut self.warned, is_warned);
        self.last = Some((
            result.object.clone(),
            result.operation,
            [is_denied, is_warned],
        ));
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
