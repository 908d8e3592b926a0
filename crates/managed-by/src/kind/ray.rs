//! `ray.io`: RayCluster, and RayJob, RayService and `RayCronJob`, which create a RayCluster.
//!
//! `v1alpha1` is also served, but its schema lacks the field, so that the API server prunes it before it calls webhooks.

use super::status::{EndTime, OutcomeProfile, StatusMatcher, StatusProfile, TerminalStates};
use super::transitions::{AllowedTransition, ReconciledBy, TransitionCondition, TransitionSource};
use super::{
    FieldLocation, KUBERAY_OPERATOR, Kind, KindDocs, MULTIKUEUE, OptionalDocs, StatusRules,
    Template, ValueConstraint,
};

const VERSIONS: &[&str] = &["v1", "v1alpha1"];

/// Constraint of the CEL rule on `managedBy`.
const CONSTRAINT: ValueConstraint<'static> =
    ValueConstraint::OneOf(&[KUBERAY_OPERATOR, MULTIKUEUE]);

const CHECKS: &str = "CEL allows two values, and denies changes to a set value, but not adding or removing the field";

const UNCHECKED: &str = "a write through `v1alpha1` drops the field, and `managed-by/pruned-version` sees only the version: it warns, or denies updates if `role`, `controllers` or `namespaces` is set";

const RAY_JOB_UNCHECKED: &str = "as for RayCluster. Kueue and KubeRay both skip a delegated RayJob with `clusterSelector`, so it never runs. With `deletionStrategy.deletionRules`, Kueue requires `shutdownAfterJobFinishes`, and KubeRay in the worker cluster refuses both together";

pub(super) static RAY_CLUSTER: Kind<'static> = Kind {
    group: "ray.io",
    versions: VERSIONS,
    pruned_in: &["v1alpha1"],
    name: "RayCluster",
    plural: "rayclusters",
    reserved_value: Some(KUBERAY_OPERATOR),
    constraint: CONSTRAINT,
    status: StatusRules::Custom(&StatusProfile {
        exclusive: Some(("RayClusterSuspending", "RayClusterSuspended")),
        // The desired, minimum and maximum numbers of workers are not counters. The maximum may overflow into a negative number in
        // KubeRay 1.3 to 1.5.0 (`CalculateMaxReplicas`, #4158).
        counters: &[
            "status.readyWorkerReplicas",
            "status.availableWorkerReplicas",
        ],
        ..StatusProfile::EMPTY
    }),
    docs: OptionalDocs::new(KindDocs {
        checks: CHECKS,
        unchecked: UNCHECKED,
        source: "raycluster_types.go: `RayClusterSuspending` and `RayClusterSuspended` are never both true. Suspending a RayCluster reverts `RayClusterProvisioned` (raycluster_controller.go), so no rule evaluates it",
    }),
    ..Kind::EMPTY
};

pub(super) static RAY_JOB: Kind<'static> = Kind {
    group: "ray.io",
    versions: VERSIONS,
    pruned_in: &["v1alpha1"],
    name: "RayJob",
    plural: "rayjobs",
    reserved_value: Some(KUBERAY_OPERATOR),
    constraint: CONSTRAINT,
    templates: &[("spec.rayClusterSpec", Template::Spec(&RAY_CLUSTER))],
    status: StatusRules::Custom(&StatusProfile {
        outcome: Some(OutcomeProfile {
            dead_end: Some(state(&["ValidationFailed"])),
            reason: Some(StatusMatcher::Field {
                path: "status.jobStatus",
                values: &["SUCCEEDED", "FAILED", "STOPPED"],
            }),
            allowed_transitions: RAY_JOB_TRANSITIONS,
            ..OutcomeProfile::new(state(&["Complete"]), state(&["Failed"]))
        }),
        start: Some("status.startTime"),
        end: Some(EndTime {
            path: "status.endTime",
            needs_outcome: false,
            required_by: TerminalStates::empty(),
        }),
        monotonic_counters: &["status.succeeded", "status.failed"],
        ..StatusProfile::EMPTY
    }),
    docs: OptionalDocs::new(KindDocs {
        checks: CHECKS,
        unchecked: RAY_JOB_UNCHECKED,
        source: "`IsJobDeploymentTerminal`, and rayjob_controller.go at 1.3.0 to 1.7.0. A failed attempt goes to `Retrying` and has no `endTime`. From 1.5 on, a RayJob that is no longer valid goes from any state to `ValidationFailed` and stays there. `jobStatus` changes only before the end",
    }),
    ..Kind::EMPTY
};

const fn state(values: &'static [&'static str]) -> StatusMatcher<'static> {
    StatusMatcher::Field {
        path: "status.jobDeploymentStatus",
        values,
    }
}

/// Since 1.5, the operator validates a RayJob in each reconcile, so a newer operator may reject a RayJob that has ended. It keeps
/// the end time, and then never leaves `ValidationFailed`. Without an end time there was no outcome, so the RayJob may be restarted
/// by resetting its status. An external controller never sets that state after an outcome; before an outcome, it may dispatch the
/// RayJob again.
const RAY_JOB_TRANSITIONS: &[AllowedTransition] = &[
    AllowedTransition {
        from: TerminalStates::OUTCOMES,
        to: Some(TerminalStates::DEAD_END),
        reconciled_by: ReconciledBy::BuiltIn,
        condition: TransitionCondition::EndTimeKept,
        source: TransitionSource::new("rayjob_controller.go, KubeRay 1.5.0 to 1.7.0"),
    },
    AllowedTransition {
        from: TerminalStates::DEAD_END,
        to: None,
        reconciled_by: ReconciledBy::External,
        condition: TransitionCondition::Always,
        source: TransitionSource::new(
            "a new dispatch by MultiKueue, which copies the whole status (ray_multikueue_adapter.go)",
        ),
    },
    AllowedTransition {
        from: TerminalStates::DEAD_END,
        to: None,
        reconciled_by: ReconciledBy::Any,
        condition: TransitionCondition::NoEndTime,
        source: TransitionSource::new(
            "a user resets the status: without an end time, there was no outcome (rayjob_controller.go, KubeRay 1.5.0 to 1.7.0)",
        ),
    },
];

pub(super) static RAY_SERVICE: Kind<'static> = Kind {
    group: "ray.io",
    versions: VERSIONS,
    pruned_in: &["v1alpha1"],
    name: "RayService",
    plural: "rayservices",
    reserved_value: Some(KUBERAY_OPERATOR),
    constraint: CONSTRAINT,
    templates: &[("spec.rayClusterConfig", Template::Spec(&RAY_CLUSTER))],
    status: StatusRules::Custom(&StatusProfile {
        counters: &["status.numServeEndpoints"],
        ..StatusProfile::EMPTY
    }),
    docs: OptionalDocs::new(KindDocs {
        checks: CHECKS,
        unchecked: UNCHECKED,
        source: "rayservice_types.go",
    }),
    ..Kind::EMPTY
};

pub(super) static RAY_CRON_JOB: Kind<'static> = Kind {
    group: "ray.io",
    versions: &["v1"],
    name: "RayCronJob",
    plural: "raycronjobs",
    managed_by_path: "spec.jobTemplate.managedBy",
    reserved_value: Some(KUBERAY_OPERATOR),
    location: FieldLocation::Template("RayJob"),
    constraint: CONSTRAINT,
    templates: &[(
        "spec.jobTemplate.rayClusterSpec",
        Template::Spec(&RAY_CLUSTER),
    )],
    docs: OptionalDocs::new(KindDocs {
        checks: "CEL checks the values, as for RayJob",
        unchecked: "no rule evaluates its status",
        source: "`RayCronJobSpec`",
    }),
    ..Kind::EMPTY
};
