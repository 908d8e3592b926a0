//! The field of every kind.

use super::{all, create, find, request, silent, with};
use crate::support::everywhere;
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
            let answer = everywhere(&request, &json!({}));
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
            let answer = everywhere(&request, &json!({}));
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

/// Trainer's CRD writes the reserved value where there is none: to a TrainJob both are one.
#[test]
fn a_train_job_s_default_is_no_change_and_cannot_be_left_out() {
    let kind = find("TrainJob");
    let (none, default) = (with(kind.0, None), with(kind.0, kind.0.reserved_value()));
    for (old, new) in [(&none, &default), (&default, &none)] {
        let request = request(kind, "UPDATE", "", old, new);
        silent(&everywhere(&request, &json!({"reserved_value": "deny"})));
    }
    let created = request(kind, "CREATE", "", &Value::Null, &default);
    silent(&everywhere(&created, &json!({"reserved_value": "deny"})));
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

/// One group and kind, two reserved values: each version goes by its own.
#[test]
fn mpi_jobs_of_v1_and_v2beta1_have_reserved_values_of_their_own() {
    for (version, own, other) in [
        (
            "v1",
            "kubeflow.org/training-operator",
            "kubeflow.org/mpi-operator",
        ),
        (
            "v2beta1",
            "kubeflow.org/mpi-operator",
            "kubeflow.org/training-operator",
        ),
    ] {
        let name = format!("MPIJob {version}");
        let kind = find(&name);
        silent(&create(&name, &with(kind.0, Some(own))));
        let answer = create(&name, &with(kind.0, Some(other)));
        let path = "spec.runPolicy.managedBy";
        assert_eq!(answer.denied(), NONE);
        assert_eq!(answer.warned(), [format!("managed-by/wrong-kind {path}")]);
    }
}

/// The Training Operator runs a JAXJob whatever the field says.
#[test]
fn a_jax_job_is_never_nobody_s() {
    let kind = find("JAXJob");
    let answer = create("JAXJob", &with(kind.0, Some("ray.io/kuberay-operator")));
    assert_eq!(
        answer.warnings,
        [
            r#"spec.runPolicy.managedBy: "ray.io/kuberay-operator": it runs Ray kinds only, and this kind's own controller does not look here [managed-by/wrong-kind]"#
        ]
    );
}

/// An object that breaks a rule already can be updated and finalized.
#[test]
fn what_is_stored_is_not_judged_again() {
    for kind in kinds() {
        let old = with(kind, Some("typo"));
        let mut new = old.clone();
        new["metadata"]["finalizers"] = json!([]);
        let request = request(find(kind.name()), "UPDATE", "", &old, &new);
        silent(&everywhere(&request, &json!({})));
    }
}
