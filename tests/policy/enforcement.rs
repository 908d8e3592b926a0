//! What holds for every rule, and for every warning and annotation. `cases/settings.yml` has the rest.

use crate::support::everywhere;
use managed_by::rules;
use serde_json::{Value, from_str, json};

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
fn warnings_and_annotations_stay_within_limits() {
    let long = format!("k8s.io/{}", "x<é\u{0}".repeat(500));
    let settings = json!({"rules": {"managed-by/format": "warn"}});
    let request = json!({
        "operation": "CREATE",
        "kind": {"group": "batch", "version": "v1", "kind": "Job"},
        "object": {"metadata": {"name": "pi"}, "spec": {"managedBy": long}},
    });
    let answer = everywhere(&request, &settings);
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
