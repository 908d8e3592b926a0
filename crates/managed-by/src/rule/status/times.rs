//! Rules about start and end times.

use super::CustomStatusChange;
use crate::description::{Enforcement, Rule};
use crate::finding::{BadValue, FieldError};
use crate::kind::status::TerminalStates;
use crate::rule::{Check, CheckFn, Findings};

/// Tolerated clock skew in seconds: different machines may write the two times (Tekton: "in case node time was not synchronized").
const CLOCK_SKEW: i64 = 60;

pub(crate) static COMPLETION_TIME_BEFORE_START_TIME: Check = Check::new(
    Rule::policy(
        "status/completion-time-before-start-time",
        include_str!("completion-time-before-start-time.md"),
    )
    .for_kinds(|kind| kind.status_profile_matches(|profile| profile.end.is_some())),
    CheckFn::CustomStatus(end_before_start),
);

fn end_before_start<'a>(status: &CustomStatusChange<'a>, findings: &mut Findings<'a>) {
    let Some(end) = &status.profile.end else {
        return;
    };
    let (new, old) = (status.new, status.old_or_empty());
    let changed = (new.start, new.end) != (old.start, old.end);
    let times = new.start.zip(new.end);
    if changed && times.is_some_and(|(start, end)| end.add_seconds(CLOCK_SKEW) < start) {
        let start = status.profile.start.unwrap_or_default();
        let name = start.rsplit('.').next().unwrap_or_default();
        let detail = format!("must be equal to or after `{name}`");
        findings.invalid(end.path, BadValue::Time(new.end), detail);
    }
}

pub(crate) static UNFINISHED_WITH_COMPLETION_TIME: Check = Check::new(
    Rule::policy(
        "status/unfinished-with-completion-time",
        include_str!("unfinished-with-completion-time.md"),
    )
    .with_default(Enforcement::Warn)
    .for_kinds(|kind| {
        kind.status_profile_matches(|profile| {
            profile.end.as_ref().is_some_and(|end| end.needs_outcome)
        })
    }),
    CheckFn::CustomStatus(end_without_outcome),
);

fn end_without_outcome<'a>(status: &CustomStatusChange<'a>, findings: &mut Findings<'a>) {
    let Some(end) = status.profile.end.as_ref().filter(|e| e.needs_outcome) else {
        return;
    };
    let (new, old) = (status.new, status.old_or_empty());
    let has_outcome = |states: TerminalStates| states.intersects(TerminalStates::OUTCOMES);
    let changed = new.end != old.end || has_outcome(old.states);
    if changed && new.end.is_some() && !has_outcome(new.states) {
        let detail = "must not be set before the outcome";
        findings.invalid(end.path, BadValue::Time(new.end), detail);
    }
}

pub(crate) static FINISHED_WITHOUT_COMPLETION_TIME: Check = Check::new(
    Rule::policy(
        "status/finished-without-completion-time",
        include_str!("finished-without-completion-time.md"),
    )
    .with_default(Enforcement::Warn)
    .for_kinds(|kind| {
        kind.status_profile_matches(|profile| {
            profile
                .end
                .as_ref()
                .is_some_and(|end| !end.required_by.is_empty())
        })
    }),
    CheckFn::CustomStatus(outcome_without_end),
);

fn outcome_without_end<'a>(status: &CustomStatusChange<'a>, findings: &mut Findings<'a>) {
    let Some(end) = &status.profile.end else {
        return;
    };
    let (new, old) = (status.new, status.old_or_empty());
    let requires_end = |states: TerminalStates| states.intersects(end.required_by);
    let changed = new.end.is_some() != old.end.is_some() || requires_end(new.states ^ old.states);
    if changed && new.end.is_none() && requires_end(new.states) {
        let detail = "must be set with the outcome";
        findings.push(FieldError::required(end.path, detail));
    }
}
