//! `tekton.dev`: PipelineRun and TaskRun. A PipelineRun does not hand the field on to its TaskRuns.

use super::status::{
    Attempts, End, Exit, FailureReasons, Outcome, StatusMatcher, StatusProfile, TerminalStates,
    When, because, is_false, is_true,
};
use super::{About, Form, Kind, KindDocs, Status, TEKTON_PIPELINE};

const VERSIONS: &[&str] = &["v1", "v1beta1"];

const CHECKS: &str =
    "a webhook checks immutability, but neither the form nor changes of the status";

const UNCHECKED: &str = "only an event filter keeps the built-in controller away from delegated objects, so events of their children can still start it";

/// One condition says both.
///
/// Tekton takes back an outcome of its own where a cancel, a timeout or the deletion of a pod falls together with the end: its
/// reconciler overwrites its own last write (recorded with 1.12, one success in 300 runs, and with 1.15, one failure in 114).
/// Whoever else writes the status does not.
const OUTCOME: Outcome<'static> = Outcome {
    exits: &[OVERWRITTEN],
    ..Outcome::new(is_true("Succeeded"), is_false("Succeeded"))
};

const OVERWRITTEN: Exit = Exit {
    from: TerminalStates::OUTCOMES,
    when: &[When::Standard],
};

const START: Option<&str> = Some("status.startTime");

const fn end(required_by: TerminalStates) -> End<'static> {
    End {
        path: "status.completionTime",
        needs_outcome: true,
        required_by,
    }
}

pub(super) static PIPELINE_RUN: Kind<'static> = Kind {
    group: "tekton.dev",
    versions: VERSIONS,
    name: "PipelineRun",
    plural: "pipelineruns",
    reserved: Some(TEKTON_PIPELINE),
    form: Form::Open,
    status: Status::Custom(&StatusProfile {
        outcome: Some(OUTCOME),
        start: START,
        end: Some(end(TerminalStates::OUTCOMES)),
        ..StatusProfile::EMPTY
    }),
    about: About::new(KindDocs {
        checks: CHECKS,
        unchecked: UNCHECKED,
        source: "docs/pipelineruns.md (\"Completion time is set once a PipelineRun reaches status True or False\"), and `ReconcileKind`, which stops then",
    }),
    ..Kind::EMPTY
};

/// `TaskRunReasonStopSidecarFailed`
const SIDECARS_NOT_STOPPED: StatusMatcher<'static> =
    because("Succeeded", "False", "TaskRunStopSidecarFailed");

/// A failure is tried again as often as the spec says, and noted as an attempt (`retryTaskRun`). A success becomes a failure
/// where its sidecars cannot be stopped, and that one too is tried again, in the same reconcile.
const EXITS: &[Exit] = &[
    OVERWRITTEN,
    Exit {
        from: TerminalStates::FAILED,
        when: &[When::TriedAgain],
    },
    Exit {
        from: TerminalStates::SUCCEEDED,
        when: &[
            When::TriedAgain,
            When::Noting(FailureReasons::LAST_ATTEMPT_STOP_SIDECAR_FAILED),
        ],
    },
    Exit {
        from: TerminalStates::SUCCEEDED,
        when: &[
            When::NotTriedAgain,
            When::Noting(FailureReasons::STOP_SIDECAR_FAILED),
            When::KeepsAttempts,
        ],
    },
];

pub(super) static TASK_RUN: Kind<'static> = Kind {
    group: "tekton.dev",
    versions: VERSIONS,
    name: "TaskRun",
    plural: "taskruns",
    reserved: Some(TEKTON_PIPELINE),
    form: Form::Open,
    retries: Some("spec.retries"),
    status: Status::Custom(&StatusProfile {
        outcome: Some(Outcome {
            failure_reasons: &[(FailureReasons::STOP_SIDECAR_FAILED, SIDECARS_NOT_STOPPED)],
            attempts: Some(Attempts {
                path: "status.retriesStatus",
                failure_reasons: &[(
                    FailureReasons::LAST_ATTEMPT_STOP_SIDECAR_FAILED,
                    SIDECARS_NOT_STOPPED,
                )],
            }),
            exits: EXITS,
            ..OUTCOME
        }),
        start: START,
        // An error that may pass leaves a failed TaskRun without (docs/taskruns.md).
        end: Some(end(TerminalStates::SUCCEEDED)),
        ..StatusProfile::EMPTY
    }),
    about: About::new(KindDocs {
        checks: CHECKS,
        unchecked: UNCHECKED,
        source: "docs/taskruns.md; `retryTaskRun` moves a failed status to `retriesStatus`, at most `spec.retries` times, and `stopSidecars` may fail a TaskRun that has succeeded",
    }),
    ..Kind::EMPTY
};
