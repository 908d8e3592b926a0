//! What is found at the end of the paths.

use std::borrow::Cow;

use super::conditions::{ConditionFacts, Conditions, notes_of};
use super::paths::Leaf;
use crate::decode::{Path, Raw};
use crate::kind::Kind;
use crate::kind::status::{FailureReasons, StatusMatcher};
use crate::object::custom::{Custom, MAX_NESTED, Nested, Status};
use crate::object::{Metadata, Object};
use crate::upstream::time::Time;

/// What was read so far.
#[derive(Default)]
pub(super) struct Reading<'a> {
    /// Of the object that is being read: the outer one, or one that is nested in it.
    pub(super) managed_by: Option<Cow<'a, str>>,
    pub(super) nested: Vec<Nested<'a>>,
    /// How many templates were looked at, and one more once the first was left out.
    pub(super) templates: usize,
    retries: usize,
    /// What conditions say.
    facts: ConditionFacts,
    states: Vec<(&'a str, Cow<'a, str>)>,
    /// What the last attempt says of its failure.
    attempt_notes: FailureReasons,
    status: Status<'a>,
    /// The kind of the nested object that is being read.
    pub(super) kind: Option<&'a Kind<'a>>,
    pub(super) depth: usize,
}

impl<'a> Reading<'a> {
    /// The object of what was read.
    pub(super) fn object(mut self, metadata: Metadata<'a>, kind: &Kind<'_>) -> Object<'a> {
        Object {
            metadata,
            managed_by: self.managed_by.take(),
            job: None,
            custom: self.custom(kind),
        }
    }

    /// What was read beside the field, if there is anything.
    fn custom(self, kind: &Kind<'_>) -> Option<Box<Custom<'a>>> {
        let mut status = self.status;
        status.ends = self.facts.ends;
        status.notes = self.facts.notes | self.attempt_notes;
        status.exclusive = self.facts.exclusive;
        status.is_deployed = self.facts.is_deployed;
        if let Some(outcome) = kind.status_profile().and_then(|s| s.outcome) {
            let is = |sign: &StatusMatcher<'_>| match *sign {
                StatusMatcher::Field { path, values } => {
                    let mut words = self.states.iter();
                    words.any(|(at, word)| *at == path && values.contains(&&**word))
                }
                StatusMatcher::Condition { .. } => false,
            };
            for (end, sign) in outcome.terminal_states() {
                status.ends.set(
                    end,
                    status.ends.contains(end) || sign.as_ref().is_some_and(is),
                );
            }
            status.is_deployed |= outcome.deployed.as_ref().is_some_and(is);
            let is_final = |word: &Cow<'_, str>| match outcome.reason {
                Some(StatusMatcher::Field { values, .. }) => values.contains(&&**word),
                _ => false,
            };
            status.reason = status.reason.filter(is_final);
        }
        let custom = Custom {
            nested: self.nested,
            status,
            retries: self.retries,
        };
        (!custom.nested.is_empty() || custom.status != Status::default()).then(|| Box::new(custom))
    }

    /// Reads what is at the end of a path from its text: all but templates.
    pub(super) fn raw(&mut self, leaf: Leaf<'a>, raw: Raw<'a>, path: &Path<'_>) {
        match leaf {
            Leaf::ManagedBy => self.managed_by = raw.string(),
            // Read in passing.
            Leaf::Template(_) => {}
            Leaf::Retries => {
                let retries = raw.number().unwrap_or_default().max(0);
                self.retries = retries.try_into().unwrap_or(usize::MAX);
            }
            Leaf::Conditions(profile) => {
                let mut conditions = Conditions::new(&[], Some(profile));
                conditions.read(raw);
                self.facts = conditions.facts;
            }
            Leaf::State(path) => {
                let word = raw.string();
                self.states.extend(word.map(|word| (path, word)));
            }
            Leaf::TerminalState => self.status.terminal_state = raw.string(),
            Leaf::Reason => self.status.reason = raw.string(),
            Leaf::Attempts(attempts) => {
                let (mut count, mut last) = (0_usize, None);
                raw.for_each(|attempt: Raw<'a>| {
                    count = count.saturating_add(1);
                    last = Some(attempt);
                });
                self.status.attempts = count;
                let notes = last.map(|attempt| notes_of(attempt, attempts.failure_reasons));
                self.attempt_notes = notes.unwrap_or_default();
            }
            Leaf::Start => self.status.start = time(raw),
            Leaf::End => self.status.end = time(raw),
            Leaf::Counter => self.count(raw.number(), path),
            Leaf::Total(index) => {
                let total = raw.number();
                self.count(total, path);
                if let Some(total) = total {
                    let totals = &mut self.status.totals;
                    totals.resize(totals.len().max(index.saturating_add(1)), 0);
                    totals.splice(index..=index, [total]);
                }
            }
        }
    }

    fn count(&mut self, count: Option<i64>, path: &Path<'_>) {
        let negative = count.filter(|count| *count < 0);
        if let Some(count) = negative.filter(|_| self.status.negative.len() < MAX_NESTED) {
            self.status.negative.push((path.to_string(), count));
        }
    }
}

/// A time; [`None`] where something else is.
fn time(raw: Raw<'_>) -> Option<Time> {
    Time::parse(&raw.string()?)
}
