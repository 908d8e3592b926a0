//! How a request is read.

use std::borrow::Cow;

use serde::de::Deserializer;

use super::change::{Change, Says, nothing, required};
use super::identity::{GroupVersionKind, UserInfo};
use super::source::Source;
use super::{AdmissionRequest, Subject, UnreadChange};
use crate::decode::{Kept, Malformed, Members, Note, Place, Raw, Result, Strings, Type, Value};
use crate::kind::Kind;
use crate::object::Object;
use crate::object::pod::Pod;
use crate::object::unread::{Unread, read_text};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    Create,
    Update,
    /// DELETE, CONNECT.
    Other,
    /// A word that names none.
    Unknown,
}

const OPERATIONS: &str = "CREATE, UPDATE, DELETE or CONNECT";

/// A request of which all members were read. Members may come in any order, but come sorted from Kubewarden: `kind` is read
/// first, and each object is read just once.
#[derive(Default)]
pub(super) struct RequestReading<'a> {
    kind: Option<GroupVersionKind<'a>>,
    request_kind: Option<Raw<'a>>,
    operation: Option<Operation>,
    sub_resource: Cow<'a, str>,
    name: Cow<'a, str>,
    namespace: Cow<'a, str>,
    resource: Cow<'a, str>,
    user: Option<Raw<'a>>,
    object: Body<'a>,
    old_object: Body<'a>,
}

/// An object of the request, before it is known whether it matters.
#[derive(Default)]
enum Body<'a> {
    #[default]
    Absent,
    /// A pod.
    Pod(Raw<'a>),
    /// Its kind comes later, or is none that the library knows.
    Unread(Unread<'a>),
    Read(Result<Object<'a>>),
}

impl<'a> RequestReading<'a> {
    /// Reads the members. The inner error is about a member that every request needs.
    pub(super) fn read<D: Deserializer<'a>>(
        value: Value<'_, D>,
    ) -> std::result::Result<Result<Self>, D::Error> {
        let note = Note::default();
        let mut reading = Self::default();
        // Paths begin at the request: whoever has a document around it says so.
        let root = Place::root(&note);
        let value = value.at(root);
        value.object(&mut reading)?;
        Ok(note.or(reading))
    }

    pub(super) fn finish(self, source: Source<'a>) -> Result<AdmissionRequest<'a>> {
        let kind = self
            .kind
            .ok_or_else(|| Malformed::shape("kind", "an object", "nothing"))?;
        let operation = match self.operation {
            None => return Err(Malformed::shape("operation", OPERATIONS, "nothing")),
            Some(Operation::Unknown) => {
                return Err(Malformed::shape("operation", OPERATIONS, "another word"));
            }
            Some(operation) => operation,
        };
        let mut request = AdmissionRequest {
            name: self.name,
            namespace: Cow::default(),
            resource: Cow::default(),
            version: kind.version.clone(),
            request_kind: self.request_kind,
            user: UserInfo::default(),
            subject: Subject::NotJudged,
            source,
        };
        let is_status = self.sub_resource == "status";
        if operation == Operation::Other || !(is_status || self.sub_resource.is_empty()) {
            return Ok(request);
        }
        let is_pod = kind.is_pod();
        if is_pod && operation != Operation::Create {
            return Ok(request);
        }
        request.namespace = self.namespace;
        request.resource = self.resource;
        let says = match operation {
            Operation::Create => Says::CreateOrStored,
            _ if is_status => Says::UpdateStatus,
            _ => Says::Update,
        };
        request.subject = if is_pod {
            Subject::Pod(self.object.pod()?)
        } else if let Some(profile) = kind.profile() {
            let object = self.object.of_kind(profile, "object")?;
            let old = || self.old_object.of_kind(profile, "oldObject");
            Subject::Change(profile, Change::of(says, object, old)?)
        } else {
            request.subject = Subject::UnknownKind(Box::new(UnreadChange {
                kind,
                says,
                object: self.object.unread(),
                old: self.old_object.unread(),
                user: self.user,
            }));
            return Ok(request);
        };
        request.take_own_name();
        request.user = UserInfo::read(self.user)?;
        Ok(request)
    }
}

impl<'a> Members<'a> for RequestReading<'a> {
    fn member<D: Deserializer<'a>>(
        &mut self,
        name: &str,
        value: Value<'_, D>,
    ) -> std::result::Result<(), D::Error> {
        match name {
            // Objects may have been read by it already.
            "kind" if self.kind.is_some() => {
                value.place().expected("one kind", "another");
                value.skip()?;
            }
            "kind" => self.kind = Some(GroupVersionKind::read(value)?),
            "requestKind" => self.request_kind = Some(value.raw()?),
            "name" => self.name = value.string_or_null()?.unwrap_or_default(),
            "namespace" => self.namespace = value.string_or_null()?.unwrap_or_default(),
            "resource" => {
                let resource = std::slice::from_mut(&mut self.resource);
                value.object_or_null(&mut Strings::new(&["resource"], resource))?;
            }
            "userInfo" => self.user = Some(value.raw()?),
            "object" => self.object = Body::read(value, self.kind.as_ref())?,
            "oldObject" => self.old_object = Body::read(value, self.kind.as_ref())?,
            "operation" => self.operation = Some(Operation::named(&value.keep()?.string())),
            "subResource" => self.sub_resource = value.string_or_null()?.unwrap_or_default(),
            _ => value.skip()?,
        }
        Ok(())
    }
}

impl Operation {
    fn named(word: &str) -> Self {
        match word {
            "CREATE" => Self::Create,
            "UPDATE" => Self::Update,
            "DELETE" | "CONNECT" => Self::Other,
            _ => Self::Unknown,
        }
    }
}

impl<'a> Body<'a> {
    fn read<D: Deserializer<'a>>(
        value: Value<'_, D>,
        kind: Option<&GroupVersionKind<'a>>,
    ) -> std::result::Result<Self, D::Error> {
        let Some(gvk) = kind else {
            let raw = value.raw()?;
            return Ok(match raw.json_type() {
                Type::Null => Self::Absent,
                _ => Self::Unread(Unread::Text(raw)),
            });
        };
        if let Some(profile) = gvk.profile() {
            return Object::read(value, profile, None).map(|object| match object {
                Ok(None) => Self::Absent,
                Ok(Some(object)) => Self::Read(Ok(object)),
                Err(malformed) => Self::Read(Err(malformed)),
            });
        }
        if gvk.is_pod() {
            let raw = value.raw()?;
            return Ok(match raw.json_type() {
                Type::Null => Self::Absent,
                _ => Self::Pod(raw),
            });
        }
        Unread::outline(value).map(|unread| unread.map_or(Self::Absent, Self::Unread))
    }

    fn pod(self) -> Result<Pod<'a>> {
        let (Self::Pod(raw) | Self::Unread(Unread::Text(raw))) = self else {
            return Err(nothing("object"));
        };
        let note = Note::default();
        let root = Place::root(&note);
        let path = root.member("object");
        let pod = Pod::read(Kept::new(raw, root.at(&path)));
        note.or(pod)
    }

    /// The text of the object, to be read when its kind is known.
    fn unread(self) -> Option<Unread<'a>> {
        match self {
            Self::Unread(unread) => Some(unread),
            Self::Absent | Self::Pod(_) | Self::Read(_) => None,
        }
    }

    fn of_kind(self, profile: &'a Kind<'a>, member: &str) -> Result<Object<'a>> {
        let object = match self {
            Self::Read(object) => object.map(Some),
            Self::Unread(Unread::Text(raw)) => read_text(raw, profile),
            Self::Unread(Unread::Outline(_) | Unread::WithStatusOf(..))
            | Self::Pod(_)
            | Self::Absent => Ok(None),
        };
        required(object, member)
    }
}
