//! Each transition that real controllers made, broken in each named way that fits it: all denied, by the rule that is to.

use std::collections::BTreeMap;

use managed_by::kind::KindProfile;
use managed_by_conformance::trace::{self, CUSTOM, JOBS};
use serde_json::{Value, json};

use crate::support::everywhere;

/// A way to break a request, with the rule that is to deny it. [`None`] where it does not fit.
type Break = fn(&KindProfile, &Value) -> Option<Value>;

const WAYS: [(&str, &str, Break); 6] = [
    ("terminal taken back", "status/outcome-changed", taken_back),
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

/// Where the old object has an outcome, the new one runs. Where it has none, what was written comes first, and then it
/// is taken back.
fn taken_back(kind: &KindProfile, request: &Value) -> Option<Value> {
    if !is_status(request) {
        return None;
    }
    let mut broken = request.clone();
    let done = |status: &Value| {
        // A TrainJob's failure is no end: Trainer 2.1 to 2.3 takes it back.
        let fails_for_good = kind.kind != "TrainJob";
        let by_condition = outcomes(kind.kind)
            .is_some_and(|(s, f)| is_true(status, s) || fails_for_good && is_true(status, f));
        let by_word =
            word(kind.kind).is_some_and(|(field, words)| words.iter().any(|w| status[field] == *w));
        by_condition || by_word
    };
    if !done(&broken["oldObject"]["status"]) {
        if !done(&broken["object"]["status"]) {
            return None;
        }
        broken["oldObject"] = broken["object"].clone();
    }
    let status = &mut broken["object"]["status"];
    if let Some((field, _)) = word(kind.kind) {
        status[field] = "Running".into();
        return Some(broken);
    }
    for condition in status["conditions"].as_array_mut()? {
        condition["status"] = "False".into();
    }
    status.as_object_mut()?.remove("terminalState");
    Some(broken)
}

fn both(kind: &KindProfile, request: &Value) -> Option<Value> {
    let (success, failure) = outcomes(kind.kind)?;
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

fn negative(kind: &KindProfile, request: &Value) -> Option<Value> {
    if !is_status(request) {
        return None;
    }
    let mut broken = request.clone();
    let status = &mut broken["object"]["status"];
    match kind.kind {
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

fn early_end(kind: &KindProfile, request: &Value) -> Option<Value> {
    let end = match kind.kind {
        "RayJob" => "endTime",
        "MPIJob" => "completionTime",
        _ => return None,
    };
    let mut broken = request.clone();
    let status = &mut broken["object"]["status"];
    if !is_status(request) || status.get("startTime").is_none() {
        return None;
    }
    status[end] = "2001-01-01T00:00:00Z".into();
    Some(broken)
}

fn pair(kind: &KindProfile, request: &Value) -> Option<Value> {
    let names = match kind.kind {
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
fn changed(kind: &KindProfile, request: &Value) -> Option<Value> {
    if request["operation"] != "UPDATE" {
        return None;
    }
    let mut broken = request.clone();
    broken["subResource"] = "".into();
    let pointer = format!("/{}", kind.managed_by.join("/"));
    let old = broken["oldObject"]
        .pointer(&pointer)
        .and_then(Value::as_str);
    let new = if old == Some("kueue.x-k8s.io/multikueue") {
        kind.reserved
    } else {
        "kueue.x-k8s.io/multikueue"
    };
    let mut at = &mut broken["object"];
    for segment in kind.managed_by {
        at = &mut at[*segment];
    }
    *at = new.into();
    Some(broken)
}

/// The matrix: for each kind and way, how many transitions were broken, all of them denied.
#[test]
fn every_transition_broken_in_every_way_is_denied() {
    let mut matrix: BTreeMap<(String, &str), usize> = BTreeMap::new();
    let streams = CUSTOM.into_iter().chain(JOBS.into_iter().skip(2));
    for stream in streams {
        for case in trace::requests(stream).unwrap() {
            let request = case.request();
            let word = |pointer: &str| request.pointer(pointer).unwrap().as_str().unwrap();
            let (group, version) = (word("/kind/group"), word("/kind/version"));
            let kind = KindProfile::find(group, version, word("/kind/kind")).unwrap();
            if kind.kind == "Job" {
                continue;
            }
            for (way, rule, break_it) in WAYS {
                let Some(broken) = break_it(kind, &request) else {
                    continue;
                };
                let answer = everywhere(&broken, &json!({}));
                let name = format!("{way}: {}", case.name);
                let rules: Vec<_> = answer
                    .denied()
                    .iter()
                    .map(|d| d.split(' ').next().unwrap())
                    .collect();
                assert!(!rules.is_empty(), "{name}: {answer:?}");
                assert!(rules.iter().all(|r| *r == rule), "{name}: {rules:?}");
                *matrix.entry((kind.kind.to_owned(), way)).or_default() += 1;
            }
        }
    }
    let matrix: Vec<_> = matrix
        .iter()
        .map(|((kind, way), count)| (&**kind, *way, *count))
        .collect();
    assert_eq!(
        matrix,
        [
            ("AppWrapper", "managedBy changed", 55),
            ("AppWrapper", "negative counter", 49),
            ("AppWrapper", "terminal taken back", 9),
            ("JobSet", "both outcomes", 113),
            ("JobSet", "managedBy changed", 117),
            ("JobSet", "negative counter", 113),
            ("JobSet", "terminal taken back", 17),
            ("JobSet", "two exclusive conditions", 113),
            ("MPIJob", "both outcomes", 11),
            ("MPIJob", "end before start", 11),
            ("MPIJob", "managedBy changed", 11),
            ("MPIJob", "negative counter", 11),
            ("MPIJob", "terminal taken back", 3),
            ("RayCluster", "managedBy changed", 84),
            ("RayCluster", "negative counter", 82),
            ("RayCluster", "two exclusive conditions", 82),
            ("RayJob", "end before start", 17),
            ("RayJob", "managedBy changed", 21),
            ("RayJob", "negative counter", 17),
            ("RayJob", "terminal taken back", 2),
            ("TrainJob", "both outcomes", 17),
            ("TrainJob", "managedBy changed", 17),
            ("TrainJob", "negative counter", 17),
        ]
    );
}
