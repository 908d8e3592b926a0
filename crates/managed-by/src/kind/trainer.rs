//! `trainer.kubeflow.org`: TrainJob, which creates a JobSet from a `TrainingRuntime` or `ClusterTrainingRuntime`, and OptimizationJob,
//! which creates TrainJobs.

use super::status::{
    DualOutcome, FailureReasons, OutcomeProfile, StatusProfile, TerminalStates, condition_true,
    condition_with_reason,
};
use super::transitions::{AllowedTransition, ReconciledBy, TransitionCondition, TransitionSource};
use super::{
    FieldLocation, JOB_SET_CONTROLLER, Kind, KindDocs, MULTIKUEUE, OptionalDocs, StatusRules,
    TRAIN_JOB_CONTROLLER as CONTROLLER, Template, ValueConstraint, batch,
};

/// Constraint of the CEL rule on `managedBy`.
const CONSTRAINT: ValueConstraint<'static> = ValueConstraint::OneOf(&[CONTROLLER, MULTIKUEUE]);

pub(super) static TRAIN_JOB: Kind<'static> = Kind {
    group: "trainer.kubeflow.org",
    versions: &["v1alpha1"],
    name: "TrainJob",
    plural: "trainjobs",
    reserved_value: Some(CONTROLLER),
    constraint: CONSTRAINT,
    defaulted: true,
    status: StatusRules::Custom(&StatusProfile {
        outcome: Some(OutcomeProfile {
            dual: DualOutcome::AfterSuccess,
            failure_reasons: &[
                // After a deadline, `setTrainJobStatus` still copies the JobSet's status, so a TrainJob may also become Complete.
                (
                    FailureReasons::DEADLINE_EXCEEDED,
                    condition_with_reason("Failed", "True", "DeadlineExceeded"),
                ),
            ],
            // Trainer 2.1 to 2.3 removes a failure on reconcile (`removeFailedCondition`), unless a deadline caused it, and runs
            // the TrainJob again if its JobSet is gone.
            allowed_transitions: &[AllowedTransition {
                from: TerminalStates::FAILED,
                to: None,
                reconciled_by: ReconciledBy::Any,
                condition: TransitionCondition::NotDeadlineExceeded,
                source: TransitionSource::new("`removeFailedCondition`, Trainer 2.1 to 2.3"),
            }],
            ..OutcomeProfile::new(condition_true("Complete"), condition_true("Failed"))
        }),
        counters: &[
            "status.jobsStatus[].ready",
            "status.jobsStatus[].succeeded",
            "status.jobsStatus[].failed",
            "status.jobsStatus[].active",
            "status.jobsStatus[].suspended",
        ],
        ..StatusProfile::EMPTY
    }),
    docs: OptionalDocs::new(KindDocs {
        checks: "CEL allows two values and checks immutability, and the schema rejects negative counters. The field defaults to the reserved value",
        unchecked: "Trainer 2.0 to 2.2 runs the TrainJob regardless of the field",
        source: "trainjob_controller.go at 2.0.0 to 2.3.0. A deadline may fail a TrainJob that is Complete. 2.1 creates the missing JobSet of a Complete TrainJob again, which may fail. 2.1 to 2.3 remove a failure, unless a deadline caused it (`removeFailedCondition`)",
    }),
    ..Kind::EMPTY
};

pub(super) static OPTIMIZATION_JOB: Kind<'static> = Kind {
    group: "trainer.kubeflow.org",
    versions: &["v1alpha1"],
    name: "OptimizationJob",
    plural: "optimizationjobs",
    managed_by_path: "spec.trainJobTemplate.spec.managedBy",
    reserved_value: Some(CONTROLLER),
    location: FieldLocation::Template("TrainJob"),
    template_labels_path: Some("spec.trainJobTemplate.metadata.labels"),
    constraint: CONSTRAINT,
    defaulted: true,
    docs: OptionalDocs::new(KindDocs {
        checks: "CEL checks the values, as for TrainJob",
        unchecked: "no rule evaluates its status",
        source: "`OptimizationJobSpec`",
    }),
    ..Kind::EMPTY
};

/// The template of a TrainJob's JobSet. A TrainJob is delegated itself, so the template needn't be.
pub(super) static TRAINING_RUNTIME: Kind<'static> = Kind {
    group: "trainer.kubeflow.org",
    versions: &["v1alpha1"],
    name: "TrainingRuntime",
    plural: "trainingruntimes",
    managed_by_path: "spec.template.spec.managedBy",
    reserved_value: Some(JOB_SET_CONTROLLER),
    location: FieldLocation::Template("JobSet"),
    template_labels_path: Some("spec.template.metadata.labels"),
    ttl_path: Some("spec.template.spec.ttlSecondsAfterFinished"),
    can_require_delegation: false,
    templates: &[(
        "spec.template.spec.replicatedJobs[].template",
        Template::Object(&batch::JOB),
    )],
    docs: OptionalDocs::new(KindDocs {
        checks: "the schema accepts any string. JobSet's webhook checks the format when a TrainJob uses the runtime",
        unchecked: "a TrainJob that is not delegated gets a JobSet that its controller skips",
        source: "`JobSetTemplateSpec`; `TrainingRuntime.NewObjects` in pkg/runtime/core at 2.3.0 copies the whole spec into the JobSet",
    }),
    ..Kind::EMPTY
};

/// The same for all namespaces.
pub(super) static CLUSTER_TRAINING_RUNTIME: Kind<'static> = Kind {
    name: "ClusterTrainingRuntime",
    plural: "clustertrainingruntimes",
    namespaced: false,
    ..TRAINING_RUNTIME
};
