//! Totals of a history.

use std::borrow::Cow;

use managed_by::{Decision, Enforcement, Malformed, ReleaseSet};

use super::step::{Asked, Said, Seen, Step};
use super::task::Task;
use crate::json::Members;
use crate::judge::{Found, ObjectReport};
use crate::object_name::{ObjectName, kind_and_group};
use crate::unjudged::{Unjudged, Why};

/// Totals of a history.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Number of documents read.
    pub documents: u64,
    /// Number of object states and writes in the documents.
    pub states: u64,
    /// Number of evaluated requests.
    pub judged: u64,
    /// Number of denied requests.
    pub denied: u64,
    /// Number of requests allowed with a warning.
    pub warned: u64,
    /// Number of objects evaluated as stored. They are not requests, so none of them is denied.
    pub stored: u64,
    /// Number of stored objects with findings.
    pub stored_found: u64,
    /// Number of writes that the API server rejected.
    pub refused: u64,
    /// Number of records that could not be evaluated, per reason, sorted by reason.
    pub unjudged: Vec<(Why, u64)>,
    /// Unsupported kinds, sorted, with the number of states: `Pod`, `Deployment.apps`.
    pub unknown: Vec<(String, u64)>,
    /// Findings, sorted by key.
    pub rows: Vec<(RowKey, Row)>,
}

/// Key of a tally row.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowKey {
    /// Kind and group, such as `Job.batch`.
    pub kind: String,
    /// Id of the rule.
    pub rule: &'static str,
    /// True if the rule denies (or would deny, for a stored object), false if it warns.
    pub is_denied: bool,
    /// True if the objects were evaluated as stored.
    pub is_stored: bool,
}

/// Findings of one rule on objects of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The first finding.
    pub found: Found,
    /// Number of findings.
    pub count: u64,
    /// Releases with the finding, unless all releases have it or only one was evaluated.
    pub releases: Option<ReleaseSet>,
    /// First occurrence.
    pub first: Seen,
    /// Last occurrence.
    pub last: Seen,
    /// The first object.
    pub object: ObjectName,
    /// User of the first finding, if recorded.
    pub user: Option<String>,
}

impl Tally {
    /// Counts the result of a task. Returns a step if there is something to report.
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
            // A stored object can have findings, but there is no request to deny.
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

    /// Counts the findings of a request.
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

    /// Returns the number of records that could not be evaluated.
    pub fn unjudged_count(&self) -> u64 {
        let counts = self.unjudged.iter().map(|(_, count)| *count);
        counts.fold(0, u64::saturating_add)
    }
}

/// Returns the value of a key in a sorted list, inserting it if missing. A linear structure is enough for few keys.
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

/// Returns `username` from `userInfo`.
pub(super) fn username(json: &str) -> Option<String> {
    Members::of(json)?.string("username").map(Cow::into_owned)
}

/// Adds with saturation.
pub(super) fn add(count: u64, more: usize) -> u64 {
    count.saturating_add(u64::try_from(more).unwrap_or(u64::MAX))
}
