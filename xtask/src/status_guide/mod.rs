//! Generates the tables in `docs/reference/job-status.md`: a Job's status transitions, and the changes of each release.
//!
//! Transitions and changed behavior come from evaluating updates. New and removed rules come from the source of each rule.

mod states;

use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use managed_by::{Release, ReleaseSet, Rule, RuleSource, rules};
use managed_by_testing::read;
use managed_by_testing::releases::{
    Denial, accepting_releases, denials, spec_update, status_update,
};
use serde_json::json;

use crate::generated::{Generated, replace_between_marks};
use states::{END, START, conditions, states, step};

const GUIDE: &str = "docs/reference/job-status.md";

/// Generates the tables of the guide.
///
/// # Errors
/// If the guide cannot be read.
pub(crate) fn generated() -> Result<Vec<Generated>> {
    let guide = read(GUIDE)?;
    let guide = replace_between_marks(&guide, "transitions", &transitions()?)?;
    let guide = replace_between_marks(&guide, "releases", &changes()?)?;
    Ok(vec![Generated::new(GUIDE, guide)])
}

/// Writes the table of steps between states, with the releases that accept each.
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
            let accepting_releases = accepting_releases(&request)?;
            let cell = if accepting_releases == ReleaseSet::all() {
                "yes".to_owned()
            } else if accepting_releases.is_empty() {
                let id = most_common(&denials(&request)?)?.id();
                let name = id.trim_start_matches("job-status/");
                format!("no: [{name}](../rules/{id}.md)")
            } else {
                format!("{accepting_releases}")
            };
            write!(text, " {cell} |")?;
        }
        text.push('\n');
    }
    Ok(text)
}

/// Writes the table of changes: new and removed rules, and changed behavior.
fn changes() -> Result<String> {
    let mut text = "| release | what changed |\n| --- | --- |\n".to_owned();
    for &release in Release::ALL {
        let links = |wanted: &dyn Fn(Release, Option<Release>) -> bool| {
            let is_wanted = |rule: &&&Rule| match *rule.source() {
                RuleSource::Upstream { since, until, .. } => wanted(since, until),
                RuleSource::Policy { .. } => false,
            };
            let link = |rule: &&Rule| format!("[`{0}`](../rules/{0}.md)", rule.id());
            let links: Vec<_> = rules().iter().filter(is_wanted).map(link).collect();
            links.join(", ")
        };
        let mut changed = Vec::new();
        let new = links(&|since, _| since == release);
        if release > Release::V1_30 && !new.is_empty() {
            changed.push(format!("new: {new}"));
        }
        let removed = links(&|_, until| {
            let next = Release::ALL.iter().find(|r| Some(**r) > until);
            until.is_some() && next == Some(&release)
        });
        if !removed.is_empty() {
            changed.push(format!("removed: {removed}"));
        }
        changed.extend(changed_behavior(release)?);
        if !changed.is_empty() {
            writeln!(text, "| {release} | {} |", changed.join("; "))?;
        }
    }
    Ok(text)
}

/// Lists the updates that a release accepts or denies, unlike the release before it.
fn changed_behavior(release: Release) -> Result<Vec<String>> {
    let suspended = json!({"suspend": true, "completions": 0});
    let complete = json!({"completionTime": END,
        "conditions": conditions(&[("SuccessCriteriaMet", "True"), ("Complete", "True")])});
    let resumed = |status: &str, start: &str| json!({"startTime": start, "conditions": conditions(&[("Suspended", status)])});
    let template = |pool: &str| json!({"suspend": true, "template": {"spec": {"nodeSelector": {"pool": pool}}}});
    let (a, b) = (template("a"), template("b"));
    let updates = [
        (
            "a suspended Job with `completions: 0` may end without a `startTime`",
            status_update(&suspended, &json!({}), &complete),
        ),
        (
            "`startTime` may change in the write that takes `Suspended` from True to False",
            status_update(&json!({}), &resumed("True", START), &resumed("False", END)),
        ),
        (
            "the scheduling directives of a suspended Job that has started may change, if `Suspended` is True and no pod is active",
            spec_update(&a, &b, &resumed("True", START)),
        ),
        (
            "the scheduling directives of a suspended Job that has not started may change while pods are active",
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
    for (description, request) in updates {
        let accepting_releases = accepting_releases(&request)?;
        match (
            accepting_releases.contains(before),
            accepting_releases.contains(release),
        ) {
            (false, true) => lines.push(description.to_owned()),
            (true, false) => lines.push(format!("no longer: {description}")),
            _ => {}
        }
    }
    Ok(lines)
}

/// Returns the rule with which most releases deny.
///
/// # Errors
/// If there are no denials.
fn most_common(denials: &[Denial]) -> Result<&'static Rule> {
    let most = denials
        .iter()
        .rev()
        .max_by_key(|d| d.releases.iter().count());
    Ok(most.context("no release denies the update")?.rule)
}
