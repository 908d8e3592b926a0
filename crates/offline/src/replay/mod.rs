//! Reconstructs admission requests from recorded history.
//!
//! Two consecutive states of an object become an update: of the status if the status differs, otherwise of the main
//! resource. If both differ, they become two updates, the main resource first. The first state of an object becomes a
//! create, or a stored object if it has a status; a stored object is never denied, because there is no request. Audit
//! events contain the operation and the user.

mod groups;
mod item;
mod past;
mod step;
mod tally;
mod task;
mod writers;

use std::borrow::Cow;

use crate::judge::Judge;
use crate::named::Named;
use crate::record::{Record, read};
use crate::request::Request;
use crate::split::{Part, parts};
use crate::unjudged::Unjudged;
use groups::in_groups;
use item::Item;
use past::{Past, stored};
use tally::add;
use task::Task;

pub use crate::object_name::ObjectName;
pub use step::{Asked, Said, Seen, Step};
pub use tally::{Row, RowKey, Tally};
pub use writers::{StatusWriter, StatusWriters, WriterSums, Written};

/// Replays a history, tracking the last state of each live object.
#[derive(Debug)]
pub struct Replay<'s> {
    past: Past<'s>,
    tally: Tally,
}

struct Items<'c> {
    items: Vec<Item<'c>>,
    /// Indexes of the documents that are held back.
    waiting: Vec<usize>,
}

impl<'s> Replay<'s> {
    /// Creates a replay with an empty history.
    pub fn new(judge: Judge<'s>) -> Self {
        Self {
            past: Past::new(judge),
            tally: Tally::default(),
        }
    }

    /// Returns the totals so far.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Returns the number of live objects.
    pub fn live(&self) -> usize {
        self.past.live.len()
    }

    /// Evaluates a chunk of complete documents (see [`crate::complete`]) from one source. Steps are reported in source
    /// order. Returns the number of lines in the chunk.
    pub fn chunk(
        &mut self,
        bytes: &[u8],
        source: usize,
        lines_before: u64,
        tell: impl FnMut(Step),
    ) -> u64 {
        let (parts, lines) = parts(bytes, source, lines_before);
        self.parts(&parts, 0, tell);
        lines
    }

    /// Evaluates documents in order, except that writes to one object are sorted by `resourceVersion`: API servers log
    /// audit events in completion order. Returns the indexes of the last `held` documents with a write, which the caller
    /// must pass again with the documents that follow.
    pub fn parts(
        &mut self,
        parts: &[Part<'_>],
        held: usize,
        mut tell: impl FnMut(Step),
    ) -> Vec<usize> {
        let Items { items, waiting } = self.items(parts, held);
        let before = self.past.before(&items);
        let (tasks, latest) = self.past.tasks(&items, &before);
        let judge = &self.past.judge;
        let answers = in_groups(&tasks, |(_, task), answers| {
            answers.push(task.answer(judge));
        });
        let mut is_told = false;
        for ((item, task), answer) in tasks.iter().zip(answers) {
            // Both halves of a change have the same object, so an error in it is reported once.
            let is_second = std::mem::take(&mut is_told) && task.is_half();
            if let Some(Err(_)) = answer {
                if is_second {
                    continue;
                }
                is_told = task.is_half();
            }
            if let Some(step) = self.tally.add(answer, task, |time| item.seen(time)) {
                tell(step);
            }
        }
        let refused = items
            .iter()
            .filter(|item| matches!(item.record, Ok(Record::Refused)));
        self.tally.refused = add(self.tally.refused, refused.count());
        let updates = stored(&latest);
        self.past.update(updates);
        waiting
    }

    /// Passes the requests of the documents, and the records without one, to the callback without evaluating them;
    /// otherwise like [`Replay::parts`].
    pub fn requests(
        &mut self,
        parts: &[Part<'_>],
        held: usize,
        mut each: impl FnMut(Seen, Result<&Request<'_>, (&ObjectName, &Unjudged)>),
    ) -> Vec<usize> {
        let Items { items, waiting } = self.items(parts, held);
        let before = self.past.before(&items);
        let (tasks, latest) = self.past.tasks(&items, &before);
        for (item, task) in &tasks {
            let (time, request) = match task {
                Task::Judge(asking) => (asking.time(), Ok(&asking.request)),
                Task::Tell(object, unjudged) => (None, Err((object, unjudged))),
                Task::Nothing | Task::Unknown(_) => continue,
            };
            each(item.seen(time), request);
        }
        let updates = stored(&latest);
        self.past.update(updates);
        waiting
    }

    /// Parses the records of the documents, without held-back ones.
    fn items<'c>(&mut self, parts: &[Part<'c>], held: usize) -> Items<'c> {
        let places: Vec<_> = parts.iter().enumerate().collect();
        let mut items = in_groups(&places, |(place, part), items| {
            read(part.bytes, |lines, record| {
                items.push(Item {
                    place: *place,
                    source: part.source,
                    line: add(part.lines_before, lines.saturating_add(1)),
                    record,
                });
            });
        });
        sort_writes(&mut items);
        let mut is_waiting = vec![false; parts.len()];
        let mut waiting = Vec::new();
        let is_write = |item: &&Item<'_>| matches!(item.record, Ok(Record::Write(_)));
        for item in items.iter().rev().filter(is_write) {
            match is_waiting.get_mut(item.place) {
                Some(is_waiting) if !*is_waiting && waiting.len() < held => {
                    *is_waiting = true;
                    waiting.push(item.place);
                }
                Some(true) => {}
                _ => break,
            }
        }
        waiting.reverse();
        items.retain(|item| is_waiting.get(item.place) != Some(&true));
        let judged = parts.len().saturating_sub(waiting.len());
        self.tally.documents = add(self.tally.documents, judged);
        Items { items, waiting }
    }
}

/// Sorts the writes to each object by version, within the positions that they occupy.
fn sort_writes(items: &mut [Item<'_>]) {
    let mut of_objects: Named<'_, Vec<(u64, usize)>> = Named::default();
    let mut is_sorted = true;
    for (place, item) in items.iter().enumerate() {
        let Ok(Record::Write(write)) = &item.record else {
            continue;
        };
        let Some(version) = write.state.metadata.resource_version else {
            continue;
        };
        let identity = write.state.identity();
        match of_objects.get_mut(&identity) {
            Some(writes) => {
                is_sorted &= writes.last().is_none_or(|(last, _)| *last <= version);
                writes.push((version, place));
            }
            None => of_objects.insert(Cow::Owned(identity.into_owned()), vec![(version, place)]),
        }
    }
    if is_sorted {
        return;
    }
    // The target index of each item.
    let mut to: Vec<usize> = (0..items.len()).collect();
    for (_, writes) in of_objects.iter() {
        let mut sorted = writes.clone();
        sorted.sort_by_key(|(version, _)| *version);
        for ((_, from), (_, place)) in sorted.iter().zip(writes) {
            if let Some(to) = to.get_mut(*from) {
                *to = *place;
            }
        }
    }
    for place in 0..to.len() {
        while let Some(target) = to.get(place).copied().filter(|target| *target != place) {
            items.swap(place, target);
            to.swap(place, target);
        }
    }
}
