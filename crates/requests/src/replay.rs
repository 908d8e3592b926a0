//! Recorded history as the requests that made it.
//!
//! Two consecutive states of one object are an update: of its status where the status differs, else of the main resource.
//! An audit log says itself what was asked, and by whom.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use managed_by::{AdmissionRequest, Enforcement, ReadObject, ReleaseSet, Rule};

use crate::judge::{Found, Judge, Judgement, NotJudged};
use crate::record::{Event, Record, State, Unread, Write, read};
use crate::request::{Asked, Operation};
use crate::same::same;
use crate::split::parts;

/// So many documents are read, or judged, by one core before it takes others.
const GROUP: usize = 64;

/// Replays a history. It remembers the last state of each object that lives.
#[derive(Debug)]
pub struct Replay<'s> {
    past: Past<'s>,
    tally: Tally,
}

/// What was before a chunk, and who judges what comes.
#[derive(Debug)]
struct Past<'s> {
    judge: Judge<'s>,
    /// The last states of the objects that live, by their identity.
    live: BTreeMap<Box<str>, Stored>,
}

/// The last state of an object.
#[derive(Debug)]
struct Stored {
    /// The object, as JSON.
    json: Box<str>,
    resource_version: Option<u64>,
    is_being_deleted: bool,
}

/// Where something was recorded, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The number that the caller gave the source, such as the place of the file among the files.
    pub source: usize,
    /// The line of the source, from 1.
    pub line: u64,
    /// When, if the record says.
    pub time: Option<String>,
}

/// Something to tell of a history: a request with findings, or what could not be judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Where it was recorded.
    pub seen: Seen,
    /// What it is about; empty where nobody knows.
    pub object: ObjectName,
    /// What it says.
    pub said: Said,
}

/// What is to tell of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// A request that the rules found something in.
    Found(Box<Request>),
    /// What could not be judged.
    Unjudged(Unjudged),
}

/// A request that was judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// What was asked for.
    pub operation: Operation,
    /// Whether it was the status that was written.
    pub is_status: bool,
    /// Who asked, if the record says.
    pub user: Option<String>,
    /// What the library said.
    pub judgement: Judgement,
}

/// An object, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectName {
    /// API group; empty for the core group.
    pub group: String,
    /// API version.
    pub version: String,
    /// Kind.
    pub kind: String,
    /// Namespace; empty if it has none.
    pub namespace: String,
    /// Name.
    pub name: String,
}

/// What could not be judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unjudged {
    /// Why, as a word.
    pub why: Why,
    /// Why, as a sentence.
    pub text: String,
}

/// Why something could not be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// It is not JSON, such as a line that was cut.
    NotJson,
    /// It is JSON of another kind than expected.
    Unknown,
    /// The watch ended with an error.
    WatchError,
    /// The audit event does not hold the object.
    NoObject,
    /// The state is older than the one before it.
    OutOfOrder,
    /// The object was seen first in the middle of its life, so that nobody knows what was updated.
    SeenFirst,
    /// A field is of the wrong type.
    Malformed,
}

impl Why {
    /// The word for it in machine formats.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotJson => "not-json",
            Self::Unknown => "unknown-document",
            Self::WatchError => "watch-error",
            Self::NoObject => "no-object",
            Self::OutOfOrder => "out-of-order",
            Self::SeenFirst => "seen-first",
            Self::Malformed => "malformed",
        }
    }
}

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
    /// Writes that the API server itself had refused.
    pub refused: u64,
    /// What could not be judged, by reason.
    pub unjudged: BTreeMap<Why, u64>,
    /// Kinds that the library does not know, with the number of states: `Pod`, `Deployment.apps`.
    pub unknown: BTreeMap<String, u64>,
    /// What was found.
    pub rows: BTreeMap<RowKey, Row>,
}

/// What a row of a tally is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowKey {
    /// `Job.batch`
    pub kind: String,
    /// The id of the rule.
    pub rule: &'static str,
    /// Whether it denied, rather than warned.
    pub is_denied: bool,
}

/// How often a rule fired on objects of a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The rule.
    pub rule: &'static Rule,
    /// What it found the first time.
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

impl ObjectName {
    /// Its kind and group: `Job.batch`, `Pod`.
    pub fn kind_and_group(&self) -> String {
        kind_and_group(&self.kind, &self.group)
    }
}

fn kind_and_group(kind: &str, group: &str) -> String {
    let dot = if group.is_empty() { "" } else { "." };
    format!("{kind}{dot}{group}")
}

/// `Job.batch team-a/pi`
impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slash = if self.namespace.is_empty() { "" } else { "/" };
        let kind = self.kind_and_group();
        write!(f, "{kind} {}{slash}{}", self.namespace, self.name)
    }
}

/// A record, and where it stands.
struct Item<'c> {
    line: u64,
    record: Result<Record<'c>, Unread>,
}

/// What is to be done about a record.
enum Task<'c> {
    Nothing,
    Tell(ObjectName, Unjudged),
    Judge(Asking<'c>),
    Unknown(&'c State<'c>),
}

struct Asking<'c> {
    state: &'c State<'c>,
    old: Option<Old<'c>>,
    operation: Operation,
    is_status: bool,
    write: Option<&'c Write<'c>>,
}

impl<'c> Asking<'c> {
    fn request(&self) -> Asked<'c> {
        Asked {
            operation: self.operation,
            is_status: self.is_status,
            namespace: &self.state.metadata.namespace,
            user: self.write.and_then(|write| write.user),
            object: self.state,
            old: self.old.map(Old::json),
        }
    }

    /// When, if the record says.
    fn time(&self) -> Option<String> {
        match self.write {
            Some(write) => write.time.map(str::to_owned),
            None => self.state.time(self.operation == Operation::Create),
        }
    }
}

/// The last state of an object in a chunk; [`None`] is deleted.
type Latest<'c> = BTreeMap<Cow<'c, str>, Option<&'c State<'c>>>;

impl<'s> Replay<'s> {
    /// A history of which nothing was read yet.
    pub fn new(judge: Judge<'s>) -> Self {
        let live = BTreeMap::new();
        Self {
            past: Past { judge, live },
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
        let items = self.items(bytes, lines_before);
        let (tasks, latest) = self.past.tasks(&items);
        let judge = &self.past.judge;
        let answers: Vec<Answer> = in_groups(&tasks, |task, answers| {
            answers.push(Answer::to(task, judge));
        });
        for ((item, task), answer) in items.iter().zip(&tasks).zip(answers) {
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
        let updates = stored(latest);
        self.past.update(updates);
        let lines = memchr::memchr_iter(b'\n', bytes).count();
        u64::try_from(lines).unwrap_or(u64::MAX)
    }

    /// Hands out the requests of a chunk, as JSON, without judging them; otherwise as [`Replay::chunk`].
    pub fn requests(
        &mut self,
        bytes: &[u8],
        source: usize,
        lines_before: u64,
        mut each: impl FnMut(Seen, &[u8]),
    ) -> u64 {
        let items = self.items(bytes, lines_before);
        let (tasks, latest) = self.past.tasks(&items);
        let mut json = Vec::with_capacity(4096);
        for (item, task) in items.iter().zip(&tasks) {
            let Task::Judge(asking) = task else { continue };
            asking.request().write(&mut json);
            let seen = Seen {
                source,
                line: item.line,
                time: asking.time(),
            };
            each(seen, &json);
        }
        let updates = stored(latest);
        self.past.update(updates);
        let lines = memchr::memchr_iter(b'\n', bytes).count();
        u64::try_from(lines).unwrap_or(u64::MAX)
    }

    fn items<'c>(&mut self, bytes: &'c [u8], lines_before: u64) -> Vec<Item<'c>> {
        let parts = parts(bytes);
        self.tally.documents = add(self.tally.documents, parts.len());
        in_groups(&parts, |part, items| {
            read(part.bytes, |lines, record| {
                let line = add(lines_before, part.lines_before);
                let line = add(line, lines.saturating_add(1));
                items.push(Item { line, record });
            });
        })
    }
}

/// The states that a chunk leaves objects in, with nothing borrowed from it; [`None`] is deleted.
fn stored(latest: Latest<'_>) -> Vec<(Box<str>, Option<Stored>)> {
    latest
        .into_iter()
        .map(|(identity, state)| (Box::from(&*identity), state.map(Stored::of)))
        .collect()
}

impl Past<'_> {
    fn update(&mut self, updates: Vec<(Box<str>, Option<Stored>)>) {
        for (identity, stored) in updates {
            match stored {
                Some(stored) => self.live.insert(identity, stored),
                None => self.live.remove(&identity),
            };
        }
    }

    /// What is to be done about each record, and the state in which the chunk leaves each object.
    fn tasks<'c>(&'c self, items: &'c [Item<'c>]) -> (Vec<Task<'c>>, Latest<'c>) {
        let mut latest = Latest::new();
        let tasks = items.iter().map(|item| match &item.record {
            Ok(Record::State(event, state)) => self.of_state(*event, state, &mut latest),
            Ok(Record::Write(write)) => self.of_write(write, &mut latest),
            Ok(Record::Refused | Record::Nothing) => Task::Nothing,
            Err(unread) => Task::Tell(ObjectName::default(), unread.into()),
        });
        (tasks.collect(), latest)
    }

    /// The state that an object had, and whether it comes in order.
    fn old<'c>(&'c self, state: &'c State<'c>, latest: &Latest<'c>) -> Option<Old<'c>> {
        let identity = state.identity();
        match latest.get(&identity) {
            Some(old) => (*old).map(Old::Read),
            None => self.live.get(&*identity).map(Old::Stored),
        }
    }

    fn of_state<'c>(
        &'c self,
        event: Event,
        state: &'c State<'c>,
        latest: &mut Latest<'c>,
    ) -> Task<'c> {
        if !self.judge.knows(&state.group, &state.version, &state.kind) {
            return Task::Unknown(state);
        }
        let old = self.old(state, latest);
        let (versions, task) = match &old {
            Some(old) => (
                (old.resource_version(), state.metadata.resource_version),
                None,
            ),
            None => ((None, None), Some(event)),
        };
        match versions {
            (Some(old), Some(new)) if new < old => {
                return Task::Tell(
                    name(state),
                    Unjudged {
                        why: Why::OutOfOrder,
                        text: format!("out of order: resourceVersion {new} after {old}"),
                    },
                );
            }
            // A watch that begins anew shows what was seen already.
            (Some(old), Some(new)) if new == old && event != Event::Deleted => {
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
            return match task {
                Some(Event::Modified) => seen_first(state),
                _ => Task::Judge(Asking {
                    state,
                    old: None,
                    operation: Operation::Create,
                    is_status: false,
                    write: None,
                }),
            };
        };
        // A deletion that finalizers hold up: the API server sets the time.
        if state.metadata.is_being_deleted && !old.is_being_deleted() {
            return Task::Nothing;
        }
        Task::Judge(Asking {
            state,
            is_status: !same(old.status(), state.status),
            old: Some(old),
            operation: Operation::Update,
            write: None,
        })
    }

    fn of_write<'c>(&'c self, write: &'c Write<'c>, latest: &mut Latest<'c>) -> Task<'c> {
        let state = &write.state;
        if !self.judge.knows(&state.group, &state.version, &state.kind) {
            // The answer to a deletion is a `Status`, whose details name the object.
            if write.operation == Operation::Delete {
                if let Some(uid) = deleted_uid(state) {
                    latest.insert(uid, None);
                }
                return Task::Nothing;
            }
            return Task::Unknown(state);
        }
        let old = self.old(state, latest);
        if write.operation == Operation::Delete {
            let rest = state.metadata.has_finalizers;
            latest.insert(state.identity(), rest.then_some(state));
            return Task::Nothing;
        }
        if let Some(old) = &old
            && let (Some(before), Some(now)) =
                (old.resource_version(), state.metadata.resource_version)
            && now <= before
        {
            if now == before {
                return Task::Nothing;
            }
            return Task::Tell(
                name(state),
                Unjudged {
                    why: Why::OutOfOrder,
                    text: format!("out of order: resourceVersion {now} after {before}"),
                },
            );
        }
        latest.insert(state.identity(), Some(state));
        if write.operation == Operation::Update && old.is_none() {
            return seen_first(state);
        }
        Task::Judge(Asking {
            state,
            old: old.filter(|_| write.operation == Operation::Update),
            operation: write.operation,
            is_status: write.is_status,
            write: Some(write),
        })
    }
}

fn seen_first<'c>(state: &State<'_>) -> Task<'c> {
    let text = "seen first in the middle of its life: what was updated is not known";
    Task::Tell(
        name(state),
        Unjudged {
            why: Why::SeenFirst,
            text: text.to_owned(),
        },
    )
}

/// The object that a `Status` says was deleted.
fn deleted_uid<'c>(status: &'c State<'c>) -> Option<Cow<'c, str>> {
    #[derive(serde::Deserialize)]
    struct Details<'d> {
        #[serde(borrow)]
        uid: Cow<'d, str>,
    }
    #[derive(serde::Deserialize)]
    struct Whole<'d> {
        #[serde(borrow)]
        details: Details<'d>,
    }
    let details = serde_json::from_str::<Whole<'c>>(status.text).ok()?.details;
    Some(details.uid)
}

fn name(state: &State<'_>) -> ObjectName {
    let metadata = &state.metadata;
    ObjectName {
        group: state.group.clone().into_owned(),
        version: state.version.clone().into_owned(),
        kind: state.kind.clone().into_owned(),
        namespace: metadata.namespace.clone().into_owned(),
        name: metadata.name.clone().into_owned(),
    }
}

/// The state before, from the same chunk or an earlier one.
#[derive(Clone, Copy)]
enum Old<'c> {
    Read(&'c State<'c>),
    Stored(&'c Stored),
}

impl<'c> Old<'c> {
    fn resource_version(self) -> Option<u64> {
        match self {
            Self::Read(state) => state.metadata.resource_version,
            Self::Stored(stored) => stored.resource_version,
        }
    }

    fn is_being_deleted(self) -> bool {
        match self {
            Self::Read(state) => state.metadata.is_being_deleted,
            Self::Stored(stored) => stored.is_being_deleted,
        }
    }

    fn status(self) -> Option<&'c str> {
        match self {
            Self::Read(state) => state.status,
            Self::Stored(stored) => State::read(&stored.json).ok()?.status,
        }
    }

    /// The object as the library reads it: of the kind of the state that follows.
    fn read(self, next: &'c State<'c>) -> Option<ReadObject<'c>> {
        match self {
            Self::Read(state) => {
                let is_same = (&state.version, &state.kind) == (&next.version, &next.kind);
                state.object.clone().filter(|_| is_same)
            }
            Self::Stored(stored) => {
                ReadObject::from_json(&next.group, &next.version, &next.kind, &stored.json)
            }
        }
    }

    /// The object, as JSON.
    fn json(self) -> &'c str {
        match self {
            Self::Read(state) => state.text,
            Self::Stored(stored) => &stored.json,
        }
    }
}

impl Stored {
    fn of(state: &State<'_>) -> Self {
        Self {
            json: state.text.into(),
            resource_version: state.metadata.resource_version,
            is_being_deleted: state.metadata.is_being_deleted,
        }
    }
}

impl From<&Unread> for Unjudged {
    fn from(unread: &Unread) -> Self {
        let (why, text) = match unread {
            Unread::NotJson(text) => (Why::NotJson, text.clone()),
            Unread::Unknown(text) => (Why::Unknown, (*text).to_owned()),
            Unread::WatchError(text) => (
                Why::WatchError,
                format!("the watch ended with an error: {text}"),
            ),
            Unread::NoObject(level) => (
                Why::NoObject,
                format!("an audit event of level {level} holds no object, RequestResponse does"),
            ),
        };
        Self { why, text }
    }
}

/// What the library said to a task.
enum Answer {
    Nothing,
    /// Judged, and nothing is to be said.
    Quiet,
    Said(Box<Judgement>),
    Malformed(String),
}

impl Answer {
    fn to(task: &Task<'_>, judge: &Judge<'_>) -> Self {
        let Task::Judge(asking) = task else {
            return Self::Nothing;
        };
        match asking.ask(judge) {
            Ok(judgement) if judgement.is_quiet() => Self::Quiet,
            Ok(judgement) => Self::Said(Box::new(judgement)),
            Err(malformed) => Self::Malformed(malformed.to_string()),
        }
    }
}

impl Asking<'_> {
    /// Asks the library. Each object is read once, where that can be.
    fn ask(&self, judge: &Judge<'_>) -> Result<Judgement, NotJudged> {
        let user = self.write.and_then(|write| write.user);
        let namespace = &*self.state.metadata.namespace;
        let old = self.old.map(|old| old.read(self.state));
        if let Some(object) = &self.state.object
            && old.as_ref().is_none_or(Option::is_some)
        {
            let old = old.flatten();
            let (old, is_status) = (old.as_ref(), self.is_status);
            let request = AdmissionRequest::from_objects(object, old, is_status, namespace, user)?;
            return Ok(judge.review(&request));
        }
        let mut json = Vec::new();
        self.request().write(&mut json);
        judge.ask(&json)
    }
}

impl Tally {
    /// Adds what was said, and makes a step of it if it is to be told.
    fn add(
        &mut self,
        answer: Answer,
        task: &Task<'_>,
        seen: impl Fn(Option<String>) -> Seen,
    ) -> Option<Step> {
        match task {
            Task::Nothing => return None,
            Task::Unknown(state) => {
                self.states = add(self.states, 1);
                let kind = kind_and_group(&state.kind, &state.group);
                let count = self.unknown.entry(kind).or_default();
                *count = add(*count, 1);
                return None;
            }
            Task::Tell(object, unjudged) => {
                return Some(self.unjudged(seen(None), object.clone(), unjudged.clone()));
            }
            Task::Judge(_) => {}
        }
        let Task::Judge(asking) = task else {
            return None;
        };
        self.states = add(self.states, 1);
        let time = || asking.time();
        match answer {
            Answer::Nothing => None,
            Answer::Quiet => {
                self.judged = add(self.judged, 1);
                None
            }
            Answer::Malformed(text) => {
                let why = Why::Malformed;
                Some(self.unjudged(seen(time()), name(asking.state), Unjudged { why, text }))
            }
            Answer::Said(judgement) => {
                self.judged = add(self.judged, 1);
                let user = asking.write.and_then(|write| username(write.user?));
                let step = Step {
                    seen: seen(time()),
                    object: name(asking.state),
                    said: Said::Found(Box::new(Request {
                        operation: asking.operation,
                        is_status: asking.is_status,
                        user,
                        judgement: *judgement,
                    })),
                };
                self.count(&step);
                Some(step)
            }
        }
    }

    fn unjudged(&mut self, seen: Seen, object: ObjectName, unjudged: Unjudged) -> Step {
        let count = self.unjudged.entry(unjudged.why).or_default();
        *count = add(*count, 1);
        Step {
            seen,
            object,
            said: Said::Unjudged(unjudged),
        }
    }

    /// Counts what a step found.
    fn count(&mut self, step: &Step) {
        let Said::Found(request) = &step.said else {
            return;
        };
        let counter = if request.judgement.is_allowed {
            &mut self.warned
        } else {
            &mut self.denied
        };
        *counter = add(*counter, 1);
        let kind = step.object.kind_and_group();
        for found in &request.judgement.findings {
            let key = RowKey {
                kind: kind.clone(),
                rule: found.rule.id(),
                is_denied: found.enforcement == Enforcement::Deny,
            };
            let row = self.rows.entry(key).or_insert_with(|| Row {
                rule: found.rule,
                found: found.clone(),
                count: 0,
                releases: found.releases,
                first: step.seen.clone(),
                last: step.seen.clone(),
                object: step.object.clone(),
                user: request.user.clone(),
            });
            row.count = add(row.count, 1);
            row.last = step.seen.clone();
            row.releases = match (row.releases, found.releases) {
                (Some(known), Some(new)) => Some(known.union(new)),
                _ => None,
            };
        }
    }

    /// How much could not be judged.
    pub fn unjudged_count(&self) -> u64 {
        self.unjudged.values().copied().fold(0, u64::saturating_add)
    }
}

/// The name in `userInfo`.
fn username(json: &str) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct User<'u> {
        #[serde(borrow)]
        username: Cow<'u, str>,
    }
    let user = serde_json::from_str::<User<'_>>(json).ok()?;
    Some(user.username.into_owned())
}

fn add(count: u64, more: usize) -> u64 {
    count.saturating_add(u64::try_from(more).unwrap_or(u64::MAX))
}

/// Does something with each of many, in groups, on all cores where the feature `parallel` says so. The order is kept.
#[cfg(feature = "parallel")]
fn in_groups<T: Sync, R: Send>(many: &[T], each: impl Fn(&T, &mut Vec<R>) + Sync) -> Vec<R> {
    use rayon::prelude::*;
    let groups = many.par_chunks(GROUP).map(|group| {
        let mut results = Vec::with_capacity(GROUP);
        for one in group {
            each(one, &mut results);
        }
        results
    });
    groups.collect::<Vec<_>>().into_iter().flatten().collect()
}

/// Does something with each of many. The order is kept.
#[cfg(not(feature = "parallel"))]
fn in_groups<T, R>(many: &[T], each: impl Fn(&T, &mut Vec<R>)) -> Vec<R> {
    let mut results = Vec::with_capacity(many.len().max(GROUP));
    for one in many {
        each(one, &mut results);
    }
    results
}
