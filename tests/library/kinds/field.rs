//! The field of every kind.

use super::{all, create, find, request, silent, with};
use crate::support::review;
use managed_by::{Form, Holder, Kind, RESERVED, kinds};
use serde_json::{Value, json};

const MULTIKUEUE: &str = "kueue.x-k8s.io/multikueue";
const NONE: &[&str] = &[];

/// No value, the kind's own reserved one and MultiKueue's are accepted in silence, by every version of every kind.
#[test]
fn what_every_api_accepts_is_accepted_in_silence() {
    for (kind, version) in all() {
        for value in [None, kind.reserved_value(), Some(MULTIKUEUE)] {
            let request = request(
                (kind, version),
                "CREATE",
                "",
                &Value::Null,
                &with(kind, value),
            );
            let answer = review(&request, &json!({}));
            assert_eq!(answer.warned(), of_version(kind, version), "{answer:?}");
            assert!(answer.allowed, "{answer:?}");
        }
    }
}

/// What is warned of, whatever is written through a version.
fn of_version(kind: &Kind<'_>, version: &str) -> &'static [&'static str] {
    if kind.pruned_in().contains(&version) {
        &["managed-by/pruned-version spec.managedBy"]
    } else {
        &[]
    }
}

/// Add, change and remove, where the project's own check has holes and where it has none.
#[test]
fn the_field_of_a_workload_is_immutable_and_that_of_a_template_is_not() {
    for (kind, version) in all() {
        let path = kind.managed_by_path();
        for (old, new, shown) in [
            (None, Some(MULTIKUEUE), "\"kueue.x-k8s.io/multikueue\""),
            (Some(MULTIKUEUE), None, "null"),
            (Some(MULTIKUEUE), kind.reserved_value(), ""),
        ] {
            let (old, new_object) = (with(kind, old), with(kind, new));
            let request = request((kind, version), "UPDATE", "", &old, &new_object);
            let answer = review(&request, &json!({}));
            if kind.holder() != Holder::Workload {
                silent(&answer);
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
            assert_eq!(answer.message(), expected);
            assert_eq!(answer.denied(), [format!("managed-by/immutable {path}")]);
            assert_eq!(answer.warned(), of_version(kind, version));
            assert_eq!(answer.code, Some(422));
        }
    }
}

/// What comes of a value that is no controller's name depends on who checks the form.
#[test]
fn a_value_of_no_form_is_judged_by_who_checks_it() {
    for kind in kinds() {
        let path = kind.managed_by_path();
        for value in ["typo", ""] {
            let answer = create(kind.name(), &with(kind, Some(value)));
            let kind_of_version = find(kind.name()).0;
            if !std::ptr::eq(*kind, kind_of_version) {
                continue;
            }
            match kind.form() {
                Form::Path => {
                    assert_eq!(answer.denied(), [format!("managed-by/format {path}")]);
                    assert_eq!(answer.warned(), NONE);
                }
                Form::OneOf(values) => {
                    assert_eq!(answer.denied(), NONE);
                    assert_eq!(answer.warned(), [format!("managed-by/closed-set {path}")]);
                    let expected = format!(
                        "{path}: {value:?}: {} accepts only {:?} or {:?} [managed-by/closed-set]",
                        kind.name(),
                        values[0],
                        values[1]
                    );
                    assert_eq!(answer.warnings, [expected]);
                }
                Form::Open => {
                    let expected = format!("managed-by/unchecked-format {path}");
                    assert_eq!(answer.denied(), NONE);
                    assert_eq!(answer.warned(), [expected]);
                }
            }
        }
    }
}

/// Every reserved value on every kind that it does not belong to.
#[test]
fn a_reserved_value_of_another_kind_is_warned_of() {
    for kind in kinds().iter().filter(|k| k.name() != "MPIJob") {
        for (value, _) in RESERVED
            .iter()
            .filter(|(value, _)| Some(*value) != kind.reserved_value())
        {
            let answer = create(kind.name(), &with(kind, Some(value)));
            let path = kind.managed_by_path();
            let mut expected = vec![format!("managed-by/wrong-kind {path}")];
            // Its own API refuses the value too.
            if let Form::OneOf(_) = kind.form() {
                expected.push(format!("managed-by/closed-set {path}"));
            }
            assert_eq!(answer.denied(), NONE, "{answer:?}");
            assert_eq!(answer.warned(), expected, "{answer:?}");
        }
    }
}

/// An object that breaks a rule already can be updated and finalized.
#[test]
fn what_is_stored_is_not_judged_again() {
    for kind in kinds() {
        let old = with(kind, Some("typo"));
        let mut new = old.clone();
        new["metadata"]["finalizers"] = json!([]);
        let request = request(find(kind.name()), "UPDATE", "", &old, &new);
        silent(&review(&request, &json!({})));
    }
}

/// No status at all is nothing to judge, whatever the kind.
#[test]
fn no_status_is_accepted() {
    for (kind, version) in all() {
        let object = json!({"metadata": {"name": "x"}, "spec": {}});
        let update = request((kind, version), "UPDATE", "status", &object, &object);
        let answer = review(&update, &json!({}));
        if kind.pruned_in().contains(&version) {
            // The write itself drops the field.
            assert_eq!(
                answer.warned(),
                [format!(
                    "managed-by/pruned-version {}",
                    kind.managed_by_path()
                )]
            );
        } else {
            silent(&answer);
        }
    }
}

/// The way to the field is strict; everything else is the business of the kind's schema.
#[test]
fn what_is_not_on_the_way_to_the_field_may_be_of_any_type() {
    let spec = json!({
        "replicatedJobs": [5, {"template": 5}, null], "components": 5, "rayClusterSpec": "x",
        "rayClusterConfig": [], "retries": {}, "runPolicy": {}, "template": 7,
    });
    let statuses = [
        json!(null),
        json!(5),
        json!([]),
        json!({"conditions": 5, "startTime": 5, "completionTime": "soon"}),
        json!({"conditions": [5, {"type": 5, "status": []}], "phase": [], "replicaStatuses": [5],
            "restarts": "many", "retriesStatus": {}}),
    ];
    // kube-apiserver decodes the status of a Job itself.
    let of_job = [json!({})];
    for kind in kinds() {
        let is_job = kind.name() == "Job";
        for status in if is_job { &of_job[..] } else { &statuses[..] } {
            let object = json!({"metadata": {"name": "x"}, "spec": spec, "status": status});
            silent(&create(kind.name(), &object));
        }
    }
}
