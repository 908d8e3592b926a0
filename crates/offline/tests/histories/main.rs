//! Replays histories and lists status writers: from recordings, and from the cases in the YAML files here.

#![expect(
    clippy::unwrap_used,
    clippy::arithmetic_side_effects,
    reason = "a test that panics has failed"
)]

mod replay;
mod writers;

use managed_by_offline::Document;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reads the cases in a text.
fn cases<T: DeserializeOwned>(text: &str) -> T {
    let document = Document::parse_all(text).remove(0).unwrap();
    serde_json::from_str(document.json()).unwrap()
}

/// Applies a JSON merge patch (RFC 7396).
fn merge_patch(value: &Value, changes: &Value) -> Value {
    let (Value::Object(members), Value::Object(changes)) = (value, changes) else {
        return changes.clone();
    };
    let mut members = members.clone();
    for (key, change) in changes {
        let old = members.remove(key).unwrap_or_default();
        if !change.is_null() {
            members.insert(key.clone(), merge_patch(&old, change));
        }
    }
    Value::Object(members)
}
