//! Kinds with a `managedBy` field: one profile per kind, one module per API group. Rules use these profiles instead of matching on
//! kind names.

mod appwrapper;
mod batch;
#[cfg(feature = "docs")]
mod docs;
mod jobset;
mod keda;
mod kruise;
mod kubeflow;
mod ray;
pub(crate) mod status;
mod tekton;
mod trainer;
pub(crate) mod transitions;

use std::borrow::Cow;

use crate::upstream::names::is_valid_managed_by;
use status::StatusProfile;

pub(crate) use batch::JOB;
#[cfg(feature = "docs")]
pub use docs::TransitionDocs;

/// Location of `managedBy` in a kind: in the workload itself or in a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldLocation<'k> {
    /// The object itself is delegated. The field is immutable.
    Workload,
    /// The field is in a template for objects of the named kind, and may change.
    Template(&'k str),
}

/// Constraint on the value in the kind's own API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueConstraint<'k> {
    /// Domain-prefixed paths of at most 63 bytes, as for a Job.
    Path,
    /// One of these values.
    OneOf(&'k [&'k str]),
    /// Any string, including `""`.
    Any,
}

impl ValueConstraint<'_> {
    /// Returns true if the kind's own API accepts a value.
    pub fn accepts(self, value: &str) -> bool {
        match self {
            Self::Path => is_valid_managed_by(value),
            Self::OneOf(values) => values.contains(&value),
            Self::Any => true,
        }
    }
}

/// Reconciler of an object, according to its `managedBy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reconciler<'v> {
    /// The built-in controller: the field is unset, or has the kind's reserved value.
    BuiltIn,
    /// The named external controller.
    Delegated(&'v str),
}

impl<'v> Reconciler<'v> {
    /// Returns the external controller, if the object is delegated to one.
    pub fn controller(self) -> Option<&'v str> {
        match self {
            Self::BuiltIn => None,
            Self::Delegated(controller) => Some(controller),
        }
    }

    /// Returns true if the object is delegated.
    pub fn is_delegated(self) -> bool {
        self != Self::BuiltIn
    }

    /// Returns the value of the audit annotation `mode`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BuiltIn => "BuiltIn",
            Self::Delegated(_) => "Delegated",
        }
    }
}

/// Documentation of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct KindDocs {
    /// Validation of `managedBy` and of the status by the kind's own project.
    pub checks: &'static str,
    /// Invariants that neither the kind's own project nor this policy validates.
    pub unchecked: &'static str,
    /// Sources of the profile: API comments and controller code, as of August 2026.
    pub source: &'static str,
}

/// Documentation of a kind; empty without the feature `docs`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OptionalDocs {
    #[cfg(feature = "docs")]
    docs: KindDocs,
}

impl OptionalDocs {
    #[cfg(feature = "docs")]
    const fn new(docs: KindDocs) -> Self {
        Self { docs }
    }

    #[cfg(not(feature = "docs"))]
    const fn new(_: KindDocs) -> Self {
        Self {}
    }
}

/// Profile of a kind: the facts that rules need. Paths are formatted as in messages, with `[]` for each element of a list or map:
/// `spec.replicatedJobs[].template`.
#[derive(Debug, Clone, Copy)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts about an API"
)]
pub struct Kind<'k> {
    pub(crate) group: &'k str,
    /// Served versions that this profile applies to.
    pub(crate) versions: &'k [&'k str],
    /// Versions whose schema lacks the field, so that the API server prunes it.
    pub(crate) pruned_in: &'k [&'k str],
    pub(crate) name: &'k str,
    pub(crate) plural: &'k str,
    /// False if objects of the kind belong to no namespace.
    pub(crate) namespaced: bool,
    /// Path of `managedBy`.
    pub(crate) managed_by_path: &'k str,
    /// Value that selects the built-in controller, like an unset field, if the kind has one.
    pub(crate) reserved_value: Option<&'k str>,
    pub(crate) location: FieldLocation<'k>,
    pub(crate) constraint: ValueConstraint<'k>,
    /// False if a workload is only made of the template for an owner that rules already check, or if the template may be missing: a
    /// namespace that requires delegation says nothing about it.
    pub(crate) can_require_delegation: bool,
    /// True if the API defaults the field to the reserved value.
    pub(crate) defaulted: bool,
    /// True if the built-in controller skips delegated objects.
    pub(crate) honors_managed_by: bool,
    /// Templates of the objects that the built-in controller creates.
    pub(crate) templates: &'k [(&'k str, Template<'k>)],
    /// Labels of the delegated workload in a template. For a workload, they are `metadata.labels`.
    pub(crate) template_labels_path: Option<&'k str>,
    /// Path of the number of seconds after which the workload is deleted that has ended.
    pub(crate) ttl_path: Option<&'k str>,
    /// Path of the number of retries.
    pub(crate) retries_path: Option<&'k str>,
    pub(crate) status: StatusRules<'k>,
    /// True if the kind is declared in `custom_kinds` and not built into the library.
    pub(crate) is_declared: bool,
    #[cfg_attr(
        not(feature = "docs"),
        expect(dead_code, reason = "empty without the feature `docs`")
    )]
    pub(crate) docs: OptionalDocs,
}

impl Kind<'_> {
    pub(crate) const EMPTY: Kind<'static> = Kind {
        group: "",
        versions: &[],
        pruned_in: &[],
        name: "",
        plural: "",
        namespaced: true,
        managed_by_path: "spec.managedBy",
        reserved_value: None,
        location: FieldLocation::Workload,
        constraint: ValueConstraint::Path,
        can_require_delegation: true,
        defaulted: false,
        honors_managed_by: true,
        templates: &[],
        template_labels_path: None,
        ttl_path: None,
        retries_path: None,
        status: StatusRules::Unchecked,
        is_declared: false,
        docs: OptionalDocs::new(KindDocs {
            checks: "",
            unchecked: "",
            source: "",
        }),
    };
}

/// Status rules that apply to a kind.
#[derive(Debug, Clone, Copy)]
pub(crate) enum StatusRules<'k> {
    /// No rules.
    Unchecked,
    /// kube-apiserver's rules about the status of a Job.
    Job,
    /// Invariants of a custom resource's status.
    Custom(&'k StatusProfile<'k>),
}

/// Content of a template.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Template<'k> {
    /// An object of a kind: `{"metadata": ..., "spec": ...}`.
    Object(&'k Kind<'k>),
    /// The spec of an object of a kind, without metadata.
    Spec(&'k Kind<'k>),
    /// An object of any kind, with `apiVersion` and `kind`.
    Any,
}

/// All known kinds. A kind is listed more than once if its versions differ.
pub(crate) static KINDS: &[&Kind<'static>] = &[
    &JOB,
    &batch::CRON_JOB,
    &jobset::JOB_SET,
    &trainer::TRAIN_JOB,
    &trainer::OPTIMIZATION_JOB,
    &trainer::TRAINING_RUNTIME,
    &trainer::CLUSTER_TRAINING_RUNTIME,
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
    &keda::SCALED_JOB,
    &kruise::ADVANCED_CRON_JOB,
];

/// Labels that known controllers require.
///
/// Source: Kueue 0.18.4 and 0.19.2, `ReconcileGenericJob`: a job without a queue is ignored, or its Workload is never admitted.
pub static REQUIRED_LABELS: &[(&str, &[Cow<'static, str>])] =
    &[(MULTIKUEUE, &[Cow::Borrowed(QUEUE_NAME)])];

/// `QueueLabel` of Kueue. Kueue sets it to `default` in namespaces with a `LocalQueue` of that name.
pub const QUEUE_NAME: &str = "kueue.x-k8s.io/queue-name";

/// Path of an object's own labels.
pub(crate) const METADATA_LABELS: &str = "metadata.labels";

/// Returns all known kinds, in the order of the documentation. A kind is listed more than once if its versions differ.
pub fn kinds() -> &'static [&'static Kind<'static>] {
    KINDS
}

/// Job controller in kube-controller-manager (`JobControllerName` in `k8s.io/api/batch/v1`).
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
/// `MultiKueueControllerName` of Kueue, which runs workloads of many kinds on other clusters.
pub const MULTIKUEUE: &str = "kueue.x-k8s.io/multikueue";

/// Reserved values of all kinds, each with a description of the workloads that the controller runs.
///
/// Source: the API constants of the projects (`JobControllerName`, `JobSetControllerName`, ...), read in August 2026.
pub static RESERVED_VALUES: &[(&str, &str)] = &[
    (JOB_CONTROLLER, "Jobs"),
    (JOB_SET_CONTROLLER, "JobSets"),
    (TRAIN_JOB_CONTROLLER, "TrainJobs"),
    (KUBERAY_OPERATOR, "Ray kinds"),
    (APP_WRAPPER_CONTROLLER, "AppWrappers"),
    (TEKTON_PIPELINE, "PipelineRuns and TaskRuns"),
    (TRAINING_OPERATOR, "the Training Operator's jobs"),
    (MPI_OPERATOR, "MPIJobs"),
];

/// Known external controllers under a domain that built-in controllers also use.
///
/// Source: Kueue, `MultiKueueControllerName`.
pub static EXTERNAL_CONTROLLERS: &[&str] = &[MULTIKUEUE];

impl<'k> Kind<'k> {
    /// Returns the known kind with the given group, version and name.
    pub fn find(group: &str, version: &str, kind: &str) -> Option<&'static Kind<'static>> {
        KINDS
            .iter()
            .copied()
            .find(|k| k.name == kind && k.group == group && k.versions.contains(&version))
    }

    /// Returns the API group.
    pub fn group(&self) -> &'k str {
        self.group
    }

    /// Returns the served versions that this profile applies to.
    pub fn versions(&self) -> &'k [&'k str] {
        self.versions
    }

    /// Returns the versions whose schema lacks the field, so that the API server prunes it.
    pub fn pruned_in(&self) -> &'k [&'k str] {
        self.pruned_in
    }

    /// Returns the name of the kind.
    pub fn name(&self) -> &'k str {
        self.name
    }

    /// Returns the name of the resource, such as `jobs`.
    pub fn plural(&self) -> &'k str {
        self.plural
    }

    /// Returns true if each object of the kind belongs to a namespace.
    pub fn is_namespaced(&self) -> bool {
        self.namespaced
    }

    /// Returns the path of `managedBy`, such as `spec.managedBy`.
    pub fn managed_by_path(&self) -> &'k str {
        self.managed_by_path
    }

    /// Returns the value that selects the built-in controller, like an unset field. A kind from `custom_kinds` may have none.
    pub fn reserved_value(&self) -> Option<&'k str> {
        self.reserved_value
    }

    /// Returns the location of `managedBy`: the object itself or a template.
    pub fn field_location(&self) -> FieldLocation<'k> {
        self.location
    }

    /// Returns the constraint on the value in the kind's own API.
    pub fn value_constraint(&self) -> ValueConstraint<'k> {
        self.constraint
    }

    /// Returns true if a namespace that requires delegation requires the field. False for a template that may be missing, or that is
    /// used for an owner that is itself delegated.
    pub fn can_require_delegation(&self) -> bool {
        self.can_require_delegation
    }

    /// Returns true if the API defaults the field to the reserved value.
    pub fn is_defaulted(&self) -> bool {
        self.defaulted
    }

    /// Returns true if the built-in controller skips delegated objects.
    pub fn honors_managed_by(&self) -> bool {
        self.honors_managed_by
    }

    /// Returns the name of the kind that is delegated: this kind, or the kind of its template.
    pub fn workload_kind(&self) -> &'k str {
        match self.location {
            FieldLocation::Workload => self.name,
            FieldLocation::Template(kind) => kind,
        }
    }

    /// Returns the path of the delegated workload's labels, or [`None`] if users can't set them.
    pub fn workload_labels_path(&self) -> Option<&'k str> {
        match self.location {
            FieldLocation::Workload => Some(METADATA_LABELS),
            FieldLocation::Template(_) => self.template_labels_path,
        }
    }

    /// Returns the path of the number of seconds after which the delegated workload is deleted that has ended.
    pub fn ttl_path(&self) -> Option<&'k str> {
        self.ttl_path
    }

    /// Returns true if kube-apiserver itself serves and validates the kind.
    pub fn is_built_in(&self) -> bool {
        self.group == "batch"
    }

    /// Returns true if the kind is Job in the `batch` group.
    pub(crate) fn is_job(&self) -> bool {
        matches!(self.status, StatusRules::Job)
    }

    /// Returns true if the kind has a status profile that satisfies the predicate.
    pub(crate) fn status_profile_matches(
        &self,
        predicate: impl Fn(&StatusProfile<'_>) -> bool,
    ) -> bool {
        self.status_profile().is_some_and(predicate)
    }

    /// Returns true if there are rules about the status of the kind.
    pub fn has_status_rules(&self) -> bool {
        !matches!(self.status, StatusRules::Unchecked)
    }

    /// Returns the reconciler of an object of this kind with the given `managedBy`.
    pub fn reconciler<'v>(&self, managed_by: Option<&'v str>) -> Reconciler<'v> {
        match managed_by {
            Some(value) if Some(value) != self.reserved_value => Reconciler::Delegated(value),
            Some(_) | None => Reconciler::BuiltIn,
        }
    }

    pub(crate) fn status_profile(&self) -> Option<&'k StatusProfile<'k>> {
        match self.status {
            StatusRules::Custom(profile) => Some(profile),
            StatusRules::Unchecked | StatusRules::Job => None,
        }
    }
}

#[cfg(test)]
mod tests;
