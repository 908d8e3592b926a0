//! Holds `docs/pictures/job-status.svg`, which is drawn by hand, to the rules.

use std::collections::{BTreeMap, BTreeSet};

use managed_by::{Anchor, Release, ReleaseSet, Rule, rules};
use serde_json::{Value, json};

use super::most_common;
use super::states::{State, states, step};
use crate::generated::read;
use crate::releases::{accepting, denials};

/// The arrows, in the order of the file.
const WAYS: [(&str, &str); 8] = [
    ("Created", "Suspended"),
    ("Created", "Running"),
    ("Suspended", "Running"),
    ("Running", "Suspended"),
    ("Running", "Succeeding"),
    ("Succeeding", "Complete"),
    ("Running", "Failing"),
    ("Failing", "Failed"),
];

/// Ways that look possible and are not.
const NO_WAYS: [(&str, &str); 6] = [
    ("Complete", "Running"),
    ("Failed", "Running"),
    ("Succeeding", "Running"),
    ("Succeeding", "Failing"),
    ("Failing", "Complete"),
    ("Complete", "Failed"),
];

/// The rules that deny a step into a state when one thing about it is wrong: each member of the status left out, each of some set
/// to something else, and each other end announced beside the one that is.
fn guards(from: &State, to: &State) -> BTreeSet<usize> {
    let wrong = [
        ("active", json!(1)),
        ("active", json!(-1)),
        ("ready", json!(9)),
        ("terminating", json!(1)),
        ("completionTime", json!("2025-12-31T00:00:00Z")),
        ("startTime", json!("2026-01-01T00:00:01Z")),
        ("completedIndexes", json!("0")),
        ("failedIndexes", json!("0")),
        ("uncountedTerminatedPods", json!({"failed": ["a"]})),
        ("uncountedTerminatedPods", json!({"failed": [""]})),
        ("conditions", json!([])),
    ];
    let right = step(from, to);
    let without = to.status.as_object().unwrap().keys();
    let without = without.map(|name| (&**name, Value::Null));
    let announced = to.status["conditions"].as_array().cloned();
    let announced = announced.filter(|_| !to.suspend).unwrap_or_default();
    let ends = ["SuccessCriteriaMet", "FailureTarget", "Complete", "Failed"];
    let beside = ends.iter().filter(|_| !announced.is_empty()).map(|end| {
        let other = json!({"type": end, "status": "True"});
        let both = [announced.clone(), vec![other]].concat();
        ("conditions", Value::from(both))
    });
    let mut fired = BTreeSet::new();
    for (name, value) in without.chain(wrong).chain(beside) {
        let mut request = right.clone();
        request["object"]["status"][name] = value;
        for denial in denials(&request).unwrap() {
            // What 1.30 alone has is said beside the ways.
            if denial.releases.contains(Release::default()) {
                fired.extend(rules().iter().position(|rule| *rule == denial.rule));
            }
        }
    }
    fired
}

fn short(rule: &Rule) -> &str {
    rule.id().split_once('/').unwrap().1
}

/// Rules as the picture names them, with the releases that have them, where these are not all.
fn lines<'a>(places: impl IntoIterator<Item = &'a usize>) -> Vec<String> {
    let line = |place: &usize| {
        let rule = rules()[*place];
        let Anchor::Upstream { since, until, .. } = *rule.anchor() else {
            panic!("{rule:?}");
        };
        match until {
            None if since == Release::V1_30 => short(rule).to_owned(),
            None => format!("{} ({since} on)", short(rule)),
            Some(until) => format!("{} ({since} to {until})", short(rule)),
        }
    };
    places.into_iter().map(line).collect()
}

#[test]
fn the_picture_says_what_the_rules_do() {
    let states = states();
    let way = |(from, to): (&str, &str)| {
        let state = |name| states.iter().find(|state| state.name == name).unwrap();
        (state(from), state(to))
    };
    let mut labels = Vec::new();
    let mut guarded: BTreeMap<&str, BTreeSet<usize>> = states
        .iter()
        .map(|state| (state.name, BTreeSet::new()))
        .collect();
    for (from, to) in WAYS.map(way) {
        let accepting = accepting(&step(from, to)).unwrap();
        assert!(!accepting.is_empty(), "{} to {}", from.name, to.name);
        if accepting != ReleaseSet::all() {
            labels.push(accepting.to_string().replace(" to 1.37", " on"));
        }
        guarded.get_mut(to.name).unwrap().extend(guards(from, to));
    }
    let entered = guarded.values().filter(|places| !places.is_empty());
    let everywhere = entered.cloned().reduce(|a, b| &a & &b).unwrap();
    let mut expected: BTreeMap<&str, Vec<String>> = guarded
        .iter()
        .map(|(name, places)| (*name, lines(&(places - &everywhere))))
        .collect();
    expected.insert("Checked on every way", lines(&everywhere));
    let no_ways = NO_WAYS.map(way).map(|(from, to)| {
        let request = step(from, to);
        assert!(accepting(&request).unwrap().is_empty());
        let rule = most_common(&denials(&request).unwrap()).unwrap();
        let option = match *rule.anchor() {
            Anchor::Upstream {
                option: Some(option),
                ..
            } => format!(", {option}"),
            _ => String::new(),
        };
        format!("✗ {} → {}: {}{option}", from.name, to.name, short(rule))
    });
    expected.insert("No way, whatever else is right", no_ways.into());

    let svg = read("docs/pictures/job-status.svg").unwrap();
    let (mut drawn, mut drawn_labels) = (BTreeMap::<&str, Vec<String>>::new(), Vec::new());
    let mut box_of = "";
    for text in svg.lines().filter_map(|line| {
        line.split_once("class=\"")
            .filter(|_| line.starts_with("<text"))
    }) {
        let (class, words) = text.1.split_once("\">").unwrap();
        let words = words.trim_end_matches("</text>");
        match class {
            "n" | "h" => {
                box_of = words;
                drawn.insert(box_of, Vec::new());
            }
            "r" => drawn.get_mut(box_of).unwrap().push(words.to_owned()),
            "l" => drawn_labels.push(words),
            _ => {}
        }
    }
    assert_eq!(drawn, expected);
    assert_eq!(drawn_labels, labels);
    assert_eq!(svg.matches("<path d=\"M").count() - 1, WAYS.len());
}
