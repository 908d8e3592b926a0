//! What differs from kind to kind, as data: one file for each API group.

mod appwrapper;
mod batch;
#[cfg(feature = "docs")]
mod docs;
mod jobset;
mod kubeflow;
mod ray;
pub(crate) mod status;
mod tekton;
mod trainer;
pub(crate) mod transitions;

use status::StatusProfile;

pub(crate) use batch::JOB;
#[cfg(feature = "docs")]
pub use docs::TransitionDocs;

/// What a kind does with its `managedBy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder<'k> {
    /// The object itself is delegated. The field never changes.
    Workload,
    /// The field is in a template: it delegates objects of that kind, made from it later, and may change.
    Template(&'k str),
}

/// Which values the kind's own API accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form<'k> {
    /// Domain-prefixed paths of at most 63 bytes, as for a Job.
    Path,
    /// These alone.
    OneOf(&'k [&'k str]),
    /// Any string, `""` too.
    Open,
}

/// Who reconciles an object, as its `managedBy` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode<'v> {
    /// The built-in controller: the field is unset, or has the kind's reserved value.
    Standard,
    /// The external controller of that name.
    Delegated(&'v str),
}

impl<'v> Mode<'v> {
    /// The external controller, if the object is delegated to one.
    pub fn controller(self) -> Option<&'v str> {
        match self {
            Self::Standard => None,
            Self::Delegated(controller) => Some(controller),
        }
    }

    /// Whether the object is delegated.
    pub fn is_delegated(self) -> bool {
        self != Self::Standard
    }

    /// The word for it in the audit annotation `mode`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Standard => "Standard",
            Self::Delegated(_) => "Delegated",
        }
    }
}

/// What people read about a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct KindDocs {
    /// What the project itself checks of the field and of the status, where.
    pub checks: &'static str,
    /// What neither the project nor this policy can check.
    pub unchecked: &'static str,
    /// What its rules rest on: API comments and controller code, as read in August 2026.
    pub source: &'static str,
}

/// The documentation of a kind where the feature `docs` asks for it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct About {
    #[cfg(feature = "docs")]
    docs: KindDocs,
}

impl About {
    #[cfg(feature = "docs")]
    const fn new(docs: KindDocs) -> Self {
        Self { docs }
    }

    #[cfg(not(feature = "docs"))]
    const fn new(_: KindDocs) -> Self {
        Self {}
    }
}

/// The facts about one kind that rules need. A path is written as in messages: `spec.replicatedJobs[].template`, where
/// `[]` stands for each element of a list or map.
#[derive(Debug, Clone, Copy)]
pub struct Kind<'k> {
    pub(crate) group: &'k str,
    /// Served versions that hold the field in this way.
    pub(crate) versions: &'k [&'k str],
    /// Those of them whose schema has no such field, so that the API server drops it.
    pub(crate) pruned_in: &'k [&'k str],
    pub(crate) name: &'k str,
    pub(crate) plural: &'k str,
    /// The path of `managedBy`.
    pub(crate) managed_by: &'k str,
    /// The value that stands for the built-in controller, if there is one; unset means the same.
    pub(crate) reserved: Option<&'k str>,
    pub(crate) holder: Holder<'k>,
    pub(crate) form: Form<'k>,
    /// Whether its API writes the reserved value where there is none.
    pub(crate) defaulted: bool,
    /// Whether its own controller steps back where another one is named.
    pub(crate) steps_back: bool,
    /// The templates of what its controller makes.
    pub(crate) templates: &'k [(&'k str, Template<'k>)],
    /// Where the spec says how often the workload may be tried again.
    pub(crate) retries: Option<&'k str>,
    pub(crate) status: Status<'k>,
    /// Whether the settings declare it. The library knows the others.
    pub(crate) is_declared: bool,
    #[cfg_attr(not(feature = "docs"), expect(dead_code, reason = "holds nothing"))]
    pub(crate) about: About,
}

impl Kind<'_> {
    /// The defaults of a profile.
    pub(crate) const EMPTY: Kind<'static> = Kind {
        group: "",
        versions: &[],
        pruned_in: &[],
        name: "",
        plural: "",
        managed_by: "spec.managedBy",
        reserved: None,
        holder: Holder::Workload,
        form: Form::Path,
        defaulted: false,
        steps_back: true,
        templates: &[],
        retries: None,
        status: Status::Unjudged,
        is_declared: false,
        about: About::new(KindDocs {
            checks: "",
            unchecked: "",
            source: "",
        }),
    };
}

/// What is judged of a kind's status.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Status<'k> {
    /// Nothing.
    Unjudged,
    /// What kube-apiserver judges of a Job's.
    Job,
    /// What its project promises.
    Custom(&'k StatusProfile<'k>),
}

/// What is in a template.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Template<'k> {
    /// An object of a kind: `{"metadata": ..., "spec": ...}`.
    Object(&'k Kind<'k>),
    /// The spec of an object of a kind.
    Spec(&'k Kind<'k>),
    /// An object of any kind, which names it.
    Any,
}

/// Every kind that the library knows. The same kind may be here once for each way in which its versions differ.
static KINDS: &[&Kind<'static>] = &[
    &JOB,
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

/// Every kind that the library knows, in the order of the documentation. A kind may come twice, once for each way in which
/// its versions differ.
pub fn kinds() -> &'static [&'static Kind<'static>] {
    KINDS
}

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
pub(crate) static EXTERNAL: &[&str] = &[MULTIKUEUE];

impl<'k> Kind<'k> {
    /// The kind with a group, a version and a name, if the library knows it.
    pub fn find(group: &str, version: &str, kind: &str) -> Option<&'static Kind<'static>> {
        KINDS
            .iter()
            .copied()
            .find(|k| k.name == kind && k.group == group && k.versions.contains(&version))
    }

    /// API group.
    pub fn group(&self) -> &'k str {
        self.group
    }

    /// Served versions that hold the field in this way.
    pub fn versions(&self) -> &'k [&'k str] {
        self.versions
    }

    /// Those of [`Kind::versions`] whose schema has no such field, so that the API server drops it.
    pub fn pruned_in(&self) -> &'k [&'k str] {
        self.pruned_in
    }

    /// The kind's name.
    pub fn name(&self) -> &'k str {
        self.name
    }

    /// The name of its resource: `jobs`.
    pub fn plural(&self) -> &'k str {
        self.plural
    }

    /// The path of `managedBy`: `spec.managedBy`.
    pub fn managed_by_path(&self) -> &'k str {
        self.managed_by
    }

    /// The value that stands for the built-in controller; unset means the same. A kind that the settings declare may have
    /// none: then only unset does.
    pub fn reserved_value(&self) -> Option<&'k str> {
        self.reserved
    }

    /// Whether the object or a template in it is delegated.
    pub fn holder(&self) -> Holder<'k> {
        self.holder
    }

    /// Which values its own API accepts.
    pub fn form(&self) -> Form<'k> {
        self.form
    }

    /// Whether its API writes the reserved value where there is none.
    pub fn is_defaulted(&self) -> bool {
        self.defaulted
    }

    /// Whether its own controller steps back where another one is named.
    pub fn steps_back(&self) -> bool {
        self.steps_back
    }

    /// The kind that is delegated: this one, or the one that is made of its template.
    pub fn workload(&self) -> &'k str {
        match self.holder {
            Holder::Workload => self.name,
            Holder::Template(made) => made,
        }
    }

    /// Whether kube-apiserver itself serves the kind, and checks it.
    pub fn is_built_in(&self) -> bool {
        self.group == "batch"
    }

    /// Whether its status promises something.
    pub(crate) fn promises(&self, holds: impl Fn(&StatusProfile<'_>) -> bool) -> bool {
        self.status_profile().is_some_and(holds)
    }

    /// Whether there is a status to judge.
    pub fn has_status_rules(&self) -> bool {
        !matches!(self.status, Status::Unjudged)
    }

    /// Who reconciles an object of this kind with a `managedBy`.
    pub fn mode<'v>(&self, managed_by: Option<&'v str>) -> Mode<'v> {
        match managed_by {
            Some(value) if Some(value) != self.reserved => Mode::Delegated(value),
            Some(_) | None => Mode::Standard,
        }
    }

    /// The promises of a custom resource's status.
    pub(crate) fn status_profile(&self) -> Option<&'k StatusProfile<'k>> {
        match self.status {
            Status::Custom(profile) => Some(profile),
            Status::Unjudged | Status::Job => None,
        }
    }
}

/// Whether a kind is Job of `batch`.
pub(crate) fn is_job(kind: &Kind<'_>) -> bool {
    matches!(kind.status, Status::Job)
}

#[cfg(test)]
mod tests;
