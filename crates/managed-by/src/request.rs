//! The borrowed view of an admission request: what rules read of it, and nothing else.

use std::borrow::Cow;

use crate::json::{Malformed, Reader, Result, Type};
use crate::kind::KindProfile;
use crate::kind::custom::Custom;
use crate::kind::job::Job;
use crate::kind::pod::{Pod, is_pod};

/// Group, version and kind of the object in a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupVersionKind<'a> {
    /// API group; empty for the core group.
    pub group: Cow<'a, str>,
    /// API version.
    pub version: Cow<'a, str>,
    /// Kind.
    pub kind: Cow<'a, str>,
}

/// The parts of `metadata` that are needed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Metadata<'a> {
    /// The object's name.
    pub name: Cow<'a, str>,
    /// `uid`.
    pub uid: Cow<'a, str>,
    /// Whether `deletionTimestamp` is set: the object waits for its finalizers.
    pub is_being_deleted: bool,
}

/// Who asks: `userInfo`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserInfo<'a> {
    /// `username`.
    pub username: Cow<'a, str>,
    /// `groups`.
    pub groups: Vec<Cow<'a, str>>,
}

/// An object, by the fields that rules read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Object<'a> {
    /// `metadata`.
    pub metadata: Metadata<'a>,
    /// `managedBy`, wherever the kind has it. [`None`] is unset, which `""` is not.
    pub managed_by: Option<Cow<'a, str>>,
    /// What else is read of a Job. Boxed, for objects are moved about.
    pub job: Option<Box<Job<'a>>>,
    /// What else is read of a custom resource, where there is anything.
    pub custom: Option<Box<Custom<'a>>>,
    /// The object as it came.
    pub bytes: &'a [u8],
}

/// A change that rules judge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change<'a> {
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
    /// The object that is to be stored.
    pub fn object(&self) -> &Object<'a> {
        match self {
            Self::Create { object }
            | Self::Update { object, .. }
            | Self::UpdateStatus { object, .. } => object,
        }
    }

    /// The object as stored, if it is.
    pub fn old(&self) -> Option<&Object<'a>> {
        match self {
            Self::Create { .. } => None,
            Self::Update { old, .. } | Self::UpdateStatus { old, .. } => Some(old),
        }
    }

    /// Whether the object is on its way out. An update cannot say so of itself: what is stored counts.
    pub fn is_of_deleted(&self) -> bool {
        let stored = self.old().unwrap_or_else(|| self.object());
        stored.metadata.is_being_deleted
    }

    /// Whether the update leaves every byte of the object as it was.
    pub fn is_none(&self) -> bool {
        let old = self.old();
        old.is_some_and(|old| old.bytes == self.object().bytes)
    }
}

/// What a request asks for, as far as this library is concerned.
#[derive(Debug)]
pub enum Subject<'a> {
    /// Nothing that is judged: a deletion, a connection, or a subresource other than `status`.
    NotJudged,
    /// An object of a kind that the library does not know. It was not read.
    UnknownKind(GroupVersionKind<'a>),
    /// A pod to create.
    Pod(Pod<'a>),
    /// A change to judge.
    Change(&'static KindProfile, Change<'a>),
}

/// An admission request (`AdmissionRequest` of `admission.k8s.io/v1`).
#[derive(Debug)]
pub struct AdmissionRequest<'a> {
    /// The name of the object: its own, else the request's. Empty if neither says.
    pub name: Cow<'a, str>,
    /// Its namespace; empty if it has none.
    pub namespace: Cow<'a, str>,
    /// The plural name of its resource (`jobs`), as kube-apiserver calls it; empty if the request does not say.
    pub resource: Cow<'a, str>,
    /// Who asks. Not read where nothing is judged.
    pub user: UserInfo<'a>,
    /// What is asked for.
    pub subject: Subject<'a>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    Create,
    Update,
    Other,
}

/// An object of the request before its kind, and what is asked for it, are known. Keys may come in any order, but come
/// sorted from Kubewarden: `kind` is read first, and each object is read just once.
#[derive(Default)]
enum Slot<'a> {
    #[default]
    Absent,
    Unread(&'a [u8]),
    Read(Result<Object<'a>>),
}

impl<'a> AdmissionRequest<'a> {
    /// Reads a request from JSON that holds nothing else.
    ///
    /// # Errors
    /// As [`AdmissionRequest::read`].
    pub fn from_json(bytes: &'a [u8]) -> Result<Self> {
        let mut reader = Reader::new(bytes)?;
        let request = Self::read(&mut reader)?;
        reader.end()?;
        Ok(request)
    }

    /// Reads a request.
    ///
    /// # Errors
    /// If it is not JSON; if `kind`, `operation` or an object that the operation must have is missing or of the wrong
    /// type; if a field that rules read is of the wrong type. What is not judged need not make sense: an object that is
    /// being deleted is not read.
    pub fn read(reader: &mut Reader<'a>) -> Result<Self> {
        let mut kind: Option<GroupVersionKind<'a>> = None;
        let mut operation = None;
        let mut sub_resource = Cow::Borrowed("");
        let mut name = Cow::Borrowed("");
        let mut namespace = Cow::Borrowed("");
        let mut resource = Cow::Borrowed("");
        let mut user: &[u8] = b"null";
        let mut object = Slot::Absent;
        let mut old_object = Slot::Absent;
        reader.object(|reader, key| match key {
            // Objects may have been read by it already.
            b"kind" if kind.is_some() => {
                Err(Malformed::shape("one kind", "another").within("kind"))
            }
            b"kind" => {
                kind = Some(GroupVersionKind::read(reader).map_err(|e| e.within("kind"))?);
                Ok(())
            }
            b"name" => text(reader, &mut name).map_err(|e| e.within("name")),
            b"namespace" => text(reader, &mut namespace).map_err(|e| e.within("namespace")),
            b"resource" => plural(reader, &mut resource).map_err(|e| e.within("resource")),
            b"userInfo" => {
                user = reader.raw()?;
                Ok(())
            }
            b"object" => {
                object = Slot::read(reader, kind.as_ref())?;
                Ok(())
            }
            b"oldObject" => {
                old_object = Slot::read(reader, kind.as_ref())?;
                Ok(())
            }
            b"operation" => {
                operation = Some(Operation::read(reader).map_err(|e| e.within("operation"))?);
                Ok(())
            }
            b"subResource" => text(reader, &mut sub_resource).map_err(|e| e.within("subResource")),
            _ => reader.skip(),
        })?;
        let missing =
            |what: &'static str, expected| Malformed::shape(expected, "nothing").within(what);
        let kind = kind.ok_or_else(|| missing("kind", "an object"))?;
        let operation = operation.ok_or_else(|| missing("operation", OPERATIONS))?;
        let status = sub_resource == "status";
        if operation == Operation::Other || !(status || sub_resource.is_empty()) {
            return Ok(Self::unread(name, Subject::NotJudged));
        }
        let is_pod = is_pod(&kind.group, &kind.version, &kind.kind);
        if is_pod && operation != Operation::Create {
            return Ok(Self::unread(name, Subject::NotJudged));
        }
        let read_user = |user: &'a [u8]| {
            UserInfo::read(&mut Reader::again(user)).map_err(|e| e.within("userInfo"))
        };
        if is_pod {
            let pod = object.resolve_pod().map_err(|e| e.within("object"))?;
            if !pod.name.is_empty() {
                name.clone_from(&pod.name);
            }
            return Ok(Self {
                name,
                namespace,
                resource,
                user: read_user(user)?,
                subject: Subject::Pod(pod),
            });
        }
        let Some(profile) = kind.profile() else {
            return Ok(Self::unread(name, Subject::UnknownKind(kind)));
        };
        let user = read_user(user)?;
        let object = object.resolve(profile, "object")?;
        if !object.metadata.name.is_empty() {
            name.clone_from(&object.metadata.name);
        }
        let change = if operation == Operation::Create {
            Change::Create { object }
        } else {
            let old = old_object.resolve(profile, "oldObject")?;
            if status {
                Change::UpdateStatus { object, old }
            } else {
                Change::Update { object, old }
            }
        };
        Ok(Self {
            name,
            namespace,
            resource,
            user,
            subject: Subject::Change(profile, change),
        })
    }

    /// A request of which nothing else counts.
    fn unread(name: Cow<'a, str>, subject: Subject<'a>) -> Self {
        Self {
            name,
            namespace: Cow::default(),
            resource: Cow::default(),
            user: UserInfo::default(),
            subject,
        }
    }
}

/// Reads a string over `into`; `null` leaves it empty.
fn text<'a>(reader: &mut Reader<'a>, into: &mut Cow<'a, str>) -> Result<()> {
    *into = reader.string_or_null()?.unwrap_or_default();
    Ok(())
}

/// Reads the plural name in a `GroupVersionResource` over `into`.
fn plural<'a>(reader: &mut Reader<'a>, into: &mut Cow<'a, str>) -> Result<()> {
    reader.object_or_null(|reader, key| match key {
        b"resource" => text(reader, into).map_err(|e| e.within("resource")),
        _ => reader.skip(),
    })
}

impl<'a> UserInfo<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self> {
        let mut user = Self::default();
        reader.object_or_null(|reader, key| match key {
            b"username" => text(reader, &mut user.username).map_err(|e| e.within("username")),
            b"groups" if reader.peek()? == Type::Null => reader.skip(),
            b"groups" => {
                let groups = reader.array(|reader, _| {
                    user.groups.push(reader.string()?);
                    Ok(())
                });
                groups.map_err(|e| e.within("groups"))
            }
            _ => reader.skip(),
        })?;
        Ok(user)
    }
}

impl<'a> GroupVersionKind<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self> {
        let mut gvk = Self::default();
        reader.object(|reader, key| match key {
            b"group" => text(reader, &mut gvk.group).map_err(|e| e.within("group")),
            b"version" => text(reader, &mut gvk.version).map_err(|e| e.within("version")),
            b"kind" => text(reader, &mut gvk.kind).map_err(|e| e.within("kind")),
            _ => reader.skip(),
        })?;
        if gvk.kind.is_empty() {
            return Err(Malformed::shape("the name of a kind", "nothing").within("kind"));
        }
        Ok(gvk)
    }

    fn profile(&self) -> Option<&'static KindProfile> {
        KindProfile::find(&self.group, &self.version, &self.kind)
    }
}

impl<'a> Metadata<'a> {
    pub(crate) fn read(reader: &mut Reader<'a>) -> Result<Self> {
        let mut metadata = Self::default();
        reader.object_or_null(|reader, key| match key {
            b"name" => text(reader, &mut metadata.name).map_err(|e| e.within("name")),
            b"uid" => text(reader, &mut metadata.uid).map_err(|e| e.within("uid")),
            b"deletionTimestamp" => {
                metadata.is_being_deleted = reader.peek()? != Type::Null;
                reader.skip()
            }
            _ => reader.skip(),
        })?;
        Ok(metadata)
    }
}

const OPERATIONS: &str = "CREATE, UPDATE, DELETE or CONNECT";

impl Operation {
    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        match &*reader.string()? {
            "CREATE" => Ok(Self::Create),
            "UPDATE" => Ok(Self::Update),
            "DELETE" | "CONNECT" => Ok(Self::Other),
            _ => Err(Malformed::shape(OPERATIONS, "another word")),
        }
    }
}

impl<'a> Slot<'a> {
    fn read(reader: &mut Reader<'a>, kind: Option<&GroupVersionKind<'a>>) -> Result<Self> {
        if reader.peek()? == Type::Null {
            reader.skip()?;
            return Ok(Self::Absent);
        }
        let Some(profile) = kind.and_then(GroupVersionKind::profile) else {
            return Ok(Self::Unread(reader.raw()?));
        };
        reader.expect_repeats();
        let start = reader.mark();
        match (profile.read)(profile, reader) {
            Err(e) if e.is_syntax() => Err(e),
            // Whether this matters depends on the operation, which may come later.
            Err(e) => {
                reader.rewind(start);
                reader.skip()?;
                Ok(Self::Read(Err(e)))
            }
            Ok(mut object) => {
                object.bytes = reader.since(start);
                Ok(Self::Read(Ok(object)))
            }
        }
    }

    /// No profile reads a pod, so it is unread.
    fn resolve_pod(self) -> Result<Pod<'a>> {
        match self {
            Self::Unread(bytes) => Pod::read(&mut Reader::again(bytes)),
            Self::Absent | Self::Read(_) => Err(Malformed::shape("an object", "nothing")),
        }
    }

    fn resolve(self, profile: &KindProfile, member: &'static str) -> Result<Object<'a>> {
        let object = match self {
            Self::Absent => Err(Malformed::shape("an object", "nothing")),
            Self::Unread(bytes) => {
                let read = (profile.read)(profile, &mut Reader::again(bytes));
                read.map(|object| Object { bytes, ..object })
            }
            Self::Read(object) => object,
        };
        object.map_err(|e| e.within(member))
    }
}
