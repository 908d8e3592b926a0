//! Objects and requests of all kinds, cut to what the policy reads.

use managed_by::Kind;
use serde_json::{Value, json};

/// A request about an object of a kind in one of its versions.
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

/// An object whose field has a value, if any.
pub fn with(kind: &Kind<'_>, value: Option<&str>) -> Value {
    let leaf = |value: &str| Value::from(value);
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
            .fold(leaf(value), wrap),
        None => json!({}),
    };
    object["metadata"] = json!({"name": "x"});
    object
}

/// A time.
pub const NOON: &str = "2026-01-01T12:00:00Z";
/// A time after [`NOON`].
pub const ONE: &str = "2026-01-01T13:00:00Z";

/// A condition of a status.
pub fn condition(name: &str, status: &str, reason: &str) -> Value {
    json!({"type": name, "status": status, "reason": reason})
}

/// A condition that holds.
pub fn when(name: &str) -> Value {
    condition(name, "True", "")
}
