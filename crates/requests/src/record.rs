//! What a document of a recorded history says.

use std::borrow::Cow;
use std::fmt;

use managed_by::kinds;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

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
    pub(crate) members: Vec<(Cow<'a, str>, &'a RawValue)>,
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
    managed_fields: Option<&'a RawValue>,
}

impl<'a> State<'a> {
    pub(crate) fn read(json: &'a str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(json)
    }

    /// A member, unless it is null.
    pub(crate) fn member(&self, name: &str) -> Option<&'a str> {
        let mut members = self.members.iter().rev();
        let (_, value) = members.find(|(key, _)| key == name)?;
        Some(value.get()).filter(|text| *text != "null")
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
        #[derive(serde::Deserialize)]
        struct Field<'f> {
            #[serde(borrow)]
            time: Option<Cow<'f, str>>,
        }
        let fields = self.metadata.managed_fields.map(RawValue::get);
        let fields = fields.and_then(|json| serde_json::from_str::<Vec<Field<'_>>>(json).ok());
        let newest = fields.into_iter().flatten().filter_map(|f| f.time).max();
        let creation = || self.metadata.creation.clone().filter(|_| is_new);
        newest.or_else(creation).map(Cow::into_owned)
    }

    fn of_members(members: Vec<(Cow<'a, str>, &'a RawValue)>) -> Self {
        let mut state = Self {
            members,
            ..Self::default()
        };
        let text = |name: &str| state.member(name).and_then(string).unwrap_or_default();
        let (group, version) = group_version(text("apiVersion"));
        let kind = text("kind");
        let metadata = state.member("metadata");
        let metadata = metadata.and_then(|json| serde_json::from_str(json).ok());
        state.metadata = metadata.unwrap_or_default();
        (state.group, state.version, state.kind) = (group, version, kind);
        state
    }
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

/// The string that a JSON value is.
pub(crate) fn string(json: &str) -> Option<Cow<'_, str>> {
    let body = json.strip_prefix('"')?.strip_suffix('"')?;
    if body.contains('\\') {
        return serde_json::from_str(json).ok().map(Cow::Owned);
    }
    Some(Cow::Borrowed(body))
}

/// The name of a member.
struct Name<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Name<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Name(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Name(Cow::Owned(text.to_owned())))
            }
        }
        json.deserialize_str(Text)
    }
}

impl<'de> Deserialize<'de> for State<'de> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = State<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::with_capacity(8);
                while let Some((Name(name), value)) = map.next_entry()? {
                    members.push((name, value));
                }
                Ok(State::of_members(members))
            }
        }
        json.deserialize_map(Members)
    }
}

impl<'de> Deserialize<'de> for Metadata<'de> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Metadata<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut metadata = Metadata::default();
                while let Some(Name(name)) = map.next_key()? {
                    let mut text = || -> Result<Cow<'de, str>, A::Error> {
                        let value: &'de RawValue = map.next_value()?;
                        Ok(string(value.get()).unwrap_or_default())
                    };
                    match &*name {
                        "name" => metadata.name = text()?,
                        "namespace" => metadata.namespace = text()?,
                        "uid" => metadata.uid = text()?,
                        "resourceVersion" => metadata.resource_version = text()?.parse().ok(),
                        "creationTimestamp" => metadata.creation = Some(text()?),
                        "deletionTimestamp" => {
                            let value: &RawValue = map.next_value()?;
                            metadata.is_being_deleted = value.get() != "null";
                        }
                        "managedFields" => metadata.managed_fields = Some(map.next_value()?),
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                Ok(metadata)
            }
        }
        json.deserialize_map(Members)
    }
}

/// A document: an object, a list, a watch event or an audit event. Which one shows when all members are known.
struct Whole<'a> {
    members: Vec<(Cow<'a, str>, &'a RawValue)>,
    /// The member `object`, which a watch event has.
    object: Option<State<'a>>,
}

impl<'de> Deserialize<'de> for Whole<'de> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Whole<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let (mut members, mut object) = (Vec::with_capacity(8), None);
                while let Some(Name(name)) = map.next_key()? {
                    if name == "object" {
                        object = Some(map.next_value()?);
                    } else {
                        members.push((name, map.next_value()?));
                    }
                }
                Ok(Whole { members, object })
            }
        }
        json.deserialize_map(Members)
    }
}

/// What one part of a stream says, each with the number of lines before it. Values may follow each other without an end of
/// line.
pub(crate) fn read<'a>(bytes: &'a [u8], mut each: impl FnMut(usize, Result<Record<'a>, Unread>)) {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let Ok(text) = std::str::from_utf8(bytes) else {
        return each(0, Err(Unread::NotJson("is not UTF-8".to_owned())));
    };
    for whole in serde_json::Deserializer::from_str(text).into_iter::<Whole<'a>>() {
        match whole {
            Ok(whole) => of_whole(whole, &mut |record| each(0, record)),
            Err(e) => {
                // A string that was cut is noticed behind the end of its line.
                let past = usize::from(e.is_syntax() && e.column() == 0);
                let before = e.line().saturating_sub(past).saturating_sub(1);
                each(before, Err(Unread::NotJson(not_json(&e))));
            }
        }
    }
}

/// The error of `serde_json` without its place, which is of the part alone.
fn not_json(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let text = text.split(" at line ").next().unwrap_or_default();
    format!("not JSON: {text}")
}

fn of_whole<'a>(whole: Whole<'a>, each: &mut impl FnMut(Result<Record<'a>, Unread>)) {
    if let Some(object) = whole.object {
        let named = whole.members.iter().find(|(name, _)| name == "type");
        let event = named.and_then(|(_, value)| string(value.get()));
        return each(of_event(event.as_deref(), object));
    }
    let state = State::of_members(whole.members);
    match (&*state.group, &*state.kind) {
        ("audit.k8s.io", "Event") => each(of_audit(&state)),
        (_, kind) if kind.ends_with("List") && state.member("items").is_some() => {
            let is_audit = state.group == "audit.k8s.io";
            let items = state.member("items").unwrap_or_default();
            match serde_json::from_str::<Vec<State<'a>>>(items) {
                Ok(items) if is_audit => items.iter().for_each(|item| each(of_audit(item))),
                Ok(items) => items
                    .into_iter()
                    .for_each(|item| each(Ok(Record::State(Event::Listed, Box::new(item))))),
                Err(e) => each(Err(Unread::NotJson(not_json(&e)))),
            }
        }
        (_, "") => each(Err(Unread::Unknown(
            "expected an object, a watch event or an audit event, got none of them",
        ))),
        _ => each(Ok(Record::State(Event::Listed, Box::new(state)))),
    }
}

fn of_event<'a>(event: Option<&str>, object: State<'a>) -> Result<Record<'a>, Unread> {
    let event = match event {
        Some("ADDED") => Event::Added,
        Some("MODIFIED") => Event::Modified,
        Some("DELETED") => Event::Deleted,
        Some("BOOKMARK") => return Ok(Record::Nothing),
        Some("ERROR") => {
            let message = object
                .member("message")
                .and_then(string)
                .unwrap_or_default();
            let message: String = message.chars().take(200).collect();
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

#[derive(serde::Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct ObjectRef<'a> {
    #[serde(borrow)]
    api_group: Option<Cow<'a, str>>,
    #[serde(borrow)]
    resource: Option<Cow<'a, str>>,
    #[serde(borrow)]
    subresource: Option<Cow<'a, str>>,
}

#[derive(serde::Deserialize, Default)]
#[serde(default)]
struct ResponseStatus {
    code: u16,
}

/// An audit event (`Event` of `audit.k8s.io`), which was read as an object.
fn of_audit<'a>(event: &State<'a>) -> Result<Record<'a>, Unread> {
    let text = |name: &str| event.member(name).and_then(string).unwrap_or_default();
    if text("stage") != "ResponseComplete" {
        return Ok(Record::Nothing);
    }
    let verb = text("verb");
    if !["create", "update", "patch", "delete"].contains(&&*verb) {
        return Ok(Record::Nothing);
    }
    let of = event
        .member("objectRef")
        .and_then(|json| serde_json::from_str(json).ok());
    let of: ObjectRef<'_> = of.unwrap_or_default();
    let group = of.api_group.unwrap_or_default();
    let resource = of.resource.unwrap_or_default();
    let subresource = of.subresource.unwrap_or_default();
    let is_known = kinds()
        .iter()
        .any(|kind| kind.group() == group && kind.plural() == resource);
    let is_status = subresource == "status";
    if !is_known || !(is_status || subresource.is_empty()) {
        return Ok(Record::Nothing);
    }
    let status = event.member("responseStatus");
    let status = status.and_then(|json| serde_json::from_str(json).ok());
    let ResponseStatus { code } = status.unwrap_or_default();
    if code >= 400 {
        return Ok(Record::Refused);
    }
    if text("requestURI").contains("dryRun=") {
        return Ok(Record::Nothing);
    }
    let Some(object) = event.member("responseObject") else {
        return Err(Unread::NoObject(text("level").chars().take(40).collect()));
    };
    let object = State::read(object).map_err(|e| Unread::NotJson(not_json(&e)))?;
    let operation = match &*verb {
        "delete" => Operation::Delete,
        // An apply may create.
        _ if verb == "create" || code == 201 => Operation::Create,
        _ => Operation::Update,
    };
    let time = event.member("requestReceivedTimestamp");
    let user = event.member("impersonatedUser");
    Ok(Record::Write(Box::new(Write {
        operation,
        is_status,
        user: user.or_else(|| event.member("user")),
        time: time.and_then(|json| json.strip_prefix('"')?.strip_suffix('"')),
        state: object,
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
