//! What a document of a recorded history says.

use std::borrow::Cow;

use managed_by::{ReadObject, kinds};
use serde_json::Deserializer;

use crate::json::{Members, elements, string, what};
use crate::request::Asks;
use crate::same::same;

/// One thing that a document says.
#[derive(Debug)]
pub(crate) enum Record<'a> {
    /// An object as a watch or a list shows it.
    State(Event, Box<State<'a>>),
    /// A write that an audit log tells of, with the object that it left behind.
    Write(Box<Write<'a>>),
    /// A write that the API server refused.
    Refused,
    /// Something that is recorded and is no write: a bookmark, a read, the start of a request.
    Nothing,
}

/// What a document holds, before an audit event is taken for one thing or another.
enum Held<'a> {
    /// Something that is no audit event.
    Record(Record<'a>),
    /// The members of an audit event.
    Audit(Members<'a>),
}

impl Record<'_> {
    /// Reads the object of the record for the rules.
    fn with_object(mut self) -> Self {
        match &mut self {
            Self::State(_, state) => state.read_object(),
            Self::Write(write) => write.state.read_object(),
            Self::Refused | Self::Nothing => {}
        }
        self
    }
}

/// Why a document says nothing that could be judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unread {
    /// It is not JSON.
    NotJson(String),
    /// It is neither an object, a watch event nor an audit event.
    Unknown(&'static str),
    /// A watch ended.
    WatchError(String),
    /// An audit event that does not hold the object.
    NoObject(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    Added,
    Modified,
    Deleted,
    /// The object alone, without an event.
    Listed,
}

/// A write of an audit log.
#[derive(Debug)]
pub(crate) struct Write<'a> {
    pub(crate) asks: Asks,
    /// `userInfo`, as JSON.
    pub(crate) user: Option<&'a str>,
    pub(crate) time: Option<Cow<'a, str>>,
    pub(crate) state: State<'a>,
}

/// A write that an audit log tells of as finished, of an object or of its status, whether the API server took it or not.
#[derive(Debug)]
pub(crate) struct Audited<'a> {
    event: Members<'a>,
    verb: Cow<'a, str>,
    /// Of the resource, as the version and the plural are.
    pub(crate) group: Cow<'a, str>,
    pub(crate) version: Cow<'a, str>,
    pub(crate) resource: Cow<'a, str>,
    pub(crate) is_status: bool,
    /// HTTP status of the answer; 0 where the event does not say.
    pub(crate) code: u16,
}

/// An object at some moment.
#[derive(Debug, Default)]
pub(crate) struct State<'a> {
    pub(crate) group: Cow<'a, str>,
    pub(crate) version: Cow<'a, str>,
    pub(crate) kind: Cow<'a, str>,
    pub(crate) metadata: Metadata<'a>,
    /// `status`, unless it is null.
    pub(crate) status: Option<&'a str>,
    /// `spec`, unless it is null.
    spec: Option<&'a str>,
    /// `items`, which a list has.
    pub(crate) items: Option<&'a str>,
    /// The object as it stands in what was read.
    pub(crate) text: &'a str,
    /// The same as the library reads it, where it was read once for several requests.
    object: Option<ReadObject<'a>>,
}

/// What tells an object from the others. Wrong types are the library's to find: here they are as good as nothing.
#[derive(Debug, Default)]
pub(crate) struct Metadata<'a> {
    pub(crate) name: Cow<'a, str>,
    pub(crate) namespace: Cow<'a, str>,
    pub(crate) uid: Cow<'a, str>,
    pub(crate) resource_version: Option<u64>,
    pub(crate) is_being_deleted: bool,
    pub(crate) creation: Option<Cow<'a, str>>,
    /// What clients write, besides the name: [`WRITTEN`], unless it is null.
    written: [Option<&'a str>; 4],
    managed_fields: Option<&'a str>,
    pub(crate) has_finalizers: bool,
}

impl<'a> State<'a> {
    /// Takes apart a text that is one object.
    pub(crate) fn read(text: &'a str) -> Option<Self> {
        Some(Self::of(text, &Members::of(text)?))
    }

    /// Keeps what is of use of the members of an object. Of two with one name the last counts.
    pub(crate) fn of(text: &'a str, members: &Members<'a>) -> Self {
        let mut state = Self {
            text,
            ..Self::default()
        };
        for (name, value) in members.iter() {
            let there = || Some(value).filter(|value| *value != "null");
            match &*name {
                "apiVersion" => {
                    let version = string(value).unwrap_or_default();
                    (state.group, state.version) = group_version(version);
                }
                "kind" => state.kind = string(value).unwrap_or_default(),
                "metadata" => {
                    let members = Members::of(value).unwrap_or_default();
                    state.metadata = Metadata::of(&members);
                }
                "status" => state.status = there(),
                "spec" => state.spec = there(),
                "items" => state.items = there(),
                _ => {}
            }
        }
        state
    }

    /// The same of an item of a list. Of a `JobList`, the API server writes kind and version once, for the list.
    pub(crate) fn of_item(text: &'a str, members: &Members<'a>, list: &Self) -> Self {
        let mut state = Self::of(text, members);
        if state.kind.is_empty()
            && list.kind != "List"
            && let Cow::Borrowed(kind) = list.kind
        {
            state.kind = Cow::Borrowed(kind.strip_suffix("List").unwrap_or(kind));
            state.group.clone_from(&list.group);
            state.version.clone_from(&list.version);
        }
        state
    }

    /// By what the same object is known in other states.
    pub(crate) fn identity(&self) -> Cow<'_, str> {
        if !self.metadata.uid.is_empty() {
            return Cow::Borrowed(&self.metadata.uid);
        }
        let Metadata {
            name, namespace, ..
        } = &self.metadata;
        Cow::Owned(format!("{}/{}/{namespace}/{name}", self.group, self.kind))
    }

    /// Whether it has a status that says something. What is no object is the library's to find.
    pub(crate) fn has_status(&self) -> bool {
        let members = self.status.and_then(Members::of);
        members.is_some_and(|members| members.len() > 0)
    }

    /// Whether it has what only an API server sets.
    pub(crate) fn is_from_server(&self) -> bool {
        let metadata = &self.metadata;
        !metadata.uid.is_empty()
            || metadata.resource_version.is_some()
            || metadata.creation.is_some()
    }

    /// Whether another state of it differs in what a client writes besides the status.
    pub(crate) fn differs_beside_status(&self, other: &State<'_>) -> bool {
        let metadata = self.metadata.written.iter();
        let mut metadata = metadata.zip(&other.metadata.written);
        !same(self.spec, other.spec) || metadata.any(|(a, b)| !same(*a, *b))
    }

    /// When it came to be so, if it says: the newest time of its `managedFields`, or for a new object its creation.
    pub(crate) fn time(&self, is_new: bool) -> Option<String> {
        let fields = self.metadata.managed_fields.and_then(elements);
        let newest = fields.and_then(|fields| newest(&fields));
        let creation = || self.metadata.creation.clone().filter(|_| is_new);
        newest.or_else(creation).map(Cow::into_owned)
    }

    /// Reads the object for the requests that it becomes part of.
    pub(crate) fn read_object(&mut self) {
        self.object = Some(self.with_text(self.text));
    }

    /// The object as the library reads it.
    pub(crate) fn object(&'a self) -> Cow<'a, ReadObject<'a>> {
        match &self.object {
            Some(object) => Cow::Borrowed(object),
            None => Cow::Owned(self.with_text(self.text)),
        }
    }

    /// Another state of an object of this kind, as the library reads it.
    pub(crate) fn with_text(&self, text: &'a str) -> ReadObject<'a> {
        let (group, version, kind) = (&self.group, &self.version, &self.kind);
        ReadObject::from_json(group.clone(), version.clone(), kind.clone(), text)
    }
}

/// The newest time of `managedFields`, if all that they say of it are times.
fn newest<'a>(fields: &[&'a str]) -> Option<Cow<'a, str>> {
    let mut newest = None;
    for field in fields {
        if let Some(time) = Members::of(field)?.get("time") {
            newest = newest.max(Some(string(time)?));
        }
    }
    newest
}

fn group_version(text: Cow<'_, str>) -> (Cow<'_, str>, Cow<'_, str>) {
    match text {
        Cow::Borrowed(text) => {
            let (group, version) = text.split_once('/').unwrap_or(("", text));
            (Cow::Borrowed(group), Cow::Borrowed(version))
        }
        Cow::Owned(text) => {
            let (group, version) = text.split_once('/').unwrap_or(("", &text));
            (Cow::Owned(group.to_owned()), Cow::Owned(version.to_owned()))
        }
    }
}

impl<'a> Metadata<'a> {
    /// What is no object has none of them; the library says so.
    fn of(members: &Members<'a>) -> Self {
        let mut metadata = Self::default();
        let text = |value: &'a str| string(value).unwrap_or_default();
        for (name, value) in members.iter() {
            match &*name {
                "name" => metadata.name = text(value),
                "namespace" => metadata.namespace = text(value),
                "uid" => metadata.uid = text(value),
                "resourceVersion" => metadata.resource_version = text(value).parse().ok(),
                "creationTimestamp" => metadata.creation = string(value),
                "deletionTimestamp" => metadata.is_being_deleted = value != "null",
                "managedFields" => metadata.managed_fields = Some(value),
                "finalizers" => metadata.has_finalizers = value != "null" && value != "[]",
                _ => {}
            }
            if let Some(place) = WRITTEN.iter().position(|written| *written == name)
                && let Some(written) = metadata.written.get_mut(place)
            {
                *written = Some(value).filter(|value| *value != "null");
            }
        }
        metadata
    }
}

/// The members of `metadata` that clients write, besides the name.
const WRITTEN: [&str; 4] = ["labels", "annotations", "ownerReferences", "finalizers"];

/// What one part of a stream says, each with the number of lines before it. Values may follow each other without an end of
/// line.
pub(crate) fn read<'a>(bytes: &'a [u8], mut each: impl FnMut(usize, Result<Record<'a>, Unread>)) {
    documents(bytes, |lines, held| {
        let record = held.and_then(|held| match held {
            Held::Record(record) => Ok(record),
            Held::Audit(event) => of_audit(event),
        });
        each(lines, record.map(Record::with_object));
    });
}

/// The writes that one part of an audit log tells of, as [`read`]. An object or a watch event does not say who wrote it.
pub(crate) fn read_audited<'a>(
    bytes: &'a [u8],
    mut each: impl FnMut(usize, Result<Audited<'a>, Unread>),
) {
    documents(bytes, |lines, held| match held {
        Ok(Held::Audit(event)) => {
            if let Some(audited) = Audited::of(event) {
                each(lines, Ok(audited));
            }
        }
        Ok(Held::Record(Record::Nothing)) => {}
        Ok(Held::Record(_)) => each(lines, Err(Unread::Unknown(NO_AUDIT))),
        Err(unread) => each(lines, Err(unread)),
    });
}

/// What to say of a record that does not name who wrote.
const NO_AUDIT: &str =
    "expected an audit event, got an object or a watch event, which does not say who wrote it";

/// What the documents of one part of a stream hold.
fn documents<'a>(bytes: &'a [u8], mut each: impl FnMut(usize, Result<Held<'a>, Unread>)) {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let Ok(text) = std::str::from_utf8(bytes) else {
        return each(0, Err(Unread::NotJson("is not UTF-8".to_owned())));
    };
    if let Some((event, text)) = line_of_watch(text)
        && let Some(members) = Members::of(text)
    {
        return each(0, of_event(Some(event), text, &members).map(Held::Record));
    }
    let mut documents = Deserializer::from_str(text).into_iter::<Members<'a>>();
    loop {
        let start = documents.byte_offset();
        let members = match documents.next() {
            None => return,
            Some(Ok(members)) => members,
            Some(Err(error)) => {
                let lines = lines_before(text, &error);
                return each(lines, Err(Unread::NotJson(what(text, &error))));
            }
        };
        let document = text.get(start..documents.byte_offset()).unwrap_or_default();
        of_document(document.trim_ascii(), members, &mut |held| each(0, held));
    }
}

/// How many lines are before the place of an error.
fn lines_before(text: &str, error: &serde_json::Error) -> usize {
    if error.is_eof() {
        // What was cut ends before the empty lines behind it.
        return text.trim_ascii_end().matches('\n').count();
    }
    // The end of a line belongs to the next one, where a value of another type may begin as well.
    let past = usize::from(error.column() == 0 && !error.is_data());
    error.line().saturating_sub(past).saturating_sub(1)
}

/// The type and the object of a watch event as kube-apiserver writes it, if all behind the type is an object. To pass over the
/// event only to find its object takes an eighth of a replay.
fn line_of_watch(text: &str) -> Option<(&str, &str)> {
    let (event, rest) = text
        .strip_prefix("{\"type\":\"")?
        .split_once("\",\"object\":")?;
    let object = rest.trim_ascii_end().strip_suffix('}')?;
    let is_event = ["ADDED", "MODIFIED", "DELETED"].contains(&event);
    is_event.then_some((event, object.trim_ascii()))
}

/// An object, a list, a watch event or an audit event.
fn of_document<'a>(
    text: &'a str,
    members: Members<'a>,
    each: &mut impl FnMut(Result<Held<'a>, Unread>),
) {
    if let Some((_, object)) = members.find("object") {
        let of_type = members.string("type");
        let parts = Members::of(object).ok_or_else(not_an_object);
        let event = parts.and_then(|parts| of_event(of_type.as_deref(), object, &parts));
        return each(event.map(Held::Record));
    }
    let state = State::of(text, &members);
    match (&*state.group, &*state.kind, state.items) {
        ("audit.k8s.io", "Event", _) => each(Ok(Held::Audit(members))),
        (group, kind, Some(items)) if kind.ends_with("List") => {
            let is_audit = group == "audit.k8s.io";
            let Some(items) = elements(items) else {
                return each(Err(Unread::Unknown("a list whose items are no array")));
            };
            for item in items {
                each(match Members::of(item) {
                    Some(members) if is_audit => Ok(Held::Audit(members)),
                    Some(members) => {
                        Ok(Held::Record(listed(State::of_item(item, &members, &state))))
                    }
                    None => Err(Unread::Unknown("an item that is no object")),
                });
            }
        }
        (_, "", _) => each(Err(Unread::Unknown(
            "expected an object, a watch event or an audit event, got none of them",
        ))),
        _ => each(Ok(Held::Record(listed(state)))),
    }
}

fn listed(state: State<'_>) -> Record<'_> {
    Record::State(Event::Listed, Box::new(state))
}

fn not_an_object() -> Unread {
    Unread::NotJson("not JSON: expected an object".to_owned())
}

fn of_event<'a>(
    event: Option<&str>,
    text: &'a str,
    members: &Members<'a>,
) -> Result<Record<'a>, Unread> {
    let event = match event {
        Some("ADDED") => Event::Added,
        Some("MODIFIED") => Event::Modified,
        Some("DELETED") => Event::Deleted,
        Some("BOOKMARK") => return Ok(Record::Nothing),
        Some("ERROR") => {
            let message = members.string("message").unwrap_or_default();
            return Err(Unread::WatchError(message.chars().take(200).collect()));
        }
        _ => {
            return Err(Unread::Unknown(
                "a watch event of a type other than ADDED, MODIFIED, DELETED, BOOKMARK and ERROR",
            ));
        }
    };
    Ok(Record::State(event, Box::new(State::of(text, members))))
}

impl<'a> Audited<'a> {
    /// Takes an audit event for a write. A read, a start, a dry run and the write of another subresource are none.
    fn of(event: Members<'a>) -> Option<Self> {
        let text = |name| event.string(name).unwrap_or_default();
        // An apply is a patch in the audit log.
        let verb = text("verb");
        let is_write = ["create", "update", "patch", "delete"].contains(&&*verb);
        if text("stage") != "ResponseComplete" || !is_write {
            return None;
        }
        let of = event.object("objectRef");
        let subresource = of.string("subresource").unwrap_or_default();
        let is_status = subresource == "status";
        if !(is_status || subresource.is_empty()) || text("requestURI").contains("dryRun=") {
            return None;
        }
        let code = event.object("responseStatus").get("code");
        Some(Self {
            verb,
            group: of.string("apiGroup").unwrap_or_default(),
            version: of.string("apiVersion").unwrap_or_default(),
            resource: of.string("resource").unwrap_or_default(),
            is_status,
            code: code.and_then(|code| code.parse().ok()).unwrap_or_default(),
            event,
        })
    }

    /// Whether somebody asked for another status.
    pub(crate) fn updates_status(&self) -> bool {
        self.is_status && ["update", "patch"].contains(&&*self.verb)
    }

    /// Whether the API server refused the write.
    pub(crate) fn is_refused(&self) -> bool {
        self.code >= 400
    }

    /// What the API server answered, if the event holds it: the object, or a `Status`.
    pub(crate) fn response(&self) -> Option<&'a str> {
        self.event.get("responseObject")
    }

    /// The whole object that the client sent, if the event holds it. A patch is none.
    pub(crate) fn sent(&self) -> Option<&'a str> {
        let request = self.event.get("requestObject");
        request.filter(|_| self.verb == "update")
    }

    /// `userInfo`, as JSON, as admission sees it: of who is impersonated, if somebody is.
    pub(crate) fn user(&self) -> Option<&'a str> {
        let impersonated = self.event.get("impersonatedUser");
        impersonated.or_else(|| self.event.get("user"))
    }

    /// When the request came.
    pub(crate) fn time(&self) -> Option<Cow<'a, str>> {
        self.event.string("requestReceivedTimestamp")
    }

    /// What the API server said of the request: with a refusal, why.
    pub(crate) fn message(&self) -> Option<Cow<'a, str>> {
        self.event.object("responseStatus").string("message")
    }

    /// What webhooks and the API server itself noted, by key.
    pub(crate) fn annotations(&self) -> Members<'a> {
        self.event.object("annotations")
    }
}

/// An audit event: `Event` of `audit.k8s.io`.
fn of_audit(event: Members<'_>) -> Result<Record<'_>, Unread> {
    let Some(audited) = Audited::of(event) else {
        return Ok(Record::Nothing);
    };
    let is_known = kinds()
        .iter()
        .any(|kind| kind.group() == audited.group && kind.plural() == audited.resource);
    if audited.is_refused() {
        return Ok(if is_known {
            Record::Refused
        } else {
            Record::Nothing
        });
    }
    let Some(response) = audited.response() else {
        // Of other resources nobody wants to know.
        let level = audited.event.string("level").unwrap_or_default();
        return if is_known {
            Err(Unread::NoObject(level.chars().take(40).collect()))
        } else {
            Ok(Record::Nothing)
        };
    };
    let state = State::read(response).ok_or_else(not_an_object)?;
    let asks = match &*audited.verb {
        "delete" => Asks::Delete,
        // An apply may create.
        verb if verb == "create" || audited.code == 201 => Asks::Create,
        _ if audited.is_status => Asks::UpdateStatus,
        _ => Asks::Update,
    };
    Ok(Record::Write(Box::new(Write {
        asks,
        user: audited.user(),
        time: audited.time(),
        state,
    })))
}
