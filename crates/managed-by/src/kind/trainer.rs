//! `trainer.kubeflow.org`: TrainJob, which makes a JobSet, and OptimizationJob, which makes TrainJobs.

use super::custom::{Both, ENDLESS, Outcome, Sign, StatusProfile, Step, fact};
use super::parts::{self, Part};
use super::{
    About, Form, Holder, KindDocs, KindProfile, MULTIKUEUE, TRAIN_JOB_CONTROLLER as CONTROLLER,
};

/// The CEL rule on the field.
const FORM: Form = Form::OneOf(&[CONTROLLER, MULTIKUEUE]);

const SPEC: Part = Part::Fields(&[("managedBy", Part::ManagedBy)]);

pub(super) static TRAIN_JOB: KindProfile = KindProfile {
    group: "trainer.kubeflow.org",
    versions: &["v1alpha1"],
    pruned_in: &[],
    kind: "TrainJob",
    plural: "trainjobs",
    managed_by: &["spec", "managedBy"],
    reserved: CONTROLLER,
    holder: Holder::Workload,
    form: FORM,
    defaulted: true,
    steps_back: true,
    spec: SPEC,
    status: Some(&STATUS),
    read: parts::read,
    about: About::new(KindDocs {
        checks: "CEL: two values, immutability; its schema: counters at least 0; writes the reserved value where there is none",
        unchecked: "Trainer 2.0 to 2.2 runs the TrainJob whatever the field says",
        source: "`TrainJobSpec`, `TrainJobStatus`; pkg/controller/trainjob_controller.go, where a deadline fails a TrainJob that may be Complete already, 2.1 makes the JobSet of a Complete one anew when it is gone, which may fail, and 2.1 to 2.3 take a failure back, a deadline's aside (`removeFailedCondition`); read at 2.0.0, 2.1.0, 2.2.0, 2.3.0",
    }),
};

static STATUS: StatusProfile = StatusProfile {
    parts: Part::Fields(&[
        (
            "conditions",
            Part::Conditions(&[
                Sign::when("Complete", fact::SUCCEEDED),
                Sign::when("Failed", fact::FAILED),
                // setTrainJobStatus reads the JobSet after a deadline.
                Sign::of(
                    "Failed",
                    "True",
                    "DeadlineExceeded",
                    fact::BESIDE_SUCCESS | fact::FOR_GOOD,
                ),
            ]),
        ),
        (
            "jobsStatus",
            Part::Each(&Part::Fields(&[
                ("ready", Part::Counter),
                ("succeeded", Part::Counter),
                ("failed", Part::Counter),
                ("active", Part::Counter),
                ("suspended", Part::Counter),
            ])),
        ),
    ]),
    outcome: Some(Outcome {
        path: "status.conditions",
        success: "Complete",
        failure: "Failed",
        dead_end: None,
        detail: None,
        both: Both::AfterSuccess,
        taken_back,
    }),
    ..ENDLESS
};

/// Trainer 2.1 to 2.3 clears a failure on a reconcile (`removeFailedCondition`), but for a deadline's, and runs the
/// TrainJob again where its JobSet is gone.
fn taken_back(step: &Step<'_>) -> u16 {
    if step.old.has(fact::FOR_GOOD) {
        0
    } else {
        fact::FAILED
    }
}

pub(super) static OPTIMIZATION_JOB: KindProfile = KindProfile {
    group: "trainer.kubeflow.org",
    versions: &["v1alpha1"],
    pruned_in: &[],
    kind: "OptimizationJob",
    plural: "optimizationjobs",
    managed_by: &["spec", "trainJobTemplate", "spec", "managedBy"],
    reserved: CONTROLLER,
    holder: Holder::Template("TrainJob"),
    form: FORM,
    defaulted: true,
    steps_back: true,
    spec: Part::Fields(&[("trainJobTemplate", Part::Fields(&[("spec", SPEC)]))]),
    status: None,
    read: parts::read,
    about: About::new(KindDocs {
        checks: "CEL: the values of TrainJob",
        unchecked: "its status: no rule of ours judges it",
        source: "`OptimizationJobSpec`",
    }),
};
