//! `batch`: Job and CronJob.

use super::{FieldLocation, JOB_CONTROLLER, Kind, KindDocs, OptionalDocs, StatusRules};

/// Job, the only kind whose `managedBy` and status kube-apiserver itself validates (KEP-4368).
pub(crate) static JOB: Kind<'static> = Kind {
    group: "batch",
    versions: &["v1"],
    name: "Job",
    plural: "jobs",
    reserved_value: Some(JOB_CONTROLLER),
    ttl_path: Some("spec.ttlSecondsAfterFinished"),
    status: StatusRules::Job,
    docs: OptionalDocs::new(KindDocs {
        checks: "kube-apiserver checks the format, immutability and the whole status, if the feature gate `JobManagedBy` is enabled",
        unchecked: "nothing checks that the external controller exists. While `JobManagedBy` is disabled, the API server drops the field. Kueue 0.18.4 and 0.19.2 admit a Job without resource requests and never dispatch it, unless its ClusterQueue covers the resource `pods`; `managed-by status` finds such Jobs",
        source: "`k8s.io/api/batch/v1`, `pkg/apis/batch/validation`, KEP-4368",
    }),
    ..Kind::EMPTY
};

/// CronJob, whose Jobs get `managedBy` from the template. The template is mutable.
pub(super) static CRON_JOB: Kind<'static> = Kind {
    group: "batch",
    versions: &["v1"],
    name: "CronJob",
    plural: "cronjobs",
    managed_by_path: "spec.jobTemplate.spec.managedBy",
    reserved_value: Some(JOB_CONTROLLER),
    location: FieldLocation::Template("Job"),
    template_labels_path: Some("spec.jobTemplate.metadata.labels"),
    ttl_path: Some("spec.jobTemplate.spec.ttlSecondsAfterFinished"),
    docs: OptionalDocs::new(KindDocs {
        checks: "kube-apiserver checks the format. The template may change",
        unchecked: "with `concurrencyPolicy: Forbid`, one orphaned Job blocks every later run",
        source: "`pkg/apis/batch/validation`, KEP-4368",
    }),
    ..Kind::EMPTY
};
