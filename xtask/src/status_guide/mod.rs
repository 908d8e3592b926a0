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
use serde_json::{Value, json};

use crate::generated::{Generated, replace_between_marks};
use states::{END, START, conditions, states, step};

const GUIDE: &str = "docs/reference/job-status.md";

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
                let rule = most_common(&denials(&request)?)?;
                let name = rule.id().trim_start_matches("job-status/");
                format!("no: [{name}](../../{})", rule.page_path())
            } else {
                format!("{accepting_releases}")
            };
            write!(text, " {cell} |")?;
        }
        text.push('\n');
    }
    Ok(text)
}

/// Writes the tables of changes: new and removed rules, and the writes whose verdict changed.
fn changes() -> Result<String> {
    let mut text = "| release | what changed |\n| --- | --- |\n".to_owned();
    for &release in Release::ALL {
        let links = |wanted: &dyn Fn(Release, Option<Release>) -> bool| {
            let is_wanted = |rule: &&&Rule| match *rule.source() {
                RuleSource::Upstream { since, until, .. } => wanted(since, until),
                RuleSource::Policy { .. } => false,
            };
            let link = |rule: &&Rule| format!("[`{}`](../../{})", rule.id(), rule.page_path());
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
        if !changed.is_empty() {
            writeln!(text, "| {release} | {} |", changed.join("; "))?;
        }
    }
    text.push_str("\n| write | accepted by |\n| --- | --- |\n");
    for (description, request) in changed_behavior() {
        writeln!(
            text,
            "| {description} | {} |",
            accepting_releases(&request)?
        )?;
    }
    Ok(text)
}

/// Returns updates that only some releases accept, because the condition of a rule changed.
fn changed_behavior() -> [(&'static str, Value); 5] {
    let suspended = json!({"suspend": true, "completions": 0});
    let complete = json!({"completionTime": END,
        "conditions": conditions(&[("SuccessCriteriaMet", "True"), ("Complete", "True")])});
    let resumed = |status: &str, start: &str| json!({"startTime": start, "conditions": conditions(&[("Suspended", status)])});
    let template = |pool: &str| json!({"suspend": true, "template": {"spec": {"nodeSelector": {"pool": pool}}}});
    let (a, b) = (template("a"), template("b"));
    [
        (
            "a suspended Job with `completions: 0` ends without a `startTime`",
            status_update(&suspended, &json!({}), &complete),
        ),
        (
            "`startTime` changes while `Suspended` goes from True to False",
            status_update(&json!({}), &resumed("True", START), &resumed("False", END)),
        ),
        (
            "the scheduling directives of a suspended Job change, after it started, if `Suspended` is True and no pod is active",
            spec_update(&a, &b, &resumed("True", START)),
        ),
        (
            "the scheduling directives of a suspended Job change, before it starts and before `Suspended` is True",
            spec_update(&a, &b, &json!({})),
        ),
        (
            "the scheduling directives of a suspended Job change, before it starts, while pods are active",
            spec_update(&a, &b, &json!({"active": 1})),
        ),
    ]
}

/// Returns the rule with which most releases deny.
fn most_common(denials: &[Denial]) -> Result<&'static Rule> {
    let most = denials
        .iter()
        .rev()
        .max_by_key(|d| d.releases.iter().count());
    Ok(most.context("no release denies the update")?.rule)
}
