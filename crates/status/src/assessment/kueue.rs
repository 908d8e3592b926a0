//! The objects of Kueue that a workload for MultiKueue depends on, from the Workload to the worker cluster. Versions v1beta1 and
//! v1beta2 of their API have all fields that are read here.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::object::{Condition, Message, StoredObject, condition, lenient};

/// Objects of Kueue in the cluster.
#[derive(Debug, Default)]
pub(crate) struct Kueue {
    /// Workloads by namespace and by the UID of the object that controls them.
    pub(super) workloads: BTreeMap<(String, String), Workload>,
    /// By namespace and name.
    pub(super) local_queues: BTreeMap<(String, String), LocalQueue>,
    pub(super) cluster_queues: BTreeMap<String, ClusterQueue>,
    pub(super) checks: BTreeMap<String, AdmissionCheck>,
    /// Names of the worker clusters, by the name of the `MultiKueueConfig`.
    pub(super) configs: BTreeMap<String, Vec<String>>,
    pub(super) clusters: BTreeMap<String, Activity>,
    /// Resources that could not be read.
    pub(super) unread: BTreeSet<&'static str>,
}

/// Resource of Kueue that could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unread(pub(crate) &'static str);

/// Facts about a Workload.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Workload {
    pub(super) name: String,
    pub(super) created: Option<DateTime<Utc>>,
    pub(super) queue: String,
    pub(super) is_active: bool,
    /// Time of the condition `QuotaReserved` that is True.
    pub(super) reserved: Option<DateTime<Utc>>,
    /// True if quota is reserved and all admission checks are ready.
    pub(super) is_admitted: bool,
    /// Time and message of the condition `QuotaReserved` that is not True.
    pub(super) waits_since: Option<DateTime<Utc>>,
    pub(super) waits_for: String,
    /// Time and reason of the condition `Finished` that is True.
    pub(super) finished: Option<(DateTime<Utc>, String)>,
    /// Message of the condition `Evicted` that is True.
    pub(super) evicted: Option<String>,
    /// `ClusterQueue` that reserved the quota.
    pub(super) cluster_queue: String,
    /// Flavors of the reserved quota. Empty for pods that request nothing.
    pub(super) flavors: BTreeSet<String>,
    pub(super) checks: Vec<CheckState>,
    /// Worker cluster that runs the copy.
    pub(super) cluster: String,
    /// Worker clusters that may run the copy.
    pub(super) nominated: Vec<String>,
}

/// State of an admission check of a Workload.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct CheckState {
    /// Number of times that the check sent the Workload back to the queue.
    #[serde(rename = "retryCount", deserialize_with = "lenient")]
    pub(super) retries: i64,
    #[serde(deserialize_with = "lenient")]
    pub(super) name: String,
    #[serde(deserialize_with = "lenient")]
    pub(super) message: Message,
}

/// Condition `Active` and the stop policy of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Activity {
    /// Time and message of the condition `Active` that is False.
    pub(super) inactive: Option<(DateTime<Utc>, String)>,
    /// True if an admin stopped the queue with `stopPolicy`.
    pub(super) is_stopped: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LocalQueue {
    pub(super) cluster_queue: String,
    pub(super) activity: Activity,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ClusterQueue {
    pub(super) checks: Vec<String>,
    pub(super) activity: Activity,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct AdmissionCheck {
    pub(super) is_multikueue: bool,
    pub(super) config: String,
    pub(super) activity: Activity,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Json<S: DeserializeOwned + Default, T: DeserializeOwned + Default> {
    #[serde(deserialize_with = "lenient")]
    metadata: Metadata,
    #[serde(deserialize_with = "lenient")]
    spec: S,
    #[serde(deserialize_with = "lenient")]
    status: T,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Metadata {
    #[serde(deserialize_with = "lenient")]
    name: String,
    #[serde(deserialize_with = "lenient")]
    namespace: String,
    #[serde(deserialize_with = "lenient")]
    creation_timestamp: Option<DateTime<Utc>>,
    #[serde(deserialize_with = "lenient")]
    owner_references: Vec<Owner>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Owner {
    #[serde(deserialize_with = "lenient")]
    uid: String,
    #[serde(deserialize_with = "lenient")]
    controller: bool,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Spec {
    #[serde(deserialize_with = "lenient")]
    queue_name: String,
    #[serde(deserialize_with = "lenient")]
    active: Option<bool>,
    #[serde(deserialize_with = "lenient")]
    cluster_queue: String,
    #[serde(deserialize_with = "lenient")]
    stop_policy: String,
    #[serde(deserialize_with = "lenient")]
    admission_checks: Vec<String>,
    #[serde(deserialize_with = "lenient")]
    admission_checks_strategy: Strategy,
    #[serde(deserialize_with = "lenient")]
    controller_name: String,
    #[serde(deserialize_with = "lenient")]
    parameters: Name,
    #[serde(deserialize_with = "lenient")]
    clusters: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Strategy {
    #[serde(deserialize_with = "lenient")]
    admission_checks: Vec<Name>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Name {
    #[serde(deserialize_with = "lenient")]
    name: String,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    #[serde(deserialize_with = "lenient")]
    conditions: Vec<Condition>,
    #[serde(deserialize_with = "lenient")]
    admission: Admission,
    #[serde(deserialize_with = "lenient")]
    admission_checks: Vec<CheckState>,
    #[serde(deserialize_with = "lenient")]
    cluster_name: String,
    #[serde(deserialize_with = "lenient")]
    nominated_cluster_names: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Admission {
    #[serde(deserialize_with = "lenient")]
    cluster_queue: String,
    #[serde(deserialize_with = "lenient")]
    pod_set_assignments: Vec<Assignment>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Assignment {
    /// By resource.
    #[serde(deserialize_with = "lenient")]
    flavors: BTreeMap<String, String>,
}

impl Kueue {
    /// Resources to read, in this order, and before the workloads: an object that is newer than what was read about it looks healthy,
    /// and an older one looks like an orphan.
    pub(crate) const RESOURCES: [&str; 6] = [
        "multikueueclusters",
        "multikueueconfigs",
        "admissionchecks",
        "clusterqueues",
        "localqueues",
        "workloads",
    ];

    /// Notes that a resource could not be read.
    pub(crate) fn note_unread(&mut self, Unread(resource): Unread) {
        self.unread.insert(resource);
    }

    /// Adds an object as JSON.
    pub(crate) fn add(&mut self, resource: &str, json: &str) {
        let Json {
            metadata,
            spec,
            status,
        }: Json<Spec, Status> = serde_json::from_str(json).unwrap_or_default();
        let activity = Activity::new(&spec, &status);
        let name = metadata.name.clone();
        match resource {
            "multikueueclusters" => _ = self.clusters.insert(name, activity),
            "multikueueconfigs" => _ = self.configs.insert(name, spec.clusters),
            "admissionchecks" => {
                let check = AdmissionCheck {
                    is_multikueue: spec.controller_name == managed_by::MULTIKUEUE,
                    config: spec.parameters.name,
                    activity,
                };
                self.checks.insert(name, check);
            }
            "clusterqueues" => {
                let named = spec.admission_checks_strategy.admission_checks;
                let checks = named.into_iter().map(|check| check.name);
                let checks = checks.chain(spec.admission_checks).collect();
                self.cluster_queues
                    .insert(name, ClusterQueue { checks, activity });
            }
            "localqueues" => {
                let queue = LocalQueue {
                    cluster_queue: spec.cluster_queue,
                    activity,
                };
                self.local_queues.insert((metadata.namespace, name), queue);
            }
            "workloads" => {
                let workload = Workload {
                    name,
                    created: metadata.creation_timestamp,
                    ..Workload::new(spec, status)
                };
                let mut owners = metadata.owner_references.into_iter();
                if let Some(owner) = owners.find(|owner| owner.controller) {
                    let key = (metadata.namespace, owner.uid);
                    // An elastic Job has a finished Workload for each earlier size.
                    let rank = |w: &Workload| (w.finished.is_none(), w.created);
                    let known = self.workloads.get(&key);
                    if known.is_none_or(|known| rank(known) < rank(&workload)) {
                        self.workloads.insert(key, workload);
                    }
                }
            }
            _ => {}
        }
    }

    pub(super) fn workload(&self, object: &StoredObject) -> Option<&Workload> {
        let key = (object.object.namespace.clone(), object.uid.clone());
        self.workloads.get(&key)
    }

    /// Returns the MultiKueue check of a list, with its name.
    pub(super) fn multikueue_check<'n>(
        &self,
        mut names: impl Iterator<Item = &'n str>,
    ) -> Option<(&'n str, &AdmissionCheck)> {
        names.find_map(|name| {
            let check = self.checks.get(name)?;
            check.is_multikueue.then_some((name, check))
        })
    }
}

impl Activity {
    fn new(spec: &Spec, status: &Status) -> Self {
        let active = condition(&status.conditions, "Active");
        let inactive = active.filter(|active| active.status == "False");
        Self {
            inactive: inactive
                .and_then(|active| Some((active.last_transition_time?, active.message.0.clone()))),
            is_stopped: !matches!(&*spec.stop_policy, "" | "None"),
        }
    }
}

impl Workload {
    fn new(spec: Spec, status: Status) -> Self {
        let find = |name| condition(&status.conditions, name);
        let is_true = |condition: &&Condition| condition.status == "True";
        let reserved = find("QuotaReserved");
        let waiting = reserved.filter(|reserved| !is_true(reserved));
        let finished = find("Finished").filter(is_true);
        let evicted = find("Evicted").filter(is_true);
        let assignments = status.admission.pod_set_assignments.into_iter();
        Self {
            name: String::new(),
            created: None,
            queue: spec.queue_name,
            is_active: spec.active != Some(false),
            reserved: reserved
                .filter(is_true)
                .and_then(|reserved| reserved.last_transition_time),
            is_admitted: find("Admitted").is_some_and(|admitted| is_true(&admitted)),
            waits_since: waiting.and_then(|waiting| waiting.last_transition_time),
            waits_for: waiting.map_or_else(String::new, |waiting| waiting.message.0.clone()),
            finished: finished.and_then(|finished| {
                Some((finished.last_transition_time?, finished.reason.clone()))
            }),
            evicted: evicted.map(|evicted| evicted.message.0.clone()),
            cluster_queue: status.admission.cluster_queue,
            flavors: assignments.flat_map(|a| a.flavors.into_values()).collect(),
            checks: status.admission_checks,
            cluster: status.cluster_name,
            nominated: status.nominated_cluster_names,
        }
    }
}
