//! Invalid input that `tests/library/cases/` cannot express: invalid UTF-8, generated values and other operations of the module.

use managed_by::kinds;
use managed_by_testing::Policy;
use managed_by_testing::objects::request;
use serde_json::{Value, json};

use crate::support::{GUEST, module, review_with};

#[test]
fn rejects_invalid_utf_8() {
    let response = GUEST
        .validate_bytes(b"{\"request\":{\"object\":{\"spec\":{\"managedBy\":\"\xffcme.io/x\"}}}}")
        .unwrap();
    let expected = "malformed admission request: not JSON: expected UTF-8 at byte 43";
    assert_eq!((response.code, response.message()), (Some(400), expected));
}

#[test]
fn truncates_the_name_of_an_unknown_kind() {
    let long = "\u{1}".repeat(100_000);
    let kind = json!({"group": long, "version": long, "kind": long});
    let payload = json!({"request": {"kind": kind, "operation": "CREATE", "object": {}}});
    let response = GUEST
        .validate_bytes(payload.to_string().as_bytes())
        .unwrap();
    assert!(response.allowed, "{response:?}");
    assert_eq!(response.warnings.len(), 1, "{response:?}");
    assert!(response.warnings[0].len() <= 256, "{response:?}");
}

#[test]
fn rejects_settings_that_are_not_json() {
    for bytes in [&b""[..], b"{", b"\xff"] {
        let response = GUEST.call("validate_settings", bytes).unwrap();
        let response: Value = serde_json::from_slice(&response).unwrap();
        assert_eq!(response["valid"], false);
        assert!(
            response["message"]
                .as_str()
                .unwrap()
                .starts_with("managed-by-policy: invalid settings: settings: not JSON:"),
            "{response}"
        );
    }
}

/// The operation `evaluate` exists only in the module for embedders.
#[test]
fn evaluate_rejects_invalid_input() {
    let module = module("go/managedby/module.wasm");
    let policy = Policy::load_unannotated(&module).unwrap();
    let evaluate = |input: &str| policy.call("evaluate", input.as_bytes());
    for (input, reason) in [
        ("", "EOF while parsing a value"),
        (
            "1.37\n{}",
            "invalid type: floating point `1.37`, expected an object",
        ),
        (
            r#"[["1.37"],{}]"#,
            "invalid type: sequence, expected an object",
        ),
        (r#"{"review":{"request":}}"#, "expected value"),
        (r#"{"review":{}} {}"#, "trailing characters"),
        (
            r#"{"review":{},"settings":{}}"#,
            "unknown field `settings`, expected `releases` or `review`",
        ),
        (r#"{"review":{},"review":{}}"#, "duplicate field `review`"),
        (r#"{"releases":["1.37"]}"#, "missing field `review`"),
        (r#"{"review":null}"#, "review must be an object"),
        (r#"{"review":[]}"#, "review must be an object"),
        (
            r#"{"releases":"1.37","review":{}}"#,
            r#"invalid type: string "1.37", expected a sequence"#,
        ),
        (
            r#"{"releases":[1.37],"review":{}}"#,
            "invalid type: floating point `1.37`, expected a string",
        ),
        (
            r#"{"releases":["1.29"],"review":{}}"#,
            r#"unknown release "1.29", expected a release from 1.30 to 1.37"#,
        ),
    ] {
        let error = evaluate(input).unwrap_err().to_string();
        assert!(
            error.contains(&format!("invalid input: {reason}")),
            "{input}: {error}"
        );
        let expected = r#"; expected {"releases": ["1.37", ...], "review": {"request": ..., "settings": ...}}"#;
        assert!(error.contains(expected), "{input}: {error}");
    }
    // An invalid review gets the same response as in `validate`.
    for input in [r#"{"review":{}}"#, r#"{"releases":[],"review":{}}"#] {
        let evaluation: Value = serde_json::from_slice(&evaluate(input).unwrap()).unwrap();
        let keys = ["code", "releaseVerdicts"].map(|key| &evaluation[key]);
        assert_eq!(keys, [&json!(400), &Value::Null], "{input}");
    }
}

/// PolicyServer sorts the keys, but a settings file can have them in any order.
#[test]
fn rejects_too_many_patterns_in_any_key_order() {
    let patterns: Vec<_> = (0..257).map(|i| format!("n{i}")).collect();
    let patterns = json!(patterns);
    let job = json!({"metadata": {"name": "x"}, "spec": {}});
    let request = request((kinds()[0], "v1"), "CREATE", "", &Value::Null, &job);
    for entry in [
        format!(r#"{{"delegation":"allowed","match":{patterns}}}"#),
        format!(r#"{{"match":{patterns},"delegation":"allowed"}}"#),
    ] {
        let response = review_with(&request, &format!(r#"{{"namespaces":[{entry}]}}"#));
        let expected = "namespaces[0].match: Too many: 257: must have at most 256 items";
        assert_eq!(response.code, Some(500));
        assert!(response.message().ends_with(expected), "{response:?}");
    }
}
