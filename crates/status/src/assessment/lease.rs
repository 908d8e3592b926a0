//! Heartbeats of controllers: the Leases of their leader elections.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};

use super::json::parts;
use super::object::{ManagedFields, shorten_to};
use super::{Limits, ObjectStatus, StatusVerdict};

/// Maximum length of a controller's name in a reason, in characters.
const MAX_NAME: usize = 100;

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

/// Leases of controllers. Some clusters have none, for example K3s, and some projects elect a leader only if a flag says so.
///
/// Sources: the default `--leader-elect-resource-name` of kube-controller-manager, `leaderElection` in the configurations that Kueue,
/// JobSet and Trainer install, and the defaults in the main programs of KubeRay (`LeaderElectionID`), the Training Operator
/// (`--leader-election-id`) and AppWrapper.
pub(crate) const LEASES: &[LeaseProfile] = &[
    LeaseProfile {
        controller: "kubernetes.io/job-controller",
        namespace: "kube-system",
        name: "kube-controller-manager",
        managers: &["kube-controller-manager", "k3s"],
    },
    LeaseProfile {
        controller: managed_by::MULTIKUEUE,
        namespace: "kueue-system",
        name: "c1f6bfd2.kueue.x-k8s.io",
        managers: &["kueue"],
    },
    LeaseProfile {
        controller: "jobset.sigs.k8s.io/jobset-controller",
        namespace: "jobset-system",
        name: "6d4f6a47.jobset.x-k8s.io",
        managers: &["jobset", "manager"],
    },
    LeaseProfile {
        controller: "trainer.kubeflow.org/trainjob-controller",
        namespace: "kubeflow-system",
        name: "trainer.kubeflow.org",
        managers: &["trainer", "manager"],
    },
    LeaseProfile {
        controller: "ray.io/kuberay-operator",
        namespace: "kuberay-operator",
        name: "ray-operator-leader",
        managers: &["kuberay-operator", "manager"],
    },
    LeaseProfile {
        controller: "kubeflow.org/training-operator",
        namespace: "kubeflow",
        name: "1ca428e5.training-operator.kubeflow.org",
        managers: &["training-operator", "training-operator.v1", "manager"],
    },
    LeaseProfile {
        controller: "workload.codeflare.dev/appwrapper-controller",
        namespace: "appwrapper-system",
        name: "f134c674.codeflare.dev",
        managers: &["appwrapper", "manager"],
    },
];

parts! {
    struct Lease {
        metadata: Metadata,
        spec: Spec,
    }

    struct Metadata {
        namespace: String,
        creation_timestamp: Option<DateTime<Utc>>,
        managed_fields: Vec<ManagedFields>,
    }

    struct Spec {
        renew_time: Option<DateTime<Utc>>,
    }
}

/// Last renewal of a controller's Lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heartbeat {
    Renewed(DateTime<Utc>),
    /// The Lease could not be read, or it is not certain which of several Leases is the controller's.
    Unread,
}

/// Lease of a controller: the one in the project's namespace, or else the oldest. Anyone may create a Lease of that name in another
/// namespace.
#[derive(Debug, Clone, Default)]
struct Found {
    /// False for the project's namespace, and the time of the creation.
    rank: (bool, Option<DateTime<Utc>>),
    renewed: Option<DateTime<Utc>>,
    is_contested: bool,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Leases(BTreeMap<&'static str, Found>);

impl Leases {
    /// Adds a Lease as JSON. A Lease without a renewal is ignored.
    pub(crate) fn add(&mut self, profile: &LeaseProfile, json: &str) {
        let Lease { metadata, spec } = serde_json::from_str(json).unwrap_or_default();
        let is_elsewhere = metadata.namespace != profile.namespace;
        // The leader's clock may differ from the API server's.
        let is_renewal = |fields: &&ManagedFields| {
            let json = fields.fields_v1.as_ref();
            json.is_some_and(|json| json.get().contains("f:renewTime"))
        };
        let renewal = metadata.managed_fields.iter().find(is_renewal);
        let mut found = Found {
            rank: (is_elsewhere, metadata.creation_timestamp),
            renewed: renewal.map_or(spec.renew_time, |fields| fields.time),
            is_contested: false,
        };
        if found.renewed.is_none() {
            return;
        }
        if let Some(known) = self.0.remove(profile.controller) {
            if known.rank <= found.rank {
                found = known;
            }
            found.is_contested = found.rank.0;
        }
        self.0.insert(profile.controller, found);
    }

    pub(crate) fn note_unread(&mut self, profile: &LeaseProfile) {
        self.0.insert(profile.controller, Found::default());
    }

    /// Returns the last renewal. If another Lease may be the controller's, only a recent one is evidence.
    pub(super) fn heartbeat(&self, controller: &str, limits: &Limits) -> Option<Heartbeat> {
        let found = self.0.get(controller)?;
        let renewed = found.renewed.filter(|renewed| {
            !found.is_contested || limits.age_of_evidence(Some(*renewed)).is_none()
        });
        Some(renewed.map_or(Heartbeat::Unread, Heartbeat::Renewed))
    }

    /// Returns true if the Lease of the controller was found.
    pub(crate) fn is_found(&self, profile: &LeaseProfile, limits: &Limits) -> bool {
        let heartbeat = self.heartbeat(profile.controller, limits);
        matches!(heartbeat, Some(Heartbeat::Renewed(_)))
    }
}

/// Returns why it cannot be told whether the controllers of healthy workloads run, if no Lease of theirs is known.
pub(crate) fn without_lease(objects: &[ObjectStatus]) -> Option<String> {
    let has_lease = |row: &ObjectStatus| {
        LEASES
            .iter()
            .any(|lease| lease.controller == row.controller)
    };
    let healthy = objects
        .iter()
        .filter(|row| row.verdict == StatusVerdict::Healthy && !has_lease(row));
    let controllers: BTreeSet<_> = healthy
        .map(|row| match &*row.controller {
            "" => format!("the controller of {}", row.object.kind),
            controller => controller.to_owned(),
        })
        .collect();
    let first = shorten_to(MAX_NAME, controllers.first()?.clone());
    let others = match controllers.len() {
        1 => String::new(),
        count => format!(" and {} others", count.saturating_sub(1)),
    };
    Some(format!(
        "none is known of {first}{others}: a status that stays as it is may have lost its controller"
    ))
}

/// Returns the field managers of a controller; empty if they are unknown.
pub(super) fn managers(controller: &str) -> &'static [&'static str] {
    let mut leases = LEASES.iter();
    let profile = leases.find(|profile| profile.controller == controller);
    profile.map_or(&[], |profile| profile.managers)
}
