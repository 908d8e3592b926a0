//! Rules about Job conditions: which exclude each other, which require others, and which are terminal.

use super::{JobStatusChange, VALIDATE_STATUS, VALIDATE_STATUS_UPDATE, rule};
use crate::description::Upstream;
use crate::finding::BadValue;
use crate::object::job::{ConditionTypes, JobStatus};
use crate::release::Release;
use crate::rule::{Check, CheckFn, Findings};

const PATH: &str = "status.conditions";

pub(crate) static COMPLETE_AND_FAILED: Check = Check::new(
    rule(
        "job-status/complete-and-failed",
        include_str!("complete-and-failed.md"),
        Upstream::in_function(VALIDATE_STATUS).with_option("RejectCompleteJobWithFailedCondition"),
    ),
    CheckFn::JobStatus(complete_and_failed),
)
.applies_when(|changed| changed.complete || changed.failed)
.exercised_when(|status| status.is_true(ConditionTypes::FINISHED));

fn complete_and_failed<'a>(status: &JobStatusChange<'a>, findings: &mut Findings<'a>) {
    if status.is_true(ConditionTypes::COMPLETE) && status.is_true(ConditionTypes::FAILED) {
        let detail = "cannot set Complete=True and Failed=true conditions";
        findings.invalid(PATH, BadValue::Omitted, detail);
    }
}

pub(crate) static COMPLETE_AND_FAILURE_TARGET: Check = Check::new(
    rule(
        "job-status/complete-and-failure-target",
        include_str!("complete-and-failure-target.md"),
        Upstream::in_function(VALIDATE_STATUS)
            .with_option("RejectCompleteJobWithFailureTargetCondition"),
    ),
    CheckFn::JobStatus(complete_and_failure_target),
)
.applies_when(|changed| changed.complete || changed.failure_target)
.exercised_when(|status| status.is_true(ConditionTypes::COMPLETE | ConditionTypes::FAILURE_TARGET));

fn complete_and_failure_target<'a>(status: &JobStatusChange<'a>, findings: &mut Findings<'a>) {
    if status.is_true(ConditionTypes::COMPLETE) && status.is_true(ConditionTypes::FAILURE_TARGET) {
        let detail = "cannot set Complete=True and FailureTarget=true conditions";
        findings.invalid(PATH, BadValue::Omitted, detail);
    }
}

pub(crate) static FAILED_WITHOUT_FAILURE_TARGET: Check = Check::new(
    rule(
        "job-status/failed-without-failure-target",
        include_str!("failed-without-failure-target.md"),
        Upstream::in_function(VALIDATE_STATUS)
            .with_option("RejectFailedJobWithoutFailureTarget")
            .since(Release::V1_31),
    ),
    CheckFn::JobStatus(failed_without_failure_target),
)
.applies_when(|changed| changed.failed || changed.failed_indexes)
.exercised_when(|status| status.is_true(ConditionTypes::FAILED));

fn failed_without_failure_target<'a>(status: &JobStatusChange<'a>, findings: &mut Findings<'a>) {
    if status.is_true(ConditionTypes::FAILED) && !status.is_true(ConditionTypes::FAILURE_TARGET) {
        let detail = "cannot set Failed=True condition without the FailureTarget=true condition";
        findings.invalid(PATH, BadValue::Omitted, detail);
    }
}

pub(crate) static COMPLETE_WITHOUT_SUCCESS_CRITERIA_MET: Check = Check::new(
    rule(
        "job-status/complete-without-success-criteria-met",
        include_str!("complete-without-success-criteria-met.md"),
        Upstream::in_function(VALIDATE_STATUS)
            .with_option("RejectCompleteJobWithoutSuccessCriteriaMet")
            .since(Release::V1_31),
    ),
    CheckFn::JobStatus(complete_without_success_criteria_met),
)
.applies_when(|changed| changed.complete || changed.success_criteria_met)
.exercised_when(|status| status.is_true(ConditionTypes::COMPLETE));

fn complete_without_success_criteria_met<'a>(
    status: &JobStatusChange<'a>,
    findings: &mut Findings<'a>,
) {
    if status.is_true(ConditionTypes::COMPLETE)
        && !status.is_true(ConditionTypes::SUCCESS_CRITERIA_MET)
    {
        let detail =
            "cannot set Complete=True condition without the SuccessCriteriaMet=true condition";
        findings.invalid(PATH, BadValue::Omitted, detail);
    }
}

pub(crate) static SUCCESS_CRITERIA_MET_NON_INDEXED: Check = Check::new(
    rule(
        "job-status/success-criteria-met-non-indexed",
        include_str!("success-criteria-met-non-indexed.md"),
        Upstream::in_function(VALIDATE_STATUS).until(Release::V1_30),
    ),
    CheckFn::JobStatus(success_criteria_met_non_indexed),
)
.exercised_when(|status| {
    !status.spec.is_indexed() && status.is_true(ConditionTypes::SUCCESS_CRITERIA_MET)
});

fn success_criteria_met_non_indexed<'a>(status: &JobStatusChange<'a>, findings: &mut Findings<'a>) {
    if !status.spec.is_indexed() && status.is_true(ConditionTypes::SUCCESS_CRITERIA_MET) {
        let detail = "cannot set SuccessCriteriaMet to NonIndexed Job";
        findings.invalid(PATH, BadValue::Omitted, detail);
    }
}

pub(crate) static SUCCESS_CRITERIA_MET_AND_FAILED: Check = Check::new(
    rule(
        "job-status/success-criteria-met-and-failed",
        include_str!("success-criteria-met-and-failed.md"),
        Upstream::in_function(VALIDATE_STATUS),
    ),
    CheckFn::JobStatus(success_criteria_met_and_failed),
)
.exercised_when(|status| {
    status.is_true(ConditionTypes::SUCCESS_CRITERIA_MET | ConditionTypes::FAILED)
});

fn success_criteria_met_and_failed<'a>(status: &JobStatusChange<'a>, findings: &mut Findings<'a>) {
    if status.is_true(ConditionTypes::SUCCESS_CRITERIA_MET)
        && status.is_true(ConditionTypes::FAILED)
    {
        let detail = "cannot set SuccessCriteriaMet=True and Failed=true conditions";
        findings.invalid(PATH, BadValue::Omitted, detail);
    }
}

pub(crate) static SUCCESS_CRITERIA_MET_AND_FAILURE_TARGET: Check = Check::new(
    rule(
        "job-status/success-criteria-met-and-failure-target",
        include_str!("success-criteria-met-and-failure-target.md"),
        Upstream::in_function(VALIDATE_STATUS),
    ),
    CheckFn::JobStatus(success_criteria_met_and_failure_target),
)
.exercised_when(|status| {
    status.is_true(ConditionTypes::SUCCESS_CRITERIA_MET | ConditionTypes::FAILURE_TARGET)
});

fn success_criteria_met_and_failure_target<'a>(
    status: &JobStatusChange<'a>,
    findings: &mut Findings<'a>,
) {
    if status.is_true(ConditionTypes::SUCCESS_CRITERIA_MET)
        && status.is_true(ConditionTypes::FAILURE_TARGET)
    {
        let detail = "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions";
        findings.invalid(PATH, BadValue::Omitted, detail);
    }
}

pub(crate) static SUCCESS_CRITERIA_MET_WITHOUT_SUCCESS_POLICY: Check = Check::new(
    rule(
        "job-status/success-criteria-met-without-success-policy",
        include_str!("success-criteria-met-without-success-policy.md"),
        Upstream::in_function(VALIDATE_STATUS).until(Release::V1_30),
    ),
    CheckFn::JobStatus(success_criteria_met_without_policy),
)
.exercised_when(|status| {
    !status.spec.has_success_policy && status.is_true(ConditionTypes::SUCCESS_CRITERIA_MET)
});

fn success_criteria_met_without_policy<'a>(
    status: &JobStatusChange<'a>,
    findings: &mut Findings<'a>,
) {
    if !status.spec.has_success_policy && status.is_true(ConditionTypes::SUCCESS_CRITERIA_MET) {
        let detail = "cannot set SuccessCriteriaMet=True for Job without SuccessPolicy";
        findings.invalid(PATH, BadValue::Omitted, detail);
    }
}

pub(crate) static SUCCESS_POLICY_WITHOUT_SUCCESS_CRITERIA_MET: Check = Check::new(
    rule(
        "job-status/success-policy-without-success-criteria-met",
        include_str!("success-policy-without-success-criteria-met.md"),
        Upstream::in_function(VALIDATE_STATUS),
    ),
    CheckFn::JobStatus(success_policy_without_success_criteria_met),
)
.exercised_when(|status| {
    status.spec.has_success_policy && status.is_true(ConditionTypes::COMPLETE)
});

fn success_policy_without_success_criteria_met<'a>(
    status: &JobStatusChange<'a>,
    findings: &mut Findings<'a>,
) {
    if status.spec.has_success_policy
        && status.is_true(ConditionTypes::COMPLETE)
        && !status.is_true(ConditionTypes::SUCCESS_CRITERIA_MET)
    {
        let detail =
            "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True";
        findings.invalid(PATH, BadValue::Omitted, detail);
    }
}

pub(crate) static TERMINAL_CONDITION_DISABLED: Check = Check::new(
    rule(
        "job-status/terminal-condition-disabled",
        include_str!("terminal-condition-disabled.md"),
        Upstream::in_function(VALIDATE_STATUS_UPDATE)
            .with_option("RejectDisablingTerminalCondition"),
    ),
    CheckFn::JobStatusTransition(terminal_disabled),
)
.exercised_when(|status| {
    status.old_is_some_and(|old| {
        old.conditions
            .is_true(ConditionTypes::FINISHED | ConditionTypes::FAILURE_TARGET)
    })
});

fn terminal_disabled<'a>(
    status: &JobStatusChange<'a>,
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
            findings.invalid(PATH, BadValue::Omitted, detail);
        }
    }
}

pub(crate) static SUCCESS_CRITERIA_MET_DISABLED: Check = Check::new(
    rule(
        "job-status/success-criteria-met-disabled",
        include_str!("success-criteria-met-disabled.md"),
        Upstream::in_function(VALIDATE_STATUS_UPDATE),
    ),
    CheckFn::JobStatusTransition(success_criteria_met_disabled),
)
.exercised_when(|status| {
    status.old_is_some_and(|old| old.conditions.is_true(ConditionTypes::SUCCESS_CRITERIA_MET))
});

fn success_criteria_met_disabled<'a>(
    status: &JobStatusChange<'a>,
    old: &JobStatus<'a>,
    findings: &mut Findings<'a>,
) {
    let was_met = old.conditions.is_true(ConditionTypes::SUCCESS_CRITERIA_MET);
    if was_met && !status.is_true(ConditionTypes::SUCCESS_CRITERIA_MET) {
        let detail = "cannot disable the SuccessCriteriaMet=True condition";
        findings.invalid(PATH, BadValue::Omitted, detail);
    }
}

pub(crate) static SUCCESS_CRITERIA_MET_AFTER_COMPLETE: Check = Check::new(
    rule(
        "job-status/success-criteria-met-after-complete",
        include_str!("success-criteria-met-after-complete.md"),
        Upstream::in_function(VALIDATE_STATUS_UPDATE),
    ),
    CheckFn::JobStatusTransition(success_criteria_met_after_complete),
)
.exercised_when(|status| {
    status.old_is_some_and(|old| old.conditions.is_true(ConditionTypes::COMPLETE))
});

fn success_criteria_met_after_complete<'a>(
    status: &JobStatusChange<'a>,
    old: &JobStatus<'a>,
    findings: &mut Findings<'a>,
) {
    let was_met = old.conditions.is_true(ConditionTypes::SUCCESS_CRITERIA_MET);
    if old.conditions.is_true(ConditionTypes::COMPLETE)
        && !was_met
        && status.is_true(ConditionTypes::SUCCESS_CRITERIA_MET)
    {
        let detail =
            "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions";
        findings.invalid(PATH, BadValue::Omitted, detail);
    }
}
