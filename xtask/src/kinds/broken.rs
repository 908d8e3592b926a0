//! Each transition that real controllers made, broken in each named way that fits it. On a delegated object each is to be
//! denied by one rule at one path; on an object that its own controller reconciles the rules about a status only warn, until
//! the settings set them to `deny`.

use anyhow::{Context as _, Result};
use managed_by::Kind;
use managed_by_conformance::trace::{self, CUSTOM, MULTIKUEUE};
use serde_json::{Value, json};

use crate::judge::judge;

/// A way to break a transition.
struct Way {
    name: &'static str,
    /// The rule that is to deny it.
    rule: &'static str,
    /// Where.
    path: fn(&Kind<'_>) -> String,
    /// The broken request, if the way fits.
    broken: fn(&Kind<'_>, &Value) -> Option<Value>,
}

const WAYS: [Way; 7] = [
    Way {
        name: "terminal taken back",
        rule: "status/outcome-changed",
        path: outcome_path,
        broken: taken_back,
    },
    Way {
        name: "end taken back",
        rule: "status/outcome-changed",
        path: end_path,
        broken: without_end,
    },
    Way {
        name: "both outcomes",
        rule: "status/two-outcomes",
        path: |_| "status.conditions".to_owned(),
        broken: both,
    },
    Way {
        name: "negative counter",
        rule: "status/negative-counter",
        path: |kind| counter(kind.name()).map_or("", |(path, _)| path).to_owned(),
        broken: negative,
    },
    Way {
        name: "end before start",
        rule: "status/end-before-start",
        path: end_path,
        broken: early_end,
    },
    Way {
        name: "two exclusive conditions",
        rule: "status/exclusive-conditions",
        path: |_| "status.conditions".to_owned(),
        broken: pair,
    },
    Way {
        name: "managedBy changed",
        rule: "managed-by/immutable",
        path: |kind| kind.managed_by_path().to_owned(),
        broken: changed,
    },
];

/// A transition that was broken.
#[derive(Debug)]
pub struct Broken {
    /// Where it was recorded, and the way.
    pub name: String,
    /// The kind of its object.
    pub kind: &'static str,
    /// How it was broken.
    pub way: &'static str,
    /// The rule that is to deny it.
    pub rule: &'static str,
    /// The request, of a delegated object: the recorded one, or a copy that is delegated.
    pub delegated: Value,
    /// The request as recorded, where the object is not delegated.
    pub standard: Option<Value>,
    /// The rule with the path: `managed-by/immutable spec.managedBy`.
    pub denied: String,
}

impl Broken {
    /// Settings under which the rule denies on all objects.
    pub fn settings(&self) -> Value {
        json!({"rules": {self.rule: "deny"}})
    }

    /// Whether the kind's own controller has been recorded doing the same: Tekton takes a success back.
    pub fn is_recorded(&self) -> bool {
        matches!(self.kind, "PipelineRun" | "TaskRun") && self.rule == "status/outcome-changed"
    }
}

/// Every recorded transition of a custom kind, broken in every way that fits it.
///
/// # Errors
/// If a recording cannot be read, or is of a kind that the policy does not know.
pub fn all() -> Result<Vec<Broken>> {
    let mut all = Vec::new();
    for stream in CUSTOM.into_iter().chain(MULTIKUEUE) {
        for case in trace::requests(stream)? {
            let request = case.request();
            let word = |key: &str| request["kind"][key].as_str().unwrap_or_default();
            let kind = Kind::find(word("group"), word("version"), word("kind"));
            let kind = kind.with_context(|| format!("{}: an unknown kind", case.name))?;
            if kind.name() == "Job" {
                continue;
            }
            // What Tekton does with an outcome of its own is denied of a delegated run, broken or not.
            let copy = delegated(kind, &request);
            if !judge(&copy, &json!({})).allowed {
                continue;
            }
            for way in WAYS {
                let delegated = (way.broken)(kind, &copy);
                let is_standard = !is_delegated(kind, &request);
                let standard = (way.broken)(kind, &request).filter(|_| is_standard);
                if let Some(delegated) = delegated {
                    all.push(Broken {
                        name: format!("{}: {}", way.name, case.name),
                        kind: kind.name(),
                        way: way.name,
                        rule: way.rule,
                        delegated,
                        standard,
                        denied: format!("{} {}", way.rule, (way.path)(kind)),
                    });
                }
            }
        }
    }
    Ok(all)
}

fn pointer(kind: &Kind<'_>) -> String {
    format!("/{}", kind.managed_by_path().replace('.', "/"))
}

fn is_delegated(kind: &Kind<'_>, request: &Value) -> bool {
    let stored = if request["oldObject"].is_null() {
        &request["object"]
    } else {
        &request["oldObject"]
    };
    let value = stored.pointer(&pointer(kind)).and_then(Value::as_str);
    kind.mode(value).is_delegated()
}

/// The request of an object that is delegated.
fn delegated(kind: &Kind<'_>, request: &Value) -> Value {
    let mut request = request.clone();
    if is_delegated(kind, &request) {
        return request;
    }
    for member in ["object", "oldObject"] {
        if request[member].is_null() {
            continue;
        }
        let mut at = &mut request[member];
        for segment in kind.managed_by_path().split('.') {
            at = &mut at[segment];
        }
        *at = "kueue.x-k8s.io/multikueue".into();
    }
    request
}

/// The names of the ways.
pub fn ways() -> [&'static str; 7] {
    WAYS.map(|way| way.name)
}

/// How a kind says success and failure, in conditions or in a word.
fn outcomes(kind: &str) -> Option<(&'static str, &'static str)> {
    match kind {
        "JobSet" => Some(("Completed", "Failed")),
        "TrainJob" => Some(("Complete", "Failed")),
        "MPIJob" | "PyTorchJob" | "TFJob" | "XGBoostJob" | "PaddleJob" | "JAXJob" => {
            Some(("Succeeded", "Failed"))
        }
        _ => None,
    }
}

fn word(kind: &str) -> Option<(&'static str, [&'static str; 2])> {
    match kind {
        "RayJob" => Some(("jobDeploymentStatus", ["Complete", "Failed"])),
        "AppWrapper" => Some(("phase", ["Succeeded", "Failed"])),
        _ => None,
    }
}

fn outcome_path(kind: &Kind<'_>) -> String {
    format!(
        "status.{}",
        word(kind.name()).map_or("conditions", |(field, _)| field)
    )
}

fn is_status(request: &Value) -> bool {
    request["operation"] == "UPDATE" && request["subResource"] == "status"
}

fn is_true(status: &Value, name: &str) -> bool {
    let conditions = status["conditions"].as_array().into_iter().flatten();
    conditions
        .filter(|c| c["type"] == name)
        .any(|c| c["status"] == "True")
}

/// Whether a status has an outcome that is final.
fn is_done(kind: &str, status: &Value) -> bool {
    // A TrainJob's failure is no end: Trainer takes it back.
    let fails_for_good = kind != "TrainJob";
    let by_condition = outcomes(kind)
        .is_some_and(|(s, f)| is_true(status, s) || fails_for_good && is_true(status, f));
    // Kueue takes a failed AppWrapper for one only when its resources are gone.
    let is_word_final = |word: &str| word != "Failed" || !is_true(status, "ResourcesDeployed");
    let by_word = word(kind).is_some_and(|(field, words)| {
        words
            .iter()
            .any(|w| status[field] == *w && is_word_final(w))
    });
    let by_tekton = is_tekton(kind) && tekton_outcome(status).is_some();
    by_condition || by_word || by_tekton
}

fn is_tekton(kind: &str) -> bool {
    matches!(kind, "PipelineRun" | "TaskRun")
}

/// The status of the one condition that says how a run of Tekton ended.
fn tekton_outcome(status: &Value) -> Option<&str> {
    let mut conditions = status["conditions"].as_array().into_iter().flatten();
    let outcome = conditions.find(|c| c["type"] == "Succeeded")?;
    outcome["status"].as_str().filter(|s| *s != "Unknown")
}

/// A status update of what has an outcome already: where there was none, what was written came first.
fn after_the_outcome(kind: &Kind<'_>, request: &Value) -> Option<Value> {
    if !is_status(request) {
        return None;
    }
    let mut request = request.clone();
    if !is_done(kind.name(), &request["oldObject"]["status"]) {
        if !is_done(kind.name(), &request["object"]["status"]) {
            return None;
        }
        request["oldObject"] = request["object"].clone();
    }
    Some(request)
}

/// The new object runs.
fn taken_back(kind: &Kind<'_>, request: &Value) -> Option<Value> {
    let mut broken = after_the_outcome(kind, request)?;
    // What else was written may be a way out, such as one more attempt of a TaskRun.
    broken["object"]["status"] = broken["oldObject"]["status"].clone();
    let status = &mut broken["object"]["status"];
    if let Some((field, _)) = word(kind.name()) {
        status[field] = "Running".into();
        return Some(broken);
    }
    // For Tekton `False` is an outcome too.
    let other = if is_tekton(kind.name()) {
        "Unknown"
    } else {
        "False"
    };
    for condition in status["conditions"].as_array_mut()? {
        condition["status"] = other.into();
    }
    status.as_object_mut()?.remove("terminalState");
    Some(broken)
}

/// How the kind names its end.
fn end(kind: &str) -> Option<&'static str> {
    match kind {
        "RayJob" => Some("endTime"),
        kind if is_tekton(kind) => Some("completionTime"),
        "MPIJob" | "PyTorchJob" | "TFJob" | "XGBoostJob" | "PaddleJob" | "JAXJob" => {
            Some("completionTime")
        }
        _ => None,
    }
}

fn end_path(kind: &Kind<'_>) -> String {
    format!("status.{}", end(kind.name()).unwrap_or_default())
}

/// The outcome stays, and the end is gone: the first of two steps.
fn without_end(kind: &Kind<'_>, request: &Value) -> Option<Value> {
    let mut broken = after_the_outcome(kind, request)?;
    let end = end(kind.name())?;
    broken["oldObject"]["status"].get(end)?;
    broken["object"]["status"] = broken["oldObject"]["status"].clone();
    broken["object"]["status"].as_object_mut()?.remove(end);
    Some(broken)
}

fn both(kind: &Kind<'_>, request: &Value) -> Option<Value> {
    let (success, failure) = outcomes(kind.name())?;
    // The operator notes both of these.
    if !is_status(request) || matches!(kind.name(), "PyTorchJob" | "TFJob") {
        return None;
    }
    // A Complete TrainJob may fail.
    if kind.name() == "TrainJob" && is_true(&request["oldObject"]["status"], success) {
        return None;
    }
    let mut broken = request.clone();
    let status = &mut broken["object"]["status"];
    let kept = status["conditions"].as_array().into_iter().flatten();
    let mut conditions: Vec<_> = kept
        .filter(|c| c["type"] != success && c["type"] != failure)
        .cloned()
        .collect();
    conditions.push(json!({"type": success, "status": "True", "reason": "Broken"}));
    conditions.push(json!({"type": failure, "status": "True", "reason": "Broken"}));
    status["conditions"] = conditions.into();
    Some(broken)
}

/// A counter of a kind: its path, and a status in which it is negative.
fn counter(kind: &str) -> Option<(&'static str, Value)> {
    Some(match kind {
        "JobSet" => ("status.restarts", json!({"restarts": -1})),
        "TrainJob" => (
            "status.jobsStatus[0].failed",
            json!({"jobsStatus": [{"name": "node", "failed": -1}]}),
        ),
        "RayCluster" => (
            "status.readyWorkerReplicas",
            json!({"readyWorkerReplicas": -1}),
        ),
        "RayJob" => ("status.failed", json!({"failed": -1})),
        "AppWrapper" => ("status.resettingCount", json!({"resettingCount": -1})),
        "MPIJob" | "PyTorchJob" | "TFJob" | "XGBoostJob" | "PaddleJob" | "JAXJob" => (
            "status.replicaStatuses[Worker].active",
            json!({"replicaStatuses": {"Worker": {"active": -1}}}),
        ),
        _ => return None,
    })
}

fn negative(kind: &Kind<'_>, request: &Value) -> Option<Value> {
    if !is_status(request) {
        return None;
    }
    let (_, counters) = counter(kind.name())?;
    let mut broken = request.clone();
    let status = broken["object"]["status"].as_object_mut()?;
    status.extend(counters.as_object()?.clone());
    Some(broken)
}

fn early_end(kind: &Kind<'_>, request: &Value) -> Option<Value> {
    let end = end(kind.name())?;
    let mut broken = request.clone();
    let status = &mut broken["object"]["status"];
    if !is_status(request) || status.get("startTime").is_none() {
        return None;
    }
    status[end] = "2001-01-01T00:00:00Z".into();
    Some(broken)
}

fn pair(kind: &Kind<'_>, request: &Value) -> Option<Value> {
    let names = match kind.name() {
        "JobSet" => ["StartupPolicyInProgress", "StartupPolicyCompleted"],
        "RayCluster" => ["RayClusterSuspending", "RayClusterSuspended"],
        _ => return None,
    };
    if !is_status(request) {
        return None;
    }
    let mut broken = request.clone();
    let status = &mut broken["object"]["status"];
    let kept = status["conditions"].as_array().into_iter().flatten();
    let mut conditions: Vec<_> = kept
        .filter(|c| !names.iter().any(|name| c["type"] == *name))
        .cloned()
        .collect();
    conditions.extend(names.map(|name| json!({"type": name, "status": "True"})));
    status["conditions"] = conditions.into();
    Some(broken)
}

/// Of every update; one of the status becomes one of the main resource, where the field can be written.
fn changed(kind: &Kind<'_>, request: &Value) -> Option<Value> {
    if request["operation"] != "UPDATE" {
        return None;
    }
    let mut broken = request.clone();
    broken["subResource"] = "".into();
    let old = broken["oldObject"]
        .pointer(&pointer(kind))
        .and_then(Value::as_str);
    let new = if old == Some("kueue.x-k8s.io/multikueue") {
        kind.reserved_value().unwrap_or_default()
    } else {
        "kueue.x-k8s.io/multikueue"
    };
    let mut at = &mut broken["object"];
    for segment in kind.managed_by_path().split('.') {
        at = &mut at[segment];
    }
    *at = new.into();
    Some(broken)
}
