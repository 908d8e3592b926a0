//! Payloads of the guests, as PolicyServer builds them.

use serde_json::{Value, json};

/// Serializes the payload that a guest receives: compact JSON with sorted keys.
pub fn payload(request: &Value, settings: &Value) -> Vec<u8> {
    json!({"request": request, "settings": settings})
        .to_string()
        .into_bytes()
}
