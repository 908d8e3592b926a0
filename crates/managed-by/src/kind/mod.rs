//! What differs from kind to kind: one file per API group.

#[cfg(feature = "docs")]
mod about;
mod appwrapper;
mod batch;
pub mod custom;
pub mod job;
mod jobset;
mod kubeflow;
mod parts;
pub mod pod;
mod ray;
mod tekton;
mod trainer;

use crate::json::{Reader, Result};
use crate::request::Object;
use custom::StatusProfile;
use parts::Part;

/// What a kind does with its `managedBy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// The object itself is delegated. The field never changes.
    Workload,
    /// The field stands in a template: it delegates objects of that kind, made from it later, and may change.
    Template(&'static str),
}

/// Which values the kind's own API accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Domain-prefixed paths of at most 63 bytes, as for a Job.
    Path,
    /// These alone.
    OneOf(&'static [&'static str]),
    /// Any string, `""` too.
    Open,
}

/// What people read about a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KindDocs {
    /// What the project itself checks of the field and of the status, where.
    pub checks: &'static str,
    /// What neither the project nor this policy can check.
    pub unchecked: &'static str,
    /// What its rules rest on: API comments and controller code, as read in August 2026.
    pub source: &'static str,
}

/// The documentation of a kind where the feature `docs` asks for it.
#[derive(Debug)]
pub(crate) struct About {
    #[cfg(feature = "docs")]
    docs: KindDocs,
}

impl About {
    #[cfg(feature = "docs")]
    pub(crate) const fn new(docs: KindDocs) -> Self {
        Self { docs }
    }

    #[cfg(not(feature = "docs"))]
    pub(crate) const fn new(_: KindDocs) -> Self {
        Self {}
    }
}

/// The facts about one kind that rules need.
#[derive(Debug)]
pub struct KindProfile {
    /// API group.
    pub group: &'static str,
    /// Served versions that hold the field in this way.
    pub versions: &'static [&'static str],
    /// Those of them whose schema has no such field, so that the API server drops it.
    pub pruned_in: &'static [&'static str],
    /// The kind's name.
    pub kind: &'static str,
    /// The name of its resource.
    pub plural: &'static str,
    /// The path of `managedBy`, as segments from the object's root.
    pub managed_by: &'static [&'static str],
    /// The value that stands for the built-in controller; unset means the same.
    pub reserved: &'static str,
    /// Whether the object or a template in it is delegated.
    pub holder: Holder,
    /// Which values its own API accepts.
    pub form: Form,
    /// Whether its API writes the reserved value where there is none.
    pub defaulted: bool,
    /// Whether its own controller steps back where another one is named.
    pub steps_back: bool,
    /// Where its parts stand, from `spec`.
    pub(crate) spec: Part,
    /// What its status promises; [`None`] for a Job, whose status has rules of its own, and where there is nothing to say.
    pub(crate) status: Option<&'static StatusProfile>,
    /// Reads the parts of an object of this kind that rules need, and checks the rest to be JSON.
    pub(crate) read: for<'a> fn(&Self, &mut Reader<'a>) -> Result<Object<'a>>,
    #[cfg_attr(not(feature = "docs"), expect(dead_code, reason = "holds nothing"))]
    pub(crate) about: About,
}

/// Every kind that the library knows. The same kind may stand here once for each way in which its versions differ.
pub static KINDS: &[&KindProfile] = &[
    &batch::JOB,
    &batch::CRON_JOB,
    &jobset::JOB_SET,
    &trainer::TRAIN_JOB,
    &trainer::OPTIMIZATION_JOB,
    &ray::RAY_CLUSTER,
    &ray::RAY_JOB,
    &ray::RAY_SERVICE,
    &ray::RAY_CRON_JOB,
    &appwrapper::APP_WRAPPER,
    &tekton::PIPELINE_RUN,
    &tekton::TASK_RUN,
    &kubeflow::PY_TORCH_JOB,
    &kubeflow::TF_JOB,
    &kubeflow::XG_BOOST_JOB,
    &kubeflow::PADDLE_JOB,
    &kubeflow::JAX_JOB,
    &kubeflow::MPI_JOB_V1,
    &kubeflow::MPI_JOB,
];

/// The name of the Job controller in kube-controller-manager (`JobControllerName` in `k8s.io/api/batch/v1`).
const JOB_CONTROLLER: &str = "kubernetes.io/job-controller";
/// `JobSetControllerName`.
const JOB_SET_CONTROLLER: &str = "jobset.sigs.k8s.io/jobset-controller";
/// `TrainJobControllerName`.
const TRAIN_JOB_CONTROLLER: &str = "trainer.kubeflow.org/trainjob-controller";
/// `KubeRayController`.
const KUBERAY_OPERATOR: &str = "ray.io/kuberay-operator";
/// `AppWrapperControllerName`.
const APP_WRAPPER_CONTROLLER: &str = "workload.codeflare.dev/appwrapper-controller";
/// `ManagedBy` of Tekton's pipeline group.
const TEKTON_PIPELINE: &str = "tekton.dev/pipeline";
/// `KubeflowJobsController`.
const TRAINING_OPERATOR: &str = "kubeflow.org/training-operator";
/// `KubeflowJobController` of the mpi-operator.
const MPI_OPERATOR: &str = "kubeflow.org/mpi-operator";
/// Kueue's `MultiKueueControllerName`: it runs workloads of many kinds on other clusters.
pub(crate) const MULTIKUEUE: &str = "kueue.x-k8s.io/multikueue";

/// The reserved values of all kinds, with the words for what each controller runs.
///
/// Source: the API constants of the projects (`JobControllerName`, `JobSetControllerName`, ...), read in August 2026.
pub static RESERVED: &[(&str, &str)] = &[
    (JOB_CONTROLLER, "Jobs"),
    (JOB_SET_CONTROLLER, "JobSets"),
    (TRAIN_JOB_CONTROLLER, "TrainJobs"),
    (KUBERAY_OPERATOR, "Ray kinds"),
    (APP_WRAPPER_CONTROLLER, "AppWrappers"),
    (TEKTON_PIPELINE, "PipelineRuns and TaskRuns"),
    (TRAINING_OPERATOR, "the Training Operator's jobs"),
    (MPI_OPERATOR, "MPIJobs"),
];

/// External controllers that are known to exist under a domain that built-in controllers use.
///
/// Source: Kueue, `MultiKueueControllerName`.
pub static EXTERNAL: &[&str] = &[MULTIKUEUE];

impl KindProfile {
    /// The profile of a kind, if the library knows it.
    pub fn find(group: &str, version: &str, kind: &str) -> Option<&'static Self> {
        KINDS
            .iter()
            .copied()
            .find(|k| k.kind == kind && k.group == group && k.versions.contains(&version))
    }

    /// The kind that is delegated: this one, or the one that is made of its template.
    pub fn workload(&self) -> &'static str {
        match self.holder {
            Holder::Workload => self.kind,
            Holder::Template(made) => made,
        }
    }

    /// The path of `managedBy` as messages write it: `spec.managedBy`.
    pub fn managed_by_path(&self) -> String {
        self.managed_by.join(".")
    }

    /// Whether kube-apiserver itself serves the kind, and checks it.
    pub fn is_built_in(&self) -> bool {
        self.group == "batch"
    }

    /// Whether there is a status to judge.
    pub fn has_status_rules(&self) -> bool {
        self.status.is_some() || self.kind == "Job"
    }

    /// Whether a value hands an object of this kind to a controller other than its own.
    pub(crate) fn is_delegated(&self, value: Option<&str>) -> bool {
        value.is_some_and(|value| value != self.reserved)
    }
}

#[cfg(test)]
mod tests;
