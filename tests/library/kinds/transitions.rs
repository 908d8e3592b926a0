//! No sequence of allowed status updates loses an outcome, except where the kind's controller loses it.
//!
//! The test searches all states that a kind's rules distinguish, see `transitions.yml`.

use std::collections::BTreeSet;

use super::{find, request};
use crate::cases::expand_conditions;
use crate::support::{review, root};
use managed_by::rules;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The states of some kinds, and the losses of an outcome that the search accepts.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Search {
    kinds: Vec<String>,
    objects: Vec<Value>,
    states: Vec<Vec<Map<String, Value>>>,
    lost: String,
}

impl Search {
    /// Returns the statuses: one for each combination of one member from each list.
    fn statuses(&self) -> Vec<Value> {
        let mut all = vec![Map::new()];
        for list in &self.states {
            let with = |state: &Map<String, Value>| {
                let combined = list.iter().map(|members| (state.clone(), members.clone()));
                let combined = combined.map(|(state, members)| state.into_iter().chain(members));
                combined.map(Iterator::collect).collect::<Vec<_>>()
            };
            all = all.iter().flat_map(with).collect();
        }
        all.into_iter()
            .map(|state| expand_conditions(&state.into()))
            .collect()
    }
}

#[test]
fn no_sequence_of_allowed_updates_loses_an_outcome() {
    let text = std::fs::read_to_string(root("tests/library/kinds/transitions.yml")).unwrap();
    let file: Value = serde_yaml_ng::from_str(&text).unwrap();
    let searches: Vec<Search> = serde_json::from_value(file["searches"].clone()).unwrap();
    let mut count = 0;
    for search in searches {
        let states = search.statuses();
        for kind in &search.kinds {
            for object in &search.objects {
                let steps = check_transitions(kind, object, &states, &search.lost);
                assert!(steps > states.len(), "{kind}");
                count += 1;
            }
        }
    }
    assert_eq!(count, 50);
}

/// An outcome that is present in `from` and absent in `to`, a state that is reachable from it.
struct Loss<'a> {
    outcome: &'static str,
    from: &'a Value,
    to: &'a Value,
}

impl Loss<'_> {
    /// Returns true if the loss is in the category `lost` of `transitions.yml`.
    fn is_allowed(&self, lost: &str) -> bool {
        let Self { outcome, from, to } = self;
        let is_failure = *outcome == "failure";
        let is_rejected = |state: &Value| state["jobDeploymentStatus"] == "ValidationFailed";
        let mut conditions = from["conditions"].as_array().into_iter().flatten();
        // An AppWrapper whose first condition is true still has resources, so its failure is not final.
        let is_failing = is_failure && from["conditions"][0]["status"] == "True";
        let is_leaving = to["phase"] == "Terminating";
        let is_overwritten = *outcome == "success" && outcomes(to).contains("failure");
        match lost {
            "nothing" => false,
            "anything" => true,
            "failure-without-completion-time" => is_failure && from["completionTime"].is_null(),
            "failure-except-deadline-exceeded" => {
                is_failure && !conditions.any(|c| c["reason"] == "DeadlineExceeded")
            }
            // A RayJob that was rejected before its end may start again.
            "at-validation-failed" => {
                is_rejected(to) || is_rejected(from) && from["endTime"].is_null()
            }
            "after-validation-failed" => is_rejected(from),
            "failure-with-resources" => is_failing,
            "by-deletion" => is_leaving,
            "failure-with-resources-or-by-deletion" => is_failing || is_leaving,
            "success-replaced-by-failure" => is_overwritten,
            "success-replaced-by-failure-or-before-last-attempt" => {
                is_overwritten || from["retriesStatus"].as_array().map_or(0, Vec::len) < 2
            }
            _ => panic!("{lost}"),
        }
    }
}

fn outcomes(state: &Value) -> BTreeSet<&'static str> {
    let mut outcomes = BTreeSet::new();
    let mut types = BTreeSet::new();
    for condition in state["conditions"].as_array().into_iter().flatten() {
        if !types.insert(condition["type"].as_str()) {
            continue;
        }
        let text = |key: &str| condition[key].as_str().unwrap();
        match (text("type"), text("status")) {
            ("Completed" | "Complete" | "Succeeded", "True") => outcomes.insert("success"),
            ("Failed", "True") | ("Succeeded", "False") => outcomes.insert("failure"),
            _ => false,
        };
    }
    let phase = ["phase", "jobDeploymentStatus"]
        .iter()
        .find_map(|field| state[*field].as_str());
    let ended = match phase {
        Some("Complete" | "Succeeded") => outcomes.insert("success"),
        Some("Failed") => outcomes.insert("failure"),
        _ => false,
    };
    let jobs = [
        ("SUCCEEDED", "jobStatus SUCCEEDED"),
        ("FAILED", "jobStatus FAILED"),
        ("STOPPED", "jobStatus STOPPED"),
    ];
    for (job, outcome) in jobs {
        // The operator may still change `jobStatus` until the RayJob ends or fails validation.
        if state["jobStatus"] == job && (ended || phase == Some("ValidationFailed")) {
            outcomes.insert(outcome);
        }
    }
    outcomes
}

/// Checks all sequences of steps between the states of an object, and returns the number of allowed steps.
fn check_transitions(kind: &str, object: &Value, states: &[Value], lost: &str) -> usize {
    let with = |status: &Value| {
        let mut object = object.clone();
        object["status"] = status.clone();
        object
    };
    // With `deny` the rules deny on objects that are not delegated too.
    let rules = rules().iter().map(|rule| rule.id());
    let rules: Map<_, _> = rules
        .filter(|id| {
            id.starts_with("status/outcome-changed") || *id == "status/succeeded-and-failed"
        })
        .map(|id| (id.to_owned(), "deny".into()))
        .collect();
    let settings = json!({ "rules": rules });
    let is_allowed = |old: &Value, new: &Value| {
        let request = request(find(kind), "UPDATE", "status", &with(old), &with(new));
        review(&request, &settings).allowed
    };
    let steps: Vec<Vec<usize>> = states
        .iter()
        .map(|old| {
            (0..states.len())
                .filter(|new| is_allowed(old, &states[*new]))
                .collect()
        })
        .collect();
    let reachable_from = |start: usize| {
        let mut reachable = BTreeSet::from([start]);
        let mut queue = vec![start];
        while let Some(state) = queue.pop() {
            queue.extend(steps[state].iter().filter(|next| reachable.insert(**next)));
        }
        reachable
    };
    // The first state belongs to a new object. The background audit replays stored objects as creates, so each state that is
    // reachable from the first must be accepted in a create.
    for index in reachable_from(0) {
        let request = request(
            find(kind),
            "CREATE",
            "",
            &Value::Null,
            &with(&states[index]),
        );
        let response = review(&request, &settings);
        assert!(
            response.allowed,
            "{kind}: {} is denied: {response:?}",
            states[index]
        );
    }
    for (start, from) in states.iter().enumerate() {
        let reachable = reachable_from(start);
        for outcome in outcomes(from) {
            for to in reachable.iter().map(|index| &states[*index]) {
                let candidate = Loss { outcome, from, to };
                assert!(
                    outcomes(to).contains(outcome) || candidate.is_allowed(lost),
                    "{kind}: {from} leads to {to}"
                );
            }
        }
    }
    steps.iter().map(Vec::len).sum()
}
