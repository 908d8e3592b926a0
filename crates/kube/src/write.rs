//! Writes of a client, read from its HTTP requests.

use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request};
use managed_by::{Kind, kinds};
use serde_json::Value;

/// A write of an object or its status.
pub(crate) struct Write {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) source: ResultSource,
    pub(crate) is_status: bool,
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) plural: String,
    pub(crate) namespace: String,
    /// Path of the stored object; `None` for a create.
    pub(crate) stored_path: Option<String>,
}

/// Source of the object that results from a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResultSource {
    Create,
    Replace,
    Merge,
    JsonPatch,
    /// Only the API server can compute the result: a server-side apply, which removes fields that the manager no longer applies, or a
    /// strategic merge patch, which merges lists by the keys in the API's schema.
    ServerComputed,
}

impl Write {
    /// Parses a write. Returns `None` for reads, deletions, other subresources and the core API group.
    pub(crate) fn from_request<B>(request: &Request<B>) -> Option<Self> {
        let path = request.uri().path();
        let (prefix, resource) = path.split_once("/apis/")?;
        let mut segments = resource.split('/');
        let (group, version) = (segments.next()?, segments.next()?);
        let (scope, namespace, plural) = match segments.next()? {
            "namespaces" => {
                let namespace = segments.next()?;
                (
                    format!("namespaces/{namespace}/"),
                    namespace,
                    segments.next()?,
                )
            }
            plural => (String::new(), "", plural),
        };
        let name = segments.next();
        let is_status = match (segments.next(), segments.next()) {
            (None, _) => false,
            (Some("status"), None) => true,
            _ => return None,
        };
        let source = match (request.method(), name) {
            (&Method::POST, None) => ResultSource::Create,
            (&Method::PUT, Some(_)) => ResultSource::Replace,
            (&Method::PATCH, Some(_)) => {
                let content_type = request.headers().get(CONTENT_TYPE);
                match content_type.map(HeaderValue::as_bytes) {
                    Some(b"application/merge-patch+json") => ResultSource::Merge,
                    Some(b"application/json-patch+json") => ResultSource::JsonPatch,
                    _ => ResultSource::ServerComputed,
                }
            }
            _ => return None,
        };
        let stored_path =
            name.map(|name| format!("{prefix}/apis/{group}/{version}/{scope}{plural}/{name}"));
        Some(Self {
            method: request.method().clone(),
            path: path.to_owned(),
            source,
            is_status,
            group: group.to_owned(),
            version: version.to_owned(),
            plural: plural.to_owned(),
            namespace: namespace.to_owned(),
            stored_path,
        })
    }

    /// Returns the kind, if it is built into the library, in any version.
    pub(crate) fn known_kind(&self) -> Option<&'static Kind<'static>> {
        let mut known = kinds().iter().copied();
        known.find(|kind| kind.group() == self.group && kind.plural() == self.plural)
    }

    /// Returns the resulting object, or `None` if the patch is invalid, which the API server reports, or is server-computed.
    pub(crate) fn result(&self, stored: Option<&Value>, sent: Value) -> Option<Value> {
        match (self.source, stored) {
            (ResultSource::Create | ResultSource::Replace, _) => Some(sent),
            (ResultSource::Merge, Some(stored)) => Some(merged(stored, &sent)),
            (ResultSource::JsonPatch, Some(stored)) => {
                let patch: json_patch::Patch = serde_json::from_value(sent).ok()?;
                let mut object = stored.clone();
                json_patch::patch(&mut object, &patch).ok()?;
                Some(object)
            }
            (ResultSource::Merge | ResultSource::JsonPatch, None)
            | (ResultSource::ServerComputed, _) => None,
        }
    }
}

/// Returns a copy of an object with a merge patch.
pub(crate) fn merged(stored: &Value, sent: &Value) -> Value {
    let mut object = stored.clone();
    json_patch::merge(&mut object, sent);
    object
}

/// Returns a copy of an object with the status of another, or without one.
pub(crate) fn with_status_of(object: &Value, other: Option<&Value>) -> Value {
    let mut object = object.clone();
    if let Some(fields) = object.as_object_mut() {
        match other.and_then(|other| other.get("status")) {
            Some(status) => drop(fields.insert("status".to_owned(), status.clone())),
            None => drop(fields.remove("status")),
        }
    }
    object
}
