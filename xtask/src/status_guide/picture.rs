//! Compares `docs/pictures/job-status.svg` and `job-checks.svg`, which are drawn by hand, with the rules.

use std::collections::{BTreeMap, BTreeSet};

use managed_by::{Anchor, Release, ReleaseSet, Rule, rules};
use serde_json::{Value, json};

use super::most_common;
use super::states::{END, State, states, step};
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

/// Ways that look possible and are not, in the order of the file.
const NO_WAYS: [(&str, &str); 6] = [
    ("Complete", "Running"),
    ("Failed", "Running"),
    ("Failing", "Complete"),
    ("Complete", "Failed"),
    ("Succeeding", "Running"),
    ("Succeeding", "Failing"),
];

/// The boxes of the picture of checks: a box shows what is checked on the way into each of its states, but for what a box above
/// it shows for all of them.
const BOXES: [(&str, &[&str]); 5] = [
    (
        "On every step into another state",
        &[
            "Suspended",
            "Running",
            "Succeeding",
            "Failing",
            "Complete",
            "Failed",
        ],
    ),
    (
        "Into Succeeding, Failing, Complete and Failed",
        &["Succeeding", "Failing", "Complete", "Failed"],
    ),
    ("Into Complete and Failed", &["Complete", "Failed"]),
    ("Into Complete", &["Complete"]),
    ("Into Failed", &["Failed"]),
];

/// The rules that deny a step into a state when one thing about it is wrong: each member of the status left out, each of some set
/// to something else, each condition that announces the end left out, and the other end announced beside it, as far as this one.
fn guards(from: &State, to: &State) -> BTreeSet<usize> {
    let right = step(from, to);
    let status = to.status.as_object().unwrap();
    let completed = if status.contains_key("completionTime") {
        "2025-12-31T00:00:00Z"
    } else {
        END
    };
    let wrong = [
        ("active", json!(1)),
        ("active", json!(-1)),
        ("ready", json!(9)),
        ("terminating", json!(1)),
        ("completionTime", json!(completed)),
        ("startTime", json!("2026-01-01T00:00:01Z")),
        ("completedIndexes", json!("0")),
        ("failedIndexes", json!("0")),
        ("uncountedTerminatedPods", json!({"failed": ["a"]})),
        ("uncountedTerminatedPods", json!({"failed": [""]})),
        ("conditions", json!([])),
    ];
    let left_out = status.keys().map(|name| (&**name, Value::Null));
    let mut changes: Vec<Value> = left_out
        .chain(wrong)
        .map(|(name, value)| json!({ name: value }))
        .collect();
    let announced = to.status["conditions"].as_array().cloned();
    let announced = announced.filter(|_| !to.suspend).unwrap_or_default();
    let fails = announced.iter().any(|c| c["type"] == "FailureTarget");
    let other = if fails {
        ["SuccessCriteriaMet", "Complete"]
    } else {
        ["FailureTarget", "Failed"]
    };
    let other = other.map(|end| json!({"type": end, "status": "True"}));
    for (place, condition) in announced.iter().enumerate() {
        let others = announced.iter().filter(|other| *other != condition);
        changes.push(json!({"conditions": others.collect::<Vec<_>>()}));
        let beside = [&announced[..], &other[..=place]].concat();
        // With the time that the other end needs, so that only what is wrong with both ends is denied.
        changes.push(json!({"conditions": beside, "completionTime": END}));
    }
    let mut fired = BTreeSet::new();
    for change in changes {
        let mut request = right.clone();
        for (name, value) in change.as_object().unwrap() {
            request["object"]["status"][name] = value.clone();
        }
        for denial in denials(&request).unwrap() {
            // What 1.30 alone has is said beside the ways.
            if denial.releases.contains(Release::default()) {
                fired.extend(rules().iter().position(|rule| *rule == denial.rule));
            }
        }
    }
    fired
}

/// A rule as the pictures name it.
fn words(rule: &Rule) -> String {
    rule.documentation().title.replace('`', "")
}

/// A rule as a line of the picture, with the releases that have it, where these are not all.
fn line(place: usize) -> String {
    let rule = rules()[place];
    let Anchor::Upstream { since, until, .. } = *rule.anchor() else {
        panic!("{rule:?}");
    };
    let releases = match until {
        None if since == Release::V1_30 => String::new(),
        None => format!(" ({since} on)"),
        Some(until) => format!(" ({since} to {until})"),
    };
    format!("• {}{releases}", words(rule))
}

/// What a picture says: its headings with the lines below them, its boxes' names, and the labels of its arrows. A line that is too
/// long goes on in the next text.
#[derive(Debug, Default, PartialEq)]
struct Drawn {
    headings: Vec<(String, Vec<String>)>,
    names: Vec<String>,
    labels: Vec<String>,
}

impl Drawn {
    fn read(svg: &str) -> Self {
        let mut drawn = Self::default();
        for text in svg.lines().filter(|line| line.starts_with("<text")) {
            let Some((_, text)) = text.split_once("class=\"") else {
                continue;
            };
            let (class, words) = text.split_once("\">").unwrap();
            let words = words.trim_end_matches("</text>").to_owned();
            match class {
                "n" => drawn.names.push(words),
                "l" => drawn.labels.push(words),
                "h" => drawn.headings.push((words, Vec::new())),
                "h c" => drawn.headings.last_mut().unwrap().0.extend([" ", &words]),
                "c" => drawn.lines().last_mut().unwrap().extend([" ", &words]),
                _ => drawn.lines().push(words),
            }
        }
        drawn
    }

    fn lines(&mut self) -> &mut Vec<String> {
        &mut self.headings.last_mut().unwrap().1
    }
}

#[test]
fn the_pictures_say_what_the_rules_do() {
    let states = states();
    let way = |(from, to): (&str, &str)| {
        let state = |name| states.iter().find(|state| state.name == name).unwrap();
        (state(from), state(to))
    };
    let mut ways = Drawn::default();
    let mut guarded: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for (from, to) in WAYS.map(way) {
        let accepting = accepting(&step(from, to)).unwrap();
        assert!(!accepting.is_empty(), "{} to {}", from.name, to.name);
        if accepting != ReleaseSet::all() {
            ways.labels
                .push(accepting.to_string().replace(" to 1.37", " on"));
        }
        let into = guarded.entry(to.name).or_default();
        into.extend(guards(from, to));
    }
    let mut below: Vec<String> = Vec::new();
    let mut last = String::new();
    for (from, to) in NO_WAYS.map(way) {
        let request = step(from, to);
        assert!(accepting(&request).unwrap().is_empty());
        let rule = words(most_common(&denials(&request).unwrap()).unwrap());
        if rule != last {
            below.push(format!("{rule}:"));
            last = rule;
        }
        below.push(format!("✗ {} → {}", from.name, to.name));
    }
    ways.headings
        .push(("No way, whatever else is right".to_owned(), below));
    let svg = read("docs/pictures/job-status.svg").unwrap();
    let mut drawn = Drawn::read(&svg);
    drawn.names.sort_unstable();
    ways.names = states.iter().map(|state| state.name.to_owned()).collect();
    ways.names.sort_unstable();
    assert_eq!(drawn, ways);
    assert_eq!(svg.matches("<path d=\"M").count() - 1, WAYS.len());

    let mut checks = Drawn::default();
    for (heading, states) in BOXES {
        let into = states.iter().map(|name| guarded[name].clone());
        let common = into.reduce(|a, b| &a & &b).unwrap();
        for name in states {
            guarded
                .get_mut(name)
                .unwrap()
                .retain(|p| !common.contains(p));
        }
        let lines = common.into_iter().map(line).collect();
        checks.headings.push((heading.to_owned(), lines));
    }
    assert!(guarded.values().all(BTreeSet::is_empty), "{guarded:?}");
    let svg = read("docs/pictures/job-checks.svg").unwrap();
    assert_eq!(Drawn::read(&svg), checks);
}
