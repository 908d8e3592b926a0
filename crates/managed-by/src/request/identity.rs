//! What is named in a request: the kind of the object, and who asks.

use std::borrow::Cow;

use serde::de::Deserializer;

use crate::decode::{Kept, Note, Place, Raw, Result, Strings, Value};
use crate::kind::Kind;

/// Group, version and kind of the object in a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct GroupVersionKind<'a> {
    /// API group; empty for the core group.
    pub(crate) group: Cow<'a, str>,
    pub(crate) version: Cow<'a, str>,
    pub(crate) kind: Cow<'a, str>,
}

/// Who asks: `userInfo`. By default nobody, who is in no list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserInfo<'a> {
    /// For example `system:serviceaccount:kueue-system:kueue-controller-manager`.
    pub username: Cow<'a, str>,
    /// For example `system:masters`.
    pub groups: Vec<Cow<'a, str>>,
}

impl<'a> UserInfo<'a> {
    /// Reads who asks from JSON.
    ///
    /// # Errors
    /// If it is not JSON, or one of the fields is of the wrong type.
    pub fn from_json(json: &'a str) -> Result<Self> {
        Self::read(Some(Raw::document(json.as_bytes())?))
    }

    /// Reads who asks, where something is judged.
    pub(super) fn read(raw: Option<Raw<'a>>) -> Result<Self> {
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
    pub(super) fn read<D: Deserializer<'a>>(
        value: Value<'_, D>,
    ) -> std::result::Result<Self, D::Error> {
        let place = value.place();
        let mut found = <[Cow<'a, str>; 3]>::default();
        value.object(&mut Strings::new(&["group", "version", "kind"], &mut found))?;
        let [group, version, kind] = found;
        if kind.is_empty() {
            let path = place.member("kind");
            place.at(&path).expected("the name of a kind", "nothing");
        }
        Ok(Self {
            group,
            version,
            kind,
        })
    }

    pub(super) fn is_pod(&self) -> bool {
        (&*self.group, &*self.version, &*self.kind) == ("", "v1", "Pod")
    }

    pub(super) fn profile(&self) -> Option<&'static Kind<'static>> {
        Kind::find(&self.group, &self.version, &self.kind)
    }
}
