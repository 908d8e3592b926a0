//! Input that makes no sense, in the engine, where it is large or no text. `cases/bad_input.yml` has the rest.

use crate::support::{Answer, GUEST, in_engine};
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

#[test]
fn invalid_utf_8() {
    let mut payload = with(r#""object":{"spec":{"managedBy":"acme.io/x"}}"#).into_bytes();
    let at = payload.windows(4).position(|w| w == b"acme").unwrap();
    payload[at] = 0xff;
    malformed(&payload, &format!("not JSON: expected UTF-8 at byte {at}"));
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
