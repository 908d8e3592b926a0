//! Tracks the last state of each object and derives the task for each record.

use std::borrow::Cow;

use super::groups::in_groups;
use super::item::Item;
use super::task::{Asking, Task};
use crate::asks::Asks;
use crate::json::Members;
use crate::judge::Judge;
use crate::named::Named;
use crate::object_name::ObjectName;
use crate::record::{Event, Record, State, Write};
use crate::request::{Request, Who};
use crate::same::same;
use crate::unjudged::{Unjudged, Why};

/// Object states before a chunk, and the judge for new requests.
#[derive(Debug)]
pub(super) struct Past<'s> {
    pub(super) judge: Judge<'s>,
    /// Last states of live objects, by identity.
    pub(super) live: Named<'static, Stored>,
}

/// An owned copy of an object's state at the end of a chunk.
#[derive(Debug)]
pub(super) struct Stored {
    json: Box<str>,
    resource_version: Option<u64>,
}

/// States of objects before a chunk, by identity, for objects that need more than the version.
pub(super) type Before<'c> = Named<'c, State<'c>>;

/// Last states of objects in a chunk; [`None`] if deleted.
pub(super) type Latest<'c> = Named<'c, Option<&'c State<'c>>>;

/// Copies the final states of a chunk's objects; [`None`] if deleted.
pub(super) fn stored(latest: &Latest<'_>) -> Vec<(String, Option<Stored>)> {
    let stored = |state: &State<'_>| Stored {
        json: state.text.into(),
        resource_version: state.metadata.resource_version,
    };
    latest
        .iter()
        .map(|(identity, state)| (identity.to_owned(), state.map(stored)))
        .collect()
}

impl<'s> Past<'s> {
    /// Creates an empty history.
    pub(super) fn new(judge: Judge<'s>) -> Self {
        let live = Named::default();
        Self { judge, live }
    }

    /// Stores the states at the end of a chunk.
    pub(super) fn update(&mut self, updates: Vec<(String, Option<Stored>)>) {
        for (identity, stored) in updates {
            match stored {
                Some(stored) => self.live.insert(identity.into(), stored),
                None => self.live.remove(&identity),
            }
        }
    }

    /// Parses the previous states of a chunk's objects. Deleted, out-of-order and repeated objects only need the version.
    pub(super) fn before<'c>(&'c self, items: &'c [Item<'c>]) -> Before<'c> {
        let mut known = Named::default();
        let mut first = Vec::new();
        for item in items {
            let state = match &item.record {
                Ok(Record::State(event, state)) if *event != Event::Deleted => state,
                Ok(Record::Write(write)) if write.asks != Asks::Delete => &write.state,
                _ => continue,
            };
            let identity = state.identity();
            if let (Some(old), None) = (self.live.get(&identity), known.get(&identity))
                && versions(old.resource_version, state).is_none_or(|(before, now)| now > before)
            {
                known.insert(identity.clone(), ());
                first.push((identity, state, &*old.json));
            }
        }
        let states = in_groups(&first, |(_, state, json), states| {
            states.push(state.earlier(json));
        });
        let mut before = Before::default();
        for ((identity, ..), state) in first.into_iter().zip(states) {
            before.insert(identity, state);
        }
        before
    }

    /// Returns the task for each record, and the final state of each object in the chunk.
    pub(super) fn tasks<'c>(
        &self,
        items: &'c [Item<'c>],
        before: &'c Before<'c>,
    ) -> (Vec<(&'c Item<'c>, Task<'c>)>, Latest<'c>) {
        let mut latest = Latest::default();
        let mut tasks = Vec::with_capacity(items.len());
        for item in items {
            let task = match &item.record {
                Ok(Record::State(event, state)) => {
                    self.of_state(*event, state, before, &mut latest)
                }
                Ok(Record::Write(write)) => self.of_write(write, before, &mut latest),
                Ok(Record::Refused | Record::Nothing) => Task::Nothing,
                Err(unjudged) => Task::Tell(ObjectName::default(), unjudged.clone()),
            };
            if let Task::Judge(asking) = &task
                && let Some(request) = asking.request.first_half()
            {
                tasks.push((item, Task::Judge(Asking { request, ..*asking })));
            }
            tasks.push((item, task));
        }
        (tasks, latest)
    }

    /// Returns the previous state of an object, if parsed, and its version.
    fn old<'c>(
        &self,
        state: &State<'_>,
        before: &'c Before<'c>,
        latest: &Latest<'c>,
    ) -> (Option<&'c State<'c>>, Option<u64>) {
        let identity = state.identity();
        if let Some(old) = latest.get(&identity) {
            let version = old.and_then(|old| old.metadata.resource_version);
            return (*old, version);
        }
        let stored = self.live.get(&identity);
        let version = stored.and_then(|stored| stored.resource_version);
        (before.get(&identity), version)
    }

    fn of_state<'c>(
        &self,
        event: Event,
        state: &'c State<'c>,
        before: &'c Before<'c>,
        latest: &mut Latest<'c>,
    ) -> Task<'c> {
        if !self.judge.knows(&state.group, &state.version, &state.kind) {
            return Task::Unknown(state);
        }
        let (old, version) = self.old(state, before, latest);
        match versions(version, state) {
            Some((before, now)) if now < before => return out_of_order(state, now, before),
            // A restarted watch repeats objects.
            Some((before, now)) if now == before && event != Event::Deleted => {
                return Task::Nothing;
            }
            _ => {}
        }
        if event == Event::Deleted {
            latest.insert(state.identity(), None);
            return Task::Nothing;
        }
        latest.insert(state.identity(), Some(state));
        let Some(old) = old else {
            if event == Event::Modified {
                return seen_first(state);
            }
            // A create cannot set a status, so the object existed before.
            let is_stored = state.has_status();
            let asks = if is_stored {
                Asks::Stored
            } else {
                Asks::Create
            };
            return judge(asks, state, None, None);
        };
        // For a deletion blocked by finalizers, the API server sets the timestamp.
        if state.metadata.is_being_deleted && !old.metadata.is_being_deleted {
            return Task::Nothing;
        }
        let changes_status = !same(old.status, state.status);
        if !changes_status {
            return judge(Asks::Update, state, Some(old), None);
        }
        let mut task = judge(Asks::UpdateStatus, state, Some(old), None);
        if let Task::Judge(asking) = &mut task {
            asking.request.is_half = old.differs_beside_status(state);
        }
        task
    }

    fn of_write<'c>(
        &self,
        write: &'c Write<'c>,
        before: &'c Before<'c>,
        latest: &mut Latest<'c>,
    ) -> Task<'c> {
        let state = &write.state;
        if !self.judge.knows(&state.group, &state.version, &state.kind) {
            // The response to a deletion may be a `Status` whose details identify the object.
            if write.asks == Asks::Delete {
                if let Some(uid) = deleted_uid(state) {
                    latest.insert(uid, None);
                }
                return Task::Nothing;
            }
            return Task::Unknown(state);
        }
        let (old, version) = self.old(state, before, latest);
        if write.asks == Asks::Delete {
            let rest = state.metadata.has_finalizers;
            latest.insert(state.identity(), rest.then_some(state));
            return Task::Nothing;
        }
        match versions(version, state) {
            Some((before, now)) if now < before => return out_of_order(state, now, before),
            Some((before, now)) if now == before => return Task::Nothing,
            _ => {}
        }
        latest.insert(state.identity(), Some(state));
        let is_create = write.asks == Asks::Create;
        if !is_create && old.is_none() {
            return seen_first(state);
        }
        judge(write.asks, state, old.filter(|_| !is_create), Some(write))
    }
}

/// Returns the task for a change of an object.
fn judge<'c>(
    asks: Asks,
    state: &'c State<'c>,
    old: Option<&'c State<'c>>,
    write: Option<&'c Write<'c>>,
) -> Task<'c> {
    let request = Request {
        asks,
        remark: None,
        state,
        before: old,
        is_half: false,
        namespace: &state.metadata.namespace,
        user: Who::Recorded(write.and_then(|write| write.user)),
    };
    Task::Judge(Asking { request, write })
}

/// Returns the old and new versions, if both are present.
fn versions(old: Option<u64>, state: &State<'_>) -> Option<(u64, u64)> {
    Some((old?, state.metadata.resource_version?))
}

fn out_of_order<'c>(state: &State<'_>, now: u64, before: u64) -> Task<'c> {
    let text = format!("out of order: resourceVersion {now} after {before}");
    let unjudged = Unjudged::new(Why::OutOfOrder, text);
    Task::Tell(ObjectName::of(state), unjudged)
}

fn seen_first<'c>(state: &State<'_>) -> Task<'c> {
    let text = "seen first in the middle of its life: what was updated is not known";
    let unjudged = Unjudged::new(Why::SeenFirst, text);
    Task::Tell(ObjectName::of(state), unjudged)
}

/// Returns the UID of the deleted object in a `Status`.
fn deleted_uid<'c>(status: &'c State<'c>) -> Option<Cow<'c, str>> {
    let details = Members::of(status.text)?.get("details")?;
    Members::of(details)?.string("uid")
}
