//! `tekton.dev`: PipelineRun and TaskRun. A PipelineRun doesn't propagate `managedBy` to its TaskRuns.

use super::status::{
    Attempts, EndTime, FailureReasons, OutcomeProfile, StatusMatcher, StatusProfile,
    TerminalStates, condition_false, condition_true, condition_with_reason,
};
use super::transitions::{AllowedTransition, ReconciledBy, TransitionCondition, TransitionSource};
use super::{Kind, KindDocs, OptionalDocs, StatusRules, TEKTON_PIPELINE, ValueConstraint};

const VERSIONS: &[&str] = &["v1", "v1beta1"];

const CHECKS: &str =
    "a webhook checks immutability, but neither the format nor changes to the status";

const UNCHECKED: &str = "the built-in controller ignores delegated objects only in an event filter, so events of their children can still trigger a reconcile";

/// Outcomes that are the two values of one condition.
const OUTCOME: OutcomeProfile<'static> = OutcomeProfile {
    allowed_transitions: &[OVERWRITTEN],
    ..OutcomeProfile::new(condition_true("Succeeded"), condition_false("Succeeded"))
};

/// The reconciler overwrites its own last write if a cancel, a timeout or the deletion of a pod coincides with the end.
/// No other controller does.
const OVERWRITTEN: AllowedTransition = AllowedTransition {
    from: TerminalStates::OUTCOMES,
    to: None,
    reconciled_by: ReconciledBy::BuiltIn,
    condition: TransitionCondition::Always,
    source: TransitionSource::new(
        "recorded with Tekton 1.12 (one success in 300 runs) and 1.15 (one failure in 114)",
    ),
};

const START: Option<&str> = Some("status.startTime");

const fn end(required_by: TerminalStates) -> EndTime<'static> {
    EndTime {
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
    reserved_value: Some(TEKTON_PIPELINE),
    constraint: ValueConstraint::Any,
    status: StatusRules::Custom(&StatusProfile {
        outcome: Some(OUTCOME),
        start: START,
        end: Some(end(TerminalStates::OUTCOMES)),
        ..StatusProfile::EMPTY
    }),
    docs: OptionalDocs::new(KindDocs {
        checks: CHECKS,
        unchecked: UNCHECKED,
        source: "docs/pipelineruns.md (\"Completion time is set once a PipelineRun reaches status True or False\"), and `ReconcileKind`, which stops then",
    }),
    ..Kind::EMPTY
};

/// Matches the reason `TaskRunStopSidecarFailed`.
const SIDECARS_NOT_STOPPED: StatusMatcher<'static> =
    condition_with_reason("Succeeded", "False", "TaskRunStopSidecarFailed");

/// A retry moves the failed attempt to `status.retriesStatus`, up to `spec.retries` times. A TaskRun that has succeeded fails if
/// its sidecars can't be stopped, and may be retried in the same reconcile.
const TASK_RUN_TRANSITIONS: &[AllowedTransition] = &[
    OVERWRITTEN,
    AllowedTransition {
        from: TerminalStates::FAILED,
        to: None,
        reconciled_by: ReconciledBy::Any,
        condition: TransitionCondition::Retry,
        source: TransitionSource::new("`retryTaskRun`"),
    },
    AllowedTransition {
        from: TerminalStates::SUCCEEDED,
        to: None,
        reconciled_by: ReconciledBy::Any,
        condition: TransitionCondition::RetryAfterStopSidecarFailed,
        source: TransitionSource::new("`stopSidecars`, then `retryTaskRun` in the same reconcile"),
    },
    AllowedTransition {
        from: TerminalStates::SUCCEEDED,
        to: Some(TerminalStates::FAILED),
        reconciled_by: ReconciledBy::Any,
        condition: TransitionCondition::StopSidecarFailed,
        source: TransitionSource::new("`stopSidecars`, `TaskRunReasonStopSidecarFailed`"),
    },
];

pub(super) static TASK_RUN: Kind<'static> = Kind {
    group: "tekton.dev",
    versions: VERSIONS,
    name: "TaskRun",
    plural: "taskruns",
    reserved_value: Some(TEKTON_PIPELINE),
    constraint: ValueConstraint::Any,
    retries_path: Some("spec.retries"),
    status: StatusRules::Custom(&StatusProfile {
        outcome: Some(OutcomeProfile {
            failure_reasons: &[(FailureReasons::STOP_SIDECAR_FAILED, SIDECARS_NOT_STOPPED)],
            attempts: Some(Attempts {
                path: "status.retriesStatus",
                failure_reasons: &[(
                    FailureReasons::LAST_ATTEMPT_STOP_SIDECAR_FAILED,
                    SIDECARS_NOT_STOPPED,
                )],
            }),
            allowed_transitions: TASK_RUN_TRANSITIONS,
            ..OUTCOME
        }),
        start: START,
        // After a transient error, a failed TaskRun has no completion time (docs/taskruns.md).
        end: Some(end(TerminalStates::SUCCEEDED)),
        ..StatusProfile::EMPTY
    }),
    docs: OptionalDocs::new(KindDocs {
        checks: CHECKS,
        unchecked: UNCHECKED,
        source: "docs/taskruns.md; `retryTaskRun` moves a failed status to `retriesStatus`, at most `spec.retries` times, and `stopSidecars` may fail a TaskRun that has succeeded",
    }),
    ..Kind::EMPTY
};
