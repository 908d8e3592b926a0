//! Heartbeats of controllers: the Leases of their leader elections.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::json::parts;

/// Lease of a controller's leader election.
#[derive(Debug)]
pub(crate) struct LeaseProfile {
    /// Value of `managedBy`.
    pub(crate) controller: &'static str,
    /// Namespace in which the project installs the controller.
    pub(crate) namespace: &'static str,
    pub(crate) name: &'static str,
    /// Field managers with which the controller writes. `manager` is the name of the program in many images.
    pub(super) managers: &'static [&'static str],
}

const fn lease(
    controller: &'static str,
    namespace: &'static str,
    name: &'static str,
    managers: &'static [&'static str],
) -> LeaseProfile {
    LeaseProfile {
        controller,
        namespace,
        name,
        managers,
    }
}

/// Leases of controllers. Some clusters have none, for example K3s, and some projects elect a leader only if a flag says so.
///
/// Sources: the default `--leader-elect-resource-name` of kube-controller-manager, `leaderElection` in the configurations that Kueue,
/// JobSet and Trainer install, and the defaults in the main programs of KubeRay (`LeaderElectionID`), the Training Operator
/// (`--leader-election-id`) and AppWrapper.
pub(crate) const LEASES: &[LeaseProfile] = &[
    lease(
        "kubernetes.io/job-controller",
        "kube-system",
        "kube-controller-manager",
        &["kube-controller-manager", "k3s"],
    ),
    lease(
        managed_by::MULTIKUEUE,
        "kueue-system",
        "c1f6bfd2.kueue.x-k8s.io",
        &["kueue"],
    ),
    lease(
        "jobset.sigs.k8s.io/jobset-controller",
        "jobset-system",
        "6d4f6a47.jobset.x-k8s.io",
        &["jobset", "manager"],
    ),
    lease(
        "trainer.kubeflow.org/trainjob-controller",
        "kubeflow-system",
        "trainer.kubeflow.org",
        &["trainer", "manager"],
    ),
    lease(
        "ray.io/kuberay-operator",
        "kuberay-operator",
        "ray-operator-leader",
        &["kuberay-operator", "manager"],
    ),
    lease(
        "kubeflow.org/training-operator",
        "kubeflow",
        "1ca428e5.training-operator.kubeflow.org",
        &["training-operator", "training-operator.v1", "manager"],
    ),
    lease(
        "workload.codeflare.dev/appwrapper-controller",
        "appwrapper-system",
        "f134c674.codeflare.dev",
        &["appwrapper", "manager"],
    ),
];

parts! {
    struct Lease {
        metadata: Metadata,
        spec: Spec,
    }

    struct Metadata {
        namespace: String,
    }

    struct Spec {
        renew_time: Option<DateTime<Utc>>,
    }
}

/// Last renewal of a controller's Lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heartbeat {
    Renewed(DateTime<Utc>),
    /// The Lease could not be read, or several namespaces have one.
    Unread,
}

/// The last renewal of each controller's Lease, with the namespace of the Lease.
#[derive(Debug, Clone, Default)]
pub(crate) struct Leases(BTreeMap<&'static str, (String, Heartbeat)>);

impl Leases {
    /// Adds a Lease as JSON. A Lease without a renewal is ignored. The one in the project's namespace is the controller's: anyone may
    /// create a Lease of that name in another namespace.
    pub(crate) fn add(&mut self, profile: &LeaseProfile, json: &str) {
        let Lease { metadata, spec } = serde_json::from_str(json).unwrap_or_default();
        let Some(time) = spec.renew_time else {
            return;
        };
        let heartbeat = match self.0.get(profile.controller) {
            Some((known, _)) if known == profile.namespace => return,
            Some(_) if metadata.namespace != profile.namespace => Heartbeat::Unread,
            _ => Heartbeat::Renewed(time),
        };
        self.0
            .insert(profile.controller, (metadata.namespace, heartbeat));
    }

    /// Notes that a Lease could not be read.
    pub(crate) fn note_unread(&mut self, profile: &LeaseProfile) {
        let unread = (String::new(), Heartbeat::Unread);
        self.0.insert(profile.controller, unread);
    }

    pub(super) fn heartbeat(&self, controller: &str) -> Option<Heartbeat> {
        self.0.get(controller).map(|(_, heartbeat)| *heartbeat)
    }

    /// Returns true if a Lease of the controller was found, and only one.
    pub(crate) fn is_found(&self, profile: &LeaseProfile) -> bool {
        matches!(
            self.heartbeat(profile.controller),
            Some(Heartbeat::Renewed(_))
        )
    }
}

/// Returns the field managers of a controller; empty if they are unknown.
pub(super) fn managers(controller: &str) -> &'static [&'static str] {
    let mut leases = LEASES.iter();
    let profile = leases.find(|profile| profile.controller == controller);
    profile.map_or(&[], |profile| profile.managers)
}
