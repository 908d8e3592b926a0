//! What a document of a recorded history says.

use std::borrow::Cow;
use std::fmt;

use managed_by::{ReadObject, kinds};
use serde::de::{Deserializer as _, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::document::offset_in;
use crate::json::{NoObject, members, some, string, trouble};
use crate::request::Operation;

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
    pub(crate) operation: Operation,
    pub(crate) is_status: bool,
    /// `userInfo`, as JSON.
    pub(crate) user: Option<&'a str>,
    pub(crate) time: Option<&'a str>,
    pub(crate) state: State<'a>,
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
    /// `items`, which a list has.
    pub(crate) items: Option<&'a str>,
    /// The object as it stands in what was read.
    pub(crate) text: &'a str,
    /// The same as the library reads it, where it knows the kind and it is asked for.
    pub(crate) object: Option<ReadObject<'a>>,
}

/// What tells an object from the others. Wrong types are the library's to find: here they are as good as nothing.
#[derive(Debug, Default)]
pub(crate) struct Metadata<'a> {
    pub(crate) name: Cow<'a, str>,
    pub(crate) namespace: Cow<'a, str>,
    pub(crate) uid: Cow<'a, str>,
    pub(crate) resource_version: Option<u64>,
    pub(crate) is_being_deleted: bool,
    creation: Option<Cow<'a, str>>,
    managed_fields: Option<&'a str>,
    pub(crate) has_finalizers: bool,
}

impl<'a> State<'a> {
    /// Takes apart an object, which is the whole text.
    pub(crate) fn read(text: &'a str) -> Result<Self, NoObject> {
        let mut state = Self {
            text,
            ..Self::default()
        };
        let rest = members(text, |name, value| state.take(&name, value))?;
        if rest.trim_ascii().is_empty() {
            Ok(state)
        } else {
            Err(NoObject)
        }
    }

    /// Keeps a member if it is of use. Of two with one name the last counts.
    fn take(&mut self, name: &str, value: &'a str) {
        let there = || Some(value).filter(|value| *value != "null");
        match name {
            "apiVersion" => {
                (self.group, self.version) = group_version(string(value).unwrap_or_default());
            }
            "kind" => self.kind = string(value).unwrap_or_default(),
            "metadata" => self.metadata = Metadata::read(value),
            "status" => self.status = there(),
            "items" => self.items = there(),
            _ => {}
        }
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

    /// When it came to be so, if it says: the newest time of its `managedFields`, or for a new object its creation.
    pub(crate) fn time(&self, is_new: bool) -> Option<String> {
        let fields = self.metadata.managed_fields.and_then(elements);
        let newest = fields.and_then(|fields| newest(&fields));
        let creation = || self.metadata.creation.clone().filter(|_| is_new);
        newest.or_else(creation).map(Cow::into_owned)
    }

    /// Reads the object for the rules.
    fn read_object(&mut self) {
        if let Cow::Borrowed(version) = self.version {
            self.object = ReadObject::from_json(&self.group, version, &self.kind, self.text);
        }
    }
}

/// The newest time of `managedFields`, if all that they say of it are times.
fn newest<'a>(fields: &[&'a str]) -> Option<Cow<'a, str>> {
    let mut newest = None;
    for field in fields {
        let [time] = some(field, ["time"])?;
        if let Some(time) = time {
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
    fn read(json: &'a str) -> Self {
        let mut metadata = Self::default();
        let text = |value: &'a str| string(value).unwrap_or_default();
        let read = members(json, |name, value| match &*name {
            "name" => metadata.name = text(value),
            "namespace" => metadata.namespace = text(value),
            "uid" => metadata.uid = text(value),
            "resourceVersion" => metadata.resource_version = text(value).parse().ok(),
            "creationTimestamp" => metadata.creation = string(value),
            "deletionTimestamp" => metadata.is_being_deleted = value != "null",
            "managedFields" => metadata.managed_fields = Some(value),
            "finalizers" => metadata.has_finalizers = value != "null" && value != "[]",
            _ => {}
        });
        // What is no object has none of them; the library says so.
        read.map(|_| metadata).unwrap_or_default()
    }
}

/// What one part of a stream says, each with the number of lines before it. Values may follow each other without an end of
/// line.
pub(crate) fn read<'a>(bytes: &'a [u8], mut each: impl FnMut(usize, Result<Record<'a>, Unread>)) {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let Ok(text) = std::str::from_utf8(bytes) else {
        return each(0, Err(Unread::NotJson("is not UTF-8".to_owned())));
    };
    let mut rest = text;
    while !rest.trim_ascii().is_empty() {
        let behind = of_whole(rest, &mut |record| {
            each(0, record.map(Record::with_object));
        });
        let Ok(behind) = behind else {
            let (lines, what) = why(text, rest);
            return each(lines, Err(Unread::NotJson(what)));
        };
        rest = behind;
    }
}

/// Why the rest of a text is no document, and how many lines of the text are before the place.
fn why(text: &str, rest: &str) -> (usize, String) {
    let before = text.get(..offset_in(text, rest)).unwrap_or_default();
    let lines = before.matches('\n').count();
    let (more, what) = trouble(rest).unwrap_or_else(|| {
        let leading = rest.len().saturating_sub(rest.trim_ascii_start().len());
        let leading = rest.get(..leading).unwrap_or_default();
        let what = "not JSON: expected an object".to_owned();
        (leading.matches('\n').count(), what)
    });
    (lines.saturating_add(more), what)
}

/// The document at the start of a text: an object, a list, a watch event or an audit event. Which one shows when all members
/// are known. Returns the text behind it.
fn of_whole<'a>(
    text: &'a str,
    each: &mut impl FnMut(Result<Record<'a>, Unread>),
) -> Result<&'a str, NoObject> {
    let mut state = State::default();
    let (mut event, mut object) = (None, None);
    let rest = members(text, |name, value| match &*name {
        "object" => object = Some(value),
        "type" => event = string(value),
        name => state.take(name, value),
    })?;
    if let Some(object) = object {
        each(match State::read(object) {
            Ok(object) => of_event(event.as_deref(), object),
            Err(NoObject) => Err(Unread::NotJson("not JSON: expected an object".to_owned())),
        });
        return Ok(rest);
    }
    let end = text.len().saturating_sub(rest.len());
    state.text = text.get(..end).unwrap_or_default().trim_ascii();
    match (&*state.group, &*state.kind, state.items) {
        ("audit.k8s.io", "Event", _) => each(of_audit(state.text)),
        (group, kind, Some(items)) if kind.ends_with("List") => {
            let is_audit = group == "audit.k8s.io";
            for item in elements(items).unwrap_or_default() {
                each(match State::read(item) {
                    Ok(_) if is_audit => of_audit(item),
                    Ok(item) => Ok(Record::State(Event::Listed, Box::new(item))),
                    Err(NoObject) => Err(Unread::Unknown("an item that is no object")),
                });
            }
        }
        (_, "", _) => each(Err(Unread::Unknown(
            "expected an object, a watch event or an audit event, got none of them",
        ))),
        _ => each(Ok(Record::State(Event::Listed, Box::new(state)))),
    }
    Ok(rest)
}

fn of_event<'a>(event: Option<&str>, object: State<'a>) -> Result<Record<'a>, Unread> {
    let event = match event {
        Some("ADDED") => Event::Added,
        Some("MODIFIED") => Event::Modified,
        Some("DELETED") => Event::Deleted,
        Some("BOOKMARK") => return Ok(Record::Nothing),
        Some("ERROR") => {
            let mut message = String::new();
            // It was taken apart before.
            let _ = members(object.text, |name, value| {
                if name == "message" {
                    message = string(value)
                        .unwrap_or_default()
                        .chars()
                        .take(200)
                        .collect();
                }
            });
            return Err(Unread::WatchError(message));
        }
        _ => {
            return Err(Unread::Unknown(
                "a watch event of a type other than ADDED, MODIFIED, DELETED, BOOKMARK and ERROR",
            ));
        }
    };
    Ok(Record::State(event, Box::new(object)))
}

#[derive(Default)]
struct ObjectRef<'a> {
    api_group: Option<Cow<'a, str>>,
    resource: Option<Cow<'a, str>>,
    subresource: Option<Cow<'a, str>>,
}

impl<'a> ObjectRef<'a> {
    /// What it says, if all of it is text.
    fn read(json: &'a str) -> Option<Self> {
        let [group, resource, sub] = some(json, ["apiGroup", "resource", "subresource"])?;
        let text = |value: Option<&'a str>| value.map_or(Some(None), |v| string(v).map(Some));
        Some(Self {
            api_group: text(group)?,
            resource: text(resource)?,
            subresource: text(sub)?,
        })
    }
}

/// The members of an audit event that are of use.
#[derive(Default)]
struct Audited<'a> {
    stage: Cow<'a, str>,
    verb: Cow<'a, str>,
    level: Cow<'a, str>,
    uri: Cow<'a, str>,
    of: ObjectRef<'a>,
    code: u16,
    response: Option<&'a str>,
    user: Option<&'a str>,
    impersonated: Option<&'a str>,
    time: Option<&'a str>,
}

/// An audit event: `Event` of `audit.k8s.io`.
fn of_audit(event: &str) -> Result<Record<'_>, Unread> {
    let mut audited = Audited::default();
    let text = |value| string(value).unwrap_or_default();
    // It was taken apart before.
    let _ = members(event, |name, value| match &*name {
        _ if value == "null" => {}
        "stage" => audited.stage = text(value),
        "verb" => audited.verb = text(value),
        "level" => audited.level = text(value),
        "requestURI" => audited.uri = text(value),
        "objectRef" => audited.of = ObjectRef::read(value).unwrap_or_default(),
        "responseStatus" => {
            let code = some(value, ["code"]).and_then(|[code]| code?.parse().ok());
            audited.code = code.unwrap_or_default();
        }
        "responseObject" => audited.response = Some(value),
        "user" => audited.user = Some(value),
        "impersonatedUser" => audited.impersonated = Some(value),
        "requestReceivedTimestamp" => {
            audited.time = value.strip_prefix('"').and_then(|v| v.strip_suffix('"'));
        }
        _ => {}
    });
    let is_write = ["create", "update", "patch", "delete"].contains(&&*audited.verb);
    if audited.stage != "ResponseComplete" || !is_write {
        return Ok(Record::Nothing);
    }
    let ObjectRef {
        api_group,
        resource,
        subresource,
    } = audited.of;
    let subresource = subresource.unwrap_or_default();
    let is_status = subresource == "status";
    if !(is_status || subresource.is_empty()) || audited.uri.contains("dryRun=") {
        return Ok(Record::Nothing);
    }
    let (group, resource) = (api_group.unwrap_or_default(), resource.unwrap_or_default());
    let is_known = kinds()
        .iter()
        .any(|kind| kind.group() == group && kind.plural() == resource);
    if audited.code >= 400 {
        return Ok(if is_known {
            Record::Refused
        } else {
            Record::Nothing
        });
    }
    let Some(response) = audited.response else {
        // Of other resources nobody wants to know.
        let level = audited.level.chars().take(40).collect();
        return if is_known {
            Err(Unread::NoObject(level))
        } else {
            Ok(Record::Nothing)
        };
    };
    let state = State::read(response)
        .map_err(|NoObject| Unread::NotJson("not JSON: expected an object".to_owned()))?;
    let operation = match &*audited.verb {
        "delete" => Operation::Delete,
        // An apply may create.
        verb if verb == "create" || audited.code == 201 => Operation::Create,
        _ => Operation::Update,
    };
    Ok(Record::Write(Box::new(Write {
        operation,
        is_status,
        user: audited.impersonated.or(audited.user),
        time: audited.time,
        state,
    })))
}

/// The elements of a JSON array of objects, each as its text.
pub(crate) fn elements(json: &str) -> Option<Vec<&str>> {
    struct Elements;
    impl<'de> Visitor<'de> for Elements {
        type Value = Vec<&'de str>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an array")
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            let mut elements = Vec::new();
            while let Some(value) = seq.next_element::<&'de RawValue>()? {
                elements.push(value.get());
            }
            Ok(elements)
        }
    }
    let mut json = serde_json::Deserializer::from_str(json);
    json.deserialize_seq(Elements).ok()
}
