//! The sums of a history.

use std::borrow::Cow;

use managed_by::{Decision, Enforcement, Malformed, ReleaseSet};

use super::step::{Asked, Said, Seen, Step};
use super::task::Task;
use crate::json::Members;
use crate::judge::{Found, ObjectReport};
use crate::object_name::{ObjectName, kind_and_group};
use crate::unjudged::{Unjudged, Why};

/// The sums of a history.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Documents that were read.
    pub documents: u64,
    /// States of objects, and writes, among them.
    pub states: u64,
    /// Requests that were judged.
    pub judged: u64,
    /// Requests that were denied.
    pub denied: u64,
    /// Requests that were allowed with a warning.
    pub warned: u64,
    /// Objects that were judged as they were stored. Nobody asked for them: they are no requests, and none is denied.
    pub stored: u64,
    /// Those of them in which rules found something.
    pub stored_found: u64,
    /// Writes that the API server itself had refused.
    pub refused: u64,
    /// What could not be judged, by reason, in their order.
    pub unjudged: Vec<(Why, u64)>,
    /// Kinds that the library does not know, in their order, with the number of states: `Pod`, `Deployment.apps`.
    pub unknown: Vec<(String, u64)>,
    /// What was found, in the order of the keys.
    pub rows: Vec<(RowKey, Row)>,
}

/// What a row of a tally is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowKey {
    /// `Job.batch`
    pub kind: String,
    /// The id of the rule.
    pub rule: &'static str,
    /// Whether it denied, rather than warned. Of a stored object, whether it would deny it.
    pub is_denied: bool,
    /// Whether the objects were stored.
    pub is_stored: bool,
}

/// How often a rule fired on objects of a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// What the rule found the first time.
    pub found: Found,
    /// How often.
    pub count: u64,
    /// The releases that find it, where not all do or all are asked.
    pub releases: Option<ReleaseSet>,
    /// The first time.
    pub first: Seen,
    /// The last time.
    pub last: Seen,
    /// The first object.
    pub object: ObjectName,
    /// Who wrote it, if the record says.
    pub user: Option<String>,
}

impl Tally {
    /// Adds what was said, and makes a step of it if it is to be told.
    pub(super) fn add(
        &mut self,
        answer: Option<Result<Box<ObjectReport>, Malformed>>,
        task: &Task<'_>,
        seen: impl Fn(Option<String>) -> Seen,
    ) -> Option<Step> {
        let asking = match task {
            Task::Nothing => return None,
            Task::Unknown(state) => {
                self.states = add(self.states, 1);
                let kind = kind_and_group(&state.kind, &state.group);
                if let Some(count) = entry(&mut self.unknown, kind, || 0) {
                    *count = add(*count, 1);
                }
                return None;
            }
            Task::Tell(object, unjudged) => {
                return Some(self.unjudged(seen(None), object.clone(), unjudged.clone()));
            }
            Task::Judge(asking) => asking,
        };
        self.states = add(self.states, 1);
        let state = asking.request.state;
        let mut judgement = match answer? {
            Ok(judgement) => judgement,
            Err(malformed) => {
                let unjudged = Unjudged::new(Why::Malformed, malformed.to_string());
                return Some(self.unjudged(seen(asking.time()), ObjectName::of(state), unjudged));
            }
        };
        let is_stored = asking.request.asks.is_stored();
        let counter = if is_stored {
            &mut self.stored
        } else {
            &mut self.judged
        };
        *counter = add(*counter, 1);
        if judgement.is_quiet() {
            return None;
        }
        if is_stored {
            // It is found and not denied: nobody asks for it.
            judgement.decision = Decision::Allowed;
        }
        let asked = Asked {
            asks: asking.request.asks,
            user: asking.write.and_then(|write| username(write.user?)),
            judgement: *judgement,
        };
        let (seen, object) = (seen(asking.time()), ObjectName::of(state));
        self.count(&seen, &object, &asked);
        Some(Step {
            seen,
            object,
            said: Said::Found(Box::new(asked)),
        })
    }

    fn unjudged(&mut self, seen: Seen, object: ObjectName, unjudged: Unjudged) -> Step {
        let count = entry(&mut self.unjudged, unjudged.why, || 0);
        if let Some(count) = count {
            *count = add(*count, 1);
        }
        Step {
            seen,
            object,
            said: Said::Unjudged(unjudged),
        }
    }

    /// Counts what was found.
    fn count(&mut self, seen: &Seen, object: &ObjectName, request: &Asked) {
        let is_stored = request.asks.is_stored();
        let counter = if is_stored {
            &mut self.stored_found
        } else if request.judgement.decision.is_allowed() {
            &mut self.warned
        } else {
            &mut self.denied
        };
        *counter = add(*counter, 1);
        let kind = object.kind_and_group();
        for found in &request.judgement.findings {
            let key = RowKey {
                kind: kind.clone(),
                rule: found.rule.id(),
                is_denied: found.enforcement == Enforcement::Deny,
                is_stored,
            };
            let row = entry(&mut self.rows, key, || Row {
                found: found.clone(),
                count: 0,
                releases: found.releases,
                first: seen.clone(),
                last: seen.clone(),
                object: object.clone(),
                user: request.user.clone(),
            });
            let Some(row) = row else { continue };
            row.count = add(row.count, 1);
            row.last = seen.clone();
            row.releases = match (row.releases, found.releases) {
                (Some(known), Some(new)) => Some(known.union(new)),
                _ => None,
            };
        }
    }

    /// How much could not be judged.
    pub fn unjudged_count(&self) -> u64 {
        let counts = self.unjudged.iter().map(|(_, count)| *count);
        counts.fold(0, u64::saturating_add)
    }
}

/// The value of a key in a list that is sorted by it, put in if it is not there. There are few keys.
pub(super) fn entry<K: Ord, V>(
    sorted: &mut Vec<(K, V)>,
    key: K,
    make: impl FnOnce() -> V,
) -> Option<&mut V> {
    let place = match sorted.binary_search_by(|(known, _)| known.cmp(&key)) {
        Ok(place) => place,
        Err(place) => {
            sorted.insert(place, (key, make()));
            place
        }
    };
    sorted.get_mut(place).map(|(_, value)| value)
}

/// The name in `userInfo`.
pub(super) fn username(json: &str) -> Option<String> {
    Members::of(json)?.string("username").map(Cow::into_owned)
}

/// A count that stops at its end.
pub(super) fn add(count: u64, more: usize) -> u64 {
    count.saturating_add(u64::try_from(more).unwrap_or(u64::MAX))
}
