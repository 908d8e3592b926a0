//! `tekton.dev`: PipelineRun and TaskRun. A PipelineRun does not hand the field on to its TaskRuns.

use super::custom::{Both, ENDLESS, End, Outcome, Sign, StatusProfile, Step, fact, nothing};
use super::parts::{self, Part};
use super::{About, Form, Holder, KindDocs, KindProfile, TEKTON_PIPELINE};

const VERSIONS: &[&str] = &["v1", "v1beta1"];

const SPEC: Part = Part::Fields(&[("managedBy", Part::ManagedBy)]);

const CHECKS: &str = "a webhook: immutability; nothing of the form or of changes of the status";

const UNCHECKED: &str =
    "the controller steps back by an event filter alone: what its children do can still start it";

/// One condition says both: `Succeeded` is True or False.
const OUTCOME: Outcome = Outcome {
    path: "status.conditions",
    success: "Succeeded=True",
    failure: "Succeeded=False",
    dead_end: None,
    detail: None,
    both: Both::Unsayable,
    taken_back: nothing,
};

pub(super) static PIPELINE_RUN: KindProfile = KindProfile {
    group: "tekton.dev",
    versions: VERSIONS,
    pruned_in: &[],
    kind: "PipelineRun",
    plural: "pipelineruns",
    managed_by: &["spec", "managedBy"],
    reserved: TEKTON_PIPELINE,
    holder: Holder::Workload,
    form: Form::Open,
    defaulted: false,
    steps_back: true,
    spec: SPEC,
    status: Some(&PIPELINE_RUN_STATUS),
    read: parts::read,
    about: About::new(KindDocs {
        checks: CHECKS,
        unchecked: UNCHECKED,
        source: "docs/pipelineruns.md (\"Completion time is set once a PipelineRun reaches status True or False\"); `ReconcileKind` of the pipelinerun reconciler returns once it is done",
    }),
};

static PIPELINE_RUN_STATUS: StatusProfile = StatusProfile {
    parts: Part::Fields(&[
        (
            "conditions",
            Part::Conditions(&[
                Sign::when("Succeeded", fact::SUCCEEDED),
                Sign::of("Succeeded", "False", "", fact::FAILED),
            ]),
        ),
        ("startTime", Part::Start),
        ("completionTime", Part::End),
    ]),
    outcome: Some(OUTCOME),
    end: Some(End {
        path: "status.completionTime",
        only_with_outcome: true,
        of: fact::SUCCEEDED | fact::FAILED,
    }),
    ..ENDLESS
};

pub(super) static TASK_RUN: KindProfile = KindProfile {
    group: "tekton.dev",
    versions: VERSIONS,
    pruned_in: &[],
    kind: "TaskRun",
    plural: "taskruns",
    managed_by: &["spec", "managedBy"],
    reserved: TEKTON_PIPELINE,
    holder: Holder::Workload,
    form: Form::Open,
    defaulted: false,
    steps_back: true,
    spec: Part::Fields(&[("managedBy", Part::ManagedBy), ("retries", Part::Retries)]),
    status: Some(&TASK_RUN_STATUS),
    read: parts::read,
    about: About::new(KindDocs {
        checks: CHECKS,
        unchecked: UNCHECKED,
        source: "docs/taskruns.md; the taskrun reconciler: `retryTaskRun` moves a failed status to `retriesStatus`, at most `spec.retries` times, `stopSidecars` may fail a TaskRun that has succeeded",
    }),
};

/// `TaskRunReasonStopSidecarFailed`
const SIDECARS_NOT_STOPPED: &str = "TaskRunStopSidecarFailed";

/// A failure is tried again as often as the spec says, and noted as an attempt (`retryTaskRun`). A success becomes a failure
/// where its sidecars cannot be stopped, and that one too is tried again, in the same reconcile.
fn taken_back(step: &Step<'_>) -> u16 {
    let (old, new) = (step.old, step.new);
    let again = new.attempts > old.attempts && new.attempts <= step.retries;
    match (
        again,
        new.has(fact::AFTER_SUCCESS),
        new.has(fact::ATTEMPT_AFTER_SUCCESS),
    ) {
        (true, _, true) => fact::SUCCEEDED | fact::FAILED,
        (true, _, false) => fact::FAILED,
        (false, true, _) if new.attempts >= old.attempts => fact::SUCCEEDED,
        (false, _, _) => 0,
    }
}

static TASK_RUN_STATUS: StatusProfile = StatusProfile {
    parts: Part::Fields(&[
        (
            "conditions",
            Part::Conditions(&[
                Sign::when("Succeeded", fact::SUCCEEDED),
                Sign::of("Succeeded", "False", "", fact::FAILED),
                Sign::of(
                    "Succeeded",
                    "False",
                    SIDECARS_NOT_STOPPED,
                    fact::AFTER_SUCCESS,
                ),
            ]),
        ),
        ("startTime", Part::Start),
        ("completionTime", Part::End),
        (
            "retriesStatus",
            Part::Attempts(&[Sign::of(
                "Succeeded",
                "False",
                SIDECARS_NOT_STOPPED,
                fact::ATTEMPT_AFTER_SUCCESS,
            )]),
        ),
    ]),
    outcome: Some(Outcome {
        detail: Some("status.retriesStatus"),
        taken_back,
        ..OUTCOME
    }),
    end: Some(End {
        path: "status.completionTime",
        only_with_outcome: true,
        // An error that may pass leaves a failed TaskRun without (docs/taskruns.md).
        of: fact::SUCCEEDED,
    }),
    ..ENDLESS
};
