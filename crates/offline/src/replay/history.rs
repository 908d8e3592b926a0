//! Tracks the last state of each object and derives the task for each record.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::num::NonZeroU64;

use super::parallel::par_flat_map;
use super::step::{PositionedRecord, RecordedRequest, Task};
use crate::evaluator::Evaluator;
use crate::json::{Members, is_equal};
use crate::object_ref::ObjectRef;
use crate::operation::Operation;
use crate::record::{Record, RejectedWrite, State, WatchEventType, Write};
use crate::request::{Request, RequestUser};
use crate::skipped::{SkipReason, SkippedRecord};

/// The reason why a rejected write is not evaluated.
const NO_OBJECT: &str = "the audit event does not contain the whole object: the write is a patch or a deletion, or the level is Metadata";

/// Object states before a chunk, and the evaluator for new requests.
#[derive(Debug)]
pub(super) struct ObjectHistory<'s> {
    pub(super) evaluator: Evaluator<'s>,
    /// Last states of live objects, by identity.
    pub(super) live: BTreeMap<String, StoredState>,
}

/// An owned copy of an object's state at the end of a chunk.
#[derive(Debug)]
pub(super) struct StoredState {
    json: Box<str>,
    resource_version: Option<NonZeroU64>,
    /// [`State::name`].
    name: Box<str>,
}

/// States of objects before a chunk, by identity, for objects that need more than the version.
pub(super) type PreviousStates<'c> = BTreeMap<Cow<'c, str>, State<'c>>;

/// Last states of objects in a chunk, by identity; [`None`] if deleted.
pub(super) type LatestStates<'c> = BTreeMap<Cow<'c, str>, Option<&'c State<'c>>>;

/// Copies the final states of a chunk's objects; [`None`] if deleted.
pub(super) fn copy_states(latest: &LatestStates<'_>) -> Vec<(String, Option<StoredState>)> {
    let stored = |state: &State<'_>| StoredState {
        json: state.text.into(),
        resource_version: state.metadata.resource_version,
        name: state.name().into(),
    };
    latest
        .iter()
        .map(|(identity, state)| (identity.to_string(), state.map(stored)))
        .collect()
}

impl<'s> ObjectHistory<'s> {
    pub(super) fn new(evaluator: Evaluator<'s>) -> Self {
        let live = BTreeMap::new();
        Self { evaluator, live }
    }

    /// Stores the states at the end of a chunk.
    pub(super) fn update(&mut self, updates: Vec<(String, Option<StoredState>)>) {
        for (identity, stored) in updates {
            match stored {
                Some(stored) => self.live.insert(identity, stored),
                None => self.live.remove(&identity),
            };
        }
    }

    /// Parses the previous states of a chunk's objects. Deleted, out-of-order and repeated objects only need the version.
    pub(super) fn previous_states<'c>(
        &'c self,
        items: &'c [PositionedRecord<'c>],
    ) -> PreviousStates<'c> {
        let mut first = BTreeMap::new();
        for item in items {
            let state = match &item.record {
                Ok(Record::State(event, state)) if *event != WatchEventType::Deleted => state,
                Ok(Record::Write(write)) if write.operation != Operation::Delete => &write.state,
                Ok(Record::Rejected(write)) if is_update(write.operation) => match &write.sent {
                    Some(sent) => sent,
                    None => continue,
                },
                _ => continue,
            };
            let is_rejected = matches!(item.record, Ok(Record::Rejected(_)));
            let identity = if is_rejected {
                self.identity_of_sent(state, &LatestStates::new())
            } else {
                state.identity()
            };
            if let Some(old) = self.live.get(&*identity)
                && versions(old.resource_version, state).is_none_or(|(before, now)| {
                    if is_rejected {
                        now == before
                    } else {
                        now > before
                    }
                })
            {
                first.entry(identity).or_insert((state, &*old.json));
            }
        }
        let first: Vec<_> = first.into_iter().collect();
        let states = par_flat_map(&first, |(_, (state, json)), states| {
            states.push(state.parse_previous(json));
        });
        let mut previous = PreviousStates::new();
        // Collecting into a map would add a second sort implementation to the npm module, and increase its size.
        for ((identity, _), state) in first.into_iter().zip(states) {
            previous.insert(identity, state);
        }
        previous
    }

    /// Returns the task for each record, and the final state of each object in the chunk.
    pub(super) fn tasks<'c>(
        &self,
        items: &'c [PositionedRecord<'c>],
        previous: &'c PreviousStates<'c>,
    ) -> (Vec<(&'c PositionedRecord<'c>, Task<'c>)>, LatestStates<'c>) {
        let mut latest = LatestStates::new();
        let mut tasks = Vec::with_capacity(items.len());
        for item in items {
            let task = match &item.record {
                Ok(Record::State(event, state)) => {
                    self.task_for_state(*event, state, previous, &mut latest)
                }
                Ok(Record::Write(write)) => self.task_for_write(write, previous, &mut latest),
                Ok(Record::Rejected(write)) if self.evaluator.knows(&write.object) => {
                    Task::Rejected(write, self.rejected_request(write, previous, &latest))
                }
                Ok(Record::Rejected(_) | Record::Ignored) => Task::Ignore,
                Err(skipped) => Task::Skip(ObjectRef::default(), skipped.clone()),
            };
            if let Task::Evaluate(recorded) = &task
                && let Some(request) = recorded.request.main_resource_update()
            {
                let write = recorded.write;
                tasks.push((item, Task::Evaluate(RecordedRequest { request, write })));
            }
            tasks.push((item, task));
        }
        (tasks, latest)
    }

    /// Returns the identity of the object that a client sent: the newest one with the name, if the client omitted the UID. Few
    /// clients omit it, so an index of names would cost more than it saves.
    fn identity_of_sent<'c>(
        &'c self,
        sent: &'c State<'_>,
        latest: &LatestStates<'c>,
    ) -> Cow<'c, str> {
        if !sent.metadata.uid.is_empty() {
            return sent.identity();
        }
        let name = sent.name();
        let in_chunk = latest.iter().filter_map(|(identity, state)| {
            let state = state.filter(|state| state.name() == name)?;
            Some((state.metadata.resource_version, identity.clone()))
        });
        let before = self.live.iter().filter_map(|(identity, stored)| {
            let is_live = *stored.name == *name && !latest.contains_key(&**identity);
            is_live.then(|| (stored.resource_version, identity.into()))
        });
        let newest = in_chunk.chain(before).max();
        newest.map_or(name.into(), |(_, identity)| identity)
    }

    /// Returns the previous state of an object, if parsed, and its version.
    fn old_state<'c>(
        &self,
        identity: &str,
        previous: &'c PreviousStates<'c>,
        latest: &LatestStates<'c>,
    ) -> (Option<&'c State<'c>>, Option<NonZeroU64>) {
        if let Some(old) = latest.get(identity) {
            let version = old.and_then(|old| old.metadata.resource_version);
            return (*old, version);
        }
        let stored = self.live.get(identity);
        let version = stored.and_then(|stored| stored.resource_version);
        (previous.get(identity), version)
    }

    fn rejected_request<'c>(
        &self,
        write: &'c RejectedWrite<'c>,
        previous: &'c PreviousStates<'c>,
        latest: &LatestStates<'c>,
    ) -> Result<Request<'c>, &'static str> {
        let state = write.sent.as_ref().ok_or(NO_OBJECT)?;
        let old = if is_update(write.operation) {
            let identity = self.identity_of_sent(state, latest);
            let (old, version) = self.old_state(&identity, previous, latest);
            if versions(version, state).is_some_and(|(before, sent)| before != sent) {
                return Err("the record before it has another resourceVersion");
            }
            Some(old.ok_or("the previous state is missing")?)
        } else {
            None
        };
        Ok(request(write.operation, state, old, write.user))
    }

    fn task_for_state<'c>(
        &self,
        event: WatchEventType,
        state: &'c State<'c>,
        previous: &'c PreviousStates<'c>,
        latest: &mut LatestStates<'c>,
    ) -> Task<'c> {
        if !self
            .evaluator
            .supports(&state.group, &state.version, &state.kind)
        {
            return Task::Unsupported(state);
        }
        let (old, version) = self.old_state(&state.identity(), previous, latest);
        match versions(version, state) {
            Some((before, now)) if now < before => return out_of_order(state, now, before),
            // A restarted watch repeats objects.
            Some((before, now)) if now == before && event != WatchEventType::Deleted => {
                return Task::Ignore;
            }
            _ => {}
        }
        if event == WatchEventType::Deleted {
            latest.insert(state.identity(), None);
            return Task::Ignore;
        }
        latest.insert(state.identity(), Some(state));
        let Some(old) = old else {
            if event == WatchEventType::Modified {
                return no_previous_state(state);
            }
            // A create cannot set a status, so the object existed before.
            let operation = if state.has_status() {
                Operation::Stored
            } else {
                Operation::Create
            };
            return evaluation_task(operation, state, None, None);
        };
        // For a deletion blocked by finalizers, the API server sets the timestamp.
        if state.metadata.is_being_deleted && !old.metadata.is_being_deleted {
            return Task::Ignore;
        }
        if is_equal(old.status, state.status) {
            return evaluation_task(Operation::Update, state, Some(old), None);
        }
        let mut request = request(Operation::UpdateStatus, state, Some(old), None);
        request.is_split_update = old.differs_outside_status(state);
        let write = None;
        Task::Evaluate(RecordedRequest { request, write })
    }

    fn task_for_write<'c>(
        &self,
        write: &'c Write<'c>,
        previous: &'c PreviousStates<'c>,
        latest: &mut LatestStates<'c>,
    ) -> Task<'c> {
        let state = &write.state;
        if !self
            .evaluator
            .supports(&state.group, &state.version, &state.kind)
        {
            // The response to a deletion may be a `Status` whose details identify the object.
            if write.operation == Operation::Delete {
                let status = Members::parse(state.text).unwrap_or_default();
                if let Some(uid) = status.object("details").string("uid") {
                    latest.insert(uid, None);
                }
                return Task::Ignore;
            }
            return Task::Unsupported(state);
        }
        let (old, version) = self.old_state(&state.identity(), previous, latest);
        if write.operation == Operation::Delete {
            let remains = state.metadata.has_finalizers;
            latest.insert(state.identity(), remains.then_some(state));
            return Task::Ignore;
        }
        match versions(version, state) {
            Some((before, now)) if now < before => return out_of_order(state, now, before),
            Some((before, now)) if now == before => return Task::Ignore,
            _ => {}
        }
        latest.insert(state.identity(), Some(state));
        let is_create = write.operation == Operation::Create;
        if !is_create && old.is_none() {
            return no_previous_state(state);
        }
        let old = old.filter(|_| !is_create);
        evaluation_task(write.operation, state, old, Some(write))
    }
}

fn evaluation_task<'c>(
    operation: Operation,
    state: &'c State<'c>,
    old: Option<&'c State<'c>>,
    write: Option<&'c Write<'c>>,
) -> Task<'c> {
    let user = write.and_then(|write| write.user);
    let request = request(operation, state, old, user);
    Task::Evaluate(RecordedRequest { request, write })
}

fn request<'c>(
    operation: Operation,
    state: &'c State<'c>,
    old: Option<&'c State<'c>>,
    user: Option<&'c str>,
) -> Request<'c> {
    Request {
        operation,
        note: None,
        state,
        old,
        is_split_update: false,
        is_manifest: false,
        namespace: &state.metadata.namespace,
        user: RequestUser::Recorded(user),
    }
}

fn is_update(operation: Operation) -> bool {
    matches!(operation, Operation::Update | Operation::UpdateStatus)
}

/// Returns the old and new versions, if both are present.
fn versions(old: Option<NonZeroU64>, state: &State<'_>) -> Option<(NonZeroU64, NonZeroU64)> {
    Some((old?, state.metadata.resource_version?))
}

fn out_of_order<'c>(state: &State<'_>, now: NonZeroU64, before: NonZeroU64) -> Task<'c> {
    let text = format!("out of order: resourceVersion {now} after {before}");
    skip(state, SkipReason::OutOfOrder, &text)
}

fn no_previous_state<'c>(state: &State<'_>) -> Task<'c> {
    let text = "the first record is an update: the previous state is missing";
    skip(state, SkipReason::NoPreviousState, text)
}

fn skip<'c>(state: &State<'_>, reason: SkipReason, text: &str) -> Task<'c> {
    Task::Skip(state.object_ref(), SkippedRecord::new(reason, text))
}
