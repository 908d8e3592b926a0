//! An object's state at one point of a history.

use std::borrow::Cow;
use std::num::NonZeroU64;

use managed_by::DecodedObject;

use crate::json::{Members, elements, is_equal, string};
use crate::object_ref::ObjectRef;

/// An object's state at one point of a history.
#[derive(Debug, Default)]
pub(crate) struct State<'a> {
    pub(crate) group: Cow<'a, str>,
    pub(crate) version: Cow<'a, str>,
    pub(crate) kind: Cow<'a, str>,
    pub(crate) metadata: Metadata<'a>,
    /// `status`, unless it is null.
    pub(crate) status: Option<&'a str>,
    /// `spec`, unless it is null.
    spec: Option<&'a str>,
    /// `items` of a list.
    pub(crate) items: Option<&'a str>,
    /// The object's JSON text in the input.
    pub(crate) text: &'a str,
    /// The parsed object, cached while a recording is read. [`None`] in a manifest.
    object: Option<DecodedObject<'a>>,
}

/// The object metadata that a replay needs. Members of the wrong type are read as missing; the library reports them.
#[derive(Debug, Default)]
pub(crate) struct Metadata<'a> {
    pub(crate) name: Cow<'a, str>,
    pub(crate) namespace: Cow<'a, str>,
    pub(crate) uid: Cow<'a, str>,
    /// Stored objects have one. 0 counts as missing: a client sends it to update any version.
    pub(crate) resource_version: Option<NonZeroU64>,
    pub(crate) is_being_deleted: bool,
    pub(crate) creation_timestamp: Option<Cow<'a, str>>,
    /// Members that clients write, besides the name: [`CLIENT_MEMBERS`]. Null counts as missing.
    client_members: [Option<&'a str>; 4],
    managed_fields: Option<&'a str>,
    pub(crate) has_finalizers: bool,
}

impl<'a> State<'a> {
    pub(crate) fn object_ref(&self) -> ObjectRef {
        ObjectRef {
            group: self.group.to_string(),
            version: self.version.to_string(),
            kind: self.kind.to_string(),
            namespace: self.metadata.namespace.to_string(),
            name: self.metadata.name.to_string(),
        }
    }

    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        Some(Self::new(text, &Members::parse(text)?, None))
    }

    /// Builds a state from an object's members. If a member occurs twice, the last one wins. In a `JobList`, only the list
    /// itself contains kind and version.
    pub(crate) fn new(text: &'a str, members: &Members<'a>, list: Option<&Self>) -> Self {
        let mut state = Self {
            text,
            metadata: Metadata::new(&members.object("metadata")),
            ..Self::default()
        };
        for (name, value) in members.iter() {
            let non_null = Some(value).filter(|value| *value != "null");
            match &*name {
                "apiVersion" => {
                    let version = string(value).unwrap_or_default();
                    (state.group, state.version) = group_version(version);
                }
                "kind" => state.kind = string(value).unwrap_or_default(),
                "status" => state.status = non_null,
                "spec" => state.spec = non_null,
                "items" => state.items = non_null,
                _ => {}
            }
        }
        if let Some(list) = list.filter(|list| state.kind.is_empty() && list.kind != "List")
            && let Cow::Borrowed(kind) = list.kind
        {
            state.kind = Cow::Borrowed(kind.strip_suffix("List").unwrap_or(kind));
            state.group.clone_from(&list.group);
            state.version.clone_from(&list.version);
        }
        state
    }

    /// Adds what a client may omit, because the URL of its request contains it.
    pub(crate) fn complete(&mut self, object: &ObjectRef) {
        if self.kind.is_empty() {
            self.kind = object.kind.clone().into();
            self.group = object.group.clone().into();
            self.version = object.version.clone().into();
        }
        if self.metadata.namespace.is_empty() {
            self.metadata.namespace = object.namespace.clone().into();
        }
    }

    /// Returns the key that identifies the object across states.
    pub(crate) fn identity(&self) -> Cow<'_, str> {
        if !self.metadata.uid.is_empty() {
            return Cow::Borrowed(&self.metadata.uid);
        }
        Cow::Owned(self.name())
    }

    /// Returns kind, namespace and name, which objects that do not exist at the same time may share.
    pub(crate) fn name(&self) -> String {
        let Metadata {
            name, namespace, ..
        } = &self.metadata;
        format!("{}/{}/{namespace}/{name}", self.group, self.kind)
    }

    /// Returns true if the status is a non-empty object. The library reports a status of the wrong type.
    pub(crate) fn has_status(&self) -> bool {
        let members = self.status.and_then(Members::parse);
        members.is_some_and(|members| !members.raw().is_empty())
    }

    /// Returns true if the object has metadata that only an API server sets.
    pub(crate) fn is_from_server(&self) -> bool {
        let metadata = &self.metadata;
        !metadata.uid.is_empty()
            || metadata.resource_version.is_some()
            || metadata.creation_timestamp.is_some()
    }

    /// Returns true if the client-written members other than the status differ.
    pub(crate) fn differs_outside_status(&self, other: &State<'_>) -> bool {
        let metadata = self.metadata.client_members.iter();
        let mut metadata = metadata.zip(&other.metadata.client_members);
        !is_equal(self.spec, other.spec) || metadata.any(|(a, b)| !is_equal(*a, *b))
    }

    /// Returns the time of this state, if known: the newest time in `managedFields`, or the creation time of a new object.
    pub(crate) fn time(&self, is_new: bool) -> Option<String> {
        let fields = self.metadata.managed_fields.and_then(elements);
        let newest = fields.and_then(|fields| newest(&fields));
        let creation = || self.metadata.creation_timestamp.clone().filter(|_| is_new);
        newest.or_else(creation).map(Cow::into_owned)
    }

    /// Parses the object once for all its requests.
    pub(crate) fn cache_object(&mut self) {
        if self.object.is_none() {
            self.object = Some(self.decode_text(self.text));
        }
    }

    pub(crate) fn object(&'a self) -> Cow<'a, DecodedObject<'a>> {
        match &self.object {
            Some(object) => Cow::Borrowed(object),
            None => Cow::Owned(self.decode_text(self.text)),
        }
    }

    /// Returns an earlier state from its stored text, with this state's kind, because list items may lack one.
    pub(crate) fn parse_previous(&self, text: &'a str) -> Self {
        Self {
            group: self.group.clone(),
            version: self.version.clone(),
            kind: self.kind.clone(),
            object: Some(self.decode_text(text)),
            ..Self::parse(text).unwrap_or_default()
        }
    }

    /// Parses the text of another state of an object of this kind.
    pub(crate) fn decode_text<'t>(&self, text: &'t str) -> DecodedObject<'t>
    where
        'a: 't,
    {
        let (group, version, kind) = (&self.group, &self.version, &self.kind);
        DecodedObject::from_json(group.clone(), version.clone(), kind.clone(), text)
    }
}

/// Returns the newest time in `managedFields`, if all its times are strings.
fn newest<'a>(fields: &[&'a str]) -> Option<Cow<'a, str>> {
    let mut newest = None;
    for field in fields {
        if let Some(time) = Members::parse(field)?.get("time") {
            newest = newest.max(Some(string(time)?));
        }
    }
    newest
}

fn group_version(text: Cow<'_, str>) -> (Cow<'_, str>, Cow<'_, str>) {
    match text {
        Cow::Borrowed(text) => {
            let (group, version) = text.split_once('/').unwrap_or(("", text));
            (group.into(), version.into())
        }
        Cow::Owned(text) => match text.split_once('/') {
            Some((group, version)) => (group.to_owned().into(), version.to_owned().into()),
            None => ("".into(), text.into()),
        },
    }
}

impl<'a> Metadata<'a> {
    /// Reads the members. Metadata that are not an object are read as empty; the library rejects the object later.
    fn new(members: &Members<'a>) -> Self {
        let mut metadata = Self::default();
        let text = |value: &'a str| string(value).unwrap_or_default();
        for (name, value) in members.iter() {
            match &*name {
                "name" => metadata.name = text(value),
                "namespace" => metadata.namespace = text(value),
                "uid" => metadata.uid = text(value),
                "resourceVersion" => metadata.resource_version = text(value).parse().ok(),
                "creationTimestamp" => metadata.creation_timestamp = string(value),
                "deletionTimestamp" => metadata.is_being_deleted = value != "null",
                "managedFields" => metadata.managed_fields = Some(value),
                "finalizers" => metadata.has_finalizers = value != "null" && value != "[]",
                _ => {}
            }
            if let Some(index) = CLIENT_MEMBERS.iter().position(|member| *member == name)
                && let Some(member) = metadata.client_members.get_mut(index)
            {
                *member = Some(value).filter(|value| *value != "null");
            }
        }
        metadata
    }
}

/// The members of `metadata` that clients write, besides the name.
const CLIENT_MEMBERS: [&str; 4] = ["labels", "annotations", "ownerReferences", "finalizers"];
