//! The picture of the states.

#![expect(
    clippy::arithmetic_side_effects,
    reason = "coordinates of a picture of seven boxes"
)]

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::{Result, ensure};
use managed_by::{Anchor, ReleaseSet, Rule, rules};

use super::states::{NO_WAYS, State, WAYS, states, step};
use super::{guards, held, most_common};
use crate::releases::{accepting, denials};

/// The picture: the states with what is checked on the way into each, the ways between them, and the ways that are closed.
pub(super) fn picture() -> Result<String> {
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
