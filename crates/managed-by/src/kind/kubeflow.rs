//! `kubeflow.org`: the Training Operator's jobs (`v1`), and the mpi-operator's MPIJob (`v2beta1`).

use super::status::{
    DualOutcome, EndTime, OutcomeProfile, StatusProfile, TerminalStates, condition_true,
};
use super::transitions::{AllowedTransition, ReconciledBy, TransitionCondition, TransitionSource};
use super::{
    Kind, KindDocs, MPI_OPERATOR, MULTIKUEUE, OptionalDocs, StatusRules, TRAINING_OPERATOR,
    ValueConstraint,
};

const MANAGED_BY: &str = "spec.runPolicy.managedBy";

/// Constraint of the webhooks (`ValidateRunPolicy`).
const CONSTRAINT: ValueConstraint<'static> =
    ValueConstraint::OneOf(&[TRAINING_OPERATOR, MULTIKUEUE]);

const OUTCOME: OutcomeProfile<'static> =
    OutcomeProfile::new(condition_true("Succeeded"), condition_true("Failed"));

const fn status(
    outcome: &OutcomeProfile<'static>,
    ended: TerminalStates,
) -> StatusProfile<'static> {
    StatusProfile {
        outcome: Some(*outcome),
        start: Some("status.startTime"),
        end: Some(EndTime {
            path: "status.completionTime",
            needs_outcome: true,
            required_by: ended,
        }),
        counters: &[
            "status.replicaStatuses[].active",
            "status.replicaStatuses[].succeeded",
            "status.replicaStatuses[].failed",
        ],
        ..StatusProfile::EMPTY
    }
}

/// Status of the Training Operator's jobs. With restart policy `ExitCode`, a permanent exit code fails the job without a completion
/// time (`ReconcilePods` in common/pod.go).
static STATUS: StatusProfile<'static> = status(&OUTCOME, TerminalStates::SUCCEEDED);

/// The loop over replica types continues after one that has succeeded (`UpdateJobStatus` of TFJob and PyTorchJob), so one update
/// may set both outcomes.
const DUAL_OUTCOME: OutcomeProfile<'static> = OutcomeProfile {
    dual: DualOutcome::Allowed,
    ..OUTCOME
};

/// Status of a PyTorchJob, which may have both outcomes if it is elastic and has no master.
static PY_TORCH_STATUS: StatusProfile<'static> = status(&DUAL_OUTCOME, TerminalStates::SUCCEEDED);

/// Status of a TFJob, which may have both outcomes and always has a completion time with an outcome.
static TF_STATUS: StatusProfile<'static> = status(&DUAL_OUTCOME, TerminalStates::OUTCOMES);

/// Status of the Training Operator's MPIJob, which always has a completion time with an outcome.
static MPI_V1_STATUS: StatusProfile<'static> = status(&OUTCOME, TerminalStates::OUTCOMES);

/// Status of the mpi-operator's MPIJob. An evicted worker fails it without a completion time, and a later success replaces the
/// failure. With a completion time the MPIJob is finished.
static MPI_STATUS: StatusProfile<'static> = status(
    &OutcomeProfile {
        allowed_transitions: &[AllowedTransition {
            from: TerminalStates::FAILED,
            to: None,
            reconciled_by: ReconciledBy::Any,
            condition: TransitionCondition::NoEndTime,
            source: TransitionSource::new("mpi_job_controller.go, mpi-operator 0.6.0 and 0.8.0"),
        }],
        ..OUTCOME
    },
    TerminalStates::SUCCEEDED,
);

const SOURCE: &str = "Training Operator's controllers (source code of 1.9.4, recordings with 1.9.3) stop once a job is finished (`ReconcileJobs`), and write nothing after a failure (`setCondition`). A success has a completion time, a failure by exit code has none (`UpdateJobStatus`)";

const DUAL_SOURCE: &str = "Training Operator's controllers (source code of 1.9.4, recordings with 1.9.3) stop once a job is finished (`ReconcileJobs`). An outcome has a completion time, unless a PyTorchJob fails by exit code. They may write both outcomes at once, which the rules allow (`UpdateJobStatus`)";

const MPI_SOURCE: &str =
    "as for XGBoostJob, but either outcome has a completion time (`UpdateJobStatus`)";

const WEBHOOK: &str = "a webhook allows two values and checks immutability, but not the status";

const NO_CONTROLLER: &str = "nothing checks that the external controller exists";

/// Common profile of the Training Operator's kinds.
const TRAINING_OPERATOR_JOB: Kind<'static> = Kind {
    group: "kubeflow.org",
    versions: &["v1"],
    managed_by_path: MANAGED_BY,
    reserved_value: Some(TRAINING_OPERATOR),
    constraint: CONSTRAINT,
    ttl_path: Some("spec.runPolicy.ttlSecondsAfterFinished"),
    status: StatusRules::Custom(&STATUS),
    docs: OptionalDocs::new(KindDocs {
        checks: WEBHOOK,
        unchecked: NO_CONTROLLER,
        source: SOURCE,
    }),
    ..Kind::EMPTY
};

pub(super) static PY_TORCH_JOB: Kind<'static> = Kind {
    name: "PyTorchJob",
    plural: "pytorchjobs",
    status: StatusRules::Custom(&PY_TORCH_STATUS),
    docs: OptionalDocs::new(KindDocs {
        checks: "a webhook allows two values. The field may change",
        unchecked: NO_CONTROLLER,
        source: DUAL_SOURCE,
    }),
    ..TRAINING_OPERATOR_JOB
};

pub(super) static TF_JOB: Kind<'static> = Kind {
    name: "TFJob",
    plural: "tfjobs",
    status: StatusRules::Custom(&TF_STATUS),
    docs: OptionalDocs::new(KindDocs {
        checks: WEBHOOK,
        unchecked: NO_CONTROLLER,
        source: DUAL_SOURCE,
    }),
    ..TRAINING_OPERATOR_JOB
};

pub(super) static XG_BOOST_JOB: Kind<'static> = Kind {
    name: "XGBoostJob",
    plural: "xgboostjobs",
    ..TRAINING_OPERATOR_JOB
};

pub(super) static PADDLE_JOB: Kind<'static> = Kind {
    name: "PaddleJob",
    plural: "paddlejobs",
    ..TRAINING_OPERATOR_JOB
};

pub(super) static JAX_JOB: Kind<'static> = Kind {
    name: "JAXJob",
    plural: "jaxjobs",
    constraint: ValueConstraint::Any,
    honors_managed_by: false,
    docs: OptionalDocs::new(KindDocs {
        checks: "nothing",
        unchecked: "its built-in controller ignores the field, so two controllers run a delegated JAXJob",
        source: SOURCE,
    }),
    ..TRAINING_OPERATOR_JOB
};

pub(super) static MPI_JOB_V1: Kind<'static> = Kind {
    name: "MPIJob",
    plural: "mpijobs",
    constraint: ValueConstraint::Any,
    status: StatusRules::Custom(&MPI_V1_STATUS),
    docs: OptionalDocs::new(KindDocs {
        checks: "nothing",
        unchecked: NO_CONTROLLER,
        source: MPI_SOURCE,
    }),
    ..TRAINING_OPERATOR_JOB
};

pub(super) static MPI_JOB: Kind<'static> = Kind {
    versions: &["v2beta1"],
    // The TTL applies to the launcher, not to the MPIJob.
    ttl_path: None,
    name: "MPIJob",
    plural: "mpijobs",
    reserved_value: Some(MPI_OPERATOR),
    constraint: ValueConstraint::Any,
    status: StatusRules::Custom(&MPI_STATUS),
    docs: OptionalDocs::new(KindDocs {
        checks: "nothing; the controller checks the value only after it has decided not to run the object",
        unchecked: NO_CONTROLLER,
        source: "mpi_job_controller.go at 0.6.0 and 0.8.0. An MPIJob is finished if it has an outcome and a completion time. An evicted worker fails it without that time, and a later success replaces the failure",
    }),
    ..TRAINING_OPERATOR_JOB
};
