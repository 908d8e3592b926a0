//! The objects of Kueue that a workload for MultiKueue depends on, from the Workload to the worker cluster. Versions v1beta1 and
//! v1beta2 of their API have all fields that are read here.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};

use super::json::parts;
use super::object::{Condition, StoredObject, condition, shorten};

const LOCAL_QUEUE: &str = "LocalQueue";

#[derive(Debug, Default)]
pub(crate) struct Kueue {
    /// Workloads by namespace and by the UID of the object that controls them.
    pub(super) workloads: BTreeMap<(String, String), Workload>,
    /// The other objects by kind, namespace and name.
    nodes: BTreeMap<(&'static str, String, String), Node>,
    /// Kinds that could not be read.
    pub(crate) unread: BTreeSet<&'static str>,
}

#[derive(Debug, Default)]
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
    /// Fault that keeps Kueue from ever admitting it.
    pub(super) fault: Option<&'static QueueFault>,
    /// Time and reason of the condition `Finished` that is True.
    pub(super) finished: Option<(DateTime<Utc>, String)>,
    /// Message of the condition `Evicted` that is True.
    pub(super) evicted: Option<String>,
    /// `ClusterQueue` that reserved the quota.
    pub(super) cluster_queue: String,
    /// True if the reserved quota has a flavor: not if the pods request nothing.
    pub(super) has_flavor: bool,
    pub(super) checks: Vec<CheckState>,
    /// Worker cluster that runs the copy.
    pub(super) cluster: String,
    /// Worker clusters that may run the copy.
    pub(super) nominated: Vec<String>,
}

#[derive(Debug)]
pub(super) struct QueueFault {
    /// Parts of Kueue's messages.
    messages: &'static [&'static str],
    /// What to do about the queue; empty if it is not at fault.
    pub(super) for_queue: &'static str,
    /// How to recreate the workload.
    pub(super) recreate: &'static str,
}

/// Source: scheduler.go, flavorassigner.go and `tas_flavorassigner.go` in Kueue 0.18.4 and 0.19.2.
static FAULTS: [QueueFault; 5] = [
    QueueFault {
        messages: &["namespace doesn't match ClusterQueue selector"],
        for_queue: "correct the namespaceSelector of",
        recreate: "in another queue",
    },
    QueueFault {
        messages: &[" unavailable in ClusterQueue"],
        for_queue: "add the resource to",
        recreate: "without it",
    },
    QueueFault {
        messages: &[" > maximum capacity"],
        for_queue: "add quota to",
        recreate: "with smaller requests",
    },
    QueueFault {
        messages: &[
            "untolerated taint ",
            "doesn't match node affinity",
            "TopologyAwareScheduling",
            "does not contain the requested level",
        ],
        for_queue: "add another flavor to",
        recreate: "for one of its flavors",
    },
    QueueFault {
        messages: &[
            "resources validation failed",
            "resources didn't satisfy LimitRange",
        ],
        for_queue: "",
        recreate: "with other requests and limits",
    },
];

/// Parts of Kueue's message about a flavor that may be free later, although another flavor has a fault.
const WAITS: [&str; 3] = [" more needed", "topology ", "skipping flavor "];

impl QueueFault {
    /// Finds the fault in the message of the condition `QuotaReserved`.
    fn find(message: &str) -> Option<&'static Self> {
        let mut faults = FAULTS.iter();
        let has = |parts: &[&str]| parts.iter().any(|part| message.contains(part));
        faults.find(|fault| has(fault.messages) && !has(&WAITS))
    }
}

/// Queue, admission check, its configuration, or worker cluster.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// Names of the objects that it refers to.
    pub(super) next: Vec<String>,
    pub(super) is_multikueue: bool,
    /// Time and message of the condition `Active` that is False.
    pub(super) inactive: Option<(DateTime<Utc>, String)>,
    /// True if an admin stopped the queue with `stopPolicy`.
    pub(super) is_stopped: bool,
    /// Workloads that a `LocalQueue` admitted.
    pub(super) admitted: i64,
}

parts! {
    struct Object {
        metadata: Metadata,
        spec: Spec,
        status: Status,
    }

    struct Metadata {
        name: String,
        namespace: String,
        creation_timestamp: Option<DateTime<Utc>>,
        owner_references: Vec<Owner>,
    }

    struct Owner {
        uid: String,
        controller: bool,
    }

    struct Spec {
        queue_name: String,
        active: Option<bool>,
        cluster_queue: String,
        stop_policy: String,
        admission_checks: Vec<String>,
        admission_checks_strategy: Strategy,
        controller_name: String,
        parameters: Name,
        clusters: Vec<String>,
    }

    struct Strategy {
        admission_checks: Vec<Name>,
    }

    struct Name {
        name: String,
    }

    struct Status {
        conditions: Vec<Condition>,
        admission: Admission,
        admission_checks: Vec<CheckState>,
        cluster_name: String,
        nominated_cluster_names: Vec<String>,
        admitted_workloads: i64,
    }

    struct Admission {
        cluster_queue: String,
        pod_set_assignments: Vec<Assignment>,
    }

    struct Assignment {
        /// By resource.
        flavors: BTreeMap<String, String>,
    }

    /// State of an admission check of a Workload.
    struct CheckState {
        /// Number of times that the check sent the Workload back to the queue.
        retry_count: i64,
        name: String,
        message: String,
    }
}

impl Kueue {
    /// Kinds to read, in this order, and before the workloads: an object that is newer than what was read about it looks healthy, and
    /// an older one looks like an orphan.
    pub(crate) const KINDS: [&str; 6] = [
        "MultiKueueCluster",
        "MultiKueueConfig",
        "AdmissionCheck",
        "ClusterQueue",
        LOCAL_QUEUE,
        "Workload",
    ];

    pub(crate) fn plural(kind: &str) -> String {
        format!("{}s", kind.to_ascii_lowercase())
    }

    pub(crate) fn is_namespaced(kind: &str) -> bool {
        matches!(kind, LOCAL_QUEUE | "Workload")
    }

    pub(crate) fn add(&mut self, kind: &'static str, json: &str) {
        let Object {
            metadata,
            spec,
            status,
        } = serde_json::from_str(json).unwrap_or_default();
        if kind != "Workload" {
            let key = (kind, metadata.namespace, metadata.name);
            self.nodes.insert(key, Node::new(kind, spec, &status));
            return;
        }
        let mut workload = Workload::new(spec, status);
        workload.name = metadata.name;
        workload.created = metadata.creation_timestamp;
        let mut owners = metadata.owner_references.into_iter();
        if let Some(owner) = owners.find(|owner| owner.controller) {
            let key = (metadata.namespace, owner.uid);
            // An elastic Job has a finished Workload for each earlier size, and one without quota for a size that it may never get.
            let rank = |w: &Workload| (w.finished.is_none(), w.reserved.is_some(), w.created);
            let known = self.workloads.get(&key);
            if known.is_none_or(|known| rank(known) < rank(&workload)) {
                self.workloads.insert(key, workload);
            }
        }
    }

    pub(super) fn workload(&self, object: &StoredObject) -> Option<&Workload> {
        let key = (object.object.namespace.clone(), object.uid.clone());
        self.workloads.get(&key)
    }

    /// Returns an object. The namespace is that of the workload, whether the kind has one or not.
    pub(super) fn node(&self, kind: &'static str, namespace: &str, name: &str) -> Option<&Node> {
        let namespace = if Self::is_namespaced(kind) {
            namespace
        } else {
            ""
        };
        let key = (kind, namespace.to_owned(), name.to_owned());
        self.nodes.get(&key)
    }

    pub(super) fn local_queues(&self, namespace: &str) -> impl Iterator<Item = (&str, &Node)> {
        let nodes = self.nodes.iter();
        nodes.filter_map(move |((kind, place, name), node)| {
            (*kind == LOCAL_QUEUE && place == namespace).then_some((&**name, node))
        })
    }

    /// Returns the MultiKueue check of a list.
    pub(super) fn multikueue_check<'n>(&self, names: &'n [String]) -> Option<&'n str> {
        let mut names = names.iter().map(|name| &**name);
        names.find(|name| {
            let check = self.node("AdmissionCheck", "", name);
            check.is_some_and(|check| check.is_multikueue)
        })
    }
}

impl Node {
    fn new(kind: &str, spec: Spec, status: &Status) -> Self {
        let active = condition(&status.conditions, "Active");
        let inactive = active.filter(|active| active.status == "False");
        let named = spec.admission_checks_strategy.admission_checks.into_iter();
        let checks = named.map(|check| check.name).chain(spec.admission_checks);
        Self {
            next: match kind {
                "MultiKueueConfig" => spec.clusters,
                "AdmissionCheck" => vec![spec.parameters.name],
                "ClusterQueue" => checks.collect(),
                _ => vec![spec.cluster_queue],
            },
            is_multikueue: spec.controller_name == managed_by::MULTIKUEUE,
            inactive: inactive
                .and_then(|active| Some((active.last_transition_time?, active.message()))),
            is_stopped: !matches!(&*spec.stop_policy, "" | "None"),
            admitted: status.admitted_workloads,
        }
    }

    pub(super) fn is_usable(&self) -> bool {
        !self.is_stopped && self.inactive.is_none()
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
        let checks = status.admission_checks.into_iter();
        let mut assignments = status.admission.pod_set_assignments.iter();
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
            waits_for: waiting.map_or_else(String::new, Condition::message),
            fault: waiting.and_then(|waiting| QueueFault::find(&waiting.message)),
            finished: finished.and_then(|finished| {
                Some((finished.last_transition_time?, finished.reason.clone()))
            }),
            evicted: evicted.map(Condition::message),
            cluster_queue: status.admission.cluster_queue,
            has_flavor: assignments.any(|assigned| !assigned.flavors.is_empty()),
            checks: checks
                .map(|check| CheckState {
                    message: shorten(check.message),
                    ..check
                })
                .collect(),
            cluster: status.cluster_name,
            nominated: status.nominated_cluster_names,
        }
    }
}
