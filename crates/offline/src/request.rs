//! Requests for the library, and their JSON representation.

use managed_by::{AdmissionRequest, Change, Kind, UserInfo};
use serde::ser::{Error as _, SerializeMap as _};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::asks::Asks;
use crate::json::Members;
use crate::object_name::ObjectName;
use crate::record::State;

/// A request on an object. It serializes as an `AdmissionRequest`.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The operation.
    pub asks: Asks,
    /// A note about the request, besides the verdict.
    pub remark: Option<Remark>,
    /// The object after the change.
    pub(crate) state: &'a State<'a>,
    /// The object before the change.
    pub(crate) before: Option<&'a State<'a>>,
    /// True for one of the two requests that a change of the status and the rest becomes.
    pub(crate) is_half: bool,
    pub(crate) namespace: &'a str,
    pub(crate) user: Who<'a>,
}

/// A note about a request, besides the verdict. It is not a warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remark {
    /// The manifest has a status, which is not evaluated.
    StatusDropped,
    /// The object is evaluated as stored.
    Stored,
}

impl Remark {
    /// Returns the note as text.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::StatusDropped => "the API server drops the status of a create",
            Self::Stored => "judged as a stored object, with its status",
        }
    }
}

impl Serialize for Remark {
    fn serialize<S: Serializer>(&self, json: S) -> Result<S::Ok, S::Error> {
        json.serialize_str(self.as_str())
    }
}

/// The requesting user.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Who<'a> {
    /// `userInfo` of the record, as JSON.
    Recorded(Option<&'a str>),
    Named(&'a UserInfo<'a>),
}

/// The UID of requests that do not come from an API server.
const UID: &str = "00000000-0000-0000-0000-000000000000";

impl Request<'_> {
    /// Returns the name of the object.
    pub fn object(&self) -> ObjectName {
        ObjectName::of(self.state)
    }

    /// Builds the library's representation of the request and passes it to a closure.
    ///
    /// # Errors
    /// Returns an error if an object or `userInfo` has a field of the wrong type.
    pub fn read<T>(
        &self,
        ask: impl FnOnce(&AdmissionRequest<'_>) -> T,
    ) -> Result<T, managed_by::Malformed> {
        let object = self.state.object();
        let before = self.before.map(State::object);
        let before = before.as_deref().filter(|_| self.asks.is_update());
        let half = self
            .before
            .filter(|_| self.is_half && self.asks.is_update());
        let half = half.map(|before| Written::WithStatus(self.state.text, before.status));
        let half = half.map(|half| serde_json::to_string(&half).unwrap_or_default());
        let half = half.as_deref().map(|half| self.state.with_text(half));
        let (object, half) = (&*object, half.as_ref());
        let change = match before {
            Some(old) if self.asks == Asks::UpdateStatus => Change::UpdateStatus {
                object,
                old: half.unwrap_or(old),
            },
            Some(old) => Change::Update {
                object: half.unwrap_or(object),
                old,
            },
            None if self.asks.is_stored() => Change::Stored { object },
            None => Change::Create { object },
        };
        let user = match self.user {
            Who::Recorded(json) => {
                json.map_or_else(|| Ok(UserInfo::default()), UserInfo::from_json)?
            }
            Who::Named(user) => user.clone(),
        };
        let request = AdmissionRequest::from_objects(change, self.namespace, user)?;
        Ok(ask(&request))
    }

    /// Returns the main-resource update that precedes a status update, if the change is split.
    pub(crate) fn first_half(self) -> Option<Self> {
        let asks = Asks::Update;
        self.is_half.then_some(Self { asks, ..self })
    }
}

/// Writes `kind` first, so that the decoder recognizes the kind before it reaches the objects.
impl Serialize for Request<'_> {
    fn serialize<S: Serializer>(&self, json: S) -> Result<S::Ok, S::Error> {
        let State {
            group,
            version,
            kind,
            metadata,
            text,
            ..
        } = self.state;
        let known = Kind::find(group, version, kind);
        let own = Written::Whole;
        let half = || Written::WithStatus(text, self.before.and_then(|old| old.status));
        let (object, old) = match (self.asks, self.before) {
            (Asks::Create, _) => (Written::WithStatus(text, None), None),
            (Asks::Update, Some(old)) if self.is_half => (half(), Some(own(old.text))),
            (Asks::UpdateStatus, Some(_)) if self.is_half => (own(text), Some(half())),
            (_, old) => (own(text), old.map(|old| own(old.text))),
        };
        let mut request = json.serialize_map(None)?;
        request.serialize_entry("uid", UID)?;
        request.serialize_entry(
            "kind",
            &Names(["group", "version", "kind"], [group, version, kind]),
        )?;
        let plural = known.map_or("", Kind::plural);
        let resource = Names(["group", "version", "resource"], [group, version, plural]);
        request.serialize_entry("resource", &resource)?;
        request.serialize_entry("operation", self.asks.operation())?;
        if !self.asks.sub_resource().is_empty() {
            request.serialize_entry("subResource", self.asks.sub_resource())?;
        }
        request.serialize_entry("name", &*metadata.name)?;
        request.serialize_entry("namespace", self.namespace)?;
        request.serialize_entry("userInfo", &self.user)?;
        request.serialize_entry("object", &object)?;
        if let Some(old) = &old {
            request.serialize_entry("oldObject", old)?;
        }
        request.end()
    }
}

impl Serialize for Who<'_> {
    fn serialize<S: Serializer>(&self, json: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Recorded(Some(text)) => raw::<S>(text)?.serialize(json),
            Self::Recorded(None) => json.serialize_map(Some(0))?.end(),
            Self::Named(user) => {
                let mut info = json.serialize_map(None)?;
                info.serialize_entry("username", &user.username)?;
                info.serialize_entry("groups", &user.groups)?;
                info.end()
            }
        }
    }
}

/// Three member names and their values.
struct Names<'a>([&'static str; 3], [&'a str; 3]);

impl Serialize for Names<'_> {
    fn serialize<S: Serializer>(&self, json: S) -> Result<S::Ok, S::Error> {
        json.collect_map(self.0.iter().zip(&self.1))
    }
}

/// An object to serialize.
enum Written<'a> {
    /// The unchanged text.
    Whole(&'a str),
    /// The text with its status replaced or removed.
    WithStatus(&'a str, Option<&'a str>),
}

impl Serialize for Written<'_> {
    fn serialize<S: Serializer>(&self, json: S) -> Result<S::Ok, S::Error> {
        let (text, status) = match self {
            Self::Whole(text) => return raw::<S>(text)?.serialize(json),
            Self::WithStatus(text, status) => (text, status),
        };
        let members = Members::of(text).unwrap_or_default();
        let mut object = json.serialize_map(None)?;
        for (name, value) in members.iter().filter(|(name, _)| name != "status") {
            object.serialize_entry(&name, raw::<S>(value)?)?;
        }
        if let Some(status) = status {
            object.serialize_entry("status", raw::<S>(status)?)?;
        }
        object.end()
    }
}

/// Wraps text that is known to be valid JSON.
fn raw<S: Serializer>(text: &str) -> Result<&RawValue, S::Error> {
    serde_json::from_str(text).map_err(S::Error::custom)
}
