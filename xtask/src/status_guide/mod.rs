//! The generated parts of `docs/writing-job-status.md`: the picture of a Job's states, the table of its transitions, and what
//! each release changed. The rules are asked, so that none of it can be out of date.

mod picture;
mod states;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use managed_by::{Anchor, Release, ReleaseSet, Rule, rules};
use serde_json::{Value, json};

use crate::generated::{Generated, between_marks, read};
use crate::releases::{Denial, accepting, denials, spec_update, status_update};
use picture::picture;
use states::{END, START, State, conditions, states, step};

const GUIDE: &str = "docs/writing-job-status.md";
const PICTURE: &str = "docs/job-status.svg";

/// The picture, and the guide with its generated parts.
///
/// # Errors
/// If the guide cannot be read, or a transition that the picture shows as accepted is denied.
pub fn generated() -> Result<Vec<Generated>> {
    let guide = read(GUIDE)?;
    let guide = between_marks(&guide, "transitions", &transitions()?)?;
    let guide = between_marks(&guide, "releases", &changes()?)?;
    Ok(vec![
        Generated::new(PICTURE, picture()?),
        Generated::new(GUIDE, guide),
    ])
}

/// The releases in which a rule holds, where these are not all.
fn held(rule: &Rule) -> String {
    let Anchor::Upstream { since, until, .. } = *rule.anchor() else {
        return String::new();
    };
    match until {
        Some(until) if until == since => format!(" ({since} only)"),
        Some(until) => format!(" ({since} to {until})"),
        None if since > Release::V1_30 => format!(" ({since} on)"),
        None => String::new(),
    }
}

/// The rules that deny a step into a state when one thing about it is wrong: each member of the status left out, each of some set
/// to something else, and each other end announced beside the one that is.
fn guards(from: &State, to: &State) -> Result<BTreeSet<usize>> {
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
    let status = to.status.as_object().context("a status")?;
    let without = status.keys().map(|name| (name.clone(), Value::Null));
    let with = wrong.map(|(name, value)| (name.to_owned(), value));
    let announced = to.status["conditions"].as_array().cloned();
    let announced = announced.filter(|_| !to.suspend).unwrap_or_default();
    let beside = ENDS.iter().filter(|_| !announced.is_empty()).map(|end| {
        let other = json!({"type": end, "status": "True"});
        let both = [announced.clone(), vec![other]].concat();
        ("conditions".to_owned(), Value::from(both))
    });
    let mut fired = BTreeSet::new();
    for (name, value) in without.chain(with).chain(beside) {
        let mut request = right.clone();
        request["object"]["status"][&name] = value;
        for denial in denials(&request)? {
            // What 1.30 alone has is said beside the ways.
            if denial.releases.contains(Release::default()) {
                fired.extend(rules().iter().position(|rule| *rule == denial.rule));
            }
        }
    }
    Ok(fired)
}

/// The conditions that announce an end, or are one.
const ENDS: [&str; 4] = ["SuccessCriteriaMet", "FailureTarget", "Complete", "Failed"];

/// Every step from one state to another, and what the releases say.
fn transitions() -> Result<String> {
    let states = states();
    let mut text = "| from \\ to |".to_owned();
    for to in &states {
        write!(text, " {} |", to.name)?;
    }
    writeln!(
        text,
        "\n|{}",
        " --- |".repeat(states.len().saturating_add(1))
    )?;
    for from in &states {
        write!(text, "| **{}** |", from.name)?;
        for to in &states {
            if from.name == to.name {
                text.push_str(" |");
                continue;
            }
            let request = step(from, to);
            let accepting = accepting(&request)?;
            let cell = if accepting == ReleaseSet::all() {
                "yes".to_owned()
            } else if accepting.is_empty() {
                let id = most_common(&denials(&request)?)?.id();
                let name = id.trim_start_matches("job-status/");
                format!("no: [{name}](rules/{id}.md)")
            } else {
                format!("{accepting}")
            };
            write!(text, " {cell} |")?;
        }
        text.push('\n');
    }
    Ok(text)
}

/// What the releases changed, made of the rules' anchors, and of what the rules say to three statuses.
fn changes() -> Result<String> {
    let mut text = "| release | what changed |\n| --- | --- |\n".to_owned();
    for &release in Release::ALL {
        let links = |wanted: &dyn Fn(Release, Option<Release>) -> bool| {
            let is = |rule: &&&Rule| match *rule.anchor() {
                Anchor::Upstream { since, until, .. } => wanted(since, until),
                Anchor::Ours { .. } => false,
            };
            let link = |rule: &&Rule| format!("[`{0}`](rules/{0}.md)", rule.id());
            let links: Vec<_> = rules().iter().filter(is).map(link).collect();
            links.join(", ")
        };
        let mut changed = Vec::new();
        let new = links(&|since, _| since == release);
        if release > Release::V1_30 && !new.is_empty() {
            changed.push(format!("new: {new}"));
        }
        let gone = links(&|_, until| {
            let next = Release::ALL.iter().find(|r| Some(**r) > until);
            until.is_some() && next == Some(&release)
        });
        if !gone.is_empty() {
            changed.push(format!("gone: {gone}"));
        }
        changed.extend(relaxed(release)?);
        if !changed.is_empty() {
            writeln!(text, "| {release} | {} |", changed.join("; "))?;
        }
    }
    Ok(text)
}

/// What a release was the first to accept or to deny, of updates on which a rule changed its mind.
fn relaxed(release: Release) -> Result<Vec<String>> {
    let suspended = json!({"suspend": true, "completions": 0});
    let complete = json!({"completionTime": END,
        "conditions": conditions(&[("SuccessCriteriaMet", "True"), ("Complete", "True")])});
    let resumed = |status: &str, start: &str| json!({"startTime": start, "conditions": conditions(&[("Suspended", status)])});
    let template = |pool: &str| json!({"suspend": true, "template": {"spec": {"nodeSelector": {"pool": pool}}}});
    let (a, b) = (template("a"), template("b"));
    let questions = [
        (
            "a suspended Job without completions may end without a `startTime`",
            status_update(&suspended, &json!({}), &complete),
        ),
        (
            "`startTime` may change in the write that takes `Suspended` from True to False",
            status_update(&json!({}), &resumed("True", START), &resumed("False", END)),
        ),
        (
            "the scheduling directives of a suspended Job may change although it has started, if `Suspended` is True and no pod active",
            spec_update(&a, &b, &resumed("True", START)),
        ),
        (
            "the scheduling directives of a suspended Job that has not started may change although pods are active",
            spec_update(&a, &b, &json!({"active": 1})),
        ),
    ];
    let before = Release::ALL
        .iter()
        .copied()
        .take_while(|r| *r < release)
        .last();
    let Some(before) = before else {
        return Ok(Vec::new());
    };
    let mut lines = Vec::new();
    for (what, request) in questions {
        let accepting = accepting(&request)?;
        match (accepting.contains(before), accepting.contains(release)) {
            (false, true) => lines.push(what.to_owned()),
            (true, false) => lines.push(format!("no longer: {what}")),
            _ => {}
        }
    }
    Ok(lines)
}

/// The rule that most releases deny with.
fn most_common(denials: &[Denial]) -> Result<&'static Rule> {
    let most = denials
        .iter()
        .rev()
        .max_by_key(|d| d.releases.iter().count());
    Ok(most.context("a denial")?.rule)
}
