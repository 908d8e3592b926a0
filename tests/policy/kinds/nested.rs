//! `managed-by/nested` deep down and many times over. `cases/nested.yml` has the rest.

use super::create;
use serde_json::{Value, json};

const OWN: &str = "acme.io/runner";

/// An object with `spec`.
fn of(spec: &Value) -> Value {
    json!({"metadata": {"name": "x"}, "spec": spec})
}

fn wrapped(template: &Value) -> Value {
    json!({"apiVersion": "workload.codeflare.dev/v1beta2", "kind": "AppWrapper", "metadata": {"name": "x"},
        "spec": {"components": [{"template": template}]}})
}

/// Components hold components: each is judged by the one that makes it, down to the eighth.
#[test]
fn components_are_read_eight_levels_deep() {
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "spec": {"managedBy": OWN}});
    let mut object = job.clone();
    for _ in 0..8 {
        object = wrapped(&object);
    }
    let answer = create("AppWrapper", &object);
    let path = format!("spec{}.managedBy", ".components[0].template.spec".repeat(8));
    assert_eq!(answer.warned(), [format!("managed-by/nested {path}")]);
    let answer = create("AppWrapper", &wrapped(&object));
    let path = format!("spec{}", ".components[0].template.spec".repeat(9));
    let expected =
        format!("{path}: Invalid value: not looked at: too deep down, or after a thousand others");
    assert_eq!(answer.denied(), Vec::<&str>::new());
    assert_eq!(answer.warned(), [format!("managed-by/nested {path}")]);
    assert_eq!(answer.warnings.len(), 1);
    let shown = answer.warnings[0].trim_end_matches("...");
    assert!(
        expected.starts_with(shown) || shown.starts_with(&expected),
        "{shown}"
    );
}

#[test]
fn of_many_some_are_reported_and_what_was_not_read_is_said() {
    let job = json!({"template": {"spec": {"managedBy": OWN}}});
    let spec = json!({"replicatedJobs": vec![job; 1500]});
    let answer = create("JobSet", &of(&spec));
    assert_eq!(answer.warnings.len(), 15);
    assert!(
        answer.warnings[0].contains("replicatedJobs[1000].template: Invalid value: not looked at"),
        "{answer:?}"
    );
    // Under the same controller all of the first thousand are fine: that the rest was not read is still said.
    let job = json!({"template": {"spec": {"managedBy": OWN}}});
    let spec = json!({"managedBy": OWN, "replicatedJobs": vec![job; 1500]});
    let answer = create("JobSet", &of(&spec));
    assert_eq!(
        answer.warned(),
        ["managed-by/nested spec.replicatedJobs[1000].template"]
    );
}
