//! `apps.kruise.io`: `AdvancedCronJob`, which creates Jobs, or objects of `OpenKruise`'s own kinds, which lack the field.

use super::{FieldLocation, JOB_CONTROLLER, Kind, KindDocs, OptionalDocs};

pub(super) static ADVANCED_CRON_JOB: Kind<'static> = Kind {
    group: "apps.kruise.io",
    versions: &["v1alpha1", "v1beta1"],
    name: "AdvancedCronJob",
    plural: "advancedcronjobs",
    managed_by_path: "spec.template.jobTemplate.spec.managedBy",
    reserved_value: Some(JOB_CONTROLLER),
    location: FieldLocation::Template("Job"),
    template_labels_path: Some("spec.template.jobTemplate.metadata.labels"),
    ttl_path: Some("spec.template.jobTemplate.spec.ttlSecondsAfterFinished"),
    can_require_delegation: false,
    docs: OptionalDocs::new(KindDocs {
        checks: "nothing: the schema of the template accepts any field. kube-apiserver rejects each Job with an invalid value",
        unchecked: "with `concurrencyPolicy: Forbid`, one orphaned Job blocks every later run. A namespace that requires delegation does not require it in this template",
        source: "`CronJobTemplate`; advancedcronjob_job_controller.go",
    }),
    ..Kind::EMPTY
};
