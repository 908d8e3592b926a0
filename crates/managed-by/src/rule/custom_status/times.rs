//! When a workload starts and ends.

use super::{Transition, status_update};
use crate::description::{
    Anchor, Anchored, Docs, Documentation, Enforcement, Example, Rule, Scope,
};
use crate::finding::{BadValue, FieldError};
use crate::kind::status::Ends;
use crate::rule::{Check, Findings, Run};

/// Two machines may write the two times (Tekton: "in case node time was not synchronized"), so that a minute is no
/// finding.
const CLOCK_SKEW: i64 = 60;

pub(crate) static BEFORE_START: Check = Check {
    rule: Rule {
    id: "status/end-before-start",
    docs: Docs::new(Documentation {
        title: "`completionTime` or `endTime` is not before `startTime`",
        text: "\
Checks `completionTime` against `startTime`. A RayJob has `endTime` instead.

Runs when one of the two changes. A difference of up to one minute is accepted, because two machines with different clocks
may write the two times.",
        fix: "Take both times from the same clock. Write the end time when the workload ends.",
        accepted: status_update!("{}", "ray.io", "v1", "RayJob",
            r#"{"jobDeploymentStatus":"Running","startTime":"2026-01-01T00:10:30Z"}"#,
            r#"{"jobDeploymentStatus":"Complete","startTime":"2026-01-01T00:10:30Z","endTime":"2026-01-01T00:10:00Z"}"#),
        rejected: status_update!("{}", "ray.io", "v1", "RayJob",
            r#"{"jobDeploymentStatus":"Running","startTime":"2026-01-01T01:00:00Z"}"#,
            r#"{"jobDeploymentStatus":"Complete","startTime":"2026-01-01T01:00:00Z","endTime":"2026-01-01T00:10:00Z"}"#),
    }),
    anchor: Anchored::new(Anchor::Ours {
        source: "the API comments of the two fields; `updateRayJobStatus` writes the end whenever a RayJob ends",
    }),
    default: Enforcement::Deny,
    scope: Scope::Api,
    },
    run: Run::CustomStatus(before_start),
};

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
        findings.push(FieldError::invalid(
            end.path,
            BadValue::Time(new.end),
            detail,
        ));
    }
}

pub(crate) static WITHOUT_OUTCOME: Check = Check {
    rule: Rule {
    id: "status/end-without-outcome",
    docs: Docs::new(Documentation {
        title: "`completionTime` requires an outcome",
        text: "\
Checks that a PipelineRun, a TaskRun or a job of kubeflow.org with `completionTime` reports success or failure.

Runs when one of the two changes. The rule warns.",
        fix: "Write `completionTime` in the update that writes the outcome.",
        accepted: status_update!("{}", "tekton.dev", "v1", "PipelineRun", r#"{"startTime":"2026-01-01T00:00:00Z"}"#,
            r#"{"startTime":"2026-01-01T00:00:00Z","completionTime":"2026-01-01T00:10:00Z","conditions":[{"type":"Succeeded","status":"False"}]}"#),
        rejected: status_update!(r#"{"rules":{"status/end-without-outcome":"deny"}}"#,
            "tekton.dev", "v1", "PipelineRun", r#"{"startTime":"2026-01-01T00:00:00Z"}"#,
            r#"{"startTime":"2026-01-01T00:00:00Z","completionTime":"2026-01-01T00:10:00Z","conditions":[{"type":"Succeeded","status":"Unknown"}]}"#),
    }),
    anchor: Anchored::new(Anchor::Ours {
        source: "docs/pipelineruns.md and docs/taskruns.md of Tekton; the comment of `CompletionTime` in kubeflow.org's `JobStatus`",
    }),
    default: Enforcement::Warn,
    scope: Scope::Api,
    },
    run: Run::CustomStatus(without_outcome),
};

fn without_outcome<'a>(status: &Transition<'a>, findings: &mut Findings<'a>) {
    let Some(end) = status.profile.end.as_ref().filter(|e| e.needs_outcome) else {
        return;
    };
    let (new, old) = (status.new, status.before());
    let has_outcome = new.ends.intersects(Ends::OUTCOMES);
    let changed = new.end != old.end || (new.ends ^ old.ends).intersects(Ends::OUTCOMES);
    if changed && new.end.is_some() && !has_outcome {
        let detail = "must not be set before there is an outcome";
        findings.push(FieldError::invalid(
            end.path,
            BadValue::Time(new.end),
            detail,
        ));
    }
}

pub(crate) static WITHOUT_END: Check = Check {
    rule: Rule {
    id: "status/outcome-without-end",
    docs: Docs::new(Documentation {
        title: "An outcome requires `completionTime`",
        text: "\
Checks that a PipelineRun, a TaskRun or a job of kubeflow.org that reports success has `completionTime`. A failed PipelineRun,
TFJob or MPIJob (`v1`) must have it too. The controllers of the other kinds may report a failure without an end time.

Runs when one of the two changes. The rule warns.",
        fix: "Write `completionTime` in the update that writes the outcome.",
        accepted: status_update!("{}", "kubeflow.org", "v2beta1", "MPIJob", "{}",
            r#"{"conditions":[{"type":"Failed","status":"True","reason":"MPIJobEvicted"}]}"#),
        rejected: status_update!(r#"{"rules":{"status/outcome-without-end":"deny"}}"#,
            "kubeflow.org", "v2beta1", "MPIJob", "{}", r#"{"conditions":[{"type":"Succeeded","status":"True"}]}"#),
    }),
    anchor: Anchored::new(Anchor::Ours {
        source: "docs/pipelineruns.md (\"Completion time is set once a PipelineRun reaches status True or False\"), docs/taskruns.md; `UpdateJobStatus` of the Training Operator; mpi_job_controller.go",
    }),
    default: Enforcement::Warn,
    scope: Scope::Api,
    },
    run: Run::CustomStatus(without_end),
};

fn without_end<'a>(status: &Transition<'a>, findings: &mut Findings<'a>) {
    let Some(end) = &status.profile.end else {
        return;
    };
    let (new, old) = (status.new, status.before());
    let requiring = |ends: Ends| ends.intersects(end.required_by);
    let changed = new.end.is_some() != old.end.is_some() || requiring(new.ends ^ old.ends);
    if changed && new.end.is_none() && requiring(new.ends) {
        let detail = "must be set with the outcome";
        findings.push(FieldError::required(end.path, detail));
    }
}
