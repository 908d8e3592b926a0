//! Minimal objects and requests of all kinds.

#![expect(
    clippy::indexing_slicing,
    reason = "serde_json inserts a missing member"
)]

use managed_by::Kind;
use serde_json::{Value, json};

/// Builds a request for a kind in one of its versions.
pub fn request(
    (kind, version): (&Kind<'_>, &str),
    operation: &str,
    sub_resource: &str,
    old: &Value,
    new: &Value,
) -> Value {
    json!({
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": {"group": kind.group(), "version": version, "kind": kind.name()},
        "resource": {"group": kind.group(), "version": version, "resource": kind.plural()},
        "operation": operation, "subResource": sub_resource, "oldObject": old, "object": new,
        "name": "x", "namespace": "team-a", "userInfo": {"username": "ana"},
    })
}

/// Builds an object with the given value in its `managedBy` field.
pub fn object_with_managed_by(kind: &Kind<'_>, value: Option<&str>) -> Value {
    let wrap = |inner: Value, key: &str| {
        let mut object = json!({});
        object[key] = inner;
        object
    };
    let mut object = match value {
        Some(value) => kind
            .managed_by_path()
            .split('.')
            .rev()
            .fold(Value::from(value), wrap),
        None => json!({}),
    };
    object["metadata"] = json!({"name": "x"});
    object
}

/// An arbitrary time.
pub const NOON: &str = "2026-01-01T12:00:00Z";
/// One hour after [`NOON`].
pub const ONE_PM: &str = "2026-01-01T13:00:00Z";

pub fn condition(name: &str, status: &str, reason: &str) -> Value {
    json!({"type": name, "status": status, "reason": reason})
}

/// Builds a condition with status True.
pub fn true_condition(name: &str) -> Value {
    condition(name, "True", "")
}
