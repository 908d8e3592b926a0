//! The generated parts of `docs/writing-job-status.md`: the picture of a Job's states, the table of its transitions, and what
//! each release changed. The rules are asked, so that none of it can be out of date.

#![expect(
    clippy::arithmetic_side_effects,
    reason = "coordinates of a picture of seven boxes"
)]

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::{Context as _, Result, ensure};
use managed_by::{Anchor, Release, ReleaseSet, Rule, rules};
use serde_json::{Value, json};

use crate::generated::{Generated, between_marks, read};
use crate::releases::{Denial, accepting, denials, spec_update, status_update};

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

/// A state of a Job that is not indexed, by the status that its controller has written.
struct State {
    name: &'static str,
    /// What the status says then.
    says: &'static str,
    suspend: bool,
    status: Value,
    /// The middle of its box's upper edge.
    at: (i32, i32),
}

const START: &str = "2026-01-01T00:00:00Z";
const END: &str = "2026-01-01T01:00:00Z";

fn conditions(types: &[(&str, &str)]) -> Value {
    let condition = |(name, status): &(&str, &str)| json!({"type": name, "status": status});
    types.iter().map(condition).collect()
}

fn states() -> [State; 7] {
    [
        State {
            name: "Created",
            says: "nothing",
            suspend: false,
            status: json!({}),
            at: (170, 20),
        },
        State {
            name: "Suspended",
            says: "Suspended=True, no startTime",
            suspend: true,
            status: json!({"conditions": conditions(&[("Suspended", "True")])}),
            at: (540, 390),
        },
        State {
            name: "Running",
            says: "startTime, active",
            suspend: false,
            status: json!({"startTime": START, "active": 2, "ready": 1}),
            at: (540, 20),
        },
        State {
            name: "Succeeding",
            says: "SuccessCriteriaMet=True",
            suspend: false,
            status: json!({"startTime": START, "succeeded": 2, "terminating": 1,
                "conditions": conditions(&[("SuccessCriteriaMet", "True")])}),
            at: (910, 20),
        },
        State {
            name: "Complete",
            says: "Complete=True, completionTime",
            suspend: false,
            status: json!({"startTime": START, "completionTime": END, "succeeded": 2,
                "conditions": conditions(&[("SuccessCriteriaMet", "True"), ("Complete", "True")])}),
            at: (1280, 20),
        },
        State {
            name: "Failing",
            says: "FailureTarget=True",
            suspend: false,
            status: json!({"startTime": START, "failed": 1, "terminating": 1,
                "conditions": conditions(&[("FailureTarget", "True")])}),
            at: (910, 390),
        },
        State {
            name: "Failed",
            says: "Failed=True",
            suspend: false,
            status: json!({"startTime": START, "failed": 2,
                "conditions": conditions(&[("FailureTarget", "True"), ("Failed", "True")])}),
            at: (1280, 390),
        },
    ]
}

/// The way that a controller goes, by the places of the states.
const WAYS: [(usize, usize); 8] = [
    (0, 1),
    (0, 2),
    (1, 2),
    (2, 1),
    (2, 3),
    (3, 4),
    (2, 5),
    (5, 6),
];

/// Ways that look possible and are not.
const NO_WAYS: [(usize, usize); 6] = [(4, 2), (6, 2), (3, 2), (3, 5), (5, 4), (4, 6)];

/// The step from one state to another.
///
/// People suspend and resume by the spec; the controller sees that before it writes. Counters never fall, and what has
/// happened is not taken back: a step keeps the counters of the state before, where they are higher.
fn step(from: &State, to: &State) -> Value {
    let mut status = to.status.clone();
    for counter in ["succeeded", "failed"] {
        let of = |status: &Value| status[counter].as_i64().unwrap_or_default();
        let higher = of(&from.status).max(of(&status));
        if higher > 0 {
            status[counter] = higher.into();
        }
    }
    let is_true = |status: &Value, name: &str| {
        let entries = status["conditions"].as_array();
        entries.into_iter().flatten().any(|c| c["type"] == name)
    };
    if is_true(&from.status, "Suspended") && !is_true(&to.status, "Suspended") {
        let entries = status["conditions"].as_array().cloned().unwrap_or_default();
        let resumed = json!({"type": "Suspended", "status": "False"});
        status["conditions"] = [vec![resumed], entries].concat().into();
    }
    status_update(&spec(to), &from.status, &status)
}

fn spec(state: &State) -> Value {
    json!({"managedBy": "acme.io/runner", "parallelism": 2, "completions": 2, "suspend": state.suspend})
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
    writeln!(text, "\n|{}", " --- |".repeat(states.len() + 1))?;
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

/// The picture: the states with what is checked on the way into each, the ways between them, and the ways that are closed.
fn picture() -> Result<String> {
    let states = states();
    let mut guarded = Vec::new();
    for (index, state) in states.iter().enumerate() {
        let mut all = BTreeSet::new();
        for (from, _) in WAYS.iter().filter(|(_, to)| *to == index) {
            all.extend(guards(&states[*from], state)?);
        }
        guarded.push(all);
    }
    let entered: Vec<_> = guarded.iter().filter(|rules| !rules.is_empty()).collect();
    let everywhere: BTreeSet<usize> = rules()
        .iter()
        .enumerate()
        .map(|(index, _)| index)
        .filter(|index| entered.iter().all(|rules| rules.contains(index)))
        .collect();
    let mut svg = String::new();
    for (from, to) in WAYS {
        let (a, b) = (&states[from], &states[to]);
        let accepting = accepting(&step(a, b))?;
        ensure!(
            !accepting.is_empty(),
            "{} to {} is accepted by no release",
            a.name,
            b.name
        );
        arrow(&mut svg, a.at, b.at, (from, to), &label(accepting))?;
    }
    for (state, rules_of_it) in states.iter().zip(&guarded) {
        let special = rules_of_it.difference(&everywhere).copied().collect();
        draw_state(&mut svg, state, &special)?;
    }
    let mut y = 440;
    text(&mut svg, 15, y, "h", "Checked on every way")?;
    for index in &everywhere {
        y += 17;
        let rule = rules()[*index];
        line(&mut svg, 15, y, &format!("{}{}", short(rule), held(rule)))?;
    }
    let mut bottom = y;
    let mut y = 740;
    svg.push_str("<g class=\"no\">\n");
    text(&mut svg, 385, y, "h", "No way, whatever else is right")?;
    for (from, to) in NO_WAYS {
        y += 17;
        let (a, b) = (&states[from], &states[to]);
        let request = step(a, b);
        ensure!(
            accepting(&request)?.is_empty(),
            "{} to {} is accepted",
            a.name,
            b.name
        );
        let rule = most_common(&denials(&request)?)?;
        let option = match *rule.anchor() {
            Anchor::Upstream {
                option: Some(option),
                ..
            } => format!(", {option}"),
            _ => String::new(),
        };
        let words = format!("✗ {} → {}: {}{option}", a.name, b.name, short(rule));
        line(&mut svg, 385, y, &words)?;
    }
    svg.push_str("</g>\n");
    bottom = bottom.max(y) + 20;
    let head = HEAD.replace("BOTTOM", &bottom.to_string());
    Ok(format!("{head}{svg}</svg>\n"))
}

/// The rule that most releases deny with.
fn most_common(denials: &[Denial]) -> Result<&'static Rule> {
    let most = denials
        .iter()
        .rev()
        .max_by_key(|d| d.releases.iter().count());
    Ok(most.context("a denial")?.rule)
}

const HEAD: &str = r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1450 BOTTOM" role="img" aria-labelledby="title desc">
<title id="title">The states of a delegated Job, and the writes between them</title>
<desc id="desc">Generated from the rules: make docs. Each box is a state with what its status says, and what kube-apiserver 1.37 checks on the way into it. Arrows are writes that it accepts, by all releases from 1.30 on unless they say otherwise.</desc>
<style>
text { font: 12px system-ui, sans-serif; fill: #1b1f24; }
.n { font-size: 16px; font-weight: 600; }
.s { font-style: italic; }
.h { font-size: 14px; font-weight: 600; }
.l { font-size: 12px; font-weight: 600; fill: #0b4a8f; }
.no text { fill: #9f1717; }
rect.b { fill: #eef4fb; stroke: #0b4a8f; stroke-width: 1.5; }
path { fill: none; stroke: #0b4a8f; stroke-width: 2; marker-end: url(#a); }
</style>
<defs><marker id="a" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" style="fill:#0b4a8f;stroke:none;marker-end:none"/></marker></defs>
<rect width="1450" height="BOTTOM" fill="#ffffff"/>
"##;

/// Half of a box's width.
const HALF: i32 = 155;
/// A box's height.
const HEIGHT: i32 = 320;

fn short(rule: &Rule) -> &'static str {
    let id = rule.id();
    id.split_once('/').map_or(id, |(_, name)| name)
}

fn label(accepting: ReleaseSet) -> String {
    if accepting == ReleaseSet::all() {
        String::new()
    } else {
        accepting.to_string()
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

fn text(svg: &mut String, x: i32, y: i32, class: &str, words: &str) -> Result<()> {
    let words = escaped(words);
    Ok(writeln!(
        svg,
        "<text x=\"{x}\" y=\"{y}\" class=\"{class}\">{words}</text>"
    )?)
}

fn line(svg: &mut String, x: i32, y: i32, words: &str) -> Result<()> {
    text(svg, x, y, "r", words)
}

fn draw_state(svg: &mut String, state: &State, special: &BTreeSet<usize>) -> Result<()> {
    let (x, y) = (state.at.0 - HALF, state.at.1);
    writeln!(
        svg,
        "<rect class=\"b\" x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{HEIGHT}\" rx=\"8\"/>",
        2 * HALF
    )?;
    text(svg, x + 12, y + 26, "n", state.name)?;
    text(svg, x + 12, y + 46, "s", state.says)?;
    for (index, place) in special.iter().enumerate() {
        let y = y + 70 + 17 * i32::try_from(index)?;
        let rule = rules()[*place];
        line(svg, x + 12, y, &format!("{}{}", short(rule), held(rule)))?;
    }
    Ok(())
}

fn arrow(
    svg: &mut String,
    a: (i32, i32),
    b: (i32, i32),
    way: (usize, usize),
    releases: &str,
) -> Result<()> {
    // Two ways between two states stand apart.
    let shift = if WAYS.contains(&(way.1, way.0)) {
        12
    } else {
        0
    };
    let side = if way.0 < way.1 { -shift } else { shift };
    let (path, (x, y)) = if a.0 == b.0 {
        let (from, to) = if a.1 < b.1 {
            (a.1 + HEIGHT, b.1)
        } else {
            (a.1, b.1 + HEIGHT)
        };
        let x = a.0 + side;
        (
            format!("M{x} {from}V{to}"),
            (x + 8, i32::midpoint(from, to)),
        )
    } else {
        let (left, right) = (a.0 + HALF, b.0 - HALF);
        let middle = i32::midpoint(left, right);
        if a.1 == b.1 {
            let y = a.1 + 80;
            (format!("M{left} {y}H{right}"), (middle - 26, y - 8))
        } else {
            let (from, to) = (a.1 + 250, b.1 + 160);
            let path = format!("M{left} {from}H{middle}V{to}H{right}");
            (path, (middle - 26, from - 8))
        }
    };
    writeln!(svg, "<path d=\"{path}\"/>")?;
    if !releases.is_empty() {
        // Narrow places: one word for a run of releases up to the newest.
        let words = match releases.strip_suffix(" to 1.37") {
            Some(since) => format!("{since} on"),
            None => releases.to_owned(),
        };
        text(svg, x, y, "l", &words)?;
    }
    Ok(())
}
