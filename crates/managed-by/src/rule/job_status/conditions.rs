//! Conditions: what excludes what, what needs what, and what is final.

use super::{NEWEST, StatusChange, status_rule, status_update};
use crate::description::{Anchor, Docs, Documentation, Enforcement, Example, Rule, Scope};
use crate::finding::{BadValue, FieldError};
use crate::object::job::{ConditionTypes, JobStatus};
use crate::release::Release;
use crate::rule::{Check, Findings, Run};

const PATH: &str = "status.conditions";

fn invalid(detail: &'static str) -> FieldError<'static> {
    FieldError::invalid(PATH, BadValue::Omitted, detail)
}

status_rule! {
    COMPLETE_AND_FAILED, "complete-and-failed", "A Job is not both Complete and Failed",
    "Checks that the conditions `Complete` and `Failed` are not both True: a Job ends in one way. Runs when either changes.",
    fix "Keep the outcome that came first, and never set the other one.",
    STATE, option "RejectCompleteJobWithFailedCondition", since V1_30,
    accepted status_update!(r#"{"kubernetes_version":"1.30"}"#, "{}", r#"{"startTime":"2026-01-01T00:00:00Z"}"#,
        r#"{"startTime":"2026-01-01T00:00:00Z","completionTime":"2026-01-01T00:01:00Z","conditions":[{"type":"Complete","status":"True"},{"type":"Failed","status":"False"}]}"#),
    rejected status_update!(r#"{"kubernetes_version":"1.30"}"#, "{}", r#"{"startTime":"2026-01-01T00:00:00Z"}"#,
        r#"{"startTime":"2026-01-01T00:00:00Z","completionTime":"2026-01-01T00:01:00Z","conditions":[{"type":"Complete","status":"True"},{"type":"Failed","status":"True"}]}"#),
    Run::JobStatus(complete_and_failed),
}

fn complete_and_failed<'a>(status: &StatusChange<'a>, findings: &mut Findings<'a>) {
    let changed = status.changed.complete || status.changed.failed;
    if changed && status.is_true(ConditionTypes::COMPLETE) && status.is_true(ConditionTypes::FAILED)
    {
        findings.push(invalid(
            "cannot set Complete=True and Failed=true conditions",
        ));
    }
}

status_rule! {
    COMPLETE_AND_FAILURE_TARGET, "complete-and-failure-target", "A Job that is about to fail does not complete",
    "Checks that the conditions `Complete` and `FailureTarget` are not both True. Runs when either changes.",
    fix "A Job with `FailureTarget` ends as `Failed`: set that one, or `FailureTarget` not at all.",
    STATE, option "RejectCompleteJobWithFailureTargetCondition", since V1_30,
    accepted status_update!(NEWEST, "{}", "{}", r#"{"conditions":[{"type":"FailureTarget","status":"True"}]}"#),
    rejected status_update!(r#"{"kubernetes_version":"1.30"}"#, "{}", r#"{"startTime":"2026-01-01T00:00:00Z"}"#,
        r#"{"startTime":"2026-01-01T00:00:00Z","completionTime":"2026-01-01T00:01:00Z","conditions":[{"type":"Complete","status":"True"},{"type":"FailureTarget","status":"True"}]}"#),
    Run::JobStatus(complete_and_failure_target),
}

fn complete_and_failure_target<'a>(status: &StatusChange<'a>, findings: &mut Findings<'a>) {
    let changed = status.changed.complete || status.changed.failure_target;
    if changed
        && status.is_true(ConditionTypes::COMPLETE)
        && status.is_true(ConditionTypes::FAILURE_TARGET)
    {
        findings.push(invalid(
            "cannot set Complete=True and FailureTarget=true conditions",
        ));
    }
}

status_rule! {
    FAILED_WITHOUT_FAILURE_TARGET, "failed-without-failure-target", "A Job is about to fail before it has failed",
    "Checks that `Failed` comes with `FailureTarget`: the latter is set when the decision falls, the former when all pods have
ended. Runs when `Failed` or `failedIndexes` change (so upstream has it).",
    fix "Set `FailureTarget` before `Failed`, or with it, with the same reason.",
    STATE, option "RejectFailedJobWithoutFailureTarget", since V1_31,
    accepted status_update!(NEWEST, "{}", r#"{"startTime":"2026-01-01T00:00:00Z"}"#,
        r#"{"startTime":"2026-01-01T00:00:00Z","conditions":[{"type":"FailureTarget","status":"True"},{"type":"Failed","status":"True"}]}"#),
    rejected status_update!(NEWEST, "{}", r#"{"startTime":"2026-01-01T00:00:00Z"}"#,
        r#"{"startTime":"2026-01-01T00:00:00Z","conditions":[{"type":"Failed","status":"True"}]}"#),
    Run::JobStatus(failed_without_failure_target),
}

fn failed_without_failure_target<'a>(status: &StatusChange<'a>, findings: &mut Findings<'a>) {
    let changed = status.changed.failed || status.changed.failed_indexes;
    if changed
        && status.is_true(ConditionTypes::FAILED)
        && !status.is_true(ConditionTypes::FAILURE_TARGET)
    {
        findings.push(invalid(
            "cannot set Failed=True condition without the FailureTarget=true condition",
        ));
    }
}

status_rule! {
    COMPLETE_WITHOUT_SUCCESS_CRITERIA_MET, "complete-without-success-criteria-met", "A Job meets its criteria before it completes",
    "Checks that `Complete` comes with `SuccessCriteriaMet`: the latter is set when the decision falls, the former when all pods
have ended. Runs when either changes.",
    fix "Set `SuccessCriteriaMet` before `Complete`, or with it, with the same reason.",
    STATE, option "RejectCompleteJobWithoutSuccessCriteriaMet", since V1_31,
    accepted status_update!(NEWEST, "{}", r#"{"startTime":"2026-01-01T00:00:00Z"}"#,
        r#"{"startTime":"2026-01-01T00:00:00Z","completionTime":"2026-01-01T00:01:00Z","conditions":[{"type":"SuccessCriteriaMet","status":"True"},{"type":"Complete","status":"True"}]}"#),
    rejected status_update!(NEWEST, "{}", r#"{"startTime":"2026-01-01T00:00:00Z"}"#,
        r#"{"startTime":"2026-01-01T00:00:00Z","completionTime":"2026-01-01T00:01:00Z","conditions":[{"type":"Complete","status":"True"}]}"#),
    Run::JobStatus(complete_without_success_criteria_met),
}

fn complete_without_success_criteria_met<'a>(
    status: &StatusChange<'a>,
    findings: &mut Findings<'a>,
) {
    let changed = status.changed.complete || status.changed.success_criteria_met;
    if changed
        && status.is_true(ConditionTypes::COMPLETE)
        && !status.is_true(ConditionTypes::SUCCESS_CRITERIA_MET)
    {
        findings.push(invalid(
            "cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
        ));
    }
}

status_rule! {
    SUCCESS_CRITERIA_MET_NON_INDEXED, "success-criteria-met-non-indexed", "In 1.30, only an Indexed Job meets criteria",
    "Checks that `SuccessCriteriaMet` is set on Indexed Jobs only. From 1.31 on every Job that completes has it.",
    fix "Leave the condition out under 1.30; from 1.31 on every Job may have it.",
    STATE, since V1_30, until V1_30,
    accepted status_update!(r#"{"kubernetes_version":"1.30"}"#, r#"{"completionMode":"Indexed","completions":1,"successPolicy":{}}"#, "{}",
        r#"{"conditions":[{"type":"SuccessCriteriaMet","status":"True"}]}"#),
    rejected status_update!(r#"{"kubernetes_version":"1.30"}"#, r#"{"successPolicy":{}}"#, "{}",
        r#"{"conditions":[{"type":"SuccessCriteriaMet","status":"True"}]}"#),
    Run::JobStatus(success_criteria_met_non_indexed),
}

fn success_criteria_met_non_indexed<'a>(status: &StatusChange<'a>, findings: &mut Findings<'a>) {
    if !status.spec.is_indexed() && status.is_true(ConditionTypes::SUCCESS_CRITERIA_MET) {
        findings.push(invalid("cannot set SuccessCriteriaMet to NonIndexed Job"));
    }
}

status_rule! {
    SUCCESS_CRITERIA_MET_AND_FAILED, "success-criteria-met-and-failed", "A Job that has met its criteria has not failed",
    "Checks that the conditions `SuccessCriteriaMet` and `Failed` are not both True. Runs whether they have changed or not.",
    fix "Keep the outcome that came first, and never set the other one.",
    STATE, since V1_30,
    accepted status_update!(NEWEST, "{}", "{}", r#"{"conditions":[{"type":"SuccessCriteriaMet","status":"True"}]}"#),
    rejected status_update!(NEWEST, "{}", r#"{"conditions":[{"type":"Failed","status":"True"}]}"#,
        r#"{"conditions":[{"type":"Failed","status":"True"},{"type":"SuccessCriteriaMet","status":"True"}]}"#),
    Run::JobStatus(success_criteria_met_and_failed),
}

fn success_criteria_met_and_failed<'a>(status: &StatusChange<'a>, findings: &mut Findings<'a>) {
    if status.is_true(ConditionTypes::SUCCESS_CRITERIA_MET)
        && status.is_true(ConditionTypes::FAILED)
    {
        findings.push(invalid(
            "cannot set SuccessCriteriaMet=True and Failed=true conditions",
        ));
    }
}

status_rule! {
    SUCCESS_CRITERIA_MET_AND_FAILURE_TARGET, "success-criteria-met-and-failure-target", "A Job is not about to complete and to fail",
    "Checks that the conditions `SuccessCriteriaMet` and `FailureTarget` are not both True. Runs whether they have changed or
not.",
    fix "Keep the one that came first, and never set the other one.",
    STATE, since V1_30,
    accepted status_update!(NEWEST, "{}", "{}", r#"{"conditions":[{"type":"FailureTarget","status":"True"}]}"#),
    rejected status_update!(NEWEST, "{}", "{}",
        r#"{"conditions":[{"type":"FailureTarget","status":"True"},{"type":"SuccessCriteriaMet","status":"True"}]}"#),
    Run::JobStatus(success_criteria_met_and_failure_target),
}

fn success_criteria_met_and_failure_target<'a>(
    status: &StatusChange<'a>,
    findings: &mut Findings<'a>,
) {
    if status.is_true(ConditionTypes::SUCCESS_CRITERIA_MET)
        && status.is_true(ConditionTypes::FAILURE_TARGET)
    {
        findings.push(invalid(
            "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions",
        ));
    }
}

status_rule! {
    SUCCESS_CRITERIA_MET_WITHOUT_POLICY, "success-criteria-met-without-success-policy", "In 1.30, criteria are those of a success policy",
    "Checks that `SuccessCriteriaMet` is set on Jobs with a success policy only. From 1.31 on every Job that completes has it.",
    fix "Leave the condition out under 1.30; from 1.31 on every Job may have it.",
    STATE, since V1_30, until V1_30,
    accepted status_update!(r#"{"kubernetes_version":"1.30"}"#, r#"{"completionMode":"Indexed","completions":1,"successPolicy":{}}"#, "{}",
        r#"{"conditions":[{"type":"SuccessCriteriaMet","status":"True"}]}"#),
    rejected status_update!(r#"{"kubernetes_version":"1.30"}"#, r#"{"completionMode":"Indexed","completions":1}"#, "{}",
        r#"{"conditions":[{"type":"SuccessCriteriaMet","status":"True"}]}"#),
    Run::JobStatus(success_criteria_met_without_policy),
}

fn success_criteria_met_without_policy<'a>(status: &StatusChange<'a>, findings: &mut Findings<'a>) {
    if !status.spec.success_policy && status.is_true(ConditionTypes::SUCCESS_CRITERIA_MET) {
        findings.push(invalid(
            "cannot set SuccessCriteriaMet=True for Job without SuccessPolicy",
        ));
    }
}

status_rule! {
    SUCCESS_POLICY, "success-policy-without-success-criteria-met", "A Job with a success policy completes by it",
    "Checks that a Job with a success policy is not `Complete` without `SuccessCriteriaMet`. Runs whether they have changed or
not.",
    fix "Set `SuccessCriteriaMet` when the success policy is met, and `Complete` after that, or with it.",
    STATE, since V1_30,
    accepted status_update!(NEWEST, r#"{"completionMode":"Indexed","completions":1,"successPolicy":{}}"#, "{}",
        r#"{"conditions":[{"type":"SuccessCriteriaMet","status":"True"}]}"#),
    rejected status_update!(NEWEST, r#"{"completionMode":"Indexed","completions":1,"successPolicy":{}}"#,
        r#"{"conditions":[{"type":"Complete","status":"True"}]}"#,
        r#"{"succeeded":1,"conditions":[{"type":"Complete","status":"True"}]}"#),
    Run::JobStatus(success_policy),
}

fn success_policy<'a>(status: &StatusChange<'a>, findings: &mut Findings<'a>) {
    if status.spec.success_policy
        && !status.is_true(ConditionTypes::SUCCESS_CRITERIA_MET)
        && status.is_true(ConditionTypes::COMPLETE)
    {
        findings.push(invalid(
            "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True",
        ));
    }
}

status_rule! {
    TERMINAL_DISABLED, "terminal-condition-disabled", "A terminal condition is final",
    "Checks that `Failed`, `Complete` and `FailureTarget`, once True, stay so: neither removed nor set to another status.
Clients act on them only once.",
    fix "Leave the condition as it is. A Job that is to run again is a new Job.",
    TRANSITION, option "RejectDisablingTerminalCondition", since V1_30,
    accepted status_update!(NEWEST, "{}", r#"{"conditions":[{"type":"Suspended","status":"True"}]}"#, r#"{"conditions":[{"type":"Suspended","status":"False"}]}"#),
    rejected status_update!(NEWEST, "{}", r#"{"conditions":[{"type":"FailureTarget","status":"True"}]}"#, r#"{"conditions":[]}"#),
    Run::JobStatusTransition(terminal_disabled),
}

fn terminal_disabled<'a>(
    status: &StatusChange<'a>,
    old: &JobStatus<'a>,
    findings: &mut Findings<'a>,
) {
    for (condition, name) in [
        (ConditionTypes::FAILED, "Failed"),
        (ConditionTypes::COMPLETE, "Complete"),
        (ConditionTypes::FAILURE_TARGET, "FailureTarget"),
    ] {
        if old.conditions.is_true(condition) && !status.is_true(condition) {
            let detail = format!("cannot disable the terminal {name}=True condition");
            findings.push(FieldError::invalid(PATH, BadValue::Omitted, detail));
        }
    }
}

status_rule! {
    SUCCESS_CRITERIA_MET_DISABLED, "success-criteria-met-disabled", "Met criteria stay met",
    "Checks that `SuccessCriteriaMet`, once True, stays so.",
    fix "Leave the condition as it is.",
    TRANSITION, since V1_30,
    accepted status_update!(NEWEST, "{}", r#"{"conditions":[{"type":"SuccessCriteriaMet","status":"True"}]}"#,
        r#"{"succeeded":1,"conditions":[{"type":"SuccessCriteriaMet","status":"True"}]}"#),
    rejected status_update!(NEWEST, "{}", r#"{"conditions":[{"type":"SuccessCriteriaMet","status":"True"}]}"#,
        r#"{"conditions":[{"type":"SuccessCriteriaMet","status":"False"}]}"#),
    Run::JobStatusTransition(success_criteria_met_disabled),
}

fn success_criteria_met_disabled<'a>(
    status: &StatusChange<'a>,
    old: &JobStatus<'a>,
    findings: &mut Findings<'a>,
) {
    if old.conditions.is_true(ConditionTypes::SUCCESS_CRITERIA_MET)
        && !status.is_true(ConditionTypes::SUCCESS_CRITERIA_MET)
    {
        findings.push(invalid(
            "cannot disable the SuccessCriteriaMet=True condition",
        ));
    }
}

status_rule! {
    SUCCESS_CRITERIA_MET_AFTER_COMPLETE, "success-criteria-met-after-complete", "Criteria are met before the Job completes, not after",
    "Checks that `SuccessCriteriaMet` is not added to a Job that is Complete already.",
    fix "Set `SuccessCriteriaMet` before `Complete`, or with it.",
    TRANSITION, since V1_30,
    accepted status_update!(NEWEST, "{}", r#"{"startTime":"2026-01-01T00:00:00Z"}"#,
        r#"{"startTime":"2026-01-01T00:00:00Z","completionTime":"2026-01-01T00:01:00Z","conditions":[{"type":"SuccessCriteriaMet","status":"True"},{"type":"Complete","status":"True"}]}"#),
    rejected status_update!(NEWEST, "{}", r#"{"conditions":[{"type":"Complete","status":"True"}]}"#,
        r#"{"conditions":[{"type":"Complete","status":"True"},{"type":"SuccessCriteriaMet","status":"True"}]}"#),
    Run::JobStatusTransition(success_criteria_met_after_complete),
}

fn success_criteria_met_after_complete<'a>(
    status: &StatusChange<'a>,
    old: &JobStatus<'a>,
    findings: &mut Findings<'a>,
) {
    let was_complete = old.conditions.is_true(ConditionTypes::COMPLETE)
        && !old.conditions.is_true(ConditionTypes::SUCCESS_CRITERIA_MET);
    if was_complete && status.is_true(ConditionTypes::SUCCESS_CRITERIA_MET) {
        findings.push(invalid(
            "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions",
        ));
    }
}
