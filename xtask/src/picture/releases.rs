//! Releases and upstream rules: what each release answers to the rejected example of each rule.

use anyhow::{Context as _, Result};
use managed_by::{AdmissionRequest, Release, Rule, Settings, review, rules};

use super::canvas::Canvas;

/// Names for different error texts of one rule, in the order of the releases.
const TEXTS: [&str; 5] = ["A", "B", "C", "D", "E"];

/// What a release says to the rejected example of a rule, if the rule denies it there.
fn error(rule: &Rule, release: Release) -> Result<Option<String>> {
    let request = rule.documentation().rejected.request;
    let request = AdmissionRequest::from_json(request.as_bytes())?;
    // With the rules that are off by default.
    let settings = Settings::for_release(release).for_tools();
    let verdict = review(&request, &settings);
    let found = verdict
        .findings
        .iter()
        .find(|(_, finding)| finding.rule() == rule);
    Ok(found.map(|(_, finding)| finding.denial(release)))
}

pub(super) fn draw() -> Result<String> {
    const LEFT: i32 = 470;
    const CELL: (i32, i32) = (52, 20);
    const TOP: i32 = 84;
    let upstream: Vec<_> = rules().iter().filter(|rule| rule.is_upstream()).collect();
    let rows = i32::try_from(upstream.len())?;
    let height = TOP + rows * (CELL.1 + 3) + 56;
    let description = "A table. Rows: every upstream rule. Columns: the releases of Kubernetes from 1.30 to 1.37. A cell with a letter: \
        this release denies the rejected example of the rule. Two cells of a row with the same letter have the same error text. \
        An empty cell: this release does not have the rule. Each rule's page lists its releases.";
    let mut canvas = Canvas::new(940, height, "Upstream rules in each release", description);
    canvas.text((16, 34), "title", "Upstream rules in each release");
    for (column, release) in (0_i32..).zip(Release::ALL) {
        let x = LEFT + column * (CELL.0 + 4) + CELL.0 / 2;
        canvas.text((x, 68), "small strong middle", release.as_str());
    }
    for (row, rule) in (0_i32..).zip(&upstream) {
        let y = TOP + row * (CELL.1 + 3);
        canvas.text((16, y + 15), "code", rule.id());
        let mut texts: Vec<String> = Vec::new();
        for (column, release) in (0_i32..).zip(Release::ALL) {
            let message = error(rule, *release)?;
            let at = (LEFT + column * (CELL.0 + 4), y);
            let Some(message) = message else {
                canvas.text((at.0 + CELL.0 / 2, y + 15), "small muted middle", "–");
                continue;
            };
            let index = texts
                .iter()
                .position(|text| *text == message)
                .unwrap_or_else(|| {
                    texts.push(message);
                    texts.len() - 1
                });
            let letter = TEXTS.get(index).context("too many texts")?;
            let class = ["blue", "green", "amber", "red", "plain"]
                .get(index)
                .unwrap_or(&"plain");
            canvas.labelled(at, CELL, class, letter);
        }
    }
    canvas.text(
        (16, height - 30),
        "small",
        "A letter: the release denies the rule's example. The same letter: the same error text.  –  the release does not have the rule.",
    );
    canvas.text(
        (16, height - 12),
        "small muted",
        "From 1.32 on, job-status/finished-without-start-time and job-status/start-time-changed exempt more suspended Jobs.",
    );
    Ok(canvas.finish())
}
