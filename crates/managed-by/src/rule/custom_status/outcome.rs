//! How a workload ends.

use std::borrow::Cow;

use super::Transition;
use crate::description::{Rule, Scope};
use crate::finding::BadValue;
use crate::kind::status::{Both, CONDITIONS, Ends, FailureNotes};
use crate::rule::{Check, Findings, Run};

pub(crate) static CHANGED: Check = Check::new(
    Rule::ours("status/outcome-changed", include_str!("outcome-changed.md"))
        .in_scope(Scope::Promise)
        .of_kinds(|kind| kind.promises(|profile| profile.outcome.is_some())),
    Run::CustomStatus(changed),
);

fn changed<'a>(status: &Transition<'a>, findings: &mut Findings<'a>) {
    let (Some(outcome), Some(old)) = (&status.profile.outcome, status.old) else {
        return;
    };
    let new = status.new;
    let mut invalid = |path: &'a str, detail: Cow<'static, str>| {
        findings.invalid(path, BadValue::Omitted, detail);
    };
    // A status that another controller copies may start over, with its attempts, unless it has an outcome.
    let is_new_run = status.is_delegated && !old.ends.intersects(new.ends);
    if let Some(attempts) = outcome.attempts
        && new.attempts < old.attempts
        && !is_new_run
    {
        invalid(attempts.path, "cannot lose an attempt".into());
    }
    if old.ends.is_empty() {
        return;
    }
    let is_final = old.ends.difference(status.leaves(outcome.exits));
    let lost = is_final.difference(new.ends);
    for (end, what, sign) in [
        (Ends::SUCCESS, "take back the outcome", outcome.success),
        (Ends::FAILURE, "take back the outcome", outcome.failure),
        (Ends::DEAD_END, "leave", outcome.dead_end),
    ] {
        if let Some(sign) = sign.filter(|_| lost.contains(end)) {
            let name = outcome.name(&sign);
            invalid(outcome.path(), format!("cannot {what} {name}").into());
        }
    }
    // What goes with an outcome is lost with it, or was never final.
    let was_outcome = old.ends.intersects(Ends::OUTCOMES) || !is_final.is_empty();
    if !lost.is_empty() || new.ends.is_empty() || !was_outcome {
        return;
    }
    if let Some(reason) = &outcome.reason
        && old.reason.is_some()
        && new.reason != old.reason
    {
        let detail = "cannot change once there is an outcome";
        invalid(reason.path(), detail.into());
    }
    if let Some(end) = &status.profile.end
        && !is_final.is_empty()
        && old.end.is_some()
        && new.end.is_none()
    {
        invalid(end.path, "cannot be taken away from an outcome".into());
        return;
    }
    // The first of two steps: in the second the outcome might go.
    let next = Transition {
        old: Some(new),
        ..*status
    };
    if (is_final & new.ends).intersects(next.leaves(outcome.exits)) {
        let detail = "cannot become an outcome that may be taken back";
        invalid(outcome.path(), detail.into());
    }
}

pub(crate) static BOTH: Check = Check::new(
    Rule::ours("status/two-outcomes", include_str!("two-outcomes.md")).of_kinds(|kind| {
        kind.promises(|profile| {
            profile.outcome.is_some_and(|outcome| {
                outcome.can_be_both() && matches!(outcome.both, Both::Never | Both::AfterSuccess)
            })
        })
    }),
    Run::CustomStatus(both),
);

fn both<'a>(status: &Transition<'a>, findings: &mut Findings<'a>) {
    let Some(outcome) = status.profile.outcome.as_ref().filter(|o| o.can_be_both()) else {
        return;
    };
    let (new, old) = (status.new, status.before());
    match outcome.both {
        Both::Never => {}
        // An object that is replayed as a create does not say which outcome came first.
        Both::AfterSuccess if status.old.is_some() && !old.ends.contains(Ends::SUCCESS) => {}
        Both::AfterSuccess | Both::Allowed => return,
    }
    let both = Ends::OUTCOMES;
    let is_noted = new.notes.contains(FailureNotes::BESIDE_SUCCESS);
    if let (Some(success), Some(failure)) = (outcome.success, outcome.failure)
        && new.ends.contains(both)
        && !old.ends.contains(both)
        && !is_noted
    {
        let (success, failure) = (outcome.name(&success), outcome.name(&failure));
        let detail = format!("cannot be both {success} and {failure}");
        findings.invalid(outcome.path(), BadValue::Omitted, detail);
    }
}

pub(crate) static TERMINAL_STATE: Check = Check::new(
    Rule::ours("status/terminal-state", include_str!("terminal-state.md"))
        .of_kinds(|kind| kind.promises(|profile| profile.terminal_state.is_some())),
    Run::CustomStatus(terminal_state),
);

fn terminal_state<'a>(status: &Transition<'a>, findings: &mut Findings<'a>) {
    let profile = status.profile;
    let (Some(path), Some(outcome)) = (profile.terminal_state, &profile.outcome) else {
        return;
    };
    let (new, old) = (status.new, status.before());
    let word = new
        .terminal_state
        .as_deref()
        .filter(|word| !word.is_empty());
    let Some(word) = word else {
        return;
    };
    if old.terminal_state == new.terminal_state && old.ends == new.ends {
        return;
    }
    let (Some(success), Some(failure)) = (outcome.success, outcome.failure) else {
        return;
    };
    let names = [(Ends::SUCCESS, success), (Ends::FAILURE, failure)];
    let agrees = names
        .iter()
        .any(|(end, sign)| outcome.name(sign) == word && new.ends.contains(*end));
    if !agrees {
        let [success, failure] = names.map(|(_, sign)| outcome.name(&sign));
        let detail =
            format!("must be {success} or {failure}, with the condition of that name true");
        findings.invalid(path, BadValue::String(word.into()), detail);
    }
}

pub(crate) static EXCLUSIVE: Check = Check::new(
    Rule::ours(
        "status/exclusive-conditions",
        include_str!("exclusive-conditions.md"),
    )
    .of_kinds(|kind| kind.promises(|profile| profile.exclusive.is_some())),
    Run::CustomStatus(exclusive),
);

fn exclusive<'a>(status: &Transition<'a>, findings: &mut Findings<'a>) {
    let Some((first, second)) = status.profile.exclusive else {
        return;
    };
    let both = (true, true);
    if status.new.exclusive == both && status.before().exclusive != both {
        let detail = format!("{first} and {second} cannot be true at the same time");
        findings.invalid(CONDITIONS, BadValue::Omitted, detail);
    }
}
