//! Requests that break every rule of a kind. `matrix.rs` checks that each rule fires.
//!
//! All kinds get the same requests. A status contains the fields of all kinds, and each kind's rules read their own.

use std::collections::BTreeMap;

use managed_by::{Enforcement, Kind, rules};
use managed_by_testing::objects::{
    NOON, ONE_PM, condition, object_with_managed_by, request, true_condition,
};
use serde_json::{Map, Value, json};

use crate::support::review;

const MULTIKUEUE: &str = "kueue.x-k8s.io/multikueue";
const OTHER: &str = "acme.io/runner";

/// Returns a successful status in the fields of all kinds.
fn succeeded() -> Value {
    json!({
        "conditions": [true_condition("Completed"), true_condition("Complete"), true_condition("Succeeded")],
        "phase": "Succeeded", "jobDeploymentStatus": "Complete",
    })
}

fn merged(mut status: Value, more: &Value) -> Value {
    for (key, value) in more.as_object().into_iter().flatten() {
        status[key] = value.clone();
    }
    status
}

/// Returns invalid status transitions as pairs of old and new status.
fn invalid_transitions() -> Vec<(Value, Value)> {
    let counters = |count: i64| {
        json!({
            "restarts": count, "failed": count, "resettingCount": count, "numServeEndpoints": count,
            "jobsStatus": [{"active": count}], "readyWorkerReplicas": count,
            "replicaStatuses": {"Worker": {"active": count}},
        })
    };
    let both = json!({"conditions": [
        true_condition("Completed"), true_condition("Complete"), true_condition("Succeeded"), true_condition("Failed"),
        condition("Succeeded", "False", "")]});
    let pairs = json!({"conditions": [
        true_condition("StartupPolicyInProgress"), true_condition("StartupPolicyCompleted"),
        true_condition("RayClusterSuspending"), true_condition("RayClusterSuspended")]});
    let ends = |end: &str| json!({"startTime": NOON, "completionTime": end, "endTime": end});
    vec![
        (succeeded(), json!({})),
        (json!({}), both),
        (
            json!({}),
            merged(succeeded(), &json!({"terminalState": "Failed"})),
        ),
        (json!({}), pairs),
        (json!({}), counters(-1)),
        (counters(2), counters(1)),
        (
            json!({}),
            merged(succeeded(), &ends("2001-01-01T00:00:00Z")),
        ),
        (json!({}), ends(ONE_PM)),
        (json!({}), succeeded()),
    ]
}

/// Returns settings that make the rules about a status deny on objects of built-in controllers, as they do on delegated ones.
pub(crate) fn strict() -> Value {
    let rules = rules().iter().filter(|rule| {
        rule.id().starts_with("status/") && rule.default_enforcement() == Enforcement::Deny
    });
    let rules: Map<_, _> = rules
        .map(|rule| (rule.id().to_owned(), "deny".into()))
        .collect();
    json!({ "rules": rules })
}

fn invalid_requests(kind: (&Kind<'_>, &str)) -> Vec<(Value, Value)> {
    let field = |value: &str| object_with_managed_by(kind.0, Some(value));
    let create = |object: &Value| request(kind, "CREATE", "", &Value::Null, object);
    let mut all = Vec::new();
    for value in [
        "typo",
        OTHER,
        "kubernetes.io/job-controler",
        "tekton.dev/pipeline",
        "ray.io/kuberay-operator",
    ] {
        all.push((json!({}), create(&field(value))));
    }
    let reserved = json!({"reserved_value": "deny"});
    all.push((
        reserved,
        create(&field(kind.0.reserved_value().unwrap_or_default())),
    ));
    for settings in [
        json!({"controllers": {OTHER: "any"}}),
        json!({"role": "worker"}),
    ] {
        all.push((settings, create(&field(MULTIKUEUE))));
    }
    let mut undeliverable = field(MULTIKUEUE);
    undeliverable["spec"]["manualSelector"] = true.into();
    if let Some(path) = kind.0.ttl_path() {
        let mut ttl = &mut undeliverable;
        for name in path.split('.') {
            ttl = &mut ttl[name];
        }
        *ttl = 0.into();
    }
    all.push((json!({}), create(&undeliverable)));
    let changed = request(
        kind,
        "UPDATE",
        "",
        &object_with_managed_by(kind.0, None),
        &field(MULTIKUEUE),
    );
    all.push((json!({}), changed));
    let spec = json!({
        "replicatedJobs": [{"template": {"spec": {"managedBy": OTHER}}}],
        "rayClusterSpec": {"managedBy": MULTIKUEUE}, "rayClusterConfig": {"managedBy": MULTIKUEUE},
        "jobTemplate": {"rayClusterSpec": {"managedBy": MULTIKUEUE}},
        "template": {"spec": {"replicatedJobs": [{"template": {"spec": {"managedBy": OTHER}}}]}},
        "components": [{"template": {"apiVersion": "batch/v1", "kind": "Job", "spec": {"managedBy": OTHER}}}],
    });
    all.push((
        json!({}),
        create(&json!({"metadata": {"name": "x"}, "spec": spec})),
    ));
    let status = |mut object: Value, status: &Value| {
        object["status"] = status.clone();
        object
    };
    for (old, new) in invalid_transitions() {
        let plain = json!({"metadata": {"name": "x"}, "spec": {}});
        for object in [plain, field(MULTIKUEUE)] {
            let (old, new) = (status(object.clone(), &old), status(object, &new));
            all.push((strict(), request(kind, "UPDATE", "status", &old, &new)));
        }
    }
    for version in kind.0.pruned_in() {
        let object = object_with_managed_by(kind.0, None);
        let request = request((kind.0, version), "CREATE", "", &Value::Null, &object);
        all.push((json!({}), request));
    }
    let (none, some) = (json!({}), json!({"observedGeneration": 1}));
    for (value, settings) in [
        (
            MULTIKUEUE,
            json!({"controllers": {MULTIKUEUE: {"status_writers": ["kueue"]}}}),
        ),
        (
            kind.0.reserved_value().unwrap_or_default(),
            json!({"builtin_status_writers": {kind.0.name(): ["system:kube-controller-manager"]}}),
        ),
    ] {
        let (old, new) = (status(field(value), &none), status(field(value), &some));
        all.push((settings, request(kind, "UPDATE", "status", &old, &new)));
    }
    all
}

/// Returns the rules that fire for a kind, each with its level.
pub(super) fn levels_of_fired_rules(kind: &Kind<'_>) -> BTreeMap<&'static str, Enforcement> {
    let mut levels = BTreeMap::new();
    for (settings, request) in invalid_requests((kind, kind.versions()[0])) {
        let response = review(&request, &settings);
        for (fired, enforcement) in [
            (response.denied(), Enforcement::Deny),
            (response.warned(), Enforcement::Warn),
        ] {
            for fired in fired {
                let id = fired.split(' ').next().unwrap();
                let id = managed_by::rule(id).unwrap().id();
                let previous = levels.insert(id, enforcement);
                let is_same = previous.is_none_or(|level| level == enforcement);
                assert!(is_same, "{id} denies and warns: {}", kind.name());
            }
        }
    }
    levels
}
