//! When a workload starts and ends.

use super::Transition;
use crate::description::{Enforcement, Rule};
use crate::finding::{BadValue, FieldError};
use crate::kind::status::TerminalStates;
use crate::rule::{Check, Findings, Run};

/// Two machines may write the two times (Tekton: "in case node time was not synchronized"), so that a minute is no
/// finding.
const CLOCK_SKEW: i64 = 60;

pub(crate) static BEFORE_START: Check = Check::new(
    Rule::ours(
        "status/end-before-start",
        include_str!("end-before-start.md"),
    )
    .of_kinds(|kind| kind.promises(|profile| profile.end.is_some())),
    Run::CustomStatus(before_start),
);

fn before_start<'a>(status: &Transition<'a>, findings: &mut Findings<'a>) {
    let Some(end) = &status.profile.end else {
        return;
    };
    let (new, old) = (status.new, status.before());
    let changed = (new.start, new.end) != (old.start, old.end);
    let early = new.start.zip(new.end);
    if changed && early.is_some_and(|(start, end)| end.later_by(CLOCK_SKEW) < start) {
        let start = status.profile.start.unwrap_or_default();
        let name = start.rsplit('.').next().unwrap_or_default();
        let detail = format!("must be equal to or after `{name}`");
        findings.invalid(end.path, BadValue::Time(new.end), detail);
    }
}

pub(crate) static WITHOUT_OUTCOME: Check = Check::new(
    Rule::ours(
        "status/end-without-outcome",
        include_str!("end-without-outcome.md"),
    )
    .by_default(Enforcement::Warn)
    .of_kinds(|kind| {
        kind.promises(|profile| profile.end.as_ref().is_some_and(|end| end.needs_outcome))
    }),
    Run::CustomStatus(without_outcome),
);

fn without_outcome<'a>(status: &Transition<'a>, findings: &mut Findings<'a>) {
    let Some(end) = status.profile.end.as_ref().filter(|e| e.needs_outcome) else {
        return;
    };
    let (new, old) = (status.new, status.before());
    let is_over = |ends: TerminalStates| ends.intersects(TerminalStates::OUTCOMES);
    let changed = new.end != old.end || is_over(old.ends);
    if changed && new.end.is_some() && !is_over(new.ends) {
        let detail = "must not be set before there is an outcome";
        findings.invalid(end.path, BadValue::Time(new.end), detail);
    }
}

pub(crate) static WITHOUT_END: Check = Check::new(
    Rule::ours(
        "status/outcome-without-end",
        include_str!("outcome-without-end.md"),
    )
    .by_default(Enforcement::Warn)
    .of_kinds(|kind| {
        kind.promises(|profile| {
            profile
                .end
                .as_ref()
                .is_some_and(|end| !end.required_by.is_empty())
        })
    }),
    Run::CustomStatus(without_end),
);

fn without_end<'a>(status: &Transition<'a>, findings: &mut Findings<'a>) {
    let Some(end) = &status.profile.end else {
        return;
    };
    let (new, old) = (status.new, status.before());
    let requiring = |ends: TerminalStates| ends.intersects(end.required_by);
    let changed = new.end.is_some() != old.end.is_some() || requiring(new.ends ^ old.ends);
    if changed && new.end.is_none() && requiring(new.ends) {
        let detail = "must be set with the outcome";
        findings.push(FieldError::required(end.path, detail));
    }
}
