//! Admission requests in the form in which PolicyServer passes them to a guest.
//!
//! Tests of the built modules and `make demo` build their payloads here.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Map, Value, json};

/// Members of an `AdmissionRequest` that PolicyServer passes on.
const MEMBERS: [&str; 15] = [
    "uid",
    "kind",
    "resource",
    "subResource",
    "requestKind",
    "requestResource",
    "requestSubResource",
    "name",
    "namespace",
    "operation",
    "userInfo",
    "object",
    "oldObject",
    "dryRun",
    "options",
];

/// Members without which PolicyServer rejects a request.
const REQUIRED: [&str; 5] = ["uid", "kind", "resource", "operation", "userInfo"];

/// Returns the request that PolicyServer would pass on, from an `AdmissionReview` or a bare request.
///
/// Like PolicyServer, it drops unknown members and nulls.
pub fn request(review: &Value) -> Result<Value> {
    let is_review = review.get("kind").and_then(Value::as_str) == Some("AdmissionReview");
    let request = if is_review {
        review.get("request")
    } else {
        Some(review)
    };
    let request = request.and_then(Value::as_object).context("no request")?;
    for member in REQUIRED {
        ensure!(request.contains_key(member), "missing field `{member}`");
    }
    let known = request
        .iter()
        .filter(|(member, value)| MEMBERS.contains(&member.as_str()) && !value.is_null());
    let known: Map<_, _> = known.map(|(k, v)| (k.clone(), v.clone())).collect();
    Ok(Value::Object(known))
}

/// Serializes the payload that a guest receives: compact JSON with sorted keys.
pub fn payload(request: &Value, settings: &Value) -> Vec<u8> {
    json!({"request": request, "settings": settings})
        .to_string()
        .into_bytes()
}

#[cfg(test)]
mod tests {
    use serde_json::{from_str, json};

    use super::{payload, request};

    #[test]
    fn payload_sorts_keys_at_every_level() {
        let value =
            from_str(r#"{"uid":"1","object":{"z":{"d":1,"c":2},"a":[{"y":1,"x":2}]}}"#).unwrap();
        assert_eq!(
            String::from_utf8(payload(&value, &json!({"b": 1, "a": null}))).unwrap(),
            r#"{"request":{"object":{"a":[{"x":2,"y":1}],"z":{"c":2,"d":1}},"uid":"1"},"settings":{"a":null,"b":1}}"#
        );
    }

    #[test]
    fn request_unwraps_a_review_and_drops_unknown_members_and_nulls() {
        let bare =
            json!({"uid": "1", "kind": {}, "resource": {}, "operation": "CREATE", "userInfo": {}});
        let mut wrapped = bare.clone();
        wrapped["oldObject"] = json!(null);
        wrapped["comment"] = json!("x");
        let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": wrapped});
        assert_eq!(request(&review).unwrap(), bare);
        assert_eq!(request(&bare).unwrap(), bare);
    }

    #[test]
    fn request_rejects_incomplete_input() {
        for (input, message) in [
            (json!({"kind": "Pod"}), "missing field `uid`"),
            (json!({"kind": "AdmissionReview"}), "no request"),
            (json!([]), "no request"),
        ] {
            assert_eq!(request(&input).unwrap_err().to_string(), message);
        }
    }
}
