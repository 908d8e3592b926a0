//! No way of several steps, each of them allowed, leads from an outcome: searched through all the states that a kind's
//! rules tell apart, as `reach.yml` lists them.

use std::collections::BTreeSet;

use super::{find, request};
use crate::cases::written_out;
use crate::support::{review, root};
use managed_by::rules;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The searches through the states of some kinds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Search {
    kinds: Vec<String>,
    objects: Vec<Value>,
    states: Vec<Vec<Map<String, Value>>>,
    lost: String,
}

impl Search {
    /// One status for each choice of one from each list.
    fn statuses(&self) -> Vec<Value> {
        let mut all = vec![Map::new()];
        for list in &self.states {
            let with = |state: &Map<String, Value>| {
                let longer = list.iter().map(|members| (state.clone(), members.clone()));
                let longer = longer.map(|(state, members)| state.into_iter().chain(members));
                longer.map(Iterator::collect).collect::<Vec<_>>()
            };
            all = all.iter().flat_map(with).collect();
        }
        all.into_iter()
            .map(|state| written_out(&state.into()))
            .collect()
    }
}

#[test]
fn outcomes_are_lost_where_a_controller_loses_them_and_nowhere_else() {
    let text = std::fs::read_to_string(root("tests/library/kinds/reach.yml")).unwrap();
    let file: Value = serde_yaml_ng::from_str(&text).unwrap();
    let searches: Vec<Search> = serde_json::from_value(file["searches"].clone()).unwrap();
    let mut count = 0;
    for searched in searches {
        let states = searched.statuses();
        for kind in &searched.kinds {
            for object in &searched.objects {
                let steps = search(kind, object, &states, &searched.lost);
                assert!(steps > states.len(), "{kind}");
                count += 1;
            }
        }
    }
    assert_eq!(count, 50);
}

/// An outcome that is in one state and not in another, which can be reached from it.
struct Loss<'a> {
    outcome: &'static str,
    from: &'a Value,
    to: &'a Value,
}

impl Loss<'_> {
    /// Whether it is one of those.
    fn is_allowed(&self, lost: &str) -> bool {
        let Self { outcome, from, to } = self;
        let is_failure = *outcome == "failure";
        let refused = |state: &Value| state["jobDeploymentStatus"] == "ValidationFailed";
        let mut conditions = from["conditions"].as_array().into_iter().flatten();
        // Kueue's own time of grace; whoever may take the condition back may end it, and nobody begin it.
        let is_failing = is_failure && from["conditions"][0]["status"] == "True";
        let is_leaving = to["phase"] == "Terminating";
        let is_overwritten = *outcome == "success" && outcomes(to).contains("failure");
        match lost {
            "nothing" => false,
            "anything" => true,
            "a failure for the time being" => is_failure && from["completionTime"].is_null(),
            "a failure but a deadline's" => {
                is_failure && !conditions.any(|c| c["reason"] == "DeadlineExceeded")
            }
            // Refused before it ended, it may start over, or be dispatched anew.
            "by the operator's refusal" => {
                refused(to) || refused(from) && from["endTime"].is_null()
            }
            "after the operator's refusal" => refused(from),
            "a failure with resources" => is_failing,
            "by deletion" => is_leaving,
            "a failure with resources or by deletion" => is_failing || is_leaving,
            "a success to a failure" => is_overwritten,
            "a success to a failure, and all before the last attempt" => {
                is_overwritten || from["retriesStatus"].as_array().map_or(0, Vec::len) < 2
            }
            _ => panic!("{lost}"),
        }
    }
}

/// The outcomes that a state says.
fn outcomes(state: &Value) -> BTreeSet<&'static str> {
    let mut said = BTreeSet::new();
    let mut seen = BTreeSet::new();
    for condition in state["conditions"].as_array().into_iter().flatten() {
        if !seen.insert(condition["type"].as_str()) {
            continue;
        }
        let word = |key: &str| condition[key].as_str().unwrap();
        match (word("type"), word("status")) {
            ("Completed" | "Complete" | "Succeeded", "True") => said.insert("success"),
            ("Failed", "True") | ("Succeeded", "False") => said.insert("failure"),
            _ => false,
        };
    }
    let word = ["phase", "jobDeploymentStatus"]
        .iter()
        .find_map(|field| state[*field].as_str());
    let ended = match word {
        Some("Complete" | "Succeeded") => said.insert("success"),
        Some("Failed") => said.insert("failure"),
        _ => false,
    };
    let jobs = [
        ("SUCCEEDED", "jobStatus SUCCEEDED"),
        ("FAILED", "jobStatus FAILED"),
        ("STOPPED", "jobStatus STOPPED"),
    ];
    for (job, outcome) in jobs {
        // Before, the operator looks again; after, so that nobody runs it, it is the last word.
        if state["jobStatus"] == job && (ended || word == Some("ValidationFailed")) {
            said.insert(outcome);
        }
    }
    said
}

/// Searches through all steps between the states of an object; returns how many are allowed.
fn search(kind: &str, object: &Value, states: &[Value], lost: &str) -> usize {
    let with = |status: &Value| {
        let mut object = object.clone();
        object["status"] = status.clone();
        object
    };
    // Set to deny, the rules hold for objects that are not delegated too.
    let rules = rules().iter().map(|rule| rule.id());
    let rules: Map<_, _> = rules
        .filter(|id| id.starts_with("status/outcome-changed") || *id == "status/two-outcomes")
        .map(|id| (id.to_owned(), "deny".into()))
        .collect();
    let settings = json!({ "rules": rules });
    let may = |old: &Value, new: &Value| {
        let request = request(find(kind), "UPDATE", "status", &with(old), &with(new));
        review(&request, &settings).allowed
    };
    let steps: Vec<Vec<usize>> = states
        .iter()
        .map(|old| {
            (0..states.len())
                .filter(|new| may(old, &states[*new]))
                .collect()
        })
        .collect();
    let reached_from = |start: usize| {
        let mut reached = BTreeSet::from([start]);
        let mut open = vec![start];
        while let Some(at) = open.pop() {
            open.extend(steps[at].iter().filter(|next| reached.insert(**next)));
        }
        reached
    };
    // The first state is that of a new object. What can be reached from there may be stored, and the background audit
    // replays what is stored as a create.
    for index in reached_from(0) {
        let request = request(
            find(kind),
            "CREATE",
            "",
            &Value::Null,
            &with(&states[index]),
        );
        let answer = review(&request, &settings);
        assert!(
            answer.allowed,
            "{kind}: {} is denied: {answer:?}",
            states[index]
        );
    }
    for (start, from) in states.iter().enumerate() {
        let reached = reached_from(start);
        for outcome in outcomes(from) {
            for to in reached.iter().map(|index| &states[*index]) {
                let found = Loss { outcome, from, to };
                assert!(
                    outcomes(to).contains(outcome) || found.is_allowed(lost),
                    "{kind}: {from} leads to {to}"
                );
            }
        }
    }
    steps.iter().map(Vec::len).sum()
}
