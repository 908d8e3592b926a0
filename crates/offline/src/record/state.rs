//! An object at some moment of a history.

use std::borrow::Cow;

use managed_by::ReadObject;

use crate::json::{Members, elements, string};
use crate::same::same;

/// An object at some moment.
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
    /// `items`, which a list has.
    pub(crate) items: Option<&'a str>,
    /// The object as it stands in what was read.
    pub(crate) text: &'a str,
    /// The same as the library reads it, where it was read once for several requests.
    object: Option<ReadObject<'a>>,
}

/// What tells an object from the others. A member of the wrong type is read as if it were missing: the library reports it.
#[derive(Debug, Default)]
pub(crate) struct Metadata<'a> {
    pub(crate) name: Cow<'a, str>,
    pub(crate) namespace: Cow<'a, str>,
    pub(crate) uid: Cow<'a, str>,
    pub(crate) resource_version: Option<u64>,
    pub(crate) is_being_deleted: bool,
    pub(crate) creation: Option<Cow<'a, str>>,
    /// What clients write, besides the name: [`WRITTEN`], unless it is null.
    written: [Option<&'a str>; 4],
    managed_fields: Option<&'a str>,
    pub(crate) has_finalizers: bool,
}

impl<'a> State<'a> {
    /// Takes apart a text that is one object.
    pub(crate) fn read(text: &'a str) -> Option<Self> {
        Some(Self::of(text, &Members::of(text)?))
    }

    /// Keeps what is of use of the members of an object. Of two with one name the last counts.
    pub(crate) fn of(text: &'a str, members: &Members<'a>) -> Self {
        let mut state = Self {
            text,
            metadata: Metadata::of(&members.object("metadata")),
            ..Self::default()
        };
        for (name, value) in members.iter() {
            let there = || Some(value).filter(|value| *value != "null");
            match &*name {
                "apiVersion" => {
                    let version = string(value).unwrap_or_default();
                    (state.group, state.version) = group_version(version);
                }
                "kind" => state.kind = string(value).unwrap_or_default(),
                "status" => state.status = there(),
                "spec" => state.spec = there(),
                "items" => state.items = there(),
                _ => {}
            }
        }
        state
    }

    /// The same of an item of a list. Of a `JobList`, the API server writes kind and version once, for the list.
    pub(crate) fn of_item(text: &'a str, members: &Members<'a>, list: &Self) -> Self {
        let mut state = Self::of(text, members);
        if state.kind.is_empty()
            && list.kind != "List"
            && let Cow::Borrowed(kind) = list.kind
        {
            state.kind = Cow::Borrowed(kind.strip_suffix("List").unwrap_or(kind));
            state.group.clone_from(&list.group);
            state.version.clone_from(&list.version);
        }
        state
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

    /// Whether it has a status that says something. What is no object is the library's to find.
    pub(crate) fn has_status(&self) -> bool {
        let members = self.status.and_then(Members::of);
        members.is_some_and(|members| members.len() > 0)
    }

    /// Whether it has what only an API server sets.
    pub(crate) fn is_from_server(&self) -> bool {
        let metadata = &self.metadata;
        !metadata.uid.is_empty()
            || metadata.resource_version.is_some()
            || metadata.creation.is_some()
    }

    /// Whether another state of it differs in what a client writes besides the status.
    pub(crate) fn differs_beside_status(&self, other: &State<'_>) -> bool {
        let metadata = self.metadata.written.iter();
        let mut metadata = metadata.zip(&other.metadata.written);
        !same(self.spec, other.spec) || metadata.any(|(a, b)| !same(*a, *b))
    }

    /// When it came to be so, if it says: the newest time of its `managedFields`, or for a new object its creation.
    pub(crate) fn time(&self, is_new: bool) -> Option<String> {
        let fields = self.metadata.managed_fields.and_then(elements);
        let newest = fields.and_then(|fields| newest(&fields));
        let creation = || self.metadata.creation.clone().filter(|_| is_new);
        newest.or_else(creation).map(Cow::into_owned)
    }

    /// Reads the object for the requests that it becomes part of.
    pub(crate) fn read_object(&mut self) {
        if self.object.is_none() {
            self.object = Some(self.with_text(self.text));
        }
    }

    /// The object as the library reads it.
    pub(crate) fn object(&'a self) -> Cow<'a, ReadObject<'a>> {
        match &self.object {
            Some(object) => Cow::Borrowed(object),
            None => Cow::Owned(self.with_text(self.text)),
        }
    }

    /// An earlier state of the object, of which the text was kept. Its kind is that of this one: an item of a list names none.
    pub(crate) fn earlier(&self, text: &'a str) -> Self {
        Self {
            group: self.group.clone(),
            version: self.version.clone(),
            kind: self.kind.clone(),
            object: Some(self.with_text(text)),
            ..Self::of(text, &Members::of(text).unwrap_or_default())
        }
    }

    /// Another state of an object of this kind, as the library reads it.
    pub(crate) fn with_text<'t>(&self, text: &'t str) -> ReadObject<'t>
    where
        'a: 't,
    {
        let (group, version, kind) = (&self.group, &self.version, &self.kind);
        ReadObject::from_json(group.clone(), version.clone(), kind.clone(), text)
    }
}

/// The newest time of `managedFields`, if all that they say of it are times.
fn newest<'a>(fields: &[&'a str]) -> Option<Cow<'a, str>> {
    let mut newest = None;
    for field in fields {
        if let Some(time) = Members::of(field)?.get("time") {
            newest = newest.max(Some(string(time)?));
        }
    }
    newest
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

impl<'a> Metadata<'a> {
    /// Reads the members. If the metadata are not an object, nothing is read, and the library refuses the object later.
    fn of(members: &Members<'a>) -> Self {
        let mut metadata = Self::default();
        let text = |value: &'a str| string(value).unwrap_or_default();
        for (name, value) in members.iter() {
            match &*name {
                "name" => metadata.name = text(value),
                "namespace" => metadata.namespace = text(value),
                "uid" => metadata.uid = text(value),
                "resourceVersion" => metadata.resource_version = text(value).parse().ok(),
                "creationTimestamp" => metadata.creation = string(value),
                "deletionTimestamp" => metadata.is_being_deleted = value != "null",
                "managedFields" => metadata.managed_fields = Some(value),
                "finalizers" => metadata.has_finalizers = value != "null" && value != "[]",
                _ => {}
            }
            if let Some(place) = WRITTEN.iter().position(|written| *written == name)
                && let Some(written) = metadata.written.get_mut(place)
            {
                *written = Some(value).filter(|value| *value != "null");
            }
        }
        metadata
    }
}

/// The members of `metadata` that clients write, besides the name.
const WRITTEN: [&str; 4] = ["labels", "annotations", "ownerReferences", "finalizers"];
