//! Requests as they reach a guest.

use serde_json::{Map, Value, json};

use crate::Error;

/// The members of an `AdmissionRequest` that PolicyServer passes on.
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

/// The members that it insists on.
const REQUIRED: [&str; 5] = ["uid", "kind", "resource", "operation", "userInfo"];

/// The request in an `AdmissionReview`, or the bare request, as PolicyServer would pass it on: members that it does not
/// know are dropped, and so are nulls.
///
/// # Errors
/// If it is no request, or something that PolicyServer insists on is missing.
pub fn request(review: &Value) -> Result<Value, Error> {
    let is_review = review.get("kind").and_then(Value::as_str) == Some("AdmissionReview");
    let request = if is_review {
        review.get("request")
    } else {
        Some(review)
    };
    let Some(request) = request.and_then(Value::as_object) else {
        return Err(Error::Request("no request".to_owned()));
    };
    if let Some(missing) = REQUIRED.iter().find(|m| !request.contains_key(**m)) {
        return Err(Error::Request(format!("missing field `{missing}`")));
    }
    let known = request
        .iter()
        .filter(|(member, value)| MEMBERS.contains(&member.as_str()) && !value.is_null());
    let known: Map<_, _> = known.map(|(k, v)| (k.clone(), v.clone())).collect();
    Ok(Value::Object(known))
}

/// The bytes that a guest receives: compact, with the keys of every object sorted.
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
    fn keys_are_sorted_at_every_level() {
        let value =
            from_str(r#"{"uid":"1","object":{"z":{"d":1,"c":2},"a":[{"y":1,"x":2}]}}"#).unwrap();
        assert_eq!(
            String::from_utf8(payload(&value, &json!({"b": 1, "a": null}))).unwrap(),
            r#"{"request":{"object":{"a":[{"x":2,"y":1}],"z":{"c":2,"d":1}},"uid":"1"},"settings":{"a":null,"b":1}}"#
        );
    }

    #[test]
    fn a_review_is_unwrapped_and_what_the_server_drops_is_dropped() {
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
    fn what_is_no_request_is_refused() {
        for (input, message) in [
            (json!({"kind": "Pod"}), "missing field `uid`"),
            (json!({"kind": "AdmissionReview"}), "no request"),
            (json!([]), "no request"),
        ] {
            let expected =
                format!("cannot build AdmissionRequest object from given input: {message}");
            assert_eq!(request(&input).unwrap_err().to_string(), expected);
        }
    }
}
