//! `batch`: Job and CronJob.

use super::{Holder, KindProfile};

/// The name of the Job controller in kube-controller-manager (`JobControllerName` in `k8s.io/api/batch/v1`).
const JOB_CONTROLLER: &str = "kubernetes.io/job-controller";

/// Job: the only kind whose field and status kube-apiserver itself validates (KEP-4368).
pub(super) static JOB: KindProfile = KindProfile {
    group: "batch",
    version: "v1",
    kind: "Job",
    managed_by: &["spec", "managedBy"],
    reserved: JOB_CONTROLLER,
    holder: Holder::Workload,
    read: super::job::read,
};

/// CronJob: the Jobs that it will make carry its template's field. The template may change.
pub(super) static CRON_JOB: KindProfile = KindProfile {
    group: "batch",
    version: "v1",
    kind: "CronJob",
    managed_by: &["spec", "jobTemplate", "spec", "managedBy"],
    reserved: JOB_CONTROLLER,
    holder: Holder::Template,
    read: KindProfile::read_field,
};
