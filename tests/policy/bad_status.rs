//! Statuses that make no sense, and those that come without the one before, in the engine.

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

fn create(spec: &Value, status: &Value) -> Answer {
    everywhere(
        &request("CREATE", "", &Value::Null, &job(spec, status)),
        &json!({}),
    )
}

#[track_caller]
fn malformed(answer: &Answer, reason: &str) {
    assert_eq!(
        (answer.code, answer.message()),
        (
            Some(400),
            &*format!("malformed admission request: request.object.{reason}")
        )
    );
}

#[track_caller]
fn accepted(answer: &Answer) {
    assert!(answer.allowed && answer.warnings.is_empty(), "{answer:?}");
}

#[test]
fn a_status_of_the_wrong_type() {
    let spec = json!({});
    for (status, reason) in [
        (json!([]), "status: expected an object, got an array"),
        (
            json!({"active": "1"}),
            "status.active: expected a 32-bit integer, got a string",
        ),
        (
            json!({"active": 1.0}),
            "status.active: expected a 32-bit integer, got another number",
        ),
        (
            json!({"failed": 2_147_483_648_i64}),
            "status.failed: expected a 32-bit integer, got another number",
        ),
        (
            json!({"ready": {}}),
            "status.ready: expected a 32-bit integer, got an object",
        ),
        (
            json!({"startTime": 0}),
            "status.startTime: expected a string, got a number",
        ),
        (
            json!({"startTime": "noon"}),
            "status.startTime: expected an RFC 3339 time, got another string",
        ),
        (
            json!({"completionTime": "2026-02-30T00:00:00Z"}),
            "status.completionTime: expected an RFC 3339 time, got another string",
        ),
        (
            json!({"completedIndexes": 3}),
            "status.completedIndexes: expected a string, got a number",
        ),
        (
            json!({"failedIndexes": ["3"]}),
            "status.failedIndexes: expected a string, got an array",
        ),
        (
            json!({"uncountedTerminatedPods": []}),
            "status.uncountedTerminatedPods: expected an object, got an array",
        ),
        (
            json!({"uncountedTerminatedPods": {"failed": "a"}}),
            "status.uncountedTerminatedPods.failed: expected an array, got a string",
        ),
        (
            json!({"uncountedTerminatedPods": {"succeeded": ["a", 7]}}),
            "status.uncountedTerminatedPods.succeeded[1]: expected a string, got a number",
        ),
        (
            json!({"conditions": {}}),
            "status.conditions: expected an array, got an object",
        ),
        (
            json!({"conditions": ["Complete"]}),
            "status.conditions[0]: expected an object, got a string",
        ),
        (
            json!({"conditions": [{}, {"type": "Complete", "status": true}]}),
            "status.conditions[1].status: expected a string, got a boolean",
        ),
    ] {
        malformed(&update(&spec, &status), reason);
        malformed(&create(&spec, &status), reason);
    }
}

#[test]
fn a_spec_of_the_wrong_type() {
    for (spec, reason) in [
        (
            json!({"completions": "3"}),
            "spec.completions: expected a 32-bit integer, got a string",
        ),
        (
            json!({"parallelism": 1e2}),
            "spec.parallelism: expected a 32-bit integer, got another number",
        ),
        (
            json!({"completionMode": 1}),
            "spec.completionMode: expected a string, got a number",
        ),
        (
            json!({"suspend": "true"}),
            "spec.suspend: expected a boolean, got a string",
        ),
        (
            json!({"successPolicy": []}),
            "spec.successPolicy: expected an object, got an array",
        ),
    ] {
        malformed(&update(&spec, &json!({})), reason);
    }
}

/// `null` is absent, wherever Go has a pointer, a list or a struct.
#[test]
fn nulls() {
    let names = [
        "startTime",
        "completionTime",
        "completedIndexes",
        "failedIndexes",
        "active",
        "ready",
        "terminating",
        "uncountedTerminatedPods",
        "conditions",
    ];
    for name in names {
        let mut status = json!({"succeeded": 1});
        status[name] = Value::Null;
        accepted(&update(
            &json!({"completions": null, "suspend": null, "successPolicy": null}),
            &status,
        ));
    }
    accepted(&update(&json!({}), &Value::Null));
    accepted(&update(&Value::Null, &json!({"active": 1})));
    accepted(&update(
        &json!({}),
        &json!({"conditions": [null, {"type": null, "status": null}]}),
    ));
    accepted(&update(
        &json!({}),
        &json!({"uncountedTerminatedPods": {"succeeded": null, "failed": null}}),
    ));
    let answer = update(
        &json!({}),
        &json!({"uncountedTerminatedPods": {"failed": [null]}}),
    );
    assert_eq!(
        answer.denied(),
        ["job-status/uncounted-uids status.uncountedTerminatedPods.failed[0]"]
    );
}

/// Nothing is taken for a change of nothing: both statuses may be missing, and so may the whole spec.
#[test]
fn missing_parts() {
    let empty = || json!({"metadata": {"name": "pi"}});
    accepted(&everywhere(
        &request("UPDATE", "status", &empty(), &empty()),
        &json!({}),
    ));
    accepted(&everywhere(
        &request("UPDATE", "status", &json!({}), &json!({})),
        &json!({}),
    ));
    let answer = everywhere(
        &request(
            "UPDATE",
            "status",
            &job(&json!({}), &json!({"failed": 1})),
            &empty(),
        ),
        &json!({}),
    );
    assert_eq!(
        answer.denied(),
        ["job-status/failed-decreased status.failed"]
    );
}

/// The background audit replays what is stored as a create: its state is judged, and there is no step to judge.
#[test]
fn a_create_with_a_status() {
    accepted(&create(&json!({}), &json!({})));
    accepted(&create(
        &json!({}),
        &json!({"startTime": "2026-01-01T00:00:00Z", "active": 1, "ready": 1, "failed": 3}),
    ));
    let answer = create(
        &json!({}),
        &json!({"active": 1, "conditions": [{"type": "Complete", "status": "True"}]}),
    );
    assert_eq!(
        answer.denied(),
        [
            "job-status/complete-without-completion-time status.completionTime",
            "job-status/complete-without-success-criteria-met status.conditions",
            "job-status/finished-with-active-pods status.active",
            "job-status/finished-without-start-time status.startTime",
        ]
    );
    assert_eq!(answer.code, Some(422));
}

/// kube-apiserver keeps the old status in an update of the main resource: nobody wrote what stands there.
#[test]
fn a_bad_status_in_an_update_of_the_main_resource() {
    let bad = json!({"active": -1, "conditions": [{"type": "Complete", "status": "True"}, {"type": "Failed", "status": "True"}]});
    let request = request(
        "UPDATE",
        "",
        &job(&json!({}), &json!({"failed": 7})),
        &job(&json!({}), &bad),
    );
    accepted(&everywhere(&request, &json!({})));
}

/// The spec that counts in a status update is the stored one.
#[test]
fn a_spec_that_a_status_update_brings_along() {
    let indexed = json!({"completionMode": "Indexed", "completions": 3});
    let new = job(&indexed, &json!({"completedIndexes": "0"}));
    let answer = everywhere(
        &request("UPDATE", "status", &job(&json!({}), &json!({})), &new),
        &json!({}),
    );
    assert_eq!(
        answer.denied(),
        ["job-status/completed-indexes-non-indexed status.completedIndexes"]
    );
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
