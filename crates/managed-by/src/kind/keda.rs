//! `keda.sh`: `ScaledJob`, which creates Jobs.

use super::{FieldLocation, JOB_CONTROLLER, Kind, KindDocs, METADATA_LABELS, OptionalDocs};

pub(super) static SCALED_JOB: Kind<'static> = Kind {
    group: "keda.sh",
    versions: &["v1alpha1"],
    name: "ScaledJob",
    plural: "scaledjobs",
    managed_by_path: "spec.jobTargetRef.managedBy",
    reserved_value: Some(JOB_CONTROLLER),
    location: FieldLocation::Template("Job"),
    // KEDA copies its own labels to the Jobs.
    template_labels_path: Some(METADATA_LABELS),
    ttl_path: Some("spec.jobTargetRef.ttlSecondsAfterFinished"),
    docs: OptionalDocs::new(KindDocs {
        checks: "the schema accepts any string. kube-apiserver rejects each Job with an invalid value. The template may change",
        unchecked: "KEDA counts Jobs without an end, so each orphaned Job takes one of `maxReplicaCount`. Delegated Jobs, which have no pods, count as pending (strategies `accurate` and `eager`)",
        source: "`ScaledJobSpec`; `createJobs` and `getRunningJobCount` in pkg/scaling/executor/scale_jobs.go",
    }),
    ..Kind::EMPTY
};
