//! `jobset.x-k8s.io`: JobSet, which creates Jobs.

use super::status::{OutcomeProfile, StatusProfile, condition_true};
use super::{JOB_SET_CONTROLLER, Kind, KindDocs, OptionalDocs, StatusRules, Template, batch};

pub(super) static JOB_SET: Kind<'static> = Kind {
    group: "jobset.x-k8s.io",
    versions: &["v1alpha2"],
    name: "JobSet",
    plural: "jobsets",
    reserved_value: Some(JOB_SET_CONTROLLER),
    ttl_path: Some("spec.ttlSecondsAfterFinished"),
    templates: &[(
        "spec.replicatedJobs[].template",
        Template::Object(&batch::JOB),
    )],
    status: StatusRules::Custom(&StatusProfile {
        outcome: Some(OutcomeProfile::new(
            condition_true("Completed"),
            condition_true("Failed"),
        )),
        terminal_state: Some("status.terminalState"),
        monotonic_counters: &["status.restarts", "status.restartsCountTowardsMax"],
        counters: &[
            "status.replicatedJobsStatus[].ready",
            "status.replicatedJobsStatus[].succeeded",
            "status.replicatedJobsStatus[].failed",
            "status.replicatedJobsStatus[].active",
            "status.replicatedJobsStatus[].suspended",
            "status.replicatedJobsStatus[].jobRestarts[]",
            "status.replicatedJobsStatus[].jobRestartsCountTowardsMax[]",
        ],
        exclusive: Some(("StartupPolicyInProgress", "StartupPolicyCompleted")),
        ..StatusProfile::EMPTY
    }),
    docs: OptionalDocs::new(KindDocs {
        checks: "a webhook checks the format and immutability, but not the status",
        unchecked: "no check compares `restartsCountTowardsMax` with `restarts`",
        source: "`JobSetStatus`; `jobSetFinished`, `setJobSetCompletedCondition`, `setJobSetFailedCondition` and `exclusiveConditions` in pkg/controllers",
    }),
    ..Kind::EMPTY
};
