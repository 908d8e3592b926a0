//! `tekton.dev`: PipelineRun and TaskRun. A PipelineRun does not hand the field on to its TaskRuns.

use super::custom::{ENDLESS, End, Outcome, Sign, StatusProfile, fact};
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
    once_ended: false,
    exclusive: true,
    failure_is_final: true,
};

pub(super) static PIPELINE_RUN: KindProfile = KindProfile {
    group: "tekton.dev",
    versions: VERSIONS,
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
        of_any_attempt: false,
        only_with_outcome: true,
        of: fact::SUCCEEDED | fact::FAILED,
    }),
    ..ENDLESS
};

pub(super) static TASK_RUN: KindProfile = KindProfile {
    group: "tekton.dev",
    versions: VERSIONS,
    kind: "TaskRun",
    plural: "taskruns",
    managed_by: &["spec", "managedBy"],
    reserved: TEKTON_PIPELINE,
    holder: Holder::Workload,
    form: Form::Open,
    defaulted: false,
    steps_back: true,
    spec: SPEC,
    status: Some(&TASK_RUN_STATUS),
    read: parts::read,
    about: About::new(KindDocs {
        checks: CHECKS,
        unchecked: UNCHECKED,
        source: "docs/taskruns.md; the taskrun reconciler: `retryTaskRun` moves a failed status to `retriesStatus`, `stopSidecars` may fail a TaskRun that has succeeded",
    }),
};

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
                    "TaskRunStopSidecarFailed",
                    fact::LEAVING,
                ),
            ]),
        ),
        ("startTime", Part::Start),
        ("completionTime", Part::End),
        ("retriesStatus", Part::Attempts),
    ]),
    outcome: Some(OUTCOME),
    end: Some(End {
        path: "status.completionTime",
        of_any_attempt: false,
        only_with_outcome: true,
        // An error that may pass leaves a failed TaskRun without (docs/taskruns.md).
        of: fact::SUCCEEDED,
    }),
    ..ENDLESS
};
