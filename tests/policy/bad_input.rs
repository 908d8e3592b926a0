//! Input that makes no sense and is no text of a file, or is asked in a loop. `cases/` has the rest.

use managed_by::kinds;
use serde_json::{Value, json};
use xtask::kinds::objects::request;

use crate::support::{GUEST, everywhere, in_engine, natively_from};

#[test]
fn invalid_utf_8() {
    let answer =
        in_engine(b"{\"request\":{\"object\":{\"spec\":{\"managedBy\":\"\xffcme.io/x\"}}}}");
    let expected = "malformed admission request: not JSON: expected UTF-8 at byte 43";
    assert_eq!((answer.code, answer.message()), (Some(400), expected));
}

/// Group and version count too.
#[test]
fn an_unknown_kind() {
    let answer = |kind: &Value| {
        in_engine(json!({"request": {"kind": kind, "operation": "CREATE", "object": {"spec": {"managedBy": 7}}}}).to_string().as_bytes())
    };
    let deployment = answer(&json!({"group": "apps", "version": "v1", "kind": "Deployment"}));
    assert_eq!(
        deployment.warnings,
        [r#"managed-by-policy knows no "v1" "Deployment" of "apps" and let it pass unread"#]
    );
    let absurd = "\u{1}".repeat(100_000);
    for kind in [
        json!({"group": "batch", "version": "v2", "kind": "Job"}),
        json!({"group": "batch.volcano.sh", "version": "v1", "kind": "Job"}),
        json!({"kind": "Job"}),
        json!({"group": null, "version": null, "kind": "Job"}),
        json!({"group": absurd, "version": absurd, "kind": absurd}),
    ] {
        let answer = answer(&kind);
        assert!(answer.allowed, "{answer:?}");
        assert_eq!(answer.warnings.len(), 1, "{answer:?}");
        assert!(answer.warnings[0].len() <= 256, "{answer:?}");
    }
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
    // Without settings.
    let kind = json!({"group": "batch", "version": "v1", "kind": "Job"});
    let payload = json!({"request": {"kind": kind, "operation": "CREATE", "object": {}}});
    assert!(in_engine(payload.to_string().as_bytes()).allowed);
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

/// The way to the field is strict; everything else is the business of the kind's schema.
#[test]
fn what_is_not_on_the_way_to_the_field_may_be_of_any_type() {
    for kind in kinds() {
        let spec = json!({
            "replicatedJobs": [5, {"template": 5}, null], "components": 5, "rayClusterSpec": "x",
            "rayClusterConfig": [], "retries": {}, "runPolicy": {}, "template": 7,
        });
        // A Job is decoded by kube-apiserver itself.
        let status = match kind.name() {
            "Job" => json!({}),
            _ => json!({"conditions": 5, "replicaStatuses": [5], "restarts": "many", "phase": []}),
        };
        let object = json!({"metadata": {"name": "x"}, "spec": spec, "status": status});
        let answer = everywhere(
            &request(
                (kind, kind.versions()[0]),
                "CREATE",
                "",
                &Value::Null,
                &object,
            ),
            &json!({}),
        );
        assert!(
            answer.allowed && answer.warnings.is_empty(),
            "{}: {answer:?}",
            kind.name()
        );
    }
}

/// A list that is too long is refused whichever key comes first. The module gets sorted keys; a file of settings has any order.
#[test]
fn too_many_patterns_are_refused_in_every_order() {
    let patterns: Vec<_> = (0..257).map(|i| format!("n{i}")).collect();
    let patterns = json!(patterns);
    let job = json!({"metadata": {"name": "x"}, "spec": {}});
    let request = request((kinds()[0], "v1"), "CREATE", "", &Value::Null, &job);
    for entry in [
        format!(r#"{{"delegation":"allowed","match":{patterns}}}"#),
        format!(r#"{{"match":{patterns},"delegation":"allowed"}}"#),
    ] {
        let answer = natively_from(&request, &format!(r#"{{"namespaces":[{entry}]}}"#));
        let expected = "namespaces[0].match: got 257 items, expected at most 256";
        assert_eq!(answer.code, Some(500));
        assert!(answer.message().ends_with(expected), "{answer:?}");
    }
}
