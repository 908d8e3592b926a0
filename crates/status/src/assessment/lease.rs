//! Heartbeats of controllers: the Leases of their leader elections.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::Deserialize;

use super::object::lenient;

/// Leases of leader elections: controller, namespace and name. Some clusters have none, for example K3s.
///
/// Sources: the default `--leader-elect-resource-name` of kube-controller-manager, and `leaderElection` in the configurations that
/// Kueue and JobSet install.
pub(crate) const LEASES: [(&str, &str, &str); 3] = [
    (
        "kubernetes.io/job-controller",
        "kube-system",
        "kube-controller-manager",
    ),
    (
        managed_by::MULTIKUEUE,
        "kueue-system",
        "c1f6bfd2.kueue.x-k8s.io",
    ),
    (
        "jobset.sigs.k8s.io/jobset-controller",
        "jobset-system",
        "6d4f6a47.jobset.x-k8s.io",
    ),
];

/// The last renewal of each controller's Lease.
#[derive(Debug, Clone, Default)]
pub(crate) struct Leases(BTreeMap<&'static str, DateTime<Utc>>);

impl Leases {
    /// Adds a Lease as JSON. A Lease without a renewal is ignored.
    pub(crate) fn add(&mut self, controller: &'static str, json: &str) {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Lease {
            #[serde(deserialize_with = "lenient")]
            spec: Spec,
        }
        #[derive(Default, Deserialize)]
        #[serde(default, rename_all = "camelCase")]
        struct Spec {
            #[serde(deserialize_with = "lenient")]
            renew_time: Option<DateTime<Utc>>,
        }
        let lease: Lease = serde_json::from_str(json).unwrap_or_default();
        self.0
            .extend(lease.spec.renew_time.map(|time| (controller, time)));
    }

    /// Notes a write by a controller. A controller that has written after the last renewal doesn't use the Lease: its leader
    /// election has been disabled.
    pub(crate) fn note_write(&mut self, controller: &str, time: DateTime<Utc>) {
        // The leader renews the Lease every two seconds by default, for ten seconds at most.
        let is_newer = |renewal: &DateTime<Utc>| {
            time.signed_duration_since(*renewal) > chrono::TimeDelta::seconds(15)
        };
        if self.0.get(controller).is_some_and(is_newer) {
            self.0.remove(controller);
        }
    }

    /// Returns the last renewal of a controller's Lease, if it uses one.
    pub(crate) fn renewal(&self, controller: &str) -> Option<DateTime<Utc>> {
        self.0.get(controller).copied()
    }
}
