//! Rules about outcomes and other terminal states.

use super::CustomStatusChange;
use crate::description::{Rule, RuleCategory};
use crate::finding::BadValue;
use crate::kind::status::{
    CONDITIONS, DualOutcome, FailureReasons, OutcomeProfile, TerminalStates,
};
use crate::object::custom::Status;
use crate::rule::{Check, CheckFn, Findings};

pub(crate) static CHANGED: Check = Check::new(
    Rule::policy("status/outcome-changed", include_str!("outcome-changed.md"))
        .with_category(RuleCategory::ApiAndCustomKinds)
        .for_kinds(|kind| kind.status_profile_matches(|profile| profile.outcome.is_some())),
    CheckFn::CustomStatus(changed),
);

fn changed<'a>(status: &CustomStatusChange<'a>, findings: &mut Findings<'a>) {
    let (Some(outcome), Some(old)) = (&status.profile.outcome, status.old) else {
        return;
    };
    check_attempts(status, outcome, old, findings);
    if old.states.is_empty() {
        return;
    }
    let final_states = old.states.difference(status.leavable_states(outcome));
    if !check_states(status, outcome, final_states, findings) || status.new.states.is_empty() {
        return;
    }
    // The reason of an outcome must not change, even if the update may leave the outcome. The end time must be kept only if a state
    // is final.
    if !final_states.is_empty() || old.states.intersects(TerminalStates::OUTCOMES) {
        check_reason(status, outcome, old, findings);
    }
    if !final_states.is_empty() && check_end(status, old, findings) {
        check_final(status, outcome, final_states, findings);
    }
}

/// Checks that no earlier attempt is removed. Allowed if the workload is delegated and the old and new status have no terminal
/// state in common: the external controller then copies the status of a new run.
fn check_attempts<'a>(
    status: &CustomStatusChange<'a>,
    outcome: &OutcomeProfile<'a>,
    old: &Status<'a>,
    findings: &mut Findings<'a>,
) {
    let new = status.new;
    let is_new_run = status.is_delegated && !old.states.intersects(new.states);
    if let Some(attempts) = outcome.attempts
        && new.attempts < old.attempts
        && !is_new_run
    {
        findings.invalid(
            attempts.path,
            BadValue::Omitted,
            "cannot remove earlier attempts",
        );
    }
}

/// Checks that the workload stays in its final states. Returns true if it does.
fn check_states<'a>(
    status: &CustomStatusChange<'a>,
    outcome: &OutcomeProfile<'a>,
    final_states: TerminalStates,
    findings: &mut Findings<'a>,
) -> bool {
    let lost = final_states.difference(status.new.states);
    for (state, matcher) in outcome.terminal_states() {
        if let Some(matcher) = matcher.filter(|_| lost.contains(state)) {
            let verb = match state {
                TerminalStates::DEAD_END => "leave",
                _ => "revert the outcome",
            };
            let detail = format!("cannot {verb} {}", outcome.name(&matcher));
            findings.invalid(outcome.path(), BadValue::Omitted, detail);
        }
    }
    lost.is_empty()
}

/// Checks that the reason of an outcome does not change, such as `jobStatus` of a RayJob.
fn check_reason<'a>(
    status: &CustomStatusChange<'a>,
    outcome: &OutcomeProfile<'a>,
    old: &Status<'a>,
    findings: &mut Findings<'a>,
) {
    if let Some(reason) = &outcome.reason
        && old.reason.is_some()
        && status.new.reason != old.reason
    {
        let detail = "cannot change after the workload has finished";
        findings.invalid(reason.path(), BadValue::Omitted, detail);
    }
}

/// Checks that the end time is not removed. Returns true if it is not.
fn check_end<'a>(
    status: &CustomStatusChange<'a>,
    old: &Status<'a>,
    findings: &mut Findings<'a>,
) -> bool {
    let Some(end) = &status.profile.end else {
        return true;
    };
    let is_removed = old.end.is_some() && status.new.end.is_none();
    if is_removed {
        let detail = "cannot be removed after the workload has finished";
        findings.invalid(end.path, BadValue::Omitted, detail);
    }
    !is_removed
}

/// Rejects a new status that makes final states revertible: two updates could then make a forbidden transition.
fn check_final<'a>(
    status: &CustomStatusChange<'a>,
    outcome: &OutcomeProfile<'a>,
    final_states: TerminalStates,
    findings: &mut Findings<'a>,
) {
    let repeated = CustomStatusChange {
        old: Some(status.new),
        ..*status
    };
    if final_states.intersects(repeated.leavable_states(outcome)) {
        let detail = "would allow a later update to leave a final state";
        findings.invalid(outcome.path(), BadValue::Omitted, detail);
    }
}

pub(crate) static SUCCEEDED_AND_FAILED: Check = Check::new(
    Rule::policy(
        "status/succeeded-and-failed",
        include_str!("succeeded-and-failed.md"),
    )
    .for_kinds(|kind| {
        kind.status_profile_matches(|profile| {
            profile.outcome.is_some_and(|outcome| {
                !outcome.outcomes_are_exclusive() && outcome.dual != DualOutcome::Allowed
            })
        })
    }),
    CheckFn::CustomStatus(succeeded_and_failed),
);

fn succeeded_and_failed<'a>(status: &CustomStatusChange<'a>, findings: &mut Findings<'a>) {
    let Some(outcome) = status
        .profile
        .outcome
        .as_ref()
        .filter(|o| !o.outcomes_are_exclusive())
    else {
        return;
    };
    let (new, old) = (status.new, status.old_or_empty());
    match outcome.dual {
        DualOutcome::Never => {}
        // A stored object doesn't show which outcome came first.
        DualOutcome::AfterSuccess
            if status.old.is_some() && !old.states.contains(TerminalStates::SUCCEEDED) => {}
        DualOutcome::AfterSuccess | DualOutcome::Allowed => return,
    }
    let both = TerminalStates::OUTCOMES;
    if let (Some(success), Some(failure)) = (outcome.success, outcome.failure)
        && new.states.contains(both)
        && !old.states.contains(both)
        && !new
            .failure_reasons
            .contains(FailureReasons::DEADLINE_EXCEEDED)
    {
        let (success, failure) = (outcome.name(&success), outcome.name(&failure));
        let detail = format!("cannot be both {success} and {failure}");
        findings.invalid(outcome.path(), BadValue::Omitted, detail);
    }
}

pub(crate) static TERMINAL_STATE: Check = Check::new(
    Rule::policy(
        "status/terminal-state-mismatch",
        include_str!("terminal-state-mismatch.md"),
    )
    .for_kinds(|kind| kind.status_profile_matches(|profile| profile.terminal_state.is_some())),
    CheckFn::CustomStatus(terminal_state),
);

fn terminal_state<'a>(status: &CustomStatusChange<'a>, findings: &mut Findings<'a>) {
    let profile = status.profile;
    let (Some(path), Some(outcome)) = (profile.terminal_state, &profile.outcome) else {
        return;
    };
    let (new, old) = (status.new, status.old_or_empty());
    let terminal_state = new
        .terminal_state
        .as_deref()
        .filter(|value| !value.is_empty());
    let Some(value) = terminal_state else {
        return;
    };
    if old.terminal_state == new.terminal_state && old.states == new.states {
        return;
    }
    let (Some(success), Some(failure)) = (outcome.success, outcome.failure) else {
        return;
    };
    let names = [
        (TerminalStates::SUCCEEDED, success),
        (TerminalStates::FAILED, failure),
    ];
    let agrees = names
        .iter()
        .any(|(state, matcher)| outcome.name(matcher) == value && new.states.contains(*state));
    if !agrees {
        let [success, failure] = names.map(|(_, matcher)| outcome.name(&matcher));
        let detail =
            format!("must be {success} or {failure}, and the condition of that type must be True");
        findings.invalid(path, BadValue::String(value.into()), detail);
    }
}

pub(crate) static EXCLUSIVE: Check = Check::new(
    Rule::policy(
        "status/mutually-exclusive-conditions",
        include_str!("mutually-exclusive-conditions.md"),
    )
    .for_kinds(|kind| kind.status_profile_matches(|profile| profile.exclusive.is_some())),
    CheckFn::CustomStatus(exclusive),
);

fn exclusive<'a>(status: &CustomStatusChange<'a>, findings: &mut Findings<'a>) {
    let Some((first, second)) = status.profile.exclusive else {
        return;
    };
    let both = (true, true);
    if status.new.exclusive == both && status.old_or_empty().exclusive != both {
        let detail = format!("{first} and {second} cannot be true at the same time");
        findings.invalid(CONDITIONS, BadValue::Omitted, detail);
    }
}
