//! Mutates each recorded transition of real controllers in each applicable way and expects one rule to deny it at one path.
//!
//! For delegated objects the rules deny. For objects of built-in controllers, the status rules warn by default, and deny if the
//! settings set them to `deny`. `status_fields.yml` lists the status fields of each kind, independently of the library.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use managed_by::Kind;
use managed_by_parity::trace::{self, CUSTOM, MULTIKUEUE};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::support::review;

/// Status fields of some kinds, see `status_fields.yml`.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct StatusFields {
    kinds: Vec<String>,
    outcomes: Option<[String; 2]>,
    phase: Option<(String, [String; 2])>,
    end_time: Option<String>,
    counter: Option<(String, Map<String, Value>)>,
    exclusive_conditions: Option<[String; 2]>,
}

const TEKTON: [&str; 2] = ["PipelineRun", "TaskRun"];

/// Fields of all kinds, with an empty entry at the end.
static STATUS_FIELDS: LazyLock<Vec<StatusFields>> = LazyLock::new(|| {
    let yaml = include_str!("status_fields.yml");
    let mut fields: Vec<StatusFields> = serde_yaml_ng::from_str(yaml).unwrap();
    fields.push(StatusFields::default());
    fields
});

fn status_fields(kind: &Kind<'_>) -> &'static StatusFields {
    let has_kind = |fields: &&StatusFields| fields.kinds.iter().any(|name| name == kind.name());
    let none = STATUS_FIELDS.last().unwrap();
    STATUS_FIELDS.iter().find(has_kind).unwrap_or(none)
}

/// The path of the expected denial and the mutated request; `None` if the mutation does not apply.
type Mutated = Option<(String, Value)>;

/// Name of a mutation, the rule that denies it, and its function.
type Mutation = (&'static str, &'static str, fn(&Kind<'_>, &Value) -> Mutated);

const MUTATIONS: [Mutation; 7] = [
    ("outcome removed", "status/outcome-changed", remove_outcome),
    ("end time removed", "status/outcome-changed", remove_end),
    (
        "both outcomes",
        "status/succeeded-and-failed",
        set_both_outcomes,
    ),
    (
        "negative counter",
        "status/negative-counter",
        negate_counter,
    ),
    (
        "end before start",
        "status/completion-time-before-start-time",
        set_early_end,
    ),
    (
        "two exclusive conditions",
        "status/mutually-exclusive-conditions",
        set_exclusive_pair,
    ),
    (
        "managedBy changed",
        "managed-by/immutable",
        change_managed_by,
    ),
];

#[test]
fn each_mutated_transition_is_denied_by_one_rule() {
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    for stream in CUSTOM.into_iter().chain(MULTIKUEUE) {
        for case in trace::requests(stream).unwrap() {
            let request = case.request();
            let word = |key: &str| request["kind"][key].as_str().unwrap();
            let kind = Kind::find(word("group"), word("version"), word("kind")).unwrap();
            if kind.name() == "Job" {
                continue;
            }
            // Tekton changes the outcome of its own runs. For a delegated run, such an update is denied even without a mutation.
            let copy = to_delegated(kind, &request);
            if !review(&copy, &json!({})).allowed {
                continue;
            }
            for (mutation, rule, mutate) in MUTATIONS {
                let Some((path, delegated)) = mutate(kind, &copy) else {
                    continue;
                };
                *count.entry(mutation).or_default() += 1;
                let name = format!("{mutation}: {}", case.name);
                let denied = format!("{rule} {path}");
                let response = review(&delegated, &json!({}));
                assert_eq!(response.denied(), [&*denied], "{name}");
                let built_in = mutate(kind, &request).filter(|_| !is_delegated(kind, &request));
                let Some((_, built_in)) = built_in else {
                    continue;
                };
                // By default the rules about a status do not deny writes to objects that are not delegated.
                let is_status = rule.starts_with("status/");
                let response = review(&built_in, &json!({}));
                assert_eq!(response.allowed, is_status, "{name}: {response:?}");
                // Allowed for Tekton, because a recorded run lost its successful outcome.
                let is_allowed_transition =
                    TEKTON.contains(&kind.name()) && rule == "status/outcome-changed";
                if is_status && !is_allowed_transition {
                    assert!(response.warned().contains(&&*denied), "{name}");
                    let response = review(&built_in, &json!({"rules": {rule: "deny"}}));
                    assert_eq!(response.denied(), [&*denied], "{name}");
                }
            }
        }
    }
    // Each mutation must apply to at least one recorded transition.
    assert_eq!(count.len(), MUTATIONS.len(), "{count:?}");
    assert!(count.values().sum::<usize>() > 900, "{count:?}");
}

fn is_delegated(kind: &Kind<'_>, request: &Value) -> bool {
    let stored = if request["oldObject"].is_null() {
        &request["object"]
    } else {
        &request["oldObject"]
    };
    kind.reconciler(managed_by(kind, stored)).is_delegated()
}

/// Returns the value of the `managedBy` field of an object.
fn managed_by<'v>(kind: &Kind<'_>, object: &'v Value) -> Option<&'v str> {
    let pointer = format!("/{}", kind.managed_by_path().replace('.', "/"));
    object.pointer(&pointer).and_then(Value::as_str)
}

fn set_managed_by(kind: &Kind<'_>, object: &mut Value, value: &str) {
    let path = kind.managed_by_path().split('.');
    *path.fold(object, |parent, key| &mut parent[key]) = value.into();
}

/// Returns the request with delegated objects.
fn to_delegated(kind: &Kind<'_>, request: &Value) -> Value {
    let mut request = request.clone();
    if !is_delegated(kind, &request) {
        for member in ["object", "oldObject"] {
            if !request[member].is_null() {
                set_managed_by(kind, &mut request[member], "kueue.x-k8s.io/multikueue");
            }
        }
    }
    request
}

/// Returns a copy of the request if it is a status update.
fn status_update(request: &Value) -> Option<Value> {
    let is_status = request["operation"] == "UPDATE" && request["subResource"] == "status";
    is_status.then(|| request.clone())
}

fn is_true(status: &Value, name: &str) -> bool {
    let conditions = status["conditions"].as_array().into_iter().flatten();
    conditions
        .filter(|c| c["type"] == name)
        .any(|c| c["status"] == "True")
}

/// Returns true if a status has a final outcome.
fn is_finished(kind: &Kind<'_>, status: &Value) -> bool {
    let fields = status_fields(kind);
    // Trainer can remove the condition Failed of a TrainJob.
    let is_failure_final = kind.name() != "TrainJob";
    let by_condition = fields
        .outcomes
        .as_ref()
        .is_some_and(|[s, f]| is_true(status, s) || is_failure_final && is_true(status, f));
    // Kueue treats a failed AppWrapper as finished only when its resources are gone.
    let is_final = |phase: &str| phase != "Failed" || !is_true(status, "ResourcesDeployed");
    let by_phase = fields.phase.as_ref().is_some_and(|(field, phases)| {
        let mut phases = phases.iter();
        phases.any(|phase| status[field] == *phase && is_final(phase))
    });
    // Tekton reports the outcome in the status of the condition `Succeeded`.
    let mut conditions = status["conditions"].as_array().into_iter().flatten();
    let by_tekton = TEKTON.contains(&kind.name())
        && conditions.any(|c| c["type"] == "Succeeded" && c["status"] != "Unknown");
    by_condition || by_phase || by_tekton
}

/// Returns a no-op status update for an object that has an outcome before or after the request.
fn unchanged_after_outcome(kind: &Kind<'_>, request: &Value) -> Option<Value> {
    let mut request = status_update(request)?;
    if !is_finished(kind, &request["oldObject"]["status"]) {
        if !is_finished(kind, &request["object"]["status"]) {
            return None;
        }
        request["oldObject"] = request["object"].clone();
    }
    // Other changes of the request may permit a new outcome, such as another attempt of a TaskRun.
    request["object"]["status"] = request["oldObject"]["status"].clone();
    Some(request)
}

/// Resets the outcome in the new status.
fn remove_outcome(kind: &Kind<'_>, request: &Value) -> Mutated {
    let mut mutated = unchanged_after_outcome(kind, request)?;
    let status = &mut mutated["object"]["status"];
    if let Some((field, _)) = &status_fields(kind).phase {
        status[field] = "Running".into();
        return Some((format!("status.{field}"), mutated));
    }
    // In Tekton `Succeeded=False` is an outcome too.
    let is_tekton = TEKTON.contains(&kind.name());
    let other = if is_tekton { "Unknown" } else { "False" };
    for condition in status["conditions"].as_array_mut()? {
        condition["status"] = other.into();
    }
    status.as_object_mut()?.remove("terminalState");
    Some(("status.conditions".to_owned(), mutated))
}

/// Removes the end time and keeps the outcome.
fn remove_end(kind: &Kind<'_>, request: &Value) -> Mutated {
    let mut mutated = unchanged_after_outcome(kind, request)?;
    let end = status_fields(kind).end_time.as_ref()?;
    mutated["object"]["status"].as_object_mut()?.remove(end)?;
    Some((format!("status.{end}"), mutated))
}

/// Sets two conditions to true.
fn with_conditions(mut request: Value, names: &[String; 2]) -> (String, Value) {
    let status = &mut request["object"]["status"];
    let others = status["conditions"].as_array().into_iter().flatten();
    let others = others.filter(|c| names.iter().all(|name| c["type"] != **name));
    let both = names
        .each_ref()
        .map(|name| json!({"type": name, "status": "True", "reason": "Broken"}));
    status["conditions"] = others.cloned().chain(both).collect();
    ("status.conditions".to_owned(), request)
}

fn set_both_outcomes(kind: &Kind<'_>, request: &Value) -> Mutated {
    let outcomes = status_fields(kind).outcomes.as_ref()?;
    let request = status_update(request)?;
    // The training operator sets both on PyTorchJobs and TFJobs, and a TrainJob can fail after it is Complete.
    let is_allowed = match kind.name() {
        "PyTorchJob" | "TFJob" => true,
        "TrainJob" => is_true(&request["oldObject"]["status"], &outcomes[0]),
        _ => false,
    };
    (!is_allowed).then(|| with_conditions(request, outcomes))
}

fn set_exclusive_pair(kind: &Kind<'_>, request: &Value) -> Mutated {
    let pair = status_fields(kind).exclusive_conditions.as_ref()?;
    Some(with_conditions(status_update(request)?, pair))
}

fn negate_counter(kind: &Kind<'_>, request: &Value) -> Mutated {
    let mut mutated = status_update(request)?;
    let (path, counters) = status_fields(kind).counter.as_ref()?;
    let status = mutated["object"]["status"].as_object_mut()?;
    status.extend(counters.clone());
    Some((format!("status.{path}"), mutated))
}

fn set_early_end(kind: &Kind<'_>, request: &Value) -> Mutated {
    let mut mutated = status_update(request)?;
    let end = status_fields(kind).end_time.as_ref()?;
    let status = &mut mutated["object"]["status"];
    status.get("startTime")?;
    status[end] = "2001-01-01T00:00:00Z".into();
    Some((format!("status.{end}"), mutated))
}

/// Changes the field in any update. A status update becomes an update of the main resource, which can write the field.
fn change_managed_by(kind: &Kind<'_>, request: &Value) -> Mutated {
    if request["operation"] != "UPDATE" {
        return None;
    }
    let mut mutated = request.clone();
    mutated["subResource"] = "".into();
    let other = match managed_by(kind, &mutated["oldObject"]) {
        Some("kueue.x-k8s.io/multikueue") => kind.reserved_value()?,
        _ => "kueue.x-k8s.io/multikueue",
    };
    set_managed_by(kind, &mut mutated["object"], other);
    Some((kind.managed_by_path().to_owned(), mutated))
}
