//! Admission requests, as JSON.

use std::borrow::Cow;

use managed_by::Kind;

use crate::record::State;

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// To store a new object.
    Create,
    /// To store another state of an object.
    Update,
    /// To delete an object.
    Delete,
}

impl Operation {
    /// The word for it in requests.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

/// A request that is to be written.
pub(crate) struct Asked<'a> {
    pub(crate) operation: Operation,
    pub(crate) is_status: bool,
    pub(crate) namespace: &'a str,
    /// `userInfo`, as JSON.
    pub(crate) user: Option<&'a str>,
    pub(crate) object: &'a State<'a>,
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
        } = self.object;
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
        json.extend_from_slice(self.operation.as_str().as_bytes());
        json.extend_from_slice(if self.is_status {
            b"\",\"subResource\":\"status\",\"name\":"
        } else {
            b"\",\"name\":"
        });
        string(json, &metadata.name);
        json.extend_from_slice(b",\"namespace\":");
        string(json, self.namespace);
        json.extend_from_slice(b",\"userInfo\":");
        json.extend_from_slice(self.user.unwrap_or("{}").as_bytes());
        json.extend_from_slice(b",\"object\":");
        json.extend_from_slice(self.object.text.as_bytes());
        if let Some(old) = self.old {
            json.extend_from_slice(b",\"oldObject\":");
            json.extend_from_slice(old.as_bytes());
        }
        json.push(b'}');
    }
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
