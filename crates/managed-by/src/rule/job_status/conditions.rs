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
    COMPLETE_AND_FAILED, "complete-and-failed", "`Complete` and `Failed` exclude each other",
    "Checks that the conditions `Complete` and `Failed` are not both True. Runs when either changes.",
    fix "Keep the outcome that was set first. Do not set the other one.",
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
    COMPLETE_AND_FAILURE_TARGET, "complete-and-failure-target", "`Complete` and `FailureTarget` exclude each other",
    "Checks that the conditions `Complete` and `FailureTarget` are not both True. Runs when either changes.",
    fix "A Job with `FailureTarget` ends as `Failed`. Set `Failed` instead of `Complete`, or do not set `FailureTarget`.",
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
    FAILED_WITHOUT_FAILURE_TARGET, "failed-without-failure-target", "`Failed` requires `FailureTarget`",
    "Checks that a Job with `Failed` also has `FailureTarget`. A controller sets `FailureTarget` when it decides that the Job fails,
and `Failed` when all pods have ended. Runs when `Failed` or `failedIndexes` changes, as upstream.",
    fix "Set `FailureTarget` before `Failed`, or in the same update. Use the same reason for both.",
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
    COMPLETE_WITHOUT_SUCCESS_CRITERIA_MET, "complete-without-success-criteria-met", "`Complete` requires `SuccessCriteriaMet`",
    "Checks that a Job with `Complete` also has `SuccessCriteriaMet`. A controller sets `SuccessCriteriaMet` when it decides that the
Job succeeds, and `Complete` when all pods have ended. Runs when either changes.",
    fix "Set `SuccessCriteriaMet` before `Complete`, or in the same update. Use the same reason for both.",
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
    SUCCESS_CRITERIA_MET_NON_INDEXED, "success-criteria-met-non-indexed", "In 1.30, `SuccessCriteriaMet` requires `completionMode: Indexed`",
    "Checks that only Indexed Jobs have `SuccessCriteriaMet`. Runs in release 1.30 only. From 1.31 on, every Job that completes has
this condition.",
    fix "In release 1.30, leave the condition out. From 1.31 on, every Job may have it.",
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
    SUCCESS_CRITERIA_MET_AND_FAILED, "success-criteria-met-and-failed", "`SuccessCriteriaMet` and `Failed` exclude each other",
    "Checks that the conditions `SuccessCriteriaMet` and `Failed` are not both True. Runs on every status update, also when neither
changes.",
    fix "Keep the outcome that was set first. Do not set the other one.",
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
    SUCCESS_CRITERIA_MET_AND_FAILURE_TARGET, "success-criteria-met-and-failure-target", "`SuccessCriteriaMet` and `FailureTarget` exclude each other",
    "Checks that the conditions `SuccessCriteriaMet` and `FailureTarget` are not both True. Runs on every status update, also when
neither changes.",
    fix "Keep the condition that was set first. Do not set the other one.",
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
    SUCCESS_CRITERIA_MET_WITHOUT_POLICY, "success-criteria-met-without-success-policy", "In 1.30, `SuccessCriteriaMet` requires `successPolicy`",
    "Checks that only Jobs with a `successPolicy` have `SuccessCriteriaMet`. Runs in release 1.30 only. From 1.31 on, every Job that
completes has this condition.",
    fix "In release 1.30, leave the condition out. From 1.31 on, every Job may have it.",
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
    SUCCESS_POLICY, "success-policy-without-success-criteria-met", "`Complete` requires `SuccessCriteriaMet` in a Job with `successPolicy`",
    "Checks that a Complete Job with a `successPolicy` has `SuccessCriteriaMet`. Runs on every status update, also when neither
changes.",
    fix "Set `SuccessCriteriaMet` when the Job meets its success policy. Set `Complete` after that, or in the same update.",
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
    TERMINAL_DISABLED, "terminal-condition-disabled", "`Failed`, `Complete` and `FailureTarget` cannot be unset",
    "Checks that `Failed`, `Complete` and `FailureTarget`, once True, stay True. An update may neither remove them nor set them to
another status. Clients act on these conditions only once.",
    fix "Leave the condition as it is. To run the Job again, create a new one.",
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
    SUCCESS_CRITERIA_MET_DISABLED, "success-criteria-met-disabled", "`SuccessCriteriaMet` cannot be unset",
    "Checks that `SuccessCriteriaMet`, once True, stays True. An update may neither remove it nor set it to another status.",
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
    SUCCESS_CRITERIA_MET_AFTER_COMPLETE, "success-criteria-met-after-complete", "`SuccessCriteriaMet` cannot be added after `Complete`",
    "Checks that an update does not add `SuccessCriteriaMet` to a Job that is already Complete.",
    fix "Set `SuccessCriteriaMet` before `Complete`, or in the same update.",
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
