//! Kind of a request's object, and the user.

use std::borrow::Cow;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::Deserializer;

use crate::decode::fields::{self, Text};
use crate::decode::{Result, decode_str};
use crate::kind::Kind;

/// Group, version and kind of a request's object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, expecting = "an object")]
pub(crate) struct GroupVersionKind<'a> {
    /// API group, or empty for the core group.
    #[serde(borrow, deserialize_with = "fields::string")]
    pub(crate) group: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "fields::string")]
    pub(crate) version: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "fields::string")]
    pub(crate) kind: Cow<'a, str>,
}

/// User of a request (`userInfo`). The default has an empty name and no groups, so no list of users in the settings contains it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, expecting = "an object")]
pub struct UserInfo<'a> {
    /// User name: `system:serviceaccount:kueue-system:kueue-controller-manager`.
    #[serde(borrow, deserialize_with = "fields::string")]
    pub username: Cow<'a, str>,
    /// Groups: `system:masters`.
    #[serde(borrow, deserialize_with = "groups")]
    pub groups: Vec<Cow<'a, str>>,
}

fn groups<'de, D>(json: D) -> std::result::Result<Vec<Cow<'de, str>>, D::Error>
where
    D: Deserializer<'de>,
{
    let mut groups = Vec::new();
    fields::for_each(json, |Text(group): Text<'de>| groups.push(group))?;
    Ok(groups)
}

impl<'a> UserInfo<'a> {
    /// Decodes a user from JSON; `null` is the default.
    ///
    /// # Errors
    /// Fails if the text is not JSON or a field has the wrong type.
    pub fn from_json(json: &'a str) -> Result<Self> {
        let fields::DefaultOnNull(user) = decode_str(json, PhantomData)?;
        Ok(user)
    }
}

impl GroupVersionKind<'_> {
    pub(super) fn is_pod(&self) -> bool {
        (&*self.group, &*self.version, &*self.kind) == ("", "v1", "Pod")
    }

    pub(super) fn known_kind(&self) -> Option<&'static Kind<'static>> {
        Kind::find(&self.group, &self.version, &self.kind)
    }
}
