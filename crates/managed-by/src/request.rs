//! The borrowed view of an admission request: what rules read of it, and nothing else.

use std::borrow::Cow;

#[cfg(feature = "k8s-openapi")]
use k8s_openapi::api::batch::v1::Job;
use serde::de::Deserializer;

use crate::decode::{Kept, Malformed, Members, Note, Place, Raw, Result, Type, Value, document};
use crate::kind::Kind;
use crate::object::Object;
use crate::object::pod::{Pod, is_pod};
use crate::object::unread::{Unread, read_text};

/// Group, version and kind of the object in a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct GroupVersionKind<'a> {
    /// API group; empty for the core group.
    pub(crate) group: Cow<'a, str>,
    pub(crate) version: Cow<'a, str>,
    pub(crate) kind: Cow<'a, str>,
}

/// Who asks: `userInfo`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct UserInfo<'a> {
    pub(crate) username: Cow<'a, str>,
    pub(crate) groups: Vec<Cow<'a, str>>,
}

/// A change that rules judge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change<'a> {
    /// CREATE.
    Create {
        /// The object to be stored.
        object: Object<'a>,
    },
    /// UPDATE of the main resource.
    Update {
        /// The object to be stored.
        object: Object<'a>,
        /// The object as stored.
        old: Object<'a>,
    },
    /// UPDATE of the `status` subresource. kube-apiserver has put the old spec into the new object already.
    UpdateStatus {
        /// The object to be stored.
        object: Object<'a>,
        /// The object as stored.
        old: Object<'a>,
    },
}

impl<'a> Change<'a> {
    /// What is asked of an object. The stored one is read if there must be one.
    fn of(
        asks: Asks,
        object: Object<'a>,
        old: impl FnOnce() -> Result<Object<'a>>,
    ) -> Result<Self> {
        Ok(match asks {
            Asks::Create => Self::Create { object },
            Asks::Update => Self::Update {
                object,
                old: old()?,
            },
            Asks::UpdateStatus => Self::UpdateStatus {
                object,
                old: old()?,
            },
        })
    }

    /// The object that is to be stored.
    pub(crate) fn object(&self) -> &Object<'a> {
        match self {
            Self::Create { object }
            | Self::Update { object, .. }
            | Self::UpdateStatus { object, .. } => object,
        }
    }

    /// The object as stored, if it is.
    pub(crate) fn old(&self) -> Option<&Object<'a>> {
        match self {
            Self::Create { .. } => None,
            Self::Update { old, .. } | Self::UpdateStatus { old, .. } => Some(old),
        }
    }

    /// The object whose spec counts: kube-apiserver keeps the old spec in an update of the status.
    pub(crate) fn spec_holder(&self) -> &Object<'a> {
        match self {
            Self::UpdateStatus { old, .. } => old,
            Self::Create { object } | Self::Update { object, .. } => object,
        }
    }

    /// Whether the object is being deleted. An update cannot say so of itself: what is stored counts.
    pub(crate) fn is_of_deleted(&self) -> bool {
        let stored = self.old().unwrap_or_else(|| self.object());
        stored.metadata.is_being_deleted
    }
}

/// What a request asks for, as far as this library is concerned.
#[derive(Debug)]
pub(crate) enum Subject<'a> {
    /// Nothing that is judged: a deletion, a connection, or a subresource other than `status`.
    NotJudged,
    /// An object of a kind that the library does not know, and the settings may declare.
    UnknownKind(Box<UnreadChange<'a>>),
    /// A pod to create.
    Pod(Pod<'a>),
    /// A change to judge.
    Change(&'a Kind<'a>, Change<'a>),
}

/// A change of an object whose kind the library does not know.
#[derive(Debug)]
pub(crate) struct UnreadChange<'a> {
    pub(crate) kind: GroupVersionKind<'a>,
    asks: Asks,
    object: Option<Unread<'a>>,
    old: Option<Unread<'a>>,
    user: Option<Raw<'a>>,
}

/// What is asked of an object that is judged.
#[derive(Debug, Clone, Copy)]
enum Asks {
    Create,
    Update,
    UpdateStatus,
}

/// An admission request (`AdmissionRequest` of `admission.k8s.io/v1`), by what rules read of it.
#[derive(Debug)]
pub struct AdmissionRequest<'a> {
    pub(crate) name: Cow<'a, str>,
    pub(crate) namespace: Cow<'a, str>,
    pub(crate) resource: Cow<'a, str>,
    /// The version that the client wrote: of `requestKind`, else of `kind`.
    pub(crate) version: Cow<'a, str>,
    /// Who asks. Not read where nothing is judged.
    pub(crate) user: UserInfo<'a>,
    /// What is asked for.
    pub(crate) subject: Subject<'a>,
    /// The document that it was read from.
    source: Source<'a>,
}

/// An object that was read once, to be part of several requests: the new one of an update is the old one of the next.
#[derive(Debug, Clone)]
pub struct ReadObject<'a> {
    kind: &'a Kind<'a>,
    version: &'a str,
    text: &'a str,
    object: Result<Object<'a>>,
}

impl<'a> ReadObject<'a> {
    /// Reads an object of a kind in a version from JSON. [`None`] if the library does not know the kind. An object that makes
    /// no sense is trouble for the requests that it is part of.
    pub fn from_json(group: &str, version: &'a str, kind: &str, text: &'a str) -> Option<Self> {
        let kind = Kind::find(group, version, kind)?;
        let note = Note::default();
        let read = document(text.as_bytes(), Place::root(&note), |value| {
            Object::read(value, kind)
        });
        let object = match read {
            Ok(object) => object.and_then(|object| {
                object.ok_or_else(|| Malformed::shape("", "an object", "nothing"))
            }),
            Err(malformed) => Err(malformed),
        };
        Some(Self {
            kind,
            version,
            text,
            object,
        })
    }

    fn object(&self, member: &str) -> Result<Object<'a>> {
        self.object
            .clone()
            .map_err(|malformed| malformed.within(member))
    }
}

/// The document that a request was read from.
#[derive(Debug, Clone, Copy)]
enum Source<'a> {
    /// None: the objects were read by themselves.
    Objects(&'a str, Option<&'a str>),
    /// The request alone.
    Request(&'a [u8]),
    /// A document with the request as its member `request`.
    Review(&'a [u8]),
    /// No document: a typed Job, and the one that is stored, if one is.
    #[cfg(feature = "k8s-openapi")]
    Typed(&'a Job, Option<&'a Job>),
}

/// A document that holds a request as its member `request`: an `AdmissionReview` of `admission.k8s.io/v1`, or what a policy
/// engine sends, with the policy's settings beside it.
#[derive(Debug)]
#[non_exhaustive]
pub struct AdmissionReview<'a> {
    /// The request.
    pub request: AdmissionRequest<'a>,
    /// The member `settings`, if there is one.
    pub(crate) settings: Option<Raw<'a>>,
}

impl<'a> AdmissionReview<'a> {
    /// Reads the document from JSON.
    ///
    /// # Errors
    /// As [`AdmissionRequest::from_json`], with paths that begin with `request`.
    pub fn from_json(bytes: &'a [u8]) -> Result<Self> {
        let note = Note::default();
        let mut reading = ReviewReading::default();
        document(bytes, Place::root(&note), |value| {
            value.object(&mut reading)
        })?;
        let reading = note.or(reading)?;
        let nothing = || Malformed::shape("request", "an object", "nothing");
        let request = reading.request.ok_or_else(nothing)?;
        let request = request.and_then(|r| r.finish(Source::Review(bytes)));
        Ok(Self {
            request: request.map_err(|e| e.within("request"))?,
            settings: reading.settings,
        })
    }
}

#[derive(Default)]
struct ReviewReading<'a> {
    request: Option<Result<RequestReading<'a>>>,
    settings: Option<Raw<'a>>,
}

impl<'a> Members<'a> for ReviewReading<'a> {
    fn member<D: Deserializer<'a>>(
        &mut self,
        name: &str,
        value: Value<'_, D>,
    ) -> std::result::Result<(), D::Error> {
        match name {
            "request" => self.request = Some(RequestReading::read(value)?),
            "settings" => self.settings = Some(value.raw()?),
            _ => value.skip()?,
        }
        Ok(())
    }
}

impl<'a> AdmissionRequest<'a> {
    /// Reads a request from JSON that holds nothing else.
    ///
    /// # Errors
    /// If it is not JSON; if `kind`, `operation` or an object that the operation must have is missing or of the wrong
    /// type; if a field that rules read is of the wrong type. What is not judged need not make sense: an object that is
    /// being deleted is not read.
    pub fn from_json(bytes: &'a [u8]) -> Result<Self> {
        let note = Note::default();
        let reading = document(bytes, Place::root(&note), |value| {
            RequestReading::read(value)
        })?;
        reading?.finish(Source::Request(bytes))
    }

    /// The request that asks for a change of a typed Job.
    #[cfg(feature = "k8s-openapi")]
    pub(crate) fn of_typed(
        kind: &'a Kind<'a>,
        change: Change<'a>,
        user: UserInfo<'a>,
        new: &'a Job,
        old: Option<&'a Job>,
    ) -> Self {
        Self {
            name: change.object().metadata.name.clone(),
            namespace: new.metadata.namespace.as_deref().unwrap_or_default().into(),
            resource: kind.plural().into(),
            version: kind.versions().first().copied().unwrap_or_default().into(),
            user,
            subject: Subject::Change(kind, change),
            source: Source::Typed(new, old),
        }
    }

    /// Makes a request of objects that were read: to create an object, or to update one, in its status or in the rest. It is the
    /// same as the request that says so in JSON, with `userInfo` as JSON.
    ///
    /// # Errors
    /// As [`AdmissionRequest::from_json`].
    pub fn from_objects(
        object: &ReadObject<'a>,
        old: Option<&ReadObject<'a>>,
        is_status: bool,
        namespace: &'a str,
        user_info: Option<&'a str>,
    ) -> Result<Self> {
        let new = object.object("object")?;
        let change = match old {
            None => Change::Create { object: new },
            Some(old) => {
                let old = old.object("oldObject")?;
                if is_status {
                    Change::UpdateStatus { object: new, old }
                } else {
                    Change::Update { object: new, old }
                }
            }
        };
        let user = user_info
            .map(|json| Raw::document(json.as_bytes()))
            .transpose()?;
        let mut request = Self {
            name: Cow::default(),
            namespace: namespace.into(),
            resource: Cow::default(),
            version: object.version.into(),
            user: UserInfo::read(user)?,
            subject: Subject::Change(object.kind, change),
            source: Source::Objects(object.text, old.map(|old| old.text)),
        };
        request.take_own_name();
        Ok(request)
    }

    /// The name of the object: its own, else the request's. Empty if neither says.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The object's namespace; empty if it has none.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The kind that is judged, if any is.
    pub fn kind(&self) -> Option<&Kind<'a>> {
        match &self.subject {
            Subject::Change(kind, _) => Some(kind),
            Subject::NotJudged | Subject::UnknownKind(_) | Subject::Pod(_) => None,
        }
    }

    /// The request as one about an object of a kind that the settings declare.
    ///
    /// # Errors
    /// As [`AdmissionRequest::from_json`], for what was not read without the kind.
    pub(crate) fn of_kind<'k>(
        &'k self,
        unread: &'k UnreadChange<'a>,
        kind: &'k Kind<'k>,
    ) -> Result<AdmissionRequest<'k>>
    where
        'a: 'k,
    {
        let read = || {
            let read = |body: &'k Option<Unread<'a>>, member| {
                let object = body.as_ref().map_or(Ok(None), |unread| unread.read(kind));
                required(object, member)
            };
            let object = read(&unread.object, "object")?;
            let change = Change::of(unread.asks, object, || read(&unread.old, "oldObject"))?;
            Ok((change, UserInfo::read(unread.user)?))
        };
        let within_request = matches!(self.source, Source::Review(_));
        let (change, user) = read().map_err(|malformed: Malformed| {
            if within_request {
                malformed.within("request")
            } else {
                malformed
            }
        })?;
        let mut request = AdmissionRequest {
            name: self.name.clone(),
            namespace: self.namespace.clone(),
            resource: self.resource.clone(),
            version: self.version.clone(),
            user,
            subject: Subject::NotJudged,
            source: self.source,
        };
        request.subject = Subject::Change(kind, change);
        request.take_own_name();
        Ok(request)
    }

    /// The object's own name goes before the one in the request.
    fn take_own_name(&mut self) {
        let own_name = match &self.subject {
            Subject::Pod(pod) => pod.name.clone(),
            Subject::Change(_, change) => change.object().metadata.name.clone(),
            Subject::NotJudged | Subject::UnknownKind(_) => Cow::default(),
        };
        if !own_name.is_empty() {
            self.name = own_name;
        }
    }

    /// Whether the update leaves every byte of the object as it was. The document is read again, because hardly any request
    /// needs to know.
    pub(crate) fn is_noop(&self) -> bool {
        let member = |of: Raw<'a>, name: &str| {
            let mut members = of.members().into_iter();
            let found = members.rfind(|(key, _)| key == name);
            found.map(|(_, value)| value)
        };
        let request = match self.source {
            Source::Objects(object, old) => return Some(object) == old,
            Source::Request(bytes) => Raw::document(bytes).ok(),
            Source::Review(bytes) => {
                let document = Raw::document(bytes).ok();
                document.and_then(|review| member(review, "request"))
            }
            #[cfg(feature = "k8s-openapi")]
            Source::Typed(new, old) => return old == Some(new),
        };
        let object = |name| request.and_then(|request| member(request, name));
        let (new, old) = (object("object"), object("oldObject"));
        new.is_some() && new == old
    }
}

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
struct RequestReading<'a> {
    kind: Option<GroupVersionKind<'a>>,
    request_kind: GroupVersionKind<'a>,
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
    /// Reads the members. The inner error is of those that every request must have right.
    fn read<D: Deserializer<'a>>(
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

    fn finish(self, source: Source<'a>) -> Result<AdmissionRequest<'a>> {
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
            version: match &self.request_kind.version {
                version if version.is_empty() => kind.version.clone(),
                version => version.clone(),
            },
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
        let asks = match operation {
            Operation::Create => Asks::Create,
            _ if is_status => Asks::UpdateStatus,
            _ => Asks::Update,
        };
        request.subject = if is_pod {
            Subject::Pod(self.object.pod()?)
        } else if let Some(profile) = kind.profile() {
            let object = self.object.of_kind(profile, "object")?;
            let old = || self.old_object.of_kind(profile, "oldObject");
            Subject::Change(profile, Change::of(asks, object, old)?)
        } else {
            request.subject = Subject::UnknownKind(Box::new(UnreadChange {
                kind,
                asks,
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
            "kind" => self.kind = Some(GroupVersionKind::read(value.keep()?)),
            "requestKind" => {
                // No rule needs it, so that nothing in it makes a request malformed.
                let unheard = Note::default();
                let root = Place::root(&unheard);
                self.request_kind = GroupVersionKind::read(value.at(root).keep()?);
            }
            "name" => self.name = value.string_or_null()?.unwrap_or_default(),
            "namespace" => self.namespace = value.string_or_null()?.unwrap_or_default(),
            "resource" => {
                value.keep()?.object_or_null(|name, value| {
                    if name == "resource" {
                        self.resource = value.string_or_null().unwrap_or_default();
                    }
                });
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

impl<'a> UserInfo<'a> {
    /// Reads who asks, where something is judged.
    fn read(raw: Option<Raw<'a>>) -> Result<Self> {
        let mut user = Self::default();
        let Some(raw) = raw else {
            return Ok(user);
        };
        let note = Note::default();
        let root = Place::root(&note);
        let path = root.member("userInfo");
        Kept::new(raw, root.at(&path)).object_or_null(|name, value| match name {
            "username" => user.username = value.string_or_null().unwrap_or_default(),
            "groups" => {
                user.groups.clear();
                value.array_or_null(|_, group| user.groups.push(group.string()));
            }
            _ => {}
        });
        note.or(user)
    }
}

impl<'a> GroupVersionKind<'a> {
    fn read(value: Kept<'_, 'a>) -> Self {
        let mut gvk = Self::default();
        value.object(|name, value| match name {
            "group" => gvk.group = value.string_or_null().unwrap_or_default(),
            "version" => gvk.version = value.string_or_null().unwrap_or_default(),
            "kind" => gvk.kind = value.string_or_null().unwrap_or_default(),
            _ => {}
        });
        if gvk.kind.is_empty() {
            let place = value.place();
            let path = place.member("kind");
            place.at(&path).expected("the name of a kind", "nothing");
        }
        gvk
    }

    fn is_pod(&self) -> bool {
        is_pod(&self.group, &self.version, &self.kind)
    }

    fn profile(&self) -> Option<&'static Kind<'static>> {
        Kind::find(&self.group, &self.version, &self.kind)
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
            return Object::read(value, profile).map(|object| match object {
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

    /// What was kept of it, for whoever finds out its kind.
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
            Self::Unread(Unread::Outline(_)) | Self::Pod(_) | Self::Absent => Ok(None),
        };
        required(object, member)
    }
}

/// The object that a member of the request must hold.
fn required<'a>(object: Result<Option<Object<'a>>>, member: &str) -> Result<Object<'a>> {
    object
        .map_err(|e| e.within(member))?
        .ok_or_else(|| nothing(member))
}

fn nothing(member: &str) -> Malformed {
    Malformed::shape(member, "an object", "nothing")
}
