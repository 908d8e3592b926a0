//! The verdict on a workload of MultiKueue: follows it through the objects of Kueue.

use chrono::TimeDelta;
use managed_by::{QUEUE_NAME, QueueProblem};

use super::StatusVerdict::{Contradicting, Healthy, Orphaned, Stalled, Unchecked};
use super::kueue::{Activity, AdmissionCheck, Kueue, Workload};
use super::object::StoredObject;
use super::time::duration;
use super::{ClusterState, Limits, Link, StatusFinding};

/// Number of times that a Workload has come back from its workers, after which it is stalled. A lost worker and a preemption count
/// as one each.
const MANY_RETRIES: i64 = 5;

/// Follows a workload for MultiKueue to the cluster that runs its copy.
pub(super) fn follow(
    object: &StoredObject,
    state: &'static str,
    cluster: &ClusterState,
    limits: &Limits,
    chain: &mut Vec<Link>,
) -> StatusFinding {
    let name = object.argument();
    let namespace = &object.object.namespace;
    let in_namespace = if namespace.is_empty() {
        String::new()
    } else {
        format!(" -n {namespace}")
    };
    let age = limits.age_of_evidence(object.created);
    let Some(kueue) = &cluster.kueue else {
        let reason = "the cluster does not serve the API of Kueue";
        let finding = StatusFinding::new(Orphaned, state, reason);
        return finding.action(format!(
            "install Kueue, or recreate {name} without managedBy"
        ));
    };
    let Some(queue) = object
        .queue
        .as_deref()
        .or_else(|| Some(&kueue.workload(object)?.queue))
    else {
        if age.is_none() {
            return StatusFinding::new(Healthy, state, "new");
        }
        let reason = format!("no label {QUEUE_NAME}, so Kueue ignores it");
        let action = format!("kubectl label{in_namespace} {name} {QUEUE_NAME}=QUEUE");
        return StatusFinding::new(Orphaned, state, reason).action(action);
    };
    if kueue.unread.contains("workloads") {
        let reason = "you may not list workloads.kueue.x-k8s.io";
        return StatusFinding::new(Unchecked, state, reason);
    }
    let Some(workload) = kueue.workload(object) else {
        let Some(age) = age else {
            return StatusFinding::new(Healthy, state, "new");
        };
        let reason = format!("Kueue has created no Workload for it in {}", duration(age));
        let action = "check that Kueue is running and manages this kind and namespace";
        return StatusFinding::new(Orphaned, state, reason).action(action);
    };
    chain.push(Link {
        kind: "Workload",
        name: workload.name.clone(),
        state: workload_state(workload).to_owned(),
    });
    if let Some((time, outcome)) = &workload.finished {
        let Some(age) = limits.age_of_evidence(Some(*time)) else {
            return StatusFinding::new(Healthy, state, "the Workload has finished");
        };
        let reason = format!(
            "its Workload finished {} ago ({outcome}), but its status shows no outcome",
            duration(age)
        );
        let action =
            format!("kubectl delete{in_namespace} {name}, and recreate it with a longer TTL");
        return StatusFinding::new(Contradicting, state, reason).action(action);
    }
    if !workload.is_active {
        let reason = workload.evicted.as_ref();
        return match reason.filter(|(reason, _)| reason.starts_with("DeactivatedDueTo")) {
            Some((_, message)) => StatusFinding::new(Stalled, "Deactivated", message).action(format!(
                "kubectl patch{in_namespace} workload {} --type=merge -p '{{\"spec\":{{\"active\":true}}}}'",
                workload.name
            )),
            None => StatusFinding::new(Healthy, "Deactivated", "its Workload is not active"),
        };
    }
    let queues = Queues {
        kueue,
        limits,
        chain,
    };
    queues.follow(namespace, queue, workload)
}

fn workload_state(workload: &Workload) -> &'static str {
    match workload {
        Workload {
            finished: Some(_), ..
        } => "Finished",
        Workload {
            is_active: false, ..
        } => "Deactivated",
        Workload { cluster, .. } if !cluster.is_empty() => "Admitted",
        Workload {
            reserved: Some(_), ..
        } => "QuotaReserved",
        _ => "Pending",
    }
}

/// Follows a Workload through the queues.
struct Queues<'c> {
    kueue: &'c Kueue,
    limits: &'c Limits,
    chain: &'c mut Vec<Link>,
}

impl Queues<'_> {
    fn link(&mut self, kind: &'static str, name: &str, state: impl Into<String>) {
        self.chain.push(Link {
            kind,
            name: name.to_owned(),
            state: state.into(),
        });
    }

    /// Adds an object, or the fact that it does not exist or could not be read. Returns true if it does not exist.
    fn add(
        &mut self,
        kind: &'static str,
        resource: &'static str,
        name: &str,
        activity: Option<&Activity>,
    ) -> bool {
        let is_unread = self.kueue.unread.contains(resource);
        let state = match activity {
            Some(Activity {
                is_stopped: true, ..
            }) => "stopped".to_owned(),
            Some(Activity {
                inactive: Some((_, message)),
                ..
            }) => format!("inactive: {message}"),
            Some(_) => "active".to_owned(),
            None if is_unread => "unchecked".to_owned(),
            None => "not found".to_owned(),
        };
        self.link(kind, name, state);
        activity.is_none() && !is_unread
    }

    /// Returns a finding if an object has been inactive for long. An object that an admin stopped is as intended.
    fn inactive(
        &self,
        state: &'static str,
        kind: &str,
        name: &str,
        activity: Option<&Activity>,
    ) -> Option<StatusFinding> {
        let activity = activity.filter(|activity| !activity.is_stopped)?;
        let (time, message) = activity.inactive.as_ref()?;
        let age = self.limits.age_of_evidence(Some(*time))?;
        let reason = format!(
            "{kind} {name} has been inactive for {}: {message}",
            duration(age)
        );
        let action = format!("kubectl describe {} {name}", kind.to_ascii_lowercase());
        Some(StatusFinding::new(Stalled, state, reason).action(action))
    }

    fn follow(mut self, namespace: &str, queue: &str, workload: &Workload) -> StatusFinding {
        let kueue = self.kueue;
        let key = (namespace.to_owned(), queue.to_owned());
        let local = kueue.local_queues.get(&key);
        let is_reserved = workload.reserved.is_some();
        if self.add(
            "LocalQueue",
            "localqueues",
            queue,
            local.map(|q| &q.activity),
        ) && !is_reserved
        {
            let action = format!(
                "create LocalQueue {queue} in {namespace}, or correct the label {QUEUE_NAME}"
            );
            let problem = QueueProblem::NoLocalQueue {
                name: queue,
                namespace,
            };
            return StatusFinding::new(Orphaned, "Queued", problem.to_string()).action(action);
        }
        let name = match &*workload.cluster_queue {
            "" => local.map_or("", |local| &*local.cluster_queue),
            reserved => reserved,
        };
        if name.is_empty() {
            return StatusFinding::new(Healthy, "Queued", &workload.waits_for);
        }
        let cluster_queue = kueue.cluster_queues.get(name);
        let activity = cluster_queue.map(|queue| &queue.activity);
        if self.add("ClusterQueue", "clusterqueues", name, activity) && !is_reserved {
            let problem = QueueProblem::NoClusterQueue {
                name,
                local_queue: queue,
            };
            let action = format!("create ClusterQueue {name}");
            return StatusFinding::new(Orphaned, "Queued", problem.to_string()).action(action);
        }
        let of_queue = cluster_queue.into_iter().flat_map(|queue| &queue.checks);
        let names = workload.checks.iter().map(|check| &*check.name);
        let names = names.chain(of_queue.map(|name| &**name));
        let check = kueue.multikueue_check(names);
        let Some((check, facts)) = check else {
            // A worker in the Workload shows that it has a MultiKueue check, also to a user who may not read the check.
            let has_worker = !workload.cluster.is_empty() || !workload.nominated.is_empty();
            return if has_worker {
                self.follow_check("", &AdmissionCheck::default(), workload)
            } else {
                self.without_check(name, cluster_queue.is_some(), workload)
            };
        };
        let check_activity = Some(&facts.activity);
        self.add("AdmissionCheck", "admissionchecks", check, check_activity);
        if is_reserved {
            return self.follow_check(check, facts, workload);
        }
        // A LocalQueue is also inactive if an admin stopped its ClusterQueue.
        let local = local.filter(|_| cluster_queue.is_none());
        let local = local.map(|queue| &queue.activity);
        self.inactive("Queued", "ClusterQueue", name, activity)
            .or_else(|| self.inactive("Queued", "LocalQueue", queue, local))
            .unwrap_or_else(|| StatusFinding::new(Healthy, "Queued", &workload.waits_for))
    }

    /// Returns the finding for a Workload in a queue without a MultiKueue check. Kueue gives it quota, and takes the quota back when
    /// the timeout of `waitForPodsReady` has passed, again and again.
    fn without_check(
        &self,
        queue: &str,
        is_queue_read: bool,
        workload: &Workload,
    ) -> StatusFinding {
        let state = if workload.reserved.is_some() {
            "Admitted"
        } else {
            "Queued"
        };
        if self.kueue.unread.contains("admissionchecks") || !is_queue_read {
            if workload.reserved.is_none() {
                return StatusFinding::new(Healthy, state, &workload.waits_for);
            }
            let reason = "you may not read ClusterQueues or AdmissionChecks";
            return StatusFinding::new(Unchecked, state, reason);
        }
        let action =
            format!("add a MultiKueue check to ClusterQueue {queue}, or use another queue");
        let problem = QueueProblem::NoMultiKueueCheck {
            cluster_queue: queue,
        };
        let missing = problem.to_string();
        let age = self.limits.age_of_evidence(workload.created);
        match (age, workload.reserved) {
            (None, _) => StatusFinding::new(Healthy, state, "new"),
            (Some(_), None) => StatusFinding::new(Orphaned, state, missing).action(action),
            (Some(_), Some(time)) => {
                let age = duration(self.limits.now.signed_duration_since(time));
                let reason =
                    format!("holds quota since {age}, but {missing}, so no cluster runs it");
                StatusFinding::new(Contradicting, state, reason).action(action)
            }
        }
    }

    fn follow_check(
        mut self,
        name: &str,
        check: &AdmissionCheck,
        workload: &Workload,
    ) -> StatusFinding {
        let kueue = self.kueue;
        let own = workload.checks.iter().find(|state| state.name == name);
        let retries = own.map_or(0, |state| state.retries);
        let is_on_worker = !workload.cluster.is_empty();
        let state = if is_on_worker {
            "Running"
        } else {
            "Dispatching"
        };
        if retries >= MANY_RETRIES {
            let reason = format!("came back from its workers {retries} times");
            let action =
                "check its ttlSecondsAfterFinished, its priority, and the queues of the workers";
            return StatusFinding::new(Stalled, state, reason).action(action);
        }
        if is_on_worker {
            let worker = &*workload.cluster;
            let activity = kueue.clusters.get(worker);
            self.add("MultiKueueCluster", "multikueueclusters", worker, activity);
            let lost = self.inactive(state, "MultiKueueCluster", worker, activity);
            return lost
                .unwrap_or_else(|| StatusFinding::new(Healthy, state, format!("on {worker}")));
        }
        let nominated = match &*workload.nominated {
            [] => kueue.configs.get(&check.config),
            _ => Some(&workload.nominated),
        };
        let workers = nominated.map(Vec::as_slice).unwrap_or_default();
        for worker in workers {
            let activity = kueue.clusters.get(worker);
            self.add("MultiKueueCluster", "multikueueclusters", worker, activity);
        }
        if let Some(finding) = self.inactive(state, "AdmissionCheck", name, Some(&check.activity)) {
            return finding;
        }
        let mut lost = workers.iter().map(|worker| {
            let activity = kueue.clusters.get(worker);
            self.inactive(state, "MultiKueueCluster", worker, activity)
        });
        if let Some(Some(first)) = lost.next()
            && lost.all(|other| other.is_some())
        {
            return first;
        }
        let message = own.map_or("", |state| &*state.message);
        let age = workload.reserved.map_or(TimeDelta::zero(), |time| {
            self.limits.now.signed_duration_since(time)
        });
        let waits = format!("waits for a worker since {}", duration(age));
        let reason = if message.is_empty() {
            waits
        } else {
            message.to_owned()
        };
        StatusFinding::new(Healthy, state, reason)
    }
}
