//! Reconstructs admission requests from recorded history.
//!
//! Two consecutive states of an object become an update: of the status if the status differs, otherwise of the main
//! resource. If both differ, they become two updates, the main resource first. The first state of an object becomes a
//! create, or a stored object if it has a status; a stored object is never denied, because there is no request. Audit
//! events contain the operation and the user. A write that the API server rejected is evaluated too, but the next state of
//! the object is compared with the state before it.

mod history;
mod parallel;
mod step;
mod tally;
mod writers;

use std::num::NonZeroU64;

use crate::evaluator::Evaluator;
use crate::record::{Record, read};
use crate::split::SourceDocument;
use history::{ObjectHistory, copy_states};
use parallel::par_flat_map;
use step::{PositionedRecord, Task};
use tally::add;

pub use crate::object_ref::ObjectRef;
pub use crate::record::RejectedWrite;
pub use step::{
    EvaluatedRequest, RecordPosition, RecordedChange, RejectedRequest, Step, StepResult,
};
pub use tally::{Tally, TallyRow, TallyRowKey};
pub use writers::{StatusWriter, StatusWriterCollector, StatusWriterLists, WriterTotals};

/// Replays a history, tracking the last state of each live object.
#[derive(Debug)]
pub struct Replay<'s> {
    history: ObjectHistory<'s>,
    tally: Tally,
}

impl<'s> Replay<'s> {
    /// Creates a replay with an empty history.
    pub fn new(evaluator: Evaluator<'s>) -> Self {
        Self {
            history: ObjectHistory::new(evaluator),
            tally: Tally::default(),
        }
    }

    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    pub fn live_objects(&self) -> usize {
        self.history.live.len()
    }

    /// Evaluates documents (see [`crate::split_documents`]) in order, except that writes to one object are sorted by `resourceVersion`: API servers log
    /// audit events in completion order. Returns the indexes of the last `reorder_window` documents with a write, which the
    /// caller must pass again with the documents that follow.
    pub fn evaluate_documents(
        &mut self,
        documents: &[SourceDocument<'_>],
        reorder_window: usize,
        mut each: impl FnMut(Step),
    ) -> Vec<usize> {
        self.with_tasks(documents, reorder_window, |evaluator, tally, tasks| {
            let results = par_flat_map(tasks, |(_, task), results| {
                results.push(task.evaluate(evaluator));
            });
            let mut is_reported = false;
            for ((item, task), result) in tasks.iter().zip(results) {
                // Both requests of a split update have the same object, so an error in it is reported once.
                let is_second = std::mem::take(&mut is_reported) && task.is_split_update();
                let is_error = matches!(result, Some(Err(_)));
                if is_error && is_second {
                    continue;
                }
                is_reported = is_error && task.is_split_update();
                if let Some(step) = tally.add(result, task, |time| item.position(time)) {
                    each(step);
                }
            }
        })
    }

    /// Returns true if the object with an identity (see [`crate::Request::identity`]) is live.
    pub fn is_live(&self, identity: &str) -> bool {
        self.history.live.contains_key(identity)
    }

    /// Passes the changes in the documents to the callback without evaluating them; otherwise like
    /// [`Replay::evaluate_documents`].
    pub fn for_each_change(
        &mut self,
        documents: &[SourceDocument<'_>],
        reorder_window: usize,
        mut each: impl FnMut(RecordPosition, RecordedChange<'_, '_>),
    ) -> Vec<usize> {
        self.with_tasks(documents, reorder_window, |_, _, tasks| {
            for (item, task) in tasks {
                match task {
                    Task::Evaluate(recorded) => {
                        let change = RecordedChange::Accepted(&recorded.request);
                        each(item.position(recorded.time()), change);
                    }
                    Task::Rejected(write, request) => {
                        let time = write.time.as_deref().map(str::to_owned);
                        let change = RecordedChange::Rejected(write, request.as_ref().ok());
                        each(item.position(time), change);
                    }
                    Task::Skip(object, skipped) => {
                        each(
                            item.position(None),
                            RecordedChange::Skipped(object, skipped),
                        );
                    }
                    Task::Ignore | Task::Unsupported(_) => {}
                }
            }
        })
    }

    /// Parses documents, passes the tasks for their records to a function, and stores the new states of the objects.
    /// Returns the indexes of the documents that are held back.
    fn with_tasks(
        &mut self,
        documents: &[SourceDocument<'_>],
        reorder_window: usize,
        run: impl FnOnce(&Evaluator<'s>, &mut Tally, &[(&PositionedRecord<'_>, Task<'_>)]),
    ) -> Vec<usize> {
        let (items, held_back) = parse_records(documents, reorder_window);
        let evaluated = documents.len().saturating_sub(held_back.len());
        self.tally.documents = add(self.tally.documents, evaluated);
        let previous = self.history.previous_states(&items);
        let (tasks, latest) = self.history.tasks(&items, &previous);
        run(&self.history.evaluator, &mut self.tally, &tasks);
        let updates = copy_states(&latest);
        self.history.update(updates);
        held_back
    }
}

/// Parses the records of documents, without held-back ones. Returns the indexes of those documents too.
fn parse_records<'c>(
    documents: &[SourceDocument<'c>],
    reorder_window: usize,
) -> (Vec<PositionedRecord<'c>>, Vec<usize>) {
    let indexed: Vec<_> = documents.iter().enumerate().collect();
    let mut items = par_flat_map(&indexed, |(index, document), items| {
        read(document.bytes, |lines, record| {
            items.push(PositionedRecord {
                document: *index,
                source: document.source,
                line: add(document.lines_before, lines.saturating_add(1)),
                record,
            });
        });
    });
    sort_writes(&mut items);
    let mut held_back = Vec::new();
    for item in items.iter().rev() {
        let is_write = matches!(item.record, Ok(Record::Write(_) | Record::Rejected(_)));
        if is_write && !held_back.contains(&item.document) {
            if held_back.len() == reorder_window {
                break;
            }
            held_back.push(item.document);
        }
    }
    held_back.reverse();
    items.retain(|item| !held_back.contains(&item.document));
    (items, held_back)
}

/// Sorts the writes to each object by version, within the positions that they occupy.
fn sort_writes(items: &mut Vec<PositionedRecord<'_>>) {
    let mut order: Vec<usize> = (0..items.len()).collect();
    let writes = items.iter().enumerate().filter_map(|(index, item)| {
        let Ok(Record::Write(write)) = &item.record else {
            return None;
        };
        let version = write.state.metadata.resource_version?;
        Some((write.state.identity(), version, index))
    });
    let mut sorted: Vec<_> = writes.collect();
    let slots = sorted
        .iter()
        .map(|(identity, _, index)| (identity.clone(), NonZeroU64::MIN, *index));
    let mut positions: Vec<_> = slots.collect();
    positions.sort_unstable();
    sorted.sort_unstable();
    for ((.., position), (.., index)) in positions.iter().zip(&sorted) {
        if let Some(target) = order.get_mut(*position) {
            *target = *index;
        }
    }
    if order.is_sorted() {
        return;
    }
    let mut unsorted: Vec<_> = std::mem::take(items).into_iter().map(Some).collect();
    let sorted = order.into_iter();
    items.extend(sorted.filter_map(|index| unsorted.get_mut(index)?.take()));
}
