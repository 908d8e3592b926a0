//! `batch`: Job and CronJob.

use super::{About, Form, Holder, JOB_CONTROLLER, Kind, KindDocs, Status};

/// Job: the only kind whose field and status kube-apiserver itself validates (KEP-4368).
pub(crate) static JOB: Kind<'static> = Kind {
    group: "batch",
    versions: &["v1"],
    pruned_in: &[],
    name: "Job",
    plural: "jobs",
    managed_by: "spec.managedBy",
    reserved: JOB_CONTROLLER,
    holder: Holder::Workload,
    form: Form::Path,
    defaulted: false,
    steps_back: true,
    templates: &[],
    retries: None,
    status: Status::Job,
    about: About::new(KindDocs {
        checks: "kube-apiserver: the form, immutability, and the whole status (`JobManagedBy`, off by default in 1.30 and 1.31)",
        unchecked: "whether the controller exists",
        source: "`k8s.io/api/batch/v1`, `pkg/apis/batch/validation`, KEP-4368",
    }),
};

/// CronJob: the Jobs that it will make carry its template's field. The template may change.
pub(super) static CRON_JOB: Kind<'static> = Kind {
    group: "batch",
    versions: &["v1"],
    pruned_in: &[],
    name: "CronJob",
    plural: "cronjobs",
    managed_by: "spec.jobTemplate.spec.managedBy",
    reserved: JOB_CONTROLLER,
    holder: Holder::Template("Job"),
    form: Form::Path,
    defaulted: false,
    steps_back: true,
    templates: &[],
    retries: None,
    status: Status::Unjudged,
    about: About::new(KindDocs {
        checks: "kube-apiserver: the form; the template may change",
        unchecked: "with `concurrencyPolicy: Forbid` one orphan blocks every later run",
        source: "`pkg/apis/batch/validation`, KEP-4368",
    }),
};
