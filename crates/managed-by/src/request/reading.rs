//! Reads a request.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess};

use super::body::{Body, BodyOf};
use super::change::Change;
use super::identity::{GroupVersionKind, UserInfo};
use super::source::Source;
use super::{AdmissionRequest, Subject, UnreadChange};
use crate::decode::fields::{self, Nullable, Text, put, put_seed};
use crate::decode::{Malformed, Raw, Result, Strict, VisitContainer};

/// The time at which the objects of a request are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ObjectDecoding {
    /// With the request, if its kind comes before them: each byte is read once.
    Inline,
    /// After it: the operation, which comes after them, decides which objects must be valid.
    Deferred,
}

impl ObjectDecoding {
    /// Reads a document with the objects inline. If there is an error, reads it again, to decide whether the error matters.
    pub(super) fn read<T>(read: impl Fn(Self) -> Result<T>) -> Result<T> {
        read(Self::Inline).or_else(|error| match read(Self::Deferred) {
            // Lines and columns of the whole document.
            Err(deferred) if deferred.path().is_none() => Err(error),
            result => result,
        })
    }
}

const OPERATIONS: &str = "CREATE, UPDATE, DELETE or CONNECT";

/// A request whose members were read. They may come in any order, but come sorted from Kubewarden: `kind` before the objects.
#[derive(Default)]
pub(super) struct RequestReading<'a> {
    /// True if the objects are read with the request.
    is_inline: bool,
    kind: Option<fields::StrictObject<GroupVersionKind<'a>>>,
    request_kind: Option<Raw<'a>>,
    operation: Option<Text<'a>>,
    sub_resource: Option<Name<'a>>,
    name: Option<Name<'a>>,
    namespace: Option<Name<'a>>,
    resource: Option<Nullable<Resource<'a>>>,
    user: Option<Raw<'a>>,
    object: Option<Body<'a>>,
    old_object: Option<Body<'a>>,
}

/// The members of a request that are read.
#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "camelCase")]
enum Member {
    Kind,
    RequestKind,
    Operation,
    SubResource,
    Name,
    Namespace,
    Resource,
    UserInfo,
    Object,
    OldObject,
    #[serde(other)]
    Other,
}

/// A string; empty for `null`.
#[derive(Default, Deserialize)]
struct Name<'a>(#[serde(borrow, deserialize_with = "fields::string")] Cow<'a, str>);

#[derive(Default, Deserialize)]
#[serde(default, expecting = "an object")]
struct Resource<'a> {
    #[serde(borrow, deserialize_with = "fields::string")]
    resource: Cow<'a, str>,
}

impl<'a> DeserializeSeed<'a> for ObjectDecoding {
    type Value = RequestReading<'a>;

    fn deserialize<D: Deserializer<'a>>(
        self,
        json: D,
    ) -> std::result::Result<Self::Value, D::Error> {
        let mut reading = RequestReading {
            is_inline: self == Self::Inline,
            ..RequestReading::default()
        };
        json.deserialize_map(Strict(&mut reading))?;
        Ok(reading)
    }
}

impl<'a> VisitContainer<'a> for RequestReading<'a> {
    fn visit_members<A: MapAccess<'a>>(&mut self, mut map: A) -> std::result::Result<(), A::Error> {
        while let Some(member) = map.next_key()? {
            let kind = self.kind.as_ref().map(|fields::StrictObject(kind)| kind);
            let body = BodyOf(kind.filter(|_| self.is_inline));
            match member {
                Member::Kind => put(&mut self.kind, &mut map)?,
                Member::RequestKind => put(&mut self.request_kind, &mut map)?,
                Member::Operation => put(&mut self.operation, &mut map)?,
                Member::SubResource => put(&mut self.sub_resource, &mut map)?,
                Member::Name => put(&mut self.name, &mut map)?,
                Member::Namespace => put(&mut self.namespace, &mut map)?,
                Member::Resource => put(&mut self.resource, &mut map)?,
                Member::UserInfo => put(&mut self.user, &mut map)?,
                Member::Object => put_seed(&mut self.object, &mut map, body)?,
                Member::OldObject => put_seed(&mut self.old_object, &mut map, body)?,
                Member::Other => map.next_value().map(|IgnoredAny| ())?,
            }
        }
        Ok(())
    }
}

impl<'a> RequestReading<'a> {
    /// Makes a request of the members.
    ///
    /// # Errors
    /// If a member that the operation needs is missing or invalid, with its path from the request.
    pub(super) fn finish(self, source: Source<'a>) -> Result<AdmissionRequest<'a>> {
        let fields::StrictObject(kind) = self
            .kind
            .ok_or_else(|| Malformed::unexpected("kind", "an object", "nothing"))?;
        if kind.kind.is_empty() {
            let expected = "the name of a kind";
            return Err(Malformed::unexpected("kind.kind", expected, "nothing"));
        }
        let text = |name: Option<Name<'a>>| name.unwrap_or_default().0;
        let mut request = AdmissionRequest {
            name: text(self.name),
            namespace: Cow::default(),
            resource: Cow::default(),
            version: kind.version.clone(),
            request_kind: self.request_kind,
            user: UserInfo::default(),
            subject: Subject::NotJudged,
            source,
        };
        let sub_resource = text(self.sub_resource);
        let is_status = sub_resource == "status";
        let is_pod = kind.is_pod();
        let object = self.object.unwrap_or_default();
        let old = self.old_object.unwrap_or_default();
        let operation = self.operation.map(|Text(operation)| operation);
        let change = match operation.as_deref() {
            Some("CREATE") => Change::Create { object },
            Some("UPDATE") if is_pod => return Ok(request),
            Some("UPDATE") if is_status => Change::UpdateStatus { object, old },
            Some("UPDATE") => Change::Update { object, old },
            Some("DELETE" | "CONNECT") => return Ok(request),
            other => {
                let got = other.map_or("nothing", |_| "another word");
                return Err(Malformed::unexpected("operation", OPERATIONS, got));
            }
        };
        if !(is_status || sub_resource.is_empty()) {
            return Ok(request);
        }
        request.namespace = text(self.namespace);
        let resource = self.resource.map(|Nullable(resource)| resource.resource);
        request.resource = resource.unwrap_or_default();
        request.subject = if is_pod {
            Subject::Pod(change.object().pod()?)
        } else if let Some(profile) = kind.profile() {
            let change = change.try_map(|body, member| body.into_kind(profile, member))?;
            Subject::Change(profile, change.of_request())
        } else {
            let user = self.user;
            request.subject = Subject::UnknownKind(Box::new(UnreadChange { kind, change, user }));
            return Ok(request);
        };
        request.take_own_name();
        request.user = UserInfo::read(self.user)?;
        Ok(request)
    }
}
