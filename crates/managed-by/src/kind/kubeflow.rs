//! `kubeflow.org`: the Training Operator's jobs (`v1`), and the mpi-operator's MPIJob (`v2beta1`).

use super::custom::{Both, ENDLESS, End, Outcome, Sign, StatusProfile, Step, fact, nothing};
use super::parts::{self, Part};
use super::{
    About, Form, Holder, KindDocs, KindProfile, MPI_OPERATOR, MULTIKUEUE, TRAINING_OPERATOR,
};

const PATH: &[&str] = &["spec", "runPolicy", "managedBy"];

const SPEC: Part = Part::Fields(&[("runPolicy", Part::Fields(&[("managedBy", Part::ManagedBy)]))]);

/// The webhooks' `ValidateRunPolicy`.
const FORM: Form = Form::OneOf(&[TRAINING_OPERATOR, MULTIKUEUE]);

const REPLICAS: Part = Part::Each(&Part::Fields(&[
    ("active", Part::Counter),
    ("succeeded", Part::Counter),
    ("failed", Part::Counter),
]));

const PARTS: Part = Part::Fields(&[
    (
        "conditions",
        Part::Conditions(&[
            Sign::when("Succeeded", fact::SUCCEEDED),
            Sign::when("Failed", fact::FAILED),
        ]),
    ),
    ("startTime", Part::Start),
    ("completionTime", Part::End),
    ("replicaStatuses", REPLICAS),
]);

const fn status(taken_back: fn(&Step<'_>) -> u16, both: Both, ended: u16) -> StatusProfile {
    StatusProfile {
        parts: PARTS,
        outcome: Some(Outcome {
            path: "status.conditions",
            success: "Succeeded",
            failure: "Failed",
            dead_end: None,
            detail: None,
            both,
            taken_back,
        }),
        end: Some(End {
            path: "status.completionTime",
            only_with_outcome: true,
            of: ended,
        }),
        ..ENDLESS
    }
}

/// The Training Operator's jobs.
static STATUS: StatusProfile = status(nothing, Both::Never, fact::SUCCEEDED | fact::FAILED);

/// A TFJob, and an elastic PyTorchJob without a master: a replica type that has succeeded does not end the walk over the
/// others (`UpdateJobStatus` of the two), so that both outcomes may be noted in one update.
static STATUS_OF_BOTH: StatusProfile =
    status(nothing, Both::Allowed, fact::SUCCEEDED | fact::FAILED);

/// The mpi-operator's MPIJob.
static MPI_STATUS: StatusProfile = status(taken_back, Both::Never, fact::SUCCEEDED);

/// An evicted worker fails an MPIJob without a completion time; a success later takes that back. With a completion time it
/// is finished.
fn taken_back(step: &Step<'_>) -> u16 {
    match step.old.end {
        None => fact::FAILED,
        Some(_) => 0,
    }
}

const SOURCE: &str = "`JobStatus` of kubeflow.org/v1; `ReconcileJobs` returns once a job is finished; `UpdateJobStatus` writes the completion time with either outcome, and `setCondition` nothing after a failure; read at Training Operator 1.9.4";

const SOURCE_OF_BOTH: &str = "`JobStatus` of kubeflow.org/v1; `ReconcileJobs` returns once a job is finished; `UpdateJobStatus` writes the completion time with either outcome, and may note both at once, which is no finding; read at Training Operator 1.9.4";

const fn training_operator(
    kind: &'static str,
    plural: &'static str,
    form: Form,
    steps_back: bool,
    checks: &'static str,
    unchecked: &'static str,
    (status, source): (&'static StatusProfile, &'static str),
) -> KindProfile {
    KindProfile {
        group: "kubeflow.org",
        versions: &["v1"],
        pruned_in: &[],
        kind,
        plural,
        managed_by: PATH,
        reserved: TRAINING_OPERATOR,
        holder: Holder::Workload,
        form,
        defaulted: false,
        steps_back,
        spec: SPEC,
        status: Some(status),
        read: parts::read,
        about: About::new(KindDocs {
            checks,
            unchecked,
            source,
        }),
    }
}

const WEBHOOK: &str = "a webhook: two values, immutability; nothing of the status";

const NO_CONTROLLER: &str = "whether the controller exists";

pub(super) static PY_TORCH_JOB: KindProfile = training_operator(
    "PyTorchJob",
    "pytorchjobs",
    FORM,
    true,
    "a webhook: two values; it compares the field with itself, so it may change",
    NO_CONTROLLER,
    (&STATUS_OF_BOTH, SOURCE_OF_BOTH),
);

pub(super) static TF_JOB: KindProfile = training_operator(
    "TFJob",
    "tfjobs",
    FORM,
    true,
    WEBHOOK,
    NO_CONTROLLER,
    (&STATUS_OF_BOTH, SOURCE_OF_BOTH),
);

pub(super) static XG_BOOST_JOB: KindProfile = training_operator(
    "XGBoostJob",
    "xgboostjobs",
    FORM,
    true,
    WEBHOOK,
    NO_CONTROLLER,
    (&STATUS, SOURCE),
);

pub(super) static PADDLE_JOB: KindProfile = training_operator(
    "PaddleJob",
    "paddlejobs",
    FORM,
    true,
    WEBHOOK,
    NO_CONTROLLER,
    (&STATUS, SOURCE),
);

pub(super) static JAX_JOB: KindProfile = training_operator(
    "JAXJob",
    "jaxjobs",
    Form::Open,
    false,
    "nothing",
    "its controller does not look at the field: a delegated JAXJob is run twice",
    (&STATUS, SOURCE),
);

pub(super) static MPI_JOB_V1: KindProfile = training_operator(
    "MPIJob",
    "mpijobs",
    Form::Open,
    true,
    "nothing",
    NO_CONTROLLER,
    (&STATUS, SOURCE),
);

pub(super) static MPI_JOB: KindProfile = KindProfile {
    group: "kubeflow.org",
    versions: &["v2beta1"],
    pruned_in: &[],
    kind: "MPIJob",
    plural: "mpijobs",
    managed_by: PATH,
    reserved: MPI_OPERATOR,
    holder: Holder::Workload,
    form: Form::Open,
    defaulted: false,
    steps_back: true,
    spec: SPEC,
    status: Some(&MPI_STATUS),
    read: parts::read,
    about: About::new(KindDocs {
        checks: "nothing: its check of the values runs only after it has stepped back",
        unchecked: NO_CONTROLLER,
        source: "`JobStatus` of kubeflow.org/v2beta1; mpi_job_controller.go: finished is an outcome with a completion time, an evicted worker fails an MPIJob without one, for the time being; workers are looked at only while the launcher runs; read at 0.6.0 and 0.8.0",
    }),
};
