//! The rules about the `managedBy` field, for every kind.

use super::{all, assert_silent, create, object_with_managed_by, request};
use crate::support::review;
use managed_by::{FieldLocation, Kind, RESERVED_VALUES, ValueConstraint, kinds};
use serde_json::{Value, json};

const MULTIKUEUE: &str = "kueue.x-k8s.io/multikueue";
const NONE: &[&str] = &[];

/// Every version of every kind accepts an unset field, the kind's reserved value and MultiKueue's value.
#[test]
fn accepts_reserved_value_and_multikueue() {
    for (kind, version) in all() {
        for value in [None, kind.reserved_value(), Some(MULTIKUEUE)] {
            let request = request(
                (kind, version),
                "CREATE",
                "",
                &Value::Null,
                &object_with_managed_by(kind, value),
            );
            let response = review(&request, &json!({"default_local_queue": ["*"]}));
            assert_eq!(
                response.warned(),
                version_warnings(kind, version),
                "{response:?}"
            );
            assert!(response.allowed, "{response:?}");
        }
    }
}

/// Returns the rules that warn about every write through a version.
fn version_warnings(kind: &Kind<'_>, version: &str) -> &'static [&'static str] {
    if kind.pruned_in().contains(&version) {
        &["managed-by/pruned-version spec.managedBy"]
    } else {
        &[]
    }
}

/// Adding, changing and removing the field is denied for a workload and accepted for a template.
#[test]
fn field_is_immutable_in_workloads_and_mutable_in_templates() {
    for (kind, version) in all() {
        let path = kind.managed_by_path();
        for (old, new, shown) in [
            (None, Some(MULTIKUEUE), "\"kueue.x-k8s.io/multikueue\""),
            (Some(MULTIKUEUE), None, "null"),
            (Some(MULTIKUEUE), kind.reserved_value(), ""),
        ] {
            let (old, new_object) = (
                object_with_managed_by(kind, old),
                object_with_managed_by(kind, new),
            );
            let request = request((kind, version), "UPDATE", "", &old, &new_object);
            let response = review(&request, &json!({"default_local_queue": ["*"]}));
            if kind.field_location() != FieldLocation::Workload {
                assert_silent(&response);
                continue;
            }
            let quoted = format!("{:?}", kind.reserved_value().unwrap());
            let shown = if shown.is_empty() { &quoted } else { shown };
            let id = if kind.group() == "batch" {
                ""
            } else {
                " [managed-by/immutable]"
            };
            let expected = format!(
                "{}.{} \"x\" is invalid: {path}: Invalid value: {shown}: field is immutable{id}",
                kind.name(),
                kind.group()
            );
            assert_eq!(response.message(), expected);
            assert_eq!(response.denied(), [format!("managed-by/immutable {path}")]);
            assert_eq!(response.warned(), version_warnings(kind, version));
            assert_eq!(response.code, Some(422));
        }
    }
}

/// A value without a domain is denied, or warned about if the kind's API checks it or accepts any string.
#[test]
fn invalid_value_is_reported_by_the_rule_for_the_kinds_format() {
    for kind in kinds() {
        let path = kind.managed_by_path();
        for value in ["typo", ""] {
            let response = create(kind, &object_with_managed_by(kind, Some(value)));
            match kind.value_constraint() {
                ValueConstraint::Path => {
                    assert_eq!(response.denied(), [format!("managed-by/format {path}")]);
                    assert_eq!(response.warned(), NONE);
                }
                ValueConstraint::OneOf(values) => {
                    assert_eq!(response.denied(), NONE);
                    assert_eq!(
                        response.warned(),
                        [format!("managed-by/unsupported-value {path}")]
                    );
                    let expected = format!(
                        "{path}: {value:?}: {} accepts only {:?} or {:?} [managed-by/unsupported-value]",
                        kind.name(),
                        values[0],
                        values[1]
                    );
                    assert_eq!(response.warnings, [expected]);
                }
                ValueConstraint::Any => {
                    let expected = format!("managed-by/recommended-format {path}");
                    assert_eq!(response.denied(), NONE);
                    assert_eq!(response.warned(), [expected]);
                }
            }
        }
    }
}

/// A kind warns about reserved values other than its own.
#[test]
fn warns_about_reserved_value_of_another_kind() {
    for kind in kinds() {
        for (value, _) in RESERVED_VALUES
            .iter()
            .filter(|(value, _)| Some(*value) != kind.reserved_value())
        {
            let response = create(kind, &object_with_managed_by(kind, Some(value)));
            let path = kind.managed_by_path();
            let mut expected = vec![format!("managed-by/wrong-kind {path}")];
            // The kind's API rejects the value too.
            if let ValueConstraint::OneOf(_) = kind.value_constraint() {
                expected.push(format!("managed-by/unsupported-value {path}"));
            }
            assert_eq!(response.denied(), NONE, "{response:?}");
            assert_eq!(response.warned(), expected, "{response:?}");
        }
    }
}

/// A stored object with an invalid value can still be updated and finalized.
#[test]
fn accepts_update_of_stored_object_with_invalid_value() {
    for kind in kinds() {
        let mut old = object_with_managed_by(kind, Some("typo"));
        old["metadata"]["finalizers"] = json!(["acme.io/x"]);
        let mut new = old.clone();
        new["metadata"]["finalizers"] = json!([]);
        let request = request((kind, kind.versions()[0]), "UPDATE", "", &old, &new);
        assert_silent(&review(&request, &json!({})));
    }
}

#[test]
fn accepts_status_update_without_a_status() {
    for (kind, version) in all() {
        let object = json!({"metadata": {"name": "x"}, "spec": {}});
        let update = request((kind, version), "UPDATE", "status", &object, &object);
        let response = review(&update, &json!({}));
        if kind.pruned_in().contains(&version) {
            // A write through this version drops the field.
            assert_eq!(
                response.warned(),
                [format!(
                    "managed-by/pruned-version {}",
                    kind.managed_by_path()
                )]
            );
        } else {
            assert_silent(&response);
        }
    }
}

/// The decoder rejects wrong types only on the path to the field. Other members are validated by the kind's schema.
#[test]
fn accepts_any_type_in_members_outside_the_path_to_the_field() {
    let spec = json!({
        "replicatedJobs": [5, {"template": 5}, null], "components": 5, "rayClusterSpec": "x",
        "rayClusterConfig": [], "retries": {}, "runPolicy": {},
    });
    let statuses = [
        json!(null),
        json!(5),
        json!([]),
        json!({"conditions": 5, "startTime": 5, "completionTime": "soon"}),
        json!({"conditions": [5, {"type": 5, "status": []}], "phase": [], "replicaStatuses": [5],
            "restarts": "many", "retriesStatus": {}}),
    ];
    // For a Job, the policy validates the types in the status too.
    let job_statuses = [json!({})];
    for kind in kinds() {
        let is_job = kind.name() == "Job";
        for status in if is_job {
            &job_statuses[..]
        } else {
            &statuses[..]
        } {
            let mut object = json!({"metadata": {"name": "x"}, "spec": spec, "status": status});
            if !kind.managed_by_path().starts_with("spec.template.") {
                object["spec"]["template"] = json!(7);
            }
            assert_silent(&create(kind, &object));
        }
    }
}
