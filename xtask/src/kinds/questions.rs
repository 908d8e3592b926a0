//! Kind by rule by verdict: each kind is put to the same questions, in the words of all kinds at once, and every rule that
//! is for it has to answer.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use managed_by::{Enforcement, Kind, rules};
use serde_json::{Map, Value, json};

use super::objects::{NOON, ONE, condition, request, when, with};
use crate::judge::Answer;

const MULTIKUEUE: &str = "kueue.x-k8s.io/multikueue";
const OTHER: &str = "acme.io/runner";

/// What a status says of a success, in the words of all kinds.
fn succeeded() -> Value {
    json!({
        "conditions": [when("Completed"), when("Complete"), when("Succeeded")],
        "phase": "Succeeded", "jobDeploymentStatus": "Complete",
    })
}

fn merged(mut status: Value, more: &Value) -> Value {
    for (key, value) in more.as_object().into_iter().flatten() {
        status[key] = value.clone();
    }
    status
}

/// The statuses, each with the one before, that break a promise.
fn bad_statuses() -> Vec<(Value, Value)> {
    let counters = |count: i64| {
        json!({
            "restarts": count, "failed": count, "resettingCount": count, "numServeEndpoints": count,
            "jobsStatus": [{"active": count}], "readyWorkerReplicas": count,
            "replicaStatuses": {"Worker": {"active": count}},
        })
    };
    let both = json!({"conditions": [
        when("Completed"), when("Complete"), when("Succeeded"), when("Failed"), condition("Succeeded", "False", "")]});
    let pairs = json!({"conditions": [
        when("StartupPolicyInProgress"), when("StartupPolicyCompleted"),
        when("RayClusterSuspending"), when("RayClusterSuspended")]});
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
        (json!({}), ends(ONE)),
        (json!({}), succeeded()),
    ]
}

/// Settings under which the rules about a status deny on objects that their own controllers reconcile too, as by default they
/// do on delegated ones.
pub fn strict() -> Value {
    let rules = rules().iter().filter(|rule| {
        rule.id().starts_with("status/") && rule.default_enforcement() == Enforcement::Deny
    });
    let rules: Map<_, _> = rules
        .map(|rule| (rule.id().to_owned(), "deny".into()))
        .collect();
    json!({ "rules": rules })
}

/// The requests that a kind is put to, with settings.
fn questions(kind: (&Kind<'_>, &str)) -> Vec<(Value, Value)> {
    let field = |value: &str| with(kind.0, Some(value));
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
        json!({"controllers": {OTHER: {}}}),
        json!({"role": "worker"}),
    ] {
        all.push((settings, create(&field(MULTIKUEUE))));
    }
    let changed = request(kind, "UPDATE", "", &with(kind.0, None), &field(MULTIKUEUE));
    all.push((json!({}), changed));
    let spec = json!({
        "replicatedJobs": [{"template": {"spec": {"managedBy": OTHER}}}],
        "rayClusterSpec": {"managedBy": MULTIKUEUE}, "rayClusterConfig": {"managedBy": MULTIKUEUE},
        "jobTemplate": {"rayClusterSpec": {"managedBy": MULTIKUEUE}},
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
    for (old, new) in bad_statuses() {
        let plain = json!({"metadata": {"name": "x"}, "spec": {}});
        for object in [plain, field(MULTIKUEUE)] {
            let (old, new) = (status(object.clone(), &old), status(object, &new));
            all.push((strict(), request(kind, "UPDATE", "status", &old, &new)));
        }
    }
    for version in kind.0.pruned_in() {
        let object = with(kind.0, None);
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
            json!({"standard_status_writers": {kind.0.name(): ["system:kube-controller-manager"]}}),
        ),
    ] {
        let (old, new) = (status(field(value), &none), status(field(value), &some));
        all.push((settings, request(kind, "UPDATE", "status", &old, &new)));
    }
    all
}

/// What each rule that fires says of a kind, as somebody answers.
///
/// # Errors
/// If a rule both denies and warns.
pub fn verdicts_by(
    kind: &Kind<'_>,
    judge: impl Fn(&Value, &Value) -> Answer,
) -> Result<BTreeMap<&'static str, Enforcement>> {
    let mut verdicts = BTreeMap::new();
    let version = kind
        .versions()
        .first()
        .context("a kind without a version")?;
    for (settings, request) in questions((kind, version)) {
        let answer = judge(&request, &settings);
        for (fired, enforcement) in [
            (answer.denied(), Enforcement::Deny),
            (answer.warned(), Enforcement::Warn),
        ] {
            for fired in fired {
                let id = fired.split(' ').next().unwrap_or_default();
                let id = managed_by::rule(id).context("an unknown rule")?.id();
                let before = verdicts.insert(id, enforcement);
                let is_same = before.is_none_or(|b| b == enforcement);
                ensure!(is_same, "{id} denies and warns: {}", kind.name());
            }
        }
    }
    Ok(verdicts)
}
