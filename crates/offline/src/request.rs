//! Admission requests for the library, and their JSON representation.

use std::borrow::Cow;

use managed_by::{AdmissionRequest, Change, Kind, UserInfo};
use serde::ser::{Error as _, SerializeMap as _};
use serde::{Serialize, Serializer};
use serde_json::json;
use serde_json::value::RawValue;

use crate::json::Members;
use crate::object_ref::ObjectRef;
use crate::operation::Operation;
use crate::record::State;

/// A request on an object. It serializes as an `AdmissionRequest`.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    pub operation: Operation,
    /// A note about the request, besides the verdict. It is not a warning.
    pub note: Option<&'static str>,
    /// The object after the change.
    pub(crate) state: &'a State<'a>,
    /// The object before an update.
    pub(crate) old: Option<&'a State<'a>>,
    /// True for each of the two requests for an event that changes both the status and other fields.
    pub(crate) is_split_update: bool,
    /// True if the objects are manifests, as someone wrote them.
    pub(crate) is_manifest: bool,
    pub(crate) namespace: &'a str,
    pub(crate) user: RequestUser<'a>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum RequestUser<'a> {
    /// `userInfo` of the record, as JSON.
    Recorded(Option<&'a str>),
    Given(&'a UserInfo<'a>),
}

impl Request<'_> {
    /// Returns the key that identifies the object in a history: its UID, or else its kind, namespace and name.
    pub fn identity(&self) -> Cow<'_, str> {
        self.state.identity()
    }

    pub fn object_ref(&self) -> ObjectRef {
        self.state.object_ref()
    }

    /// Builds the library's representation of the request and passes it to a closure.
    pub fn with_request<T>(
        &self,
        each: impl FnOnce(&AdmissionRequest<'_>) -> T,
    ) -> Result<T, managed_by::DecodeError> {
        let object = self.state.object();
        let old = self.old.map(State::object);
        let intermediate = self
            .intermediate()
            .and_then(|object| serde_json::to_string(&object).ok());
        let intermediate = intermediate
            .as_deref()
            .map(|json| self.state.decode_text(json));
        let (object, intermediate) = (&*object, intermediate.as_ref());
        let change = match (self.operation, old.as_deref()) {
            (Operation::UpdateStatus, Some(old)) => Change::UpdateStatus {
                object,
                old: intermediate.unwrap_or(old),
            },
            (Operation::Update, Some(old)) => Change::Update {
                object: intermediate.unwrap_or(object),
                old,
            },
            (Operation::Stored, _) => Change::Stored { object },
            _ => Change::Create { object },
        };
        let user = match self.user {
            RequestUser::Recorded(Some(json)) => UserInfo::from_json(json)?,
            RequestUser::Recorded(None) => UserInfo::default(),
            RequestUser::Given(user) => user.clone(),
        };
        let request = AdmissionRequest::from_objects(change, self.namespace, user)?;
        Ok(if self.is_manifest {
            each(&request.with_manifests())
        } else {
            each(&request)
        })
    }

    /// Returns the main-resource update that precedes a status update, if the change is split.
    pub(crate) fn main_resource_update(self) -> Option<Self> {
        let operation = Operation::Update;
        self.is_split_update.then_some(Self { operation, ..self })
    }

    /// Returns the object between the two requests of a split change: the new object with the old status.
    fn intermediate(&self) -> Option<WithStatus<'_>> {
        let old = self.old.filter(|_| self.is_split_update)?;
        Some(WithStatus(self.state.text, old.status))
    }
}

impl Serialize for Request<'_> {
    fn serialize<S: Serializer>(&self, json: S) -> Result<S::Ok, S::Error> {
        let state = self.state;
        let known = Kind::find(&state.group, &state.version, &state.kind);
        let plural = known.map_or("", Kind::plural);
        let kind = json!({"group": state.group, "version": state.version, "kind": state.kind});
        let resource = json!({"group": state.group, "version": state.version, "resource": plural});
        let mut request = json.serialize_map(None)?;
        request.serialize_entry("uid", "00000000-0000-0000-0000-000000000000")?;
        // The decoder recognizes the kind before it reaches the objects.
        request.serialize_entry("kind", &kind)?;
        request.serialize_entry("resource", &resource)?;
        request.serialize_entry("operation", self.operation.as_str())?;
        if !self.operation.subresource().is_empty() {
            request.serialize_entry("subResource", self.operation.subresource())?;
        }
        request.serialize_entry("name", &state.metadata.name)?;
        request.serialize_entry("namespace", self.namespace)?;
        match self.user {
            RequestUser::Recorded(user) => {
                request.serialize_entry("userInfo", raw::<S>(user.unwrap_or("{}"))?)?;
            }
            RequestUser::Given(UserInfo { username, groups }) => {
                let user = json!({"username": username, "groups": groups});
                request.serialize_entry("userInfo", &user)?;
            }
        }
        match (self.operation, self.intermediate()) {
            (Operation::Create, _) => {
                request.serialize_entry("object", &WithStatus(state.text, None))?;
            }
            (Operation::Update, Some(object)) => request.serialize_entry("object", &object)?,
            _ => request.serialize_entry("object", raw::<S>(state.text)?)?,
        }
        match (self.operation, self.intermediate(), self.old) {
            (Operation::UpdateStatus, Some(old), _) => {
                request.serialize_entry("oldObject", &old)?;
            }
            (_, _, Some(old)) => request.serialize_entry("oldObject", raw::<S>(old.text)?)?,
            (_, _, None) => {}
        }
        request.end()
    }
}

/// An object whose status is replaced or removed.
struct WithStatus<'a>(&'a str, Option<&'a str>);

impl Serialize for WithStatus<'_> {
    fn serialize<S: Serializer>(&self, json: S) -> Result<S::Ok, S::Error> {
        let Self(text, status) = *self;
        let members = Members::parse(text).unwrap_or_default();
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
