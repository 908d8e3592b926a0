//! Each transition that real controllers made, broken in each way that fits it: on a delegated object each is denied by one rule at
//! one path. On an object that its own controller reconciles the rules about a status only warn, until the settings set them to `deny`.
//! What a kind's status says is written down once more in `words.yml`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use managed_by::Kind;
use managed_by_conformance::trace::{self, CUSTOM, MULTIKUEUE};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::support::review;

/// What the status of a kind says, as `words.yml` explains.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Words {
    kinds: Vec<String>,
    outcomes: Option<[String; 2]>,
    phase: Option<(String, [String; 2])>,
    end: Option<String>,
    counter: Option<(String, Map<String, Value>)>,
    pair: Option<[String; 2]>,
}

const TEKTON: [&str; 2] = ["PipelineRun", "TaskRun"];

/// Those of all kinds; the last say nothing.
static WORDS: LazyLock<Vec<Words>> = LazyLock::new(|| {
    let mut words: Vec<Words> = serde_yaml_ng::from_str(include_str!("words.yml")).unwrap();
    words.push(Words::default());
    words
});

fn words(kind: &Kind<'_>) -> &'static Words {
    let is_of_kind = |words: &&Words| words.kinds.iter().any(|name| name == kind.name());
    let nothing = WORDS.last().unwrap();
    WORDS.iter().find(is_of_kind).unwrap_or(nothing)
}

/// A broken request, with the path at which it is to be denied; nothing if the way does not fit.
type Broken = Option<(String, Value)>;

/// A way to break a transition: its name, the rule that is to deny it, and how.
type Way = (&'static str, &'static str, fn(&Kind<'_>, &Value) -> Broken);

const WAYS: [Way; 7] = [
    ("terminal taken back", "status/outcome-changed", taken_back),
    ("end taken back", "status/outcome-changed", without_end),
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

#[test]
fn every_transition_broken_in_every_way_is_denied() {
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    for stream in CUSTOM.into_iter().chain(MULTIKUEUE) {
        for case in trace::requests(stream).unwrap() {
            let request = case.request();
            let word = |key: &str| request["kind"][key].as_str().unwrap();
            let kind = Kind::find(word("group"), word("version"), word("kind")).unwrap();
            if kind.name() == "Job" {
                continue;
            }
            // What Tekton does with an outcome of its own is denied of a delegated run, broken or not.
            let copy = delegated(kind, &request);
            if !review(&copy, &json!({})).allowed {
                continue;
            }
            for (way, rule, broken) in WAYS {
                let Some((path, delegated)) = broken(kind, &copy) else {
                    continue;
                };
                *count.entry(way).or_default() += 1;
                let (name, denied) = (format!("{way}: {}", case.name), format!("{rule} {path}"));
                let answer = review(&delegated, &json!({}));
                assert_eq!(answer.denied(), [&*denied], "{name}");
                let standard = broken(kind, &request).filter(|_| !is_delegated(kind, &request));
                let Some((_, standard)) = standard else {
                    continue;
                };
                // Nothing comes between a project's own controller and its own objects, unless an admin wants it to.
                let is_status = rule.starts_with("status/");
                let answer = review(&standard, &json!({}));
                assert_eq!(answer.allowed, is_status, "{name}: {answer:?}");
                // Tekton has been recorded taking a success back.
                let is_recorded = TEKTON.contains(&kind.name()) && rule == "status/outcome-changed";
                if is_status && !is_recorded {
                    assert!(answer.warned().contains(&&*denied), "{name}");
                    let answer = review(&standard, &json!({"rules": {rule: "deny"}}));
                    assert_eq!(answer.denied(), [&*denied], "{name}");
                }
            }
        }
    }
    // A way that fits nothing that was recorded would show nothing.
    assert_eq!(count.len(), WAYS.len(), "{count:?}");
    assert!(count.values().sum::<usize>() > 900, "{count:?}");
}

fn is_delegated(kind: &Kind<'_>, request: &Value) -> bool {
    let stored = if request["oldObject"].is_null() {
        &request["object"]
    } else {
        &request["oldObject"]
    };
    kind.mode(name(kind, stored)).is_delegated()
}

/// The name in the field of an object.
fn name<'v>(kind: &Kind<'_>, object: &'v Value) -> Option<&'v str> {
    let pointer = format!("/{}", kind.managed_by_path().replace('.', "/"));
    object.pointer(&pointer).and_then(Value::as_str)
}

fn set_name(kind: &Kind<'_>, object: &mut Value, name: &str) {
    let path = kind.managed_by_path().split('.');
    *path.fold(object, |at, segment| &mut at[segment]) = name.into();
}

/// The request of an object that is delegated: the recorded one, or a copy.
fn delegated(kind: &Kind<'_>, request: &Value) -> Value {
    let mut request = request.clone();
    if !is_delegated(kind, &request) {
        for member in ["object", "oldObject"] {
            if !request[member].is_null() {
                set_name(kind, &mut request[member], "kueue.x-k8s.io/multikueue");
            }
        }
    }
    request
}

/// A status update, to be broken.
fn of_status(request: &Value) -> Option<Value> {
    let is_status = request["operation"] == "UPDATE" && request["subResource"] == "status";
    is_status.then(|| request.clone())
}

fn is_true(status: &Value, name: &str) -> bool {
    let conditions = status["conditions"].as_array().into_iter().flatten();
    conditions
        .filter(|c| c["type"] == name)
        .any(|c| c["status"] == "True")
}

/// Whether a status has an outcome that is final.
fn is_done(kind: &Kind<'_>, status: &Value) -> bool {
    let words = words(kind);
    // A TrainJob's failure is no end: Trainer takes it back.
    let fails_for_good = kind.name() != "TrainJob";
    let by_condition = words
        .outcomes
        .as_ref()
        .is_some_and(|[s, f]| is_true(status, s) || fails_for_good && is_true(status, f));
    // Kueue takes a failed AppWrapper for one only when its resources are gone.
    let is_final = |word: &str| word != "Failed" || !is_true(status, "ResourcesDeployed");
    let by_word = words.phase.as_ref().is_some_and(|(field, words)| {
        let mut words = words.iter();
        words.any(|word| status[field] == *word && is_final(word))
    });
    // The status of Tekton's one condition says how a run ended.
    let mut conditions = status["conditions"].as_array().into_iter().flatten();
    let by_tekton = TEKTON.contains(&kind.name())
        && conditions.any(|c| c["type"] == "Succeeded" && c["status"] != "Unknown");
    by_condition || by_word || by_tekton
}

/// A status update that leaves as it is what has an outcome already: where there was none, what was written came first.
fn after_the_outcome(kind: &Kind<'_>, request: &Value) -> Option<Value> {
    let mut request = of_status(request)?;
    if !is_done(kind, &request["oldObject"]["status"]) {
        if !is_done(kind, &request["object"]["status"]) {
            return None;
        }
        request["oldObject"] = request["object"].clone();
    }
    // What else was written may be a way out, such as one more attempt of a TaskRun.
    request["object"]["status"] = request["oldObject"]["status"].clone();
    Some(request)
}

/// The new object runs.
fn taken_back(kind: &Kind<'_>, request: &Value) -> Broken {
    let mut broken = after_the_outcome(kind, request)?;
    let status = &mut broken["object"]["status"];
    if let Some((field, _)) = &words(kind).phase {
        status[field] = "Running".into();
        return Some((format!("status.{field}"), broken));
    }
    // For Tekton `False` is an outcome too.
    let is_tekton = TEKTON.contains(&kind.name());
    let other = if is_tekton { "Unknown" } else { "False" };
    for condition in status["conditions"].as_array_mut()? {
        condition["status"] = other.into();
    }
    status.as_object_mut()?.remove("terminalState");
    Some(("status.conditions".to_owned(), broken))
}

/// The outcome stays, and the end is gone: the first of two steps.
fn without_end(kind: &Kind<'_>, request: &Value) -> Broken {
    let mut broken = after_the_outcome(kind, request)?;
    let end = words(kind).end.as_ref()?;
    broken["object"]["status"].as_object_mut()?.remove(end)?;
    Some((format!("status.{end}"), broken))
}

/// The status with two conditions that are true, in place of what it says of them.
fn with_both(mut request: Value, names: &[String; 2]) -> (String, Value) {
    let status = &mut request["object"]["status"];
    let kept = status["conditions"].as_array().into_iter().flatten();
    let kept = kept.filter(|c| names.iter().all(|name| c["type"] != **name));
    let both = names
        .each_ref()
        .map(|name| json!({"type": name, "status": "True", "reason": "Broken"}));
    status["conditions"] = kept.cloned().chain(both).collect();
    ("status.conditions".to_owned(), request)
}

fn both(kind: &Kind<'_>, request: &Value) -> Broken {
    let outcomes = words(kind).outcomes.as_ref()?;
    let request = of_status(request)?;
    // The operator notes both of these, and a Complete TrainJob may fail.
    let may_be_both = match kind.name() {
        "PyTorchJob" | "TFJob" => true,
        "TrainJob" => is_true(&request["oldObject"]["status"], &outcomes[0]),
        _ => false,
    };
    (!may_be_both).then(|| with_both(request, outcomes))
}

fn pair(kind: &Kind<'_>, request: &Value) -> Broken {
    Some(with_both(of_status(request)?, words(kind).pair.as_ref()?))
}

fn negative(kind: &Kind<'_>, request: &Value) -> Broken {
    let mut broken = of_status(request)?;
    let (path, counters) = words(kind).counter.as_ref()?;
    let status = broken["object"]["status"].as_object_mut()?;
    status.extend(counters.clone());
    Some((format!("status.{path}"), broken))
}

fn early_end(kind: &Kind<'_>, request: &Value) -> Broken {
    let mut broken = of_status(request)?;
    let end = words(kind).end.as_ref()?;
    let status = &mut broken["object"]["status"];
    status.get("startTime")?;
    status[end] = "2001-01-01T00:00:00Z".into();
    Some((format!("status.{end}"), broken))
}

/// Of every update; one of the status becomes one of the main resource, where the field can be written.
fn changed(kind: &Kind<'_>, request: &Value) -> Broken {
    if request["operation"] != "UPDATE" {
        return None;
    }
    let mut broken = request.clone();
    broken["subResource"] = "".into();
    let other = match name(kind, &broken["oldObject"]) {
        Some("kueue.x-k8s.io/multikueue") => kind.reserved_value()?,
        _ => "kueue.x-k8s.io/multikueue",
    };
    set_name(kind, &mut broken["object"], other);
    Some((kind.managed_by_path().to_owned(), broken))
}
