//! Admission requests, as JSON.

use std::borrow::Cow;

use managed_by::Kind;

use crate::json::Members;
use crate::record::State;

/// What happens to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asks {
    /// A client creates it, without a status: the API server drops the status of a create.
    Create,
    /// Nothing: the object is stored, and its status counts. Nobody asks for it, so that nobody can be denied.
    Stored,
    /// A client updates the main resource: the status stays as it is.
    Update,
    /// A client updates the status: the rest stays as it is.
    UpdateStatus,
    /// A client deletes it.
    Delete,
}

impl Asks {
    /// The operation in a request. The background audit sends what is stored as a CREATE.
    pub const fn operation(self) -> &'static str {
        match self {
            Self::Create | Self::Stored => "CREATE",
            Self::Update | Self::UpdateStatus => "UPDATE",
            Self::Delete => "DELETE",
        }
    }

    /// The subresource in a request; empty for the main resource.
    pub const fn sub_resource(self) -> &'static str {
        match self {
            Self::UpdateStatus => "status",
            Self::Create | Self::Stored | Self::Update | Self::Delete => "",
        }
    }

    /// Whether the object is judged as it is stored.
    pub const fn is_stored(self) -> bool {
        matches!(self, Self::Stored)
    }
}

/// A request that is to be written.
pub(crate) struct Asked<'a> {
    pub(crate) asks: Asks,
    pub(crate) namespace: &'a str,
    /// `userInfo`, as JSON.
    pub(crate) user: Option<&'a str>,
    /// Whose names the request has.
    pub(crate) state: &'a State<'a>,
    /// The object, as JSON.
    pub(crate) object: &'a str,
    /// The stored object, as JSON.
    pub(crate) old: Option<&'a str>,
}

/// The UID of requests that no API server made.
const UID: &str = "00000000-0000-0000-0000-000000000000";

impl Asked<'_> {
    /// Writes the request. `kind` comes first, so that the objects are read when they come.
    pub(crate) fn write(&self, json: &mut Vec<u8>) {
        let State {
            group,
            version,
            kind,
            metadata,
            ..
        } = self.state;
        json.clear();
        json.extend_from_slice(b"{\"uid\":\"");
        json.extend_from_slice(UID.as_bytes());
        json.extend_from_slice(b"\",\"kind\":{\"group\":");
        string(json, group);
        json.extend_from_slice(b",\"version\":");
        string(json, version);
        json.extend_from_slice(b",\"kind\":");
        string(json, kind);
        json.extend_from_slice(b"},\"resource\":{\"group\":");
        string(json, group);
        json.extend_from_slice(b",\"version\":");
        string(json, version);
        json.extend_from_slice(b",\"resource\":");
        let known = Kind::find(group, version, kind);
        string(json, known.map_or("", |kind| kind.plural()));
        json.extend_from_slice(b"},\"operation\":\"");
        json.extend_from_slice(self.asks.operation().as_bytes());
        if !self.asks.sub_resource().is_empty() {
            json.extend_from_slice(b"\",\"subResource\":\"");
            json.extend_from_slice(self.asks.sub_resource().as_bytes());
        }
        json.extend_from_slice(b"\",\"name\":");
        string(json, &metadata.name);
        json.extend_from_slice(b",\"namespace\":");
        string(json, self.namespace);
        json.extend_from_slice(b",\"userInfo\":");
        json.extend_from_slice(self.user.unwrap_or("{}").as_bytes());
        json.extend_from_slice(b",\"object\":");
        json.extend_from_slice(self.object.as_bytes());
        if let Some(old) = self.old {
            json.extend_from_slice(b",\"oldObject\":");
            json.extend_from_slice(old.as_bytes());
        }
        json.push(b'}');
    }
}

/// An object with another status, or with none.
pub(crate) fn with_status(object: &str, status: Option<&str>) -> String {
    let members = Members::of(object).unwrap_or_default();
    let rest = members.iter().filter(|(name, _)| name != "status");
    let status = status.map(|status| (Cow::Borrowed("status"), status));
    let mut json = Vec::with_capacity(object.len());
    json.push(b'{');
    for (name, value) in rest.chain(status) {
        if json.len() > 1 {
            json.push(b',');
        }
        string(&mut json, &name);
        json.push(b':');
        json.extend_from_slice(value.as_bytes());
    }
    json.push(b'}');
    // It was made of texts.
    String::from_utf8(json).unwrap_or_default()
}

/// Writes a string, which hardly ever needs an escape.
pub(crate) fn string(json: &mut Vec<u8>, text: &str) {
    let is_plain = text.bytes().all(|b| b >= 0x20 && b != b'"' && b != b'\\');
    if is_plain {
        json.push(b'"');
        json.extend_from_slice(text.as_bytes());
        json.push(b'"');
    } else {
        let quoted: Cow<'_, str> = crate::document::quoted(text);
        json.extend_from_slice(quoted.as_bytes());
    }
}
