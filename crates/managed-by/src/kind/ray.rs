//! `ray.io`: RayCluster, and RayJob, RayService and RayCronJob, which make one.
//!
//! `v1alpha1` is served too and has no such field in its schema: what is written through it loses the field before any
//! webhook sees it.

use super::custom::{Both, ENDLESS, End, Outcome, Sign, StatusProfile, Step, fact};
use super::parts::{self, Part, Template};
use super::{About, Form, Holder, KUBERAY_OPERATOR, KindDocs, KindProfile, MULTIKUEUE};

const VERSIONS: &[&str] = &["v1", "v1alpha1"];

/// The CEL rule on the field.
const FORM: Form = Form::OneOf(&[KUBERAY_OPERATOR, MULTIKUEUE]);

const CHECKS: &str = "CEL: two values; a set value does not change, but it may be added and removed (the rule does not see that)";

const UNCHECKED: &str =
    "a write through `v1alpha1` drops the field unseen: stop serving that version";

pub(super) static RAY_CLUSTER: KindProfile = KindProfile {
    group: "ray.io",
    versions: VERSIONS,
    pruned_in: &["v1alpha1"],
    kind: "RayCluster",
    plural: "rayclusters",
    managed_by: &["spec", "managedBy"],
    reserved: KUBERAY_OPERATOR,
    holder: Holder::Workload,
    form: FORM,
    defaulted: false,
    steps_back: true,
    spec: Part::Fields(&[("managedBy", Part::ManagedBy)]),
    status: Some(&CLUSTER_STATUS),
    read: parts::read,
    about: About::new(KindDocs {
        checks: CHECKS,
        unchecked: UNCHECKED,
        source: "raycluster_types.go (`RayClusterSuspending` and `RayClusterSuspended` are never both true). `RayClusterProvisioned` is taken back on suspend (raycluster_controller.go), whatever its comment says: no rule",
    }),
};

static CLUSTER_STATUS: StatusProfile = StatusProfile {
    parts: Part::Fields(&[
        (
            "conditions",
            Part::Conditions(&[
                Sign::when("RayClusterSuspending", fact::FIRST),
                Sign::when("RayClusterSuspended", fact::SECOND),
            ]),
        ),
        // Those that are desired, and the least and the most of them, repeat the spec and count nothing: KubeRay 1.3 to
        // 1.5.0 lets the most run over into a negative number (`CalculateMaxReplicas`, #4158).
        ("readyWorkerReplicas", Part::Counter),
        ("availableWorkerReplicas", Part::Counter),
    ]),
    pair: Some(("RayClusterSuspending", "RayClusterSuspended")),
    ..ENDLESS
};

const JOB_SPEC: Part = Part::Fields(&[
    ("managedBy", Part::ManagedBy),
    (
        "rayClusterSpec",
        Part::Template(Template::Spec(&RAY_CLUSTER)),
    ),
]);

pub(super) static RAY_JOB: KindProfile = KindProfile {
    group: "ray.io",
    versions: VERSIONS,
    pruned_in: &["v1alpha1"],
    kind: "RayJob",
    plural: "rayjobs",
    managed_by: &["spec", "managedBy"],
    reserved: KUBERAY_OPERATOR,
    holder: Holder::Workload,
    form: FORM,
    defaulted: false,
    steps_back: true,
    spec: JOB_SPEC,
    status: Some(&JOB_STATUS),
    read: parts::read,
    about: About::new(KindDocs {
        checks: CHECKS,
        unchecked: UNCHECKED,
        source: "`IsJobDeploymentTerminal`; rayjob_controller.go: a failed attempt goes to `Retrying` before it is ever stored as `Failed`, so that it has no `endTime`; from 1.5 on one that no longer validates leaves any state for `ValidationFailed`, which no branch leaves; `jobStatus` is written before the end only; read at 1.3.0 to 1.7.0",
    }),
};

static JOB_STATUS: StatusProfile = StatusProfile {
    parts: Part::Fields(&[
        (
            "jobDeploymentStatus",
            Part::Word(&[
                ("Complete", fact::SUCCEEDED),
                ("Failed", fact::FAILED),
                ("ValidationFailed", fact::DEAD_END),
            ]),
        ),
        (
            "jobStatus",
            Part::Word(&[
                ("SUCCEEDED", fact::SAYS_SUCCEEDED),
                ("FAILED", fact::SAYS_FAILED),
                ("STOPPED", fact::SAYS_STOPPED),
            ]),
        ),
        ("startTime", Part::Start),
        ("endTime", Part::End),
        ("succeeded", Part::Total(0)),
        ("failed", Part::Total(1)),
    ]),
    outcome: Some(Outcome {
        path: "status.jobDeploymentStatus",
        success: "Complete",
        failure: "Failed",
        dead_end: Some("ValidationFailed"),
        detail: Some("status.jobStatus"),
        both: Both::Unsayable,
        taken_back,
    }),
    end: Some(End {
        path: "status.endTime",
        only_with_outcome: false,
        of: 0,
    }),
    totals: &["status.succeeded", "status.failed"],
    ..ENDLESS
};

/// From 1.5 on the operator validates before anything else, each time, so that a newer one may refuse a RayJob that has
/// ended; it keeps the end, and the RayJob stays there. Whoever else runs it has no such state after an outcome; before
/// one, it may dispatch the RayJob anew.
fn taken_back(step: &Step<'_>) -> u16 {
    let (old, new) = (step.old, step.new);
    let refused = !step.delegated && new.has(fact::DEAD_END);
    match old.has(fact::DEAD_END) {
        false if refused && new.end.is_some() && old.end.is_some() => {
            fact::SUCCEEDED | fact::FAILED
        }
        true if step.delegated || old.end.is_none() => fact::DEAD_END,
        _ => 0,
    }
}

pub(super) static RAY_SERVICE: KindProfile = KindProfile {
    group: "ray.io",
    versions: VERSIONS,
    pruned_in: &["v1alpha1"],
    kind: "RayService",
    plural: "rayservices",
    managed_by: &["spec", "managedBy"],
    reserved: KUBERAY_OPERATOR,
    holder: Holder::Workload,
    form: FORM,
    defaulted: false,
    steps_back: true,
    spec: Part::Fields(&[
        ("managedBy", Part::ManagedBy),
        (
            "rayClusterConfig",
            Part::Template(Template::Spec(&RAY_CLUSTER)),
        ),
    ]),
    status: Some(&SERVICE_STATUS),
    read: parts::read,
    about: About::new(KindDocs {
        checks: CHECKS,
        unchecked: UNCHECKED,
        source: "rayservice_types.go; it has no end",
    }),
};

static SERVICE_STATUS: StatusProfile = StatusProfile {
    parts: Part::Fields(&[("numServeEndpoints", Part::Counter)]),
    ..ENDLESS
};

pub(super) static RAY_CRON_JOB: KindProfile = KindProfile {
    group: "ray.io",
    versions: &["v1"],
    pruned_in: &[],
    kind: "RayCronJob",
    plural: "raycronjobs",
    managed_by: &["spec", "jobTemplate", "managedBy"],
    reserved: KUBERAY_OPERATOR,
    holder: Holder::Template("RayJob"),
    form: FORM,
    defaulted: false,
    steps_back: true,
    spec: Part::Fields(&[("jobTemplate", JOB_SPEC)]),
    status: None,
    read: parts::read,
    about: About::new(KindDocs {
        checks: "CEL: the values of RayJob",
        unchecked: "its status: no rule of ours judges it",
        source: "`RayCronJobSpec`",
    }),
};
