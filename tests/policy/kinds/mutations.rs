//! Each transition that real controllers made, broken in each named way that fits it: all denied, by the rule that is to.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use managed_by::Kind;
use managed_by_conformance::trace::{self, CUSTOM, JOBS};
use serde_json::{Value, json};

use crate::support::everywhere;

/// A way to break a request, with the rule that is to deny it. [`None`] where it does not fit.
type Break = fn(&Kind<'_>, &Value) -> Option<Value>;

const WAYS: [(&str, &str, Break); 7] = [
    ("terminal taken back", "status/outcome-changed", taken_back),
    ("end taken back", "status/outcome-changed", endless),
    ("both outcomes", "status/two-outcomes", both),
    ("negative counter", "status/negative-counter", negative),
    ("end before start", "status/end-before-start", early_end),
    (
        "two exclusive conditions",
        "status/exclusive-conditions",
        pair,
    ),
    ("managedBy changed", "managed-by/immutable", changed),
];

/// How a kind says success and failure, in conditions or in a word.
fn outcomes(kind: &str) -> Option<(&'static str, &'static str)> {
    match kind {
        "JobSet" => Some(("Completed", "Failed")),
        "TrainJob" => Some(("Complete", "Failed")),
        "MPIJob" => Some(("Succeeded", "Failed")),
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
    let by_word =
        word(kind).is_some_and(|(field, words)| words.iter().any(|w| status[field] == *w));
    by_condition || by_word
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
    let status = &mut broken["object"]["status"];
    if let Some((field, _)) = word(kind.name()) {
        status[field] = "Running".into();
        return Some(broken);
    }
    for condition in status["conditions"].as_array_mut()? {
        condition["status"] = "False".into();
    }
    status.as_object_mut()?.remove("terminalState");
    Some(broken)
}

/// How the kind names its end.
fn end(kind: &str) -> Option<&'static str> {
    match kind {
        "RayJob" => Some("endTime"),
        "MPIJob" => Some("completionTime"),
        _ => None,
    }
}

/// The outcome stays, and the end is gone: the first of two steps.
fn endless(kind: &Kind<'_>, request: &Value) -> Option<Value> {
    let mut broken = after_the_outcome(kind, request)?;
    let end = end(kind.name())?;
    broken["oldObject"]["status"].get(end)?;
    broken["object"]["status"] = broken["oldObject"]["status"].clone();
    broken["object"]["status"].as_object_mut()?.remove(end);
    Some(broken)
}

fn both(kind: &Kind<'_>, request: &Value) -> Option<Value> {
    let (success, failure) = outcomes(kind.name())?;
    if !is_status(request) {
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

fn negative(kind: &Kind<'_>, request: &Value) -> Option<Value> {
    if !is_status(request) {
        return None;
    }
    let mut broken = request.clone();
    let status = &mut broken["object"]["status"];
    match kind.name() {
        "JobSet" => status["restarts"] = (-1).into(),
        "TrainJob" => status["jobsStatus"] = json!([{"name": "node", "failed": -1}]),
        "RayCluster" => status["readyWorkerReplicas"] = (-1).into(),
        "RayJob" => status["failed"] = (-1).into(),
        "AppWrapper" => status["resettingCount"] = (-1).into(),
        "MPIJob" => status["replicaStatuses"]["Worker"]["active"] = (-1).into(),
        _ => return None,
    }
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
    let pointer = format!("/{}", kind.managed_by_path().replace('.', "/"));
    let old = broken["oldObject"]
        .pointer(&pointer)
        .and_then(Value::as_str);
    let new = if old == Some("kueue.x-k8s.io/multikueue") {
        kind.reserved_value()
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

/// For each kind and way, how many transitions were broken, all of them denied.
fn matrix() -> BTreeMap<(&'static str, &'static str), usize> {
    let mut matrix = BTreeMap::new();
    let streams = CUSTOM.into_iter().chain(JOBS.into_iter().skip(2));
    for case in streams.flat_map(|stream| trace::requests(stream).unwrap()) {
        let request = case.request();
        let word = |pointer: &str| request.pointer(pointer).unwrap().as_str().unwrap();
        let (group, version) = (word("/kind/group"), word("/kind/version"));
        let kind = Kind::find(group, version, word("/kind/kind")).unwrap();
        if kind.name() == "Job" {
            continue;
        }
        for (way, rule, break_it) in WAYS {
            let Some(broken) = break_it(kind, &request) else {
                continue;
            };
            let answer = everywhere(&broken, &json!({}));
            let name = format!("{way}: {}", case.name);
            let denied = answer.denied();
            assert!(!denied.is_empty(), "{name}: {answer:?}");
            let by_rule = |denied: &&str| denied.split(' ').next() == Some(rule);
            assert!(denied.iter().all(by_rule), "{name}: {denied:?}");
            *matrix.entry((kind.name(), way)).or_default() += 1;
        }
    }
    matrix
}

/// The matrix as docs/kinds.md shows it.
pub(super) fn table() -> String {
    let matrix = matrix();
    let mut kinds: Vec<_> = matrix.keys().map(|(kind, _)| *kind).collect();
    kinds.dedup();
    let ways = WAYS.map(|(way, ..)| way);
    let mut text = format!(
        "| kind | {} |\n|{}\n",
        ways.join(" | "),
        " --- |".repeat(ways.len() + 1)
    );
    for kind in kinds {
        let count = |way| matrix.get(&(kind, way)).map(usize::to_string);
        let cells = ways.map(|way| count(way).unwrap_or_default());
        writeln!(text, "| {kind} | {} |", cells.join(" | ")).unwrap();
    }
    let all: usize = matrix.values().sum();
    writeln!(text, "\nAll {all} were denied.").unwrap();
    text
}

/// A way that fits nothing that was recorded would show nothing.
#[test]
fn every_transition_broken_in_every_way_is_denied() {
    let matrix = matrix();
    for (way, ..) in WAYS {
        assert!(matrix.keys().any(|(_, w)| *w == way), "{way}");
    }
    assert!(matrix.values().sum::<usize>() > 900);
}
