//! `rules`, `reserved_value` and the annotations, on every front end.

use crate::support::everywhere;
use managed_by::rules;
use serde_json::{Value, from_str, json};

fn job(operation: &str, old: Option<&str>, new: Option<&str>) -> Value {
    let object = |value: Option<&str>| match value {
        Some(value) => json!({"metadata": {"name": "pi"}, "spec": {"managedBy": value}}),
        None => json!({"metadata": {"name": "pi"}, "spec": {}}),
    };
    let mut request = json!({
        "operation": operation,
        "kind": {"group": "batch", "version": "v1", "kind": "Job"},
        "object": object(new),
    });
    if operation == "UPDATE" {
        request["oldObject"] = object(old);
    }
    request
}

/// What denies warns when it is told to, with the same words but for the type, and is silent when it is off.
#[test]
fn every_rule_can_be_set_to_deny_warn_and_off() {
    for &rule in rules() {
        let request: Value = from_str(&rule.documentation().rejected.full_request()).unwrap();
        let with = |enforcement: &str| {
            let mut settings: Value = from_str(rule.documentation().rejected.settings).unwrap();
            settings["rules"][rule.id()] = enforcement.into();
            everywhere(&request, &settings)
        };
        let (deny, warn, off) = (with("deny"), with("warn"), with("off"));
        let fired = deny
            .denied()
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>();
        assert_eq!(fired.len(), 1, "{rule:?}");
        assert_eq!((deny.allowed, deny.warned()), (false, vec![]), "{rule:?}");
        assert_eq!(
            (warn.allowed, warn.denied(), warn.code),
            (true, vec![], None),
            "{rule:?}"
        );
        assert_eq!(warn.warned(), fired, "{rule:?}");
        let [warning] = &warn.warnings[..] else {
            panic!("{rule:?}: {warn:?}");
        };
        assert!(warning.ends_with(&format!(" [{}]", rule.id())), "{warning}");
        assert!(warning.len() <= 256, "{warning}");
        assert_eq!(
            (off.allowed, off.warned(), off.denied()),
            (true, vec![], vec![]),
            "{rule:?}"
        );
        assert_eq!(off.warnings, Vec::<String>::new(), "{rule:?}");
    }
}

#[test]
fn several_findings_stand_in_the_order_of_the_catalogue() {
    let settings = json!({"rules": {"managed-by/reserved-domain": "deny"}});
    let answer = everywhere(
        &job("UPDATE", Some("acme.io/x"), Some("k8s.io/a b")),
        &settings,
    );
    assert_eq!(
        answer.denied(),
        [
            "managed-by/format spec.managedBy",
            "managed-by/immutable spec.managedBy",
            "managed-by/reserved-domain spec.managedBy",
        ]
    );
    assert_eq!(
        answer.warnings,
        ["managed-by-policy: see rules managed-by/format, managed-by/immutable"]
    );
    let at = |text: &str| answer.message().find(text).unwrap();
    assert!(at("Invalid path") < at("field is immutable"));
    assert!(at("field is immutable") < at("no known controller"));
}

#[test]
fn the_mode_and_the_controller_are_annotated() {
    let annotations = |value| everywhere(&job("CREATE", None, value), &json!({})).annotations;
    let delegated = annotations(Some("acme.io/runner"));
    assert_eq!(delegated["mode"], "Delegated");
    assert_eq!(delegated["controller"], r#""acme.io/runner""#);
    for standard in [None, Some("kubernetes.io/job-controller")] {
        let standard = annotations(standard);
        assert_eq!(standard["mode"], "Standard");
        assert_eq!(standard.len(), 1);
    }
    // The spec that a status update brings along is not stored.
    let mut request = job("UPDATE", None, Some("acme.io/runner"));
    request["subResource"] = "status".into();
    assert_eq!(
        everywhere(&request, &json!({})).annotations["mode"],
        "Standard"
    );
}

/// With the reserved value denied, an object that carries it already stays as free as any other.
#[test]
fn the_reserved_value_is_denied_only_where_it_comes_in() {
    let settings = json!({"reserved_value": "deny"});
    let reserved = Some("kubernetes.io/job-controller");
    for (request, denied) in [
        (
            job("CREATE", None, reserved),
            vec!["managed-by/reserved spec.managedBy"],
        ),
        (job("CREATE", None, None), vec![]),
        (job("CREATE", None, Some("acme.io/x")), vec![]),
        (job("UPDATE", reserved, reserved), vec![]),
        (
            job("UPDATE", reserved, None),
            vec!["managed-by/immutable spec.managedBy"],
        ),
        (
            job("UPDATE", None, reserved),
            vec![
                "managed-by/immutable spec.managedBy",
                "managed-by/reserved spec.managedBy",
            ],
        ),
    ] {
        assert_eq!(
            everywhere(&request, &settings).denied(),
            denied,
            "{request}"
        );
    }
}

#[test]
fn warnings_and_annotations_stay_within_limits() {
    let long = format!("k8s.io/{}", "x<é\u{0}".repeat(500));
    let settings = json!({"rules": {"managed-by/format": "warn"}});
    let answer = everywhere(&job("CREATE", None, Some(&long)), &settings);
    assert!(answer.allowed);
    assert_eq!(answer.warnings.len(), 3);
    assert!(
        answer
            .warnings
            .iter()
            .all(|w| w.len() <= 256 && !w.contains('\0'))
    );
    assert!(answer.annotations.values().all(|v| v.len() <= 1024));
}
