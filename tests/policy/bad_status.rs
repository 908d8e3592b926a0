//! Statuses that say too much. `cases/job_status.yml` has those that make no sense.

use crate::support::{Answer, everywhere};
use serde_json::{Value, json};

fn job(spec: &Value, status: &Value) -> Value {
    json!({"metadata": {"name": "pi"}, "spec": spec, "status": status})
}

fn request(operation: &str, sub_resource: &str, old: &Value, new: &Value) -> Value {
    json!({
        "kind": {"group": "batch", "version": "v1", "kind": "Job"},
        "operation": operation, "subResource": sub_resource, "oldObject": old, "object": new,
    })
}

/// A status update from nothing.
fn update(spec: &Value, status: &Value) -> Answer {
    let request = request(
        "UPDATE",
        "status",
        &job(spec, &json!({})),
        &job(spec, status),
    );
    everywhere(&request, &json!({}))
}

#[track_caller]
fn accepted(answer: &Answer) {
    assert!(answer.allowed && answer.warnings.is_empty(), "{answer:?}");
}

#[test]
fn a_list_of_indexes_of_1_mb() {
    let spec = json!({"completionMode": "Indexed", "completions": 5});
    let answer = update(&spec, &json!({"completedIndexes": "0,".repeat(500_000)}));
    assert_eq!(
        answer.denied(),
        ["job-status/invalid-completed-indexes status.completedIndexes"]
    );
    assert!(answer.message().ends_with(
        "error parsing completedIndexes: non-increasing order, previous: 0, current: 0"
    ));
}

#[test]
fn a_hundred_thousand_conditions() {
    let condition = json!({"type": "Complete", "status": "Unknown"});
    accepted(&update(
        &json!({}),
        &json!({"conditions": vec![condition; 100_000]}),
    ));
}

/// Upstream would list them all. A hundred are enough for anybody, and the rest costs little.
#[test]
fn a_hundred_thousand_uids_that_are_the_same() {
    let uids = |uid| json!({"uncountedTerminatedPods": {"failed": vec![uid; 100_001]}});
    let answer = update(&json!({}), &uids("a"));
    let error = |i| format!(r#"status.uncountedTerminatedPods.failed[{i}]: Duplicate value: "a""#);
    let errors: Vec<_> = (1..=100).map(error).collect();
    let message = format!(r#"Job.batch "pi" is invalid: [{}]"#, errors.join(", "));
    assert_eq!(answer.message(), message);
    assert!(answer.annotations["denied"].ends_with("..."));
    let answer = update(&json!({}), &uids(""));
    assert!(!answer.allowed);
    let last =
        r#"status.uncountedTerminatedPods.failed[99]: Invalid value: "": must not be empty]"#;
    assert!(answer.message().ends_with(last));
}

/// A rule that only warns, however much, takes nothing away from what another one denies.
#[test]
fn many_warnings_hide_no_denial() {
    let request = request(
        "UPDATE",
        "status",
        &job(
            &json!({}),
            &json!({"conditions": [{"type": "Failed", "status": "True"}]}),
        ),
        &job(
            &json!({}),
            &json!({"uncountedTerminatedPods": {"succeeded": vec!["a"; 2000]}}),
        ),
    );
    let settings = json!({"rules": {"job-status/uncounted-uids": "warn"}});
    let answer = everywhere(&request, &settings);
    assert_eq!(
        answer.denied(),
        ["job-status/terminal-condition-disabled status.conditions"]
    );
    assert_eq!(answer.warnings.len(), 16);
}
