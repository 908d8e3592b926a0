//! Input that makes no sense, in the engine: each gets its answer, and none makes the module trap.

use crate::support::{Answer, GUEST, in_engine};
use managed_by::rules;
use serde_json::{Value, json};

/// A payload whose `object` (and the rest of the request) is given as text.
fn with(members: &str) -> String {
    format!(
        r#"{{"request":{{"kind":{{"group":"batch","version":"v1","kind":"Job"}},"operation":"CREATE",{members}}},"settings":{{}}}}"#
    )
}

fn malformed(payload: impl AsRef<[u8]>, reason: &str) {
    let answer = in_engine(payload.as_ref());
    assert!(!answer.allowed);
    assert_eq!(answer.code, Some(400));
    assert_eq!(
        answer.message(),
        format!("malformed admission request: {reason}")
    );
    assert!(answer.warnings.is_empty() && answer.annotations.is_empty());
}

fn accepted(payload: impl AsRef<[u8]>) -> Answer {
    let answer = in_engine(payload.as_ref());
    assert!(answer.allowed, "{answer:?}");
    assert_eq!((answer.code, &answer.message), (None, &None));
    answer
}

#[test]
fn not_json() {
    malformed(
        "managedBy: acme.io/x",
        "not JSON: expected value at line 1 column 1",
    );
    malformed(
        "{\"request\":{]}",
        "not JSON: key must be a string at line 1 column 13",
    );
    malformed(
        &with(r#""object":{}"#)[..60],
        "not JSON: EOF while parsing a string at line 1 column 60",
    );
    let payload = with(r#""object":{},"uid":tru"#);
    let at = payload.find("tru").unwrap();
    let at = at + 4;
    let expected = format!("not JSON: expected ident at line 1 column {at}");
    malformed(&payload, &expected);
}

#[test]
fn empty_input() {
    malformed("", "not JSON: EOF while parsing a value at line 1 column 0");
    malformed(
        " \n",
        "not JSON: EOF while parsing a value at line 2 column 0",
    );
}

#[test]
fn json_that_is_no_payload() {
    malformed("[]", "expected an object, got an array");
    malformed("null", "expected an object, got null");
    malformed("{}", "request: expected an object, got nothing");
    malformed(
        r#"{"request":7}"#,
        "request: expected an object, got a number",
    );
    malformed(
        r#"{"request":{}} x"#,
        "not JSON: trailing characters at line 1 column 16",
    );
    let payload = with(r#""object":{}"#);
    let end = format!(
        "not JSON: trailing characters at line 1 column {}",
        payload.len() + 1
    );
    malformed(payload + "x", &end);
}

#[test]
fn missing_object() {
    malformed(
        with(r#""name":"pi""#),
        "request.object: expected an object, got nothing",
    );
    malformed(
        with(r#""object":null"#),
        "request.object: expected an object, got nothing",
    );
}

#[test]
fn missing_old_object() {
    let payload = with(r#""object":{}"#).replace("CREATE", "UPDATE");
    malformed(
        payload,
        "request.oldObject: expected an object, got nothing",
    );
    let payload = with(r#""object":{},"oldObject":null"#).replace("CREATE", "UPDATE");
    malformed(
        payload,
        "request.oldObject: expected an object, got nothing",
    );
}

#[test]
fn object_an_array() {
    malformed(
        with(r#""object":[{"spec":{}}]"#),
        "request.object: expected an object, got an array",
    );
    let payload = with(r#""object":{},"oldObject":[]"#).replace("CREATE", "UPDATE");
    malformed(
        payload,
        "request.oldObject: expected an object, got an array",
    );
}

#[test]
fn spec_of_the_wrong_type() {
    malformed(
        with(r#""object":{"spec":[]}"#),
        "request.object.spec: expected an object, got an array",
    );
    malformed(
        with(r#""object":{"metadata":"pi"}"#),
        "request.object.metadata: expected an object, got a string",
    );
    malformed(
        with(r#""object":{"metadata":{"name":7}}"#),
        "request.object.metadata.name: expected a string, got a number",
    );
    accepted(with(r#""object":{"spec":null,"metadata":null}"#));
    accepted(with(r#""object":{}"#));
}

#[test]
fn managed_by_a_number() {
    malformed(
        with(r#""object":{"spec":{"managedBy":42}}"#),
        "request.object.spec.managedBy: expected a string, got a number",
    );
}

#[test]
fn managed_by_null() {
    let answer = accepted(with(r#""object":{"spec":{"managedBy":null}}"#));
    assert_eq!(answer.annotations["mode"], "Standard");
}

#[test]
fn managed_by_an_object() {
    malformed(
        with(r#""object":{"spec":{"managedBy":{"name":"acme.io/x"}}}"#),
        "request.object.spec.managedBy: expected a string, got an object",
    );
}

#[test]
fn managed_by_a_string_of_1_mb() {
    let long = "x".repeat(1 << 20);
    let answer = in_engine(
        with(&format!(
            r#""object":{{"spec":{{"managedBy":"acme.io/{long}"}}}}"#
        ))
        .as_bytes(),
    );
    assert_eq!(answer.denied(), ["managed-by/format spec.managedBy"]);
    assert_eq!(
        answer.message(),
        r#"Job.batch "" is invalid: spec.managedBy: Too long: may not be more than 63 bytes"#
    );
    assert!(answer.annotations.values().all(|v| v.len() <= 1024));
    // Upstream repeats a value of the wrong form however long it is; we repeat 64 KiB of it.
    let answer =
        in_engine(with(&format!(r#""object":{{"spec":{{"managedBy":"{long}"}}}}"#)).as_bytes());
    assert_eq!(answer.denied(), ["managed-by/format spec.managedBy"]);
    let shown = format!(": \"{}...\": must be", &long[..64 * 1024]);
    assert!(answer.message().contains(&shown));
}

#[test]
fn a_request_of_2_mib() {
    let filler =
        format!(r#""{}""#, "x".repeat(100)) + &format!(r#","{}""#, "y".repeat(100)).repeat(20_350);
    let payload = with(&format!(
        r#""object":{{"spec":{{"a":[{filler}],"managedBy":"acme.io/x"}}}}"#
    ));
    assert!(
        (2 << 20) - 2000 < payload.len() && payload.len() < (2 << 20) + 2000,
        "{}",
        payload.len()
    );
    let answer = accepted(payload);
    assert_eq!(answer.annotations["controller"], r#""acme.io/x""#);
}

#[test]
fn nesting_of_10_000_levels() {
    let nested = |open: &str, close: &str, n: usize| open.repeat(n) + "1" + &close.repeat(n);
    // The request, the object and its spec are levels too.
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        accepted(with(&format!(
            r#""object":{{"spec":{{"a":{}}}}}"#,
            nested(open, close, 9_995)
        )));
    }
    let payload = with(&format!(
        r#""object":{{"spec":{{"a":{}}}}}"#,
        nested("[", "]", 10_000)
    ));
    let at = payload.find("[[").unwrap() + 9_996;
    malformed(
        payload,
        &format!("not JSON: expected at most 10,000 levels of nesting at byte {at}"),
    );
    // A container that is never closed.
    let open = "[".repeat(200_000);
    let answer = in_engine(open.as_bytes());
    assert_eq!((answer.allowed, answer.code), (false, Some(400)));
}

/// The last one counts, as for PolicyServer's decoder, which leaves no other.
#[test]
fn duplicate_keys() {
    let answer = accepted(with(
        r#""object":{"spec":{"managedBy":"typo"},"spec":{"managedBy":"acme.io/x"}}"#,
    ));
    assert_eq!(answer.annotations["controller"], r#""acme.io/x""#);
    let answer = in_engine(
        with(r#""object":{"spec":{"managedBy":"acme.io/x","managedBy":"typo"}}"#).as_bytes(),
    );
    assert_eq!(answer.denied(), ["managed-by/format spec.managedBy"]);
    malformed(
        with(r#""object":{},"kind":{"group":"batch","version":"v1","kind":"CronJob"}"#),
        "request.kind: expected one kind, got another",
    );
}

#[test]
fn keys_in_any_order() {
    let answer = in_engine(
        br#"{"settings":{"reserved_value":"deny"},"request":{"object":{"spec":{"managedBy":"kubernetes.io/job-controller"},"metadata":{"name":"pi"}},
            "operation":"CREATE","kind":{"kind":"Job","version":"v1","group":"batch"}}}"#,
    );
    assert_eq!(answer.denied(), ["managed-by/reserved spec.managedBy"]);
    let payload = br#"{"request":{"object":{"spec":{"managedBy":1}},"operation":"CREATE","kind":{"kind":"Job","version":"v1","group":"batch"}}}"#;
    malformed(
        payload,
        "request.object.spec.managedBy: expected a string, got a number",
    );
}

#[test]
fn escaped_keys() {
    let answer = in_engine(with(r#""object":{"\u0073pec":{"managed\u0042y":"typo"}}"#).as_bytes());
    assert_eq!(answer.denied(), ["managed-by/format spec.managedBy"]);
}

#[test]
fn invalid_utf_8() {
    let mut payload = with(r#""object":{"spec":{"managedBy":"acme.io/x"}}"#).into_bytes();
    let at = payload.windows(4).position(|w| w == b"acme").unwrap();
    payload[at] = 0xff;
    malformed(&payload, &format!("not JSON: expected UTF-8 at byte {at}"));
}

#[test]
fn a_lone_surrogate_is_read_as_in_go() {
    let answer = in_engine(with(r#""object":{"spec":{"managedBy":"acme.io/\ud800"}}"#).as_bytes());
    assert_eq!(answer.denied(), ["managed-by/format spec.managedBy"]);
    assert_eq!(
        answer.message(),
        "Job.batch \"\" is invalid: spec.managedBy: Invalid value: \"\u{fffd}\": Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')"
    );
}

#[test]
fn an_unknown_kind() {
    let payload = with(r#""object":{"spec":{"managedBy":7}}"#).replace(
        r#""group":"batch","version":"v1","kind":"Job""#,
        r#""group":"apps","version":"v1","kind":"Deployment""#,
    );
    let answer = accepted(payload);
    assert_eq!(
        answer.warnings,
        [r#"managed-by-policy knows no "v1" "Deployment" of "apps" and let it pass unread"#]
    );
    // Group and version count too.
    for kind in [
        r#"{"group":"batch","version":"v2","kind":"Job"}"#,
        r#"{"group":"batch.volcano.sh","version":"v1","kind":"Job"}"#,
        r#"{"kind":"Job"}"#,
        r#"{"group":null,"version":null,"kind":"Job"}"#,
    ] {
        let payload =
            format!(r#"{{"request":{{"kind":{kind},"operation":"CREATE","object":{{}}}}}}"#);
        assert_eq!(accepted(payload).warnings.len(), 1, "{kind}");
    }
    let absurd = "\u{1}".repeat(100_000);
    let payload = json!({"request": {"kind": {"group": absurd, "version": absurd, "kind": absurd}, "operation": "CREATE"}});
    let answer = accepted(payload.to_string());
    assert!(answer.warnings.iter().all(|w| w.len() <= 256), "{answer:?}");
}

#[test]
fn kinds_of_the_wrong_shape() {
    let request = |members: &str| format!(r#"{{"request":{{"object":{{}},{members}}}}}"#);
    malformed(
        request(r#""operation":"CREATE""#),
        "request.kind: expected an object, got nothing",
    );
    malformed(
        request(r#""operation":"CREATE","kind":"Job""#),
        "request.kind: expected an object, got a string",
    );
    malformed(
        request(r#""operation":"CREATE","kind":{"group":"batch"}"#),
        "request.kind.kind: expected the name of a kind, got nothing",
    );
    malformed(
        request(r#""operation":"CREATE","kind":{"kind":1}"#),
        "request.kind.kind: expected a string, got a number",
    );
}

#[test]
fn operations_of_the_wrong_shape() {
    let request = |operation: &str| {
        format!(
            r#"{{"request":{{"kind":{{"group":"batch","version":"v1","kind":"Job"}},"object":{{}}{operation}}}}}"#
        )
    };
    let expected = "request.operation: expected CREATE, UPDATE, DELETE or CONNECT, got";
    malformed(request(""), &format!("{expected} nothing"));
    malformed(
        request(r#","operation":"create""#),
        &format!("{expected} another word"),
    );
    malformed(
        request(r#","operation":7"#),
        "request.operation: expected a string, got a number",
    );
}

/// Neither is judged, nor does it matter what the object looks like.
#[test]
fn delete_and_connect() {
    for operation in ["DELETE", "CONNECT"] {
        for object in [
            r#""object":null"#,
            r#""object":{"spec":{"managedBy":7}}"#,
            r#""oldObject":[]"#,
        ] {
            let answer = accepted(with(object).replace("CREATE", operation));
            assert!(answer.warnings.is_empty());
        }
    }
}

#[test]
fn a_scale_subresource() {
    let payload = with(r#""subResource":"scale","object":{"spec":{"replicas":3,"managedBy":7}}"#)
        .replace(
            r#""group":"batch","version":"v1","kind":"Job""#,
            r#""group":"autoscaling","version":"v1","kind":"Scale""#,
        )
        .replace("CREATE", "UPDATE");
    assert!(accepted(payload).warnings.is_empty());
    accepted(with(
        r#""subResource":"scale","object":{"spec":{"managedBy":7}}"#,
    ));
    malformed(
        with(r#""subResource":7,"object":{}"#),
        "request.subResource: expected a string, got a number",
    );
}

/// On a status update kube-apiserver has put the old spec into the new object: the field is not looked at again.
#[test]
fn a_status_update_does_not_judge_the_field() {
    let payload = with(
        r#""subResource":"status","object":{"spec":{"managedBy":"typo"}},"oldObject":{"spec":{"managedBy":"typo"}}"#,
    );
    accepted(payload.replace("CREATE", "UPDATE"));
}

fn settings(settings: &Value) -> String {
    let verdict = GUEST.validate_settings(settings).unwrap();
    assert!(!verdict.valid, "{settings}");
    // What validate_settings refuses, validate does not work with.
    let payload =
        json!({"request": {"kind": {"kind": "Job"}, "operation": "DELETE"}, "settings": settings});
    let answer = in_engine(payload.to_string().as_bytes());
    assert_eq!((answer.allowed, answer.code), (false, Some(500)));
    let message = verdict.message.unwrap();
    assert_eq!(
        answer.message(),
        format!("managed-by-policy is misconfigured: {message}")
    );
    message
}

#[test]
fn settings_that_are_valid() {
    for valid in [
        json!({}),
        json!(null),
        json!({"kubernetes_version": "1.30", "rules": {}}),
    ] {
        let verdict = GUEST.validate_settings(&valid).unwrap();
        assert_eq!((verdict.valid, verdict.message), (true, None), "{valid}");
    }
    accepted(
        r#"{"request":{"kind":{"group":"batch","version":"v1","kind":"Job"},"operation":"CREATE","object":{}}}"#,
    );
}

#[test]
fn settings_that_are_a_list() {
    assert_eq!(
        settings(&json!([])),
        "invalid settings: settings: got an array, expected an object"
    );
}

#[test]
fn settings_that_are_a_string() {
    assert_eq!(
        settings(&json!("deny")),
        r#"invalid settings: settings: got "deny", expected an object"#
    );
}

#[test]
fn settings_with_an_unknown_key() {
    assert_eq!(
        settings(&json!({"reserved-value": "deny"})),
        r#"invalid settings: "reserved-value": settings has no such key, expected one of kubernetes_version, reserved_value, role, controllers, namespaces, custom_kinds, standard_status_writers, exempt, on_lookup_failure, rules; did you mean "reserved_value"?"#
    );
}

#[test]
fn settings_with_an_unknown_rule_id() {
    assert_eq!(
        settings(&json!({"rules": {"managed-by/formt": "deny"}})),
        format!(
            r#"invalid settings: rules["managed-by/formt"]: rules has no such key, expected one of {}; did you mean "managed-by/format"?"#,
            rules()
                .iter()
                .map(|rule| rule.id())
                .collect::<Vec<_>>()
                .join(", ")
        )
    );
}

#[test]
fn settings_with_a_version_that_yaml_took_for_a_float() {
    assert_eq!(
        settings(&json!({"kubernetes_version": 1.30})),
        r#"invalid settings: kubernetes_version: got the number 1.3, expected a string, one of "1.30", "1.31", "1.32", "1.33", "1.34", "1.35", "1.36", "1.37"; write it in quotes, such as "1.30""#
    );
}

#[test]
fn settings_with_everything_wrong_tell_everything() {
    assert_eq!(
        settings(
            &json!({"kubernetes_version": 1.37, "reserved_value": "no", "rules": {"managed-by/format": 1}, "x": 1})
        ),
        r#"4 problems in the settings: (1) kubernetes_version: got the number 1.37, expected a string, one of "1.30", "1.31", "1.32", "1.33", "1.34", "1.35", "1.36", "1.37"; write it in quotes, such as "1.37"; (2) reserved_value: got "no", expected one of allow, deny; (3) rules["managed-by/format"]: got the number 1, expected one of deny, warn, off; (4) "x": settings has no such key, expected one of kubernetes_version, reserved_value, role, controllers, namespaces, custom_kinds, standard_status_writers, exempt, on_lookup_failure, rules"#
    );
}

#[test]
fn settings_that_are_not_json() {
    for bytes in [&b""[..], b"{", b"\xff"] {
        let answer = GUEST.call("validate_settings", bytes).unwrap();
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        assert_eq!(answer["valid"], false);
        assert!(
            answer["message"]
                .as_str()
                .unwrap()
                .starts_with("invalid settings: settings: not JSON:"),
            "{answer}"
        );
    }
}
