//! `jobset.x-k8s.io`: JobSet, which makes Jobs.

use super::custom::{Both, ENDLESS, Outcome, Sign, StatusProfile, fact, nothing};
use super::parts::{self, Part, Template};
use super::{About, Form, Holder, JOB_SET_CONTROLLER, KindDocs, KindProfile, batch};

pub(super) static JOB_SET: KindProfile = KindProfile {
    group: "jobset.x-k8s.io",
    versions: &["v1alpha2"],
    pruned_in: &[],
    kind: "JobSet",
    plural: "jobsets",
    managed_by: &["spec", "managedBy"],
    reserved: JOB_SET_CONTROLLER,
    holder: Holder::Workload,
    form: Form::Path,
    defaulted: false,
    steps_back: true,
    spec: Part::Fields(&[
        ("managedBy", Part::ManagedBy),
        (
            "replicatedJobs",
            Part::Each(&Part::Fields(&[(
                "template",
                Part::Template(Template::Object(&batch::JOB)),
            )])),
        ),
    ]),
    status: Some(&STATUS),
    read: parts::read,
    about: About::new(KindDocs {
        checks: "a webhook: form and immutability; nothing of the status",
        unchecked: "`restartsCountTowardsMax` beside `restarts`: restarts of single Jobs count there too",
        source: "`JobSetStatus`; `jobSetFinished`, `setJobSetCompletedCondition`, `setJobSetFailedCondition` and `exclusiveConditions` in pkg/controllers",
    }),
};

static STATUS: StatusProfile = StatusProfile {
    parts: Part::Fields(&[
        (
            "conditions",
            Part::Conditions(&[
                Sign::when("Completed", fact::SUCCEEDED),
                Sign::when("Failed", fact::FAILED),
                Sign::when("StartupPolicyInProgress", fact::FIRST),
                Sign::when("StartupPolicyCompleted", fact::SECOND),
            ]),
        ),
        (
            "terminalState",
            Part::Said(&[
                ("Completed", fact::SAYS_SUCCEEDED),
                ("Failed", fact::SAYS_FAILED),
            ]),
        ),
        ("restarts", Part::Total(0)),
        ("restartsCountTowardsMax", Part::Total(1)),
        (
            "replicatedJobsStatus",
            Part::Each(&Part::Fields(&[
                ("ready", Part::Counter),
                ("succeeded", Part::Counter),
                ("failed", Part::Counter),
                ("active", Part::Counter),
                ("suspended", Part::Counter),
                ("jobRestarts", Part::Each(&Part::Counter)),
                ("jobRestartsCountTowardsMax", Part::Each(&Part::Counter)),
            ])),
        ),
    ]),
    outcome: Some(Outcome {
        path: "status.conditions",
        success: "Completed",
        failure: "Failed",
        dead_end: None,
        detail: None,
        both: Both::Never,
        taken_back: nothing,
    }),
    totals: &["status.restarts", "status.restartsCountTowardsMax"],
    pair: Some(("StartupPolicyInProgress", "StartupPolicyCompleted")),
    says: Some("status.terminalState"),
    ..ENDLESS
};
