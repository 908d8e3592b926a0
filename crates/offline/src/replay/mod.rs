//! Recorded history as the requests that made it.
//!
//! Two consecutive states of one object are an update: of its status where the status differs, else of the main resource.
//! Where both differ they are two updates, first of the main resource. The first state of an object is a create, or with a
//! status an object as it is stored: nobody asks for that, so that nobody is denied.
//! An audit log says itself what was asked, and by whom.

mod groups;
mod past;
mod step;
mod tally;
mod task;
mod writers;

use crate::judge::Judge;
use crate::record::{Record, read};
use crate::request::Request;
use crate::split::{Part, parts};
use crate::unjudged::Unjudged;
use groups::in_groups;
use past::{Past, stored};
use tally::add;
use task::Task;

pub use step::{Asked, ObjectName, Said, Seen, Step};
pub use tally::{Row, RowKey, Tally};
pub use writers::{StatusWriter, StatusWriters, WriterSums, Written};

/// Replays a history. It remembers the last state of each object that lives.
#[derive(Debug)]
pub struct Replay<'s> {
    past: Past<'s>,
    tally: Tally,
}

/// A record, and where it stands.
struct Item<'c> {
    line: u64,
    record: Result<Record<'c>, Unjudged>,
}

impl<'s> Replay<'s> {
    /// An empty history.
    pub fn new(judge: Judge<'s>) -> Self {
        Self {
            past: Past::new(judge),
            tally: Tally::default(),
        }
    }

    /// The sums up to now.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// How many objects live.
    pub fn live(&self) -> usize {
        self.past.live.len()
    }

    /// Judges what a chunk of a source says, whose documents are complete ([`crate::complete`]). What is to tell comes in
    /// the order of the source. Returns how many lines the chunk has.
    pub fn chunk(
        &mut self,
        bytes: &[u8],
        source: usize,
        lines_before: u64,
        mut tell: impl FnMut(Step),
    ) -> u64 {
        let (items, lines) = self.items(bytes, lines_before);
        let before = self.past.before(&items);
        let (tasks, latest) = self.past.tasks(&items, &before);
        let judge = &self.past.judge;
        let answers = in_groups(&tasks, |(_, task), answers| {
            answers.push(task.answer(judge));
        });
        let mut is_told = false;
        for ((item, task), answer) in tasks.iter().zip(answers) {
            // Both halves of a change have the same object: what is wrong with it is told once.
            let is_second = std::mem::take(&mut is_told) && task.is_half();
            if let Some(Err(_)) = answer {
                if is_second {
                    continue;
                }
                is_told = task.is_half();
            }
            let seen = |time| Seen {
                source,
                line: item.line,
                time,
            };
            if let Some(step) = self.tally.add(answer, task, seen) {
                tell(step);
            }
        }
        self.tally.refused = add(
            self.tally.refused,
            items
                .iter()
                .filter(|item| matches!(item.record, Ok(Record::Refused)))
                .count(),
        );
        let updates = stored(&latest);
        self.past.update(updates);
        lines
    }

    /// Hands out the requests of a chunk, and what is none, without judging them; otherwise as [`Replay::chunk`].
    pub fn requests(
        &mut self,
        bytes: &[u8],
        source: usize,
        lines_before: u64,
        mut each: impl FnMut(Seen, Result<&Request<'_>, (&ObjectName, &Unjudged)>),
    ) -> u64 {
        let (items, lines) = self.items(bytes, lines_before);
        let before = self.past.before(&items);
        let (tasks, latest) = self.past.tasks(&items, &before);
        for (item, task) in &tasks {
            let (time, request) = match task {
                Task::Judge(asking) => (asking.time(), Ok(&asking.request)),
                Task::Tell(object, unjudged) => (None, Err((object, unjudged))),
                Task::Nothing | Task::Unknown(_) => continue,
            };
            let line = item.line;
            each(Seen { source, line, time }, request);
        }
        let updates = stored(&latest);
        self.past.update(updates);
        lines
    }

    /// The records of a chunk, and how many lines it has.
    fn items<'c>(&mut self, bytes: &'c [u8], lines_before: u64) -> (Vec<Item<'c>>, u64) {
        let parts = parts(bytes);
        self.tally.documents = add(self.tally.documents, parts.len());
        let lines = match parts.last() {
            Some(last) => add(lines(last.bytes), last.lines_before),
            None => lines(bytes),
        };
        let items = in_groups(&parts, |part, items| {
            read(part.bytes, |lines, record| {
                let line = line_of(lines_before, part, lines);
                items.push(Item { line, record });
            });
        });
        (items, lines)
    }
}

/// The line of a source, from 1, where something stands in a part of a chunk.
fn line_of(lines_before: u64, part: &Part<'_>, lines: usize) -> u64 {
    let before = add(lines_before, part.lines_before);
    add(before, lines.saturating_add(1))
}

/// How many lines end in these bytes.
fn lines(bytes: &[u8]) -> u64 {
    let lines = memchr::memchr_iter(b'\n', bytes).count();
    u64::try_from(lines).unwrap_or(u64::MAX)
}
