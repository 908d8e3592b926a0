//! The pictures of `docs/pictures/` are drawn by hand. These tests read what `kinds`, `releases`, `first-screen`, `job-status` and
//! `job-checks` say, and compare it with the library.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that panics has failed"
)]

use std::collections::{BTreeMap, BTreeSet};

use managed_by::{
    AdmissionRequest, Anchor, Enforcement, Form, Holder, Kind, Release, ReleaseSet, Rule, Settings,
    kinds, review, rule, rules,
};
use serde_json::{Value, json};
use xtask::kinds::name;
use xtask::releases::{accepting, denials};
use xtask::status_guide::{END, State, most_common, states, step};

fn read(path: &str) -> String {
    std::fs::read_to_string(xtask::root(path)).unwrap()
}

fn picture(name: &str) -> String {
    read(&format!("docs/pictures/{name}.svg"))
}

/// The texts of a picture, each with its class.
fn texts(svg: &str) -> impl Iterator<Item = (&str, &str)> {
    svg.lines().filter_map(|line| {
        let (_, rest) = line.strip_prefix("<text ")?.split_once("class=\"")?;
        let (class, rest) = rest.split_once('"')?;
        let (_, text) = rest.split_once('>')?;
        Some((class, text.strip_suffix("</text>")?))
    })
}

/// The value of an attribute.
fn attribute<'e>(element: &'e str, name: &str) -> Option<&'e str> {
    let (_, rest) = element.split_once(&format!(" {name}=\""))?;
    rest.split('"').next()
}

/// The headings of a drawn table, by the middle of their columns; the last of `kinds` has its left edge.
fn headings(svg: &str) -> BTreeMap<usize, String> {
    let mut headings: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
    for line in svg.lines() {
        if line.starts_with("<text class=\"small strong") {
            let (_, text) = line.trim_end_matches("</text>").split_once('>').unwrap();
            let column = attribute(line, "x").unwrap().parse().unwrap();
            headings.entry(column).or_default().push(text);
        }
    }
    let joined = headings.into_iter().map(|(x, lines)| (x, lines.join(" ")));
    joined
        .map(|(x, text)| (x, text.trim().to_owned()))
        .collect()
}

/// The rows of a drawn table, from above: its texts, and the names of the cells that it uses, which say them and stand at these
/// places.
fn rows<'s>(svg: &'s str, columns: &[usize]) -> Vec<Vec<&'s str>> {
    for cell in svg.lines().filter(|line| line.starts_with("<g id")) {
        let name = attribute(cell, "id").unwrap();
        assert!(cell.ends_with(&format!(">{name}</text></g>")), "{cell}");
    }
    let mut above = 0;
    let rows = svg.lines().filter(|line| line.starts_with("<g transform"));
    rows.map(|row| {
        let place = attribute(row, "transform").unwrap();
        let place = place.trim_start_matches("translate(0 ");
        let place = place.trim_end_matches(')').parse().unwrap();
        assert!(place > above, "{row}");
        above = place;
        let mut columns = columns.iter();
        let elements = row.split('<').filter_map(|element| {
            let Some(used) = attribute(element, "href") else {
                return Some(element.split_once('>')?.1).filter(|text| !text.is_empty());
            };
            let column = attribute(element, "x").unwrap().parse().ok();
            assert_eq!(column.as_ref(), columns.next(), "{row}");
            used.strip_prefix('#')
        });
        elements.collect()
    })
    .collect()
}

/// Who checks what of a kind, in the words of the picture.
fn checked(kind: &Kind<'_>) -> Vec<String> {
    let here = |id: &str| {
        let rule = rule(id).filter(|rule| rule.applies_to(kind));
        match rule.map(Rule::default_enforcement) {
            Some(Enforcement::Deny) => "denies",
            Some(Enforcement::Warn) => "warns",
            Some(Enforcement::Off) | None => "none",
        }
    };
    // kube-apiserver has all of them for a Job, and the policy as well.
    let is_job = kind.is_built_in() && kind.holder() == Holder::Workload;
    let here_or_there = |id: &str| if is_job { "upstream" } else { here(id) };
    let form = match kind.form() {
        Form::Path | Form::OneOf(_) => "upstream",
        Form::Open => here("managed-by/unchecked-format"),
    };
    // The allow-list, and the writers with it.
    let allowed = rule("managed-by/allowed").filter(|rule| rule.applies_to(kind));
    let settings = if allowed.is_some() {
        "settings"
    } else {
        "none"
    };
    let cells = [
        form,
        here_or_there("managed-by/immutable"),
        here("managed-by/reserved-domain"),
        here("managed-by/nested"),
        here_or_there("status/outcome-changed"),
        here_or_there("status/negative-counter"),
        here_or_there("status/end-before-start"),
        settings,
    ];
    let mut row = vec![name(kind)];
    row.extend(cells.map(ToOwned::to_owned));
    let pruned = kind.pruned_in();
    if !kind.steps_back() {
        row.extend(["gap", "its controller ignores the field"].map(ToOwned::to_owned));
    } else if !pruned.is_empty() {
        row.push("gap".to_owned());
        row.push(format!(
            "writes through {} drop the field",
            pruned.join(", ")
        ));
    }
    row
}

#[test]
fn who_checks_what_of_each_kind() {
    let expected: Vec<_> = kinds().iter().map(|kind| checked(kind)).collect();
    let svg = picture("kinds");
    let columns = [150, 232, 314, 396, 478, 560, 642, 724, 814];
    assert_eq!(rows(&svg, &columns), expected);
    let expected = [
        (188, "form of the value"),
        (270, "no change of the field"),
        (352, "typos"),
        (434, "orphaned children"),
        (516, "outcome is final"),
        (598, "counters"),
        (680, "times"),
        (762, "allow-list, writers"),
        (814, "known gap"),
    ];
    let expected = expected.map(|(x, text)| (x, text.to_owned()));
    assert_eq!(headings(&svg), BTreeMap::from(expected));
}

/// What a release says to the rejected example of a rule, if the rule denies it there.
fn error(rule: &Rule, release: Release) -> Option<String> {
    let request = rule.documentation().rejected.request;
    let request = AdmissionRequest::from_json(request.as_bytes()).unwrap();
    // With the rules that are off by default.
    let settings = Settings::for_release(release).for_tools();
    let verdict = review(&request, &settings);
    let mut found = verdict.findings.iter().map(|(_, finding)| finding);
    let found = found.find(|finding| finding.rule() == rule);
    found.map(|finding| finding.denial(release))
}

/// A letter for each release that denies the rule's example: the same letter for the same text.
#[test]
fn what_each_release_answers() {
    let mut expected = Vec::new();
    for rule in rules().iter().filter(|rule| rule.is_upstream()) {
        let mut row = vec![rule.id()];
        let mut known: Vec<String> = Vec::new();
        for &release in Release::ALL {
            let Some(text) = error(rule, release) else {
                row.push("none");
                continue;
            };
            if !known.contains(&text) {
                known.push(text.clone());
            }
            let place = known.iter().position(|known| *known == text).unwrap();
            row.push(["A", "B", "C"][place]);
        }
        expected.push(row);
    }
    let svg = picture("releases");
    let columns: Vec<_> = (470..).step_by(56).take(Release::ALL.len()).collect();
    assert_eq!(rows(&svg, &columns), expected);
    let middles = (496..).step_by(56);
    let all = Release::ALL.iter().map(ToString::to_string);
    assert_eq!(headings(&svg), middles.zip(all).collect());
    let range = format!("the releases of Kubernetes from {}.", ReleaseSet::all());
    assert!(svg.contains(&range), "{range}");
    let since = "From 1.32 on, ";
    let mut changed: Vec<_> = rules().iter().filter(|rule| rule.is_upstream()).collect();
    changed.retain(|rule| rule.documentation().text.contains(since));
    let changed: Vec<_> = changed.iter().map(|rule| rule.id()).collect();
    let footer = format!(
        ">{since}{} exempt more suspended Jobs.<",
        changed.join(" and ")
    );
    assert!(svg.contains(&footer), "{footer}");
}

/// The terminal shows what the README shows, which `make record` writes, in its lines and to those who do not see it.
#[test]
fn the_first_screen_is_that_of_the_readme() {
    let readme = read("README.md");
    let mut shown = String::new();
    for mark in ["without", "with"] {
        let (_, rest) = readme.split_once(&format!("<!-- {mark} -->\n")).unwrap();
        let (_, rest) = rest.split_once("```text\n").unwrap();
        shown += rest.split_once("```").unwrap().0;
    }
    let svg = picture("first-screen")
        .replace("&lt;", "<")
        .replace("&amp;", "&");
    let code = texts(&svg).filter(|(class, _)| class.starts_with("code"));
    let drawn: Vec<_> = code.flat_map(|(_, text)| text.split_whitespace()).collect();
    assert_eq!(drawn, shown.split_whitespace().collect::<Vec<_>>());
    let spoken = svg
        .split("<desc")
        .nth(1)
        .unwrap()
        .split("</desc>")
        .next()
        .unwrap();
    for line in shown.lines() {
        assert!(spoken.contains(line.trim_start_matches("$ ")), "{line}");
    }
    // Of the programs that the other targets ran.
    let ran = read("docs/testing.md");
    let version = |program: &str| {
        let mut rows = ran.lines();
        let row = rows.find_map(|row| row.strip_prefix(&format!("| {program} | ")));
        row.unwrap().trim_end_matches(" |")
    };
    let versions = format!(
        " with kube-apiserver Kubernetes v{} and policy-server {}.</text>",
        version("kube-apiserver"),
        version("PolicyServer"),
    );
    assert!(svg.contains(&versions), "{versions}");
}

fn state(name: &str) -> State {
    let mut states = states().into_iter();
    states
        .find(|state| state.name == name)
        .unwrap_or_else(|| panic!("{name}: no state"))
}

/// A rule as the pictures name it.
fn title(rule: &Rule) -> String {
    rule.documentation().title.replace('`', "")
}

/// The arrows, by their ids, each with the label that stands behind it in the file.
fn arrows(svg: &str) -> impl Iterator<Item = (&str, &str, Option<&str>)> {
    svg.split("<path id=\"").skip(1).map(|arrow| {
        let (from, rest) = arrow.split_once('-').unwrap();
        let (to, rest) = rest.split_once('"').unwrap();
        let label = rest.split_once("class=\"l\">");
        (
            from,
            to,
            label.and_then(|(_, label)| label.split('<').next()),
        )
    })
}

/// Of the steps that the releases accept, those that the Job controller takes.
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

/// Steps that look possible and are not.
const NO_WAYS: [(&str, &str); 6] = [
    ("Complete", "Running"),
    ("Failed", "Running"),
    ("Failing", "Complete"),
    ("Complete", "Failed"),
    ("Succeeding", "Running"),
    ("Succeeding", "Failing"),
];

#[test]
fn the_ways_of_a_job_are_accepted_and_the_others_are_not() {
    let svg = picture("job-status");
    let drawn = texts(&svg).filter(|(class, _)| *class == "n");
    let drawn: BTreeSet<_> = drawn.map(|(_, name)| name).collect();
    assert_eq!(drawn, states().iter().map(|state| state.name).collect());
    let ways: Vec<_> = arrows(&svg).map(|(from, to, _)| (from, to)).collect();
    assert_eq!(ways, WAYS);
    for (from, to, label) in arrows(&svg) {
        let accepting = accepting(&step(&state(from), &state(to))).unwrap();
        assert!(!accepting.is_empty(), "{from} to {to}");
        let some = (accepting != ReleaseSet::all()).then(|| accepting.to_string());
        let some = some.map(|some| some.replace(" to 1.37", " on"));
        assert_eq!(label, some.as_deref(), "{from} to {to}");
    }
    assert_eq!(WAYS.len(), svg.matches("\n<path ").count());
    let headings = texts(&svg).filter(|(class, _)| *class == "h");
    let headings: Vec<_> = headings.map(|(_, text)| text).collect();
    assert_eq!(headings, ["No way, whatever else is right"]);
    let mut no_ways = Vec::new();
    // Below its rule stands each way that looks possible and is not.
    let mut rule = String::new();
    for (class, text) in texts(&svg) {
        match class {
            "r" => text.clone_into(&mut rule),
            "c" => rule.extend([" ", text]),
            "no" => {
                let (from, to) = text.trim_start_matches("✗ ").split_once(" → ").unwrap();
                no_ways.push((from, to));
                let request = step(&state(from), &state(to));
                assert!(accepting(&request).unwrap().is_empty(), "{text}");
                let denials = denials(&request).unwrap();
                assert_eq!(rule, title(most_common(&denials).unwrap()) + ":", "{text}");
            }
            _ => {}
        }
    }
    assert_eq!(no_ways, NO_WAYS);
}

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
    let changes = left_out.chain(wrong);
    let mut changes: Vec<_> = changes
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
    format!("• {}{releases}", title(rule))
}

/// A box shows what is checked on the way into each state that its heading names, but for what a box above it shows for all of them.
#[test]
fn what_is_checked_on_the_way_into_each_state() {
    let mut guarded: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
    for (from, to, _) in arrows(&picture("job-status")) {
        let into = guarded.entry(to.to_owned()).or_default();
        into.extend(guards(&state(from), &state(to)));
    }
    let svg = picture("job-checks");
    let mut boxes: Vec<(String, Vec<String>)> = Vec::new();
    for (class, text) in texts(&svg) {
        match (class, boxes.last_mut()) {
            ("h", _) => boxes.push((text.to_owned(), Vec::new())),
            ("h c", Some((heading, _))) => heading.extend([" ", text]),
            ("r", Some((_, lines))) => lines.push(text.to_owned()),
            ("c", Some((_, lines))) => lines.last_mut().unwrap().extend([" ", text]),
            _ => panic!("{class}: {text}"),
        }
    }
    for (heading, lines) in boxes {
        let named = heading.trim_start_matches("Into ").replace(" and ", ", ");
        let states: Vec<_> = match &*heading {
            "On every step into another state" => guarded.keys().cloned().collect(),
            _ => named.split(", ").map(ToOwned::to_owned).collect(),
        };
        let into = states.iter().map(|name| guarded[name].clone());
        let common = into.reduce(|a, b| &a & &b).unwrap();
        for name in states {
            guarded
                .get_mut(&name)
                .unwrap()
                .retain(|p| !common.contains(p));
        }
        let expected: Vec<_> = common.into_iter().map(line).collect();
        assert_eq!(lines, expected, "{heading}");
    }
    assert!(guarded.values().all(BTreeSet::is_empty), "{guarded:?}");
}
