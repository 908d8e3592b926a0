//! Decoder of requests.

use std::borrow::Cow;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{IgnoredAny, MapAccess};

use super::change::Change;
use super::identity::{GroupVersionKind, UserInfo};
use super::request_object::{RequestObject, RequestObjectSeed};
use super::source::RequestSource;
use super::{AdmissionRequest, RequestTarget, UndecodedChange};
use crate::decode::fields::{self, DefaultOnNull, Text, set_once};
use crate::decode::{DecodeError, Result, VisitContainer};

/// Strategy for decoding the objects of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ObjectDecoding {
    /// With the request, if the kind comes first, so that each byte is read once.
    Inline,
    /// After the request, because the operation, which comes after the objects, determines which ones must be valid.
    Deferred,
}

impl ObjectDecoding {
    /// Decodes a document with inline objects. On error, retries with deferred objects, which may not be needed.
    pub(super) fn read<T>(read: impl Fn(Self) -> Result<T>) -> Result<T> {
        read(Self::Inline).or_else(|error| match read(Self::Deferred) {
            // Return the first error, whose line and column are in the whole document.
            Err(deferred) if deferred.path().is_none() => Err(error),
            result => result,
        })
    }
}

const OPERATIONS: &str = "CREATE, UPDATE, DELETE or CONNECT";

/// Members of a request, in any order. Kubewarden sorts them, so that `kind` comes before the objects.
#[derive(Default)]
pub(super) struct RequestFields<'a> {
    is_inline: bool,
    kind: Option<fields::StrictObject<GroupVersionKind<'a>>>,
    request_kind: Option<DefaultOnNull<GroupVersionKind<'a>>>,
    operation: Option<Text<'a>>,
    sub_resource: Option<Name<'a>>,
    name: Option<Name<'a>>,
    namespace: Option<Name<'a>>,
    user: Option<DefaultOnNull<UserInfo<'a>>>,
    object: Option<RequestObject<'a>>,
    old_object: Option<RequestObject<'a>>,
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "camelCase")]
enum Member {
    Kind,
    RequestKind,
    Operation,
    SubResource,
    Name,
    Namespace,
    UserInfo,
    Object,
    OldObject,
    #[serde(other)]
    Other,
}

/// String, which is empty for `null`.
#[derive(Default, Deserialize)]
struct Name<'a>(#[serde(borrow, deserialize_with = "fields::string")] Cow<'a, str>);

impl<'a> VisitContainer<'a> for RequestFields<'a> {
    fn visit_members<A: MapAccess<'a>>(&mut self, mut map: A) -> std::result::Result<(), A::Error> {
        while let Some(member) = map.next_key()? {
            let kind = self.kind.as_ref().map(|fields::StrictObject(kind)| kind);
            let seed = RequestObjectSeed(kind.filter(|_| self.is_inline));
            match member {
                Member::Kind => set_once(&mut self.kind, &mut map, PhantomData)?,
                Member::RequestKind => set_once(&mut self.request_kind, &mut map, PhantomData)?,
                Member::Operation => set_once(&mut self.operation, &mut map, PhantomData)?,
                Member::SubResource => set_once(&mut self.sub_resource, &mut map, PhantomData)?,
                Member::Name => set_once(&mut self.name, &mut map, PhantomData)?,
                Member::Namespace => set_once(&mut self.namespace, &mut map, PhantomData)?,
                Member::UserInfo => set_once(&mut self.user, &mut map, PhantomData)?,
                Member::Object => set_once(&mut self.object, &mut map, seed)?,
                Member::OldObject => set_once(&mut self.old_object, &mut map, seed)?,
                Member::Other => map.next_value().map(|IgnoredAny| ())?,
            }
        }
        Ok(())
    }
}

impl<'a> RequestFields<'a> {
    pub(super) fn new(objects: ObjectDecoding) -> Self {
        Self {
            is_inline: objects == ObjectDecoding::Inline,
            ..Self::default()
        }
    }

    /// Builds the request.
    ///
    /// # Errors
    /// Fails if a member that the operation requires is missing or invalid, with its path in the request.
    pub(super) fn finish(self, source: RequestSource<'a>) -> Result<AdmissionRequest<'a>> {
        let missing = |member, expected| DecodeError::unexpected(member, expected, "nothing");
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
        let (operation, change) = match operation.as_deref() {
            Some("CREATE") => ("CREATE", Some(Change::Create { object })),
            Some("UPDATE") if kind.is_pod() => ("UPDATE", None),
            Some("UPDATE") if is_status => ("UPDATE", Some(Change::UpdateStatus { object, old })),
            Some("UPDATE") => ("UPDATE", Some(Change::Update { object, old })),
            Some("DELETE") => ("DELETE", None),
            Some("CONNECT") => ("CONNECT", None),
            other => {
                let got = other.map_or("nothing", |_| "another value");
                return Err(DecodeError::unexpected("operation", OPERATIONS, got));
            }
        };
        let DefaultOnNull(written) = self.request_kind.unwrap_or_default();
        let version = match &*written.version {
            "" => kind.version.clone(),
            _ => written.version,
        };
        let target = match change.filter(|_| is_status || sub_resource.is_empty()) {
            None => RequestTarget::Skipped,
            Some(change) if kind.is_pod() => RequestTarget::Pod(change.object().pod()?),
            Some(change) => match kind.known_kind() {
                Some(known) => {
                    let change = change.try_map(|o, member| o.into_object(known, member))?;
                    RequestTarget::Change(known, change.detect_stored())
                }
                None => RequestTarget::UnknownKind(Box::new(UndecodedChange(change))),
            },
        };
        let DefaultOnNull(user) = self.user.unwrap_or_default();
        Ok(AdmissionRequest {
            namespace: text(self.namespace),
            version,
            operation,
            sub_resource,
            ..AdmissionRequest::new(kind, text(self.name), user, target, source)
        })
    }
}
