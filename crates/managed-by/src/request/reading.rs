//! Reads a request.

use std::borrow::Cow;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{IgnoredAny, MapAccess};

use super::body::{Body, BodyOf};
use super::change::Change;
use super::identity::{GroupVersionKind, UserInfo};
use super::source::Source;
use super::{AdmissionRequest, Subject, UnreadChange};
use crate::decode::fields::{self, Nullable, Text, put};
use crate::decode::{Malformed, Result, VisitContainer};

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
    request_kind: Option<Nullable<GroupVersionKind<'a>>>,
    operation: Option<Text<'a>>,
    sub_resource: Option<Name<'a>>,
    name: Option<Name<'a>>,
    namespace: Option<Name<'a>>,
    resource: Option<Nullable<Resource<'a>>>,
    user: Option<Nullable<UserInfo<'a>>>,
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

impl<'a> VisitContainer<'a> for RequestReading<'a> {
    fn visit_members<A: MapAccess<'a>>(&mut self, mut map: A) -> std::result::Result<(), A::Error> {
        while let Some(member) = map.next_key()? {
            let kind = self.kind.as_ref().map(|fields::StrictObject(kind)| kind);
            let body = BodyOf(kind.filter(|_| self.is_inline));
            match member {
                Member::Kind => put(&mut self.kind, &mut map, PhantomData)?,
                Member::RequestKind => put(&mut self.request_kind, &mut map, PhantomData)?,
                Member::Operation => put(&mut self.operation, &mut map, PhantomData)?,
                Member::SubResource => put(&mut self.sub_resource, &mut map, PhantomData)?,
                Member::Name => put(&mut self.name, &mut map, PhantomData)?,
                Member::Namespace => put(&mut self.namespace, &mut map, PhantomData)?,
                Member::Resource => put(&mut self.resource, &mut map, PhantomData)?,
                Member::UserInfo => put(&mut self.user, &mut map, PhantomData)?,
                Member::Object => put(&mut self.object, &mut map, body)?,
                Member::OldObject => put(&mut self.old_object, &mut map, body)?,
                Member::Other => map.next_value().map(|IgnoredAny| ())?,
            }
        }
        Ok(())
    }
}

impl<'a> RequestReading<'a> {
    pub(super) fn new(objects: ObjectDecoding) -> Self {
        Self {
            is_inline: objects == ObjectDecoding::Inline,
            ..Self::default()
        }
    }

    /// Makes a request of the members.
    ///
    /// # Errors
    /// If a member that the operation needs is missing or invalid, with its path from the request.
    pub(super) fn finish(self, source: Source<'a>) -> Result<AdmissionRequest<'a>> {
        let missing = |member, expected| Malformed::unexpected(member, expected, "nothing");
        let kind = self.kind.ok_or_else(|| missing("kind", "an object"))?.0;
        if kind.kind.is_empty() {
            return Err(missing("kind.kind", "the name of a kind"));
        }
        let text = |name: Option<Name<'a>>| name.unwrap_or_default().0;
        let sub_resource = text(self.sub_resource);
        let is_status = sub_resource == "status";
        let object = self.object.unwrap_or_default();
        let old = self.old_object.unwrap_or_default();
        let operation = self.operation.map(|Text(operation)| operation);
        let change = match operation.as_deref() {
            Some("CREATE") => Some(Change::Create { object }),
            Some("UPDATE") if kind.is_pod() => None,
            Some("UPDATE") if is_status => Some(Change::UpdateStatus { object, old }),
            Some("UPDATE") => Some(Change::Update { object, old }),
            Some("DELETE" | "CONNECT") => None,
            other => {
                let got = other.map_or("nothing", |_| "another word");
                return Err(Malformed::unexpected("operation", OPERATIONS, got));
            }
        };
        let Nullable(written) = self.request_kind.unwrap_or_default();
        let version = match &*written.version {
            "" => kind.version.clone(),
            _ => written.version,
        };
        let subject = match change.filter(|_| is_status || sub_resource.is_empty()) {
            None => Subject::NotJudged,
            Some(change) if kind.is_pod() => Subject::Pod(change.object().pod()?),
            Some(change) => match kind.profile() {
                Some(profile) => {
                    let change = change.try_map(|body, member| body.into_kind(profile, member))?;
                    Subject::Change(profile, change.of_request())
                }
                None => Subject::UnknownKind(Box::new(UnreadChange { kind, change })),
            },
        };
        let Nullable(Resource { resource }) = self.resource.unwrap_or_default();
        let Nullable(user) = self.user.unwrap_or_default();
        Ok(AdmissionRequest {
            namespace: text(self.namespace),
            resource,
            ..AdmissionRequest::new(text(self.name), version, user, subject, source)
        })
    }
}
