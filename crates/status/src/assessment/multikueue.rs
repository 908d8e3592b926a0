//! The verdict on a workload of MultiKueue: follows it through the objects of Kueue.

use std::cmp::Reverse;

use chrono::TimeDelta;
use managed_by::{MULTIKUEUE, QUEUE_NAME, queue_problem};
use serde_json::{Value, json};

use super::StatusVerdict::{Contradicting, Healthy, Orphaned, Stalled, Unchecked};
use super::kueue::{Kueue, Node, Workload};
use super::object::{PREBUILT_WORKLOAD, StoredObject};
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
    let Some(kueue) = &cluster.kueue else {
        let reason = "the cluster does not serve the API of Kueue";
        let action = format!(
            "install Kueue, or recreate {} without managedBy",
            object.argument
        );
        return StatusFinding::new(Orphaned, state, reason).action(action);
    };
    let mut queues = Queues {
        kueue,
        limits,
        object,
        chain,
        unread: None,
    };
    let finding = queues.find(state);
    match queues.unread {
        // Contradicting and stalled objects have been read.
        Some(kind) if matches!(finding.verdict, Healthy | Orphaned) => {
            let reason = format!("could not read {}.kueue.x-k8s.io", Kueue::plural(kind));
            StatusFinding::new(Unchecked, finding.state, reason)
        }
        _ => finding,
    }
}

/// Finds a workload of another controller in a queue of MultiKueue, which rejects it, so that Kueue never resumes it.
pub(super) fn rejected(object: &StoredObject, cluster: &ClusterState) -> Option<StatusFinding> {
    let workload = cluster.kueue.as_ref()?.workload(object)?;
    let message = workload.evicted.as_ref()?;
    if workload.is_active || !message.contains("managedBy") {
        return None;
    }
    let action = format!(
        "recreate {} in another queue, or for {MULTIKUEUE}",
        object.argument
    );
    Some(StatusFinding::new(Stalled, "Deactivated", message).action(action))
}

fn workload_state(workload: &Workload) -> &'static str {
    match workload {
        _ if workload.finished.is_some() => "Finished",
        _ if !workload.is_active => "Deactivated",
        _ if !workload.cluster.is_empty() => "Admitted",
        _ if workload.reserved.is_some() => "QuotaReserved",
        _ => "Pending",
    }
}

struct Queues<'c> {
    kueue: &'c Kueue,
    limits: &'c Limits,
    object: &'c StoredObject,
    chain: &'c mut Vec<Link>,
    /// The first kind that could not be read, if an object of it is missing.
    unread: Option<&'static str>,
}

impl<'c> Queues<'c> {
    /// Returns a command of kubectl for an object in the namespace of the workload.
    fn kubectl(&self, verb: &str, rest: &str) -> String {
        match &*self.object.object.namespace {
            "" => format!("kubectl {verb} {rest}"),
            namespace => format!("kubectl {verb} -n {namespace} {rest}"),
        }
    }

    fn note_missing(&mut self, kind: &'static str) {
        if self.kueue.unread.contains(kind) {
            self.unread.get_or_insert(kind);
        }
    }

    fn node(&self, kind: &'static str, name: &str) -> Option<&'c Node> {
        let namespace = &self.object.object.namespace;
        self.kueue.node(kind, namespace, name)
    }

    fn find(&mut self, state: &'static str) -> StatusFinding {
        let (kueue, object, limits) = (self.kueue, self.object, self.limits);
        let name = &object.argument;
        let workload = kueue.workload(object);
        if workload.is_none() {
            self.note_missing("Workload");
        }
        // Kueue needs a moment after a change of the label, too.
        let age = limits.age_of_evidence(object.last_change(limits.now).max(object.created));
        let queue = workload.map(|workload| &*workload.queue);
        let Some(queue) = object.queue.as_deref().or(queue) else {
            if age.is_none() {
                return StatusFinding::new(Healthy, state, "new");
            }
            let reason = format!("no label {QUEUE_NAME}, so Kueue ignores it");
            return StatusFinding::new(Orphaned, state, reason).action(self.label_command());
        };
        let Some(workload) = workload else {
            let Some(age) = age else {
                return StatusFinding::new(Healthy, state, "new");
            };
            let age = duration(age);
            let (reason, action) = match &object.prebuilt {
                Some(prebuilt) => (
                    format!(
                        "no Workload {prebuilt} for it in {age}, which {PREBUILT_WORKLOAD} names"
                    ),
                    format!(
                        "create Workload {prebuilt}, or recreate {name} without {PREBUILT_WORKLOAD}"
                    ),
                ),
                None => (
                    format!("Kueue has created no Workload for it in {age}"),
                    "check that Kueue is running and manages this kind and namespace".to_owned(),
                ),
            };
            return StatusFinding::new(Orphaned, state, reason).action(action);
        };
        self.link("Workload", &workload.name, workload_state(workload));
        if let Some((time, outcome)) = &workload.finished {
            let Some(age) = limits.age_of_evidence(Some(*time)) else {
                return StatusFinding::new(Healthy, state, "the Workload has finished");
            };
            let reason = format!(
                "its Workload finished {} ago ({outcome}), but its status shows no outcome",
                duration(age)
            );
            let action = match &**outcome {
                "Succeeded" | "Failed" => "with a longer TTL",
                _ => "to match its Workload",
            };
            let action = format!("{}, and recreate it {action}", self.kubectl("delete", name));
            return StatusFinding::new(Contradicting, state, reason).action(action);
        }
        if !workload.is_active {
            let reason = workload.evicted.as_deref().filter(|text| !text.is_empty());
            let reason = reason.unwrap_or("its Workload is not active");
            let patch = format!(
                "workloads.kueue.x-k8s.io/{} --type=merge -p '{{\"spec\":{{\"active\":true}}}}'",
                workload.name
            );
            let finding = StatusFinding::new(Stalled, "Deactivated", reason);
            return finding.action(self.kubectl("patch", &patch));
        }
        self.follow(queue, workload)
    }

    /// Returns the command that puts the workload into a queue. Kueue accepts the label only on a suspended workload.
    fn label_command(&self) -> String {
        let namespace = &*self.object.object.namespace;
        let usable = self.kueue.local_queues(namespace).filter(|(_, local)| {
            let queue = local.next.first();
            let queue = queue.and_then(|name| self.node("ClusterQueue", name));
            local.is_usable()
                && queue.is_some_and(|queue| {
                    queue.is_usable() && self.kueue.multikueue_check(&queue.next).is_some()
                })
        });
        let queue = usable.min_by_key(|(_, local)| Reverse(local.admitted));
        let queue = queue.map_or("QUEUE", |(name, _)| name);
        let names = self.object.suspend_path.split('.').rev();
        let suspend = names.fold(json!(true), |value, name| json!({name: value}));
        let mut patch = json!({"metadata": {"labels": {QUEUE_NAME: queue}}});
        if let (Some(patch), Value::Object(suspend)) = (patch.as_object_mut(), suspend) {
            patch.extend(suspend);
        }
        let rest = format!("{} --type=merge -p '{patch}'", self.object.argument);
        self.kubectl("patch", &rest)
    }

    fn link(&mut self, kind: &'static str, name: &str, state: impl Into<String>) {
        self.chain.push(Link {
            kind,
            name: name.to_owned(),
            state: state.into(),
        });
    }

    /// Adds an object, or the fact that it does not exist or could not be read. Returns true if it does not exist.
    fn add(&mut self, kind: &'static str, name: &str) -> bool {
        let is_unread = self.kueue.unread.contains(kind);
        let node = self.node(kind, name);
        if node.is_none() {
            self.note_missing(kind);
        }
        let state = match node {
            Some(node) if node.is_stopped => "stopped".to_owned(),
            Some(node) => node.inactive.as_ref().map_or_else(
                || "active".to_owned(),
                |(_, message)| format!("inactive: {message}"),
            ),
            None if is_unread => "unchecked".to_owned(),
            None => "not found".to_owned(),
        };
        self.link(kind, name, state);
        node.is_none() && !is_unread
    }

    /// Returns a finding if an object has been inactive for long. An object that an admin stopped is as intended.
    fn inactive(
        &self,
        state: &'static str,
        kind: &'static str,
        name: &str,
    ) -> Option<StatusFinding> {
        let node = self.node(kind, name).filter(|node| !node.is_stopped)?;
        let (time, message) = node.inactive.as_ref()?;
        let age = self.limits.age_of_evidence(Some(*time))?;
        let reason = format!(
            "{kind} {name} has been inactive for {}: {message}",
            duration(age)
        );
        let action = format!("kubectl describe {} {name}", kind.to_ascii_lowercase());
        Some(StatusFinding::new(Stalled, state, reason).action(action))
    }

    fn follow(&mut self, queue: &str, workload: &'c Workload) -> StatusFinding {
        let kueue = self.kueue;
        let namespace = &*self.object.object.namespace;
        let is_reserved = workload.reserved.is_some();
        let unread = self.unread;
        let is_missing = self.add("LocalQueue", queue);
        if is_reserved {
            // It has done its part.
            self.unread = unread;
        } else if is_missing {
            let action = format!(
                "create LocalQueue {queue} in {namespace}, or correct the label {QUEUE_NAME}"
            );
            let problem = queue_problem::no_local_queue(queue, namespace);
            return StatusFinding::new(Orphaned, "Queued", problem).action(action);
        }
        let name = match &*workload.cluster_queue {
            "" => {
                let local = self.node("LocalQueue", queue);
                let name = local.and_then(|local| local.next.first());
                name.map_or("", |name| name)
            }
            reserved => reserved,
        };
        if name.is_empty() {
            return StatusFinding::new(Healthy, "Queued", &workload.waits_for);
        }
        if self.add("ClusterQueue", name) && !is_reserved {
            let problem = queue_problem::no_cluster_queue(name, queue);
            let action = format!("create ClusterQueue {name}");
            return StatusFinding::new(Orphaned, "Queued", problem).action(action);
        }
        let cluster_queue = self.node("ClusterQueue", name);
        let of_queue = cluster_queue.map_or(&[][..], |queue| &queue.next);
        // Kueue has chosen the checks of the flavors once it has reserved quota.
        let chosen = workload.checks.iter().map(|check| check.name.clone());
        let chosen: Vec<_> = chosen.collect();
        let is_chosen = is_reserved && (workload.is_admitted || !chosen.is_empty());
        let names = if is_chosen { &chosen } else { of_queue };
        let is_unknown = |name: &String| self.node("AdmissionCheck", name).is_none();
        if names.iter().any(is_unknown) {
            self.note_missing("AdmissionCheck");
        }
        let Some(check) = kueue.multikueue_check(names) else {
            // A worker in the Workload shows that it has a MultiKueue check, also to a user who may not read the check.
            let has_worker = !workload.cluster.is_empty() || !workload.nominated.is_empty();
            return if has_worker {
                self.follow_check("", queue, workload)
            } else {
                let of_queue = kueue.multikueue_check(of_queue);
                self.without_check(name, of_queue.is_some(), workload)
            };
        };
        self.add("AdmissionCheck", check);
        if is_reserved {
            return self.follow_check(check, queue, workload);
        }
        // A LocalQueue is also inactive if an admin stopped its ClusterQueue.
        let is_alone = cluster_queue.is_none();
        self.inactive("Queued", "ClusterQueue", name)
            .or_else(|| {
                self.inactive("Queued", "LocalQueue", queue)
                    .filter(|_| is_alone)
            })
            .or_else(|| self.inadmissible(name, workload))
            .unwrap_or_else(|| StatusFinding::new(Healthy, "Queued", &workload.waits_for))
    }

    /// Returns a finding if Kueue never admits the Workload to its queue as both are.
    fn inadmissible(&self, queue: &str, workload: &Workload) -> Option<StatusFinding> {
        let fault = workload.fault?;
        self.limits
            .age_of_evidence(workload.waits_since.or(workload.created))?;
        let recreate = format!("recreate {} {}", self.object.argument, fault.recreate);
        let action = match fault.for_queue {
            "" => recreate,
            correct => format!("{correct} ClusterQueue {queue}, or {recreate}"),
        };
        Some(StatusFinding::new(Stalled, "Queued", &workload.waits_for).action(action))
    }

    /// Returns the finding for a Workload without a MultiKueue check: its queue has none, or its pods need no flavor. Kueue gives it
    /// quota, and takes the quota back when the timeout of `waitForPodsReady` has passed, again and again.
    fn without_check(
        &self,
        queue: &str,
        has_queue_check: bool,
        workload: &Workload,
    ) -> StatusFinding {
        let reserved = workload.reserved;
        let state = if reserved.is_some() {
            "Admitted"
        } else {
            "Queued"
        };
        if self
            .limits
            .age_of_evidence(reserved.or(workload.created))
            .is_none()
        {
            return StatusFinding::new(Healthy, state, "new");
        }
        // Kueue admits nothing to a queue with a check of MultiKueue for some flavors only.
        if let Some(finding) = self.inactive(state, "ClusterQueue", queue) {
            return finding;
        }
        let (missing, action) = if has_queue_check && !workload.has_flavor {
            (
                format!("its pods request no resource of ClusterQueue {queue}"),
                format!("recreate {} with resource requests", self.object.argument),
            )
        } else {
            let action =
                format!("add a MultiKueue check to ClusterQueue {queue}, or use another queue");
            (queue_problem::no_multikueue_check(queue), action)
        };
        let reason = match reserved {
            Some(time) => {
                let age = duration(self.limits.now.signed_duration_since(time));
                format!("holds quota since {age}, but {missing}, so no cluster runs it")
            }
            None => missing,
        };
        StatusFinding::new(Orphaned, state, reason).action(action)
    }

    /// Follows a Workload with quota from its MultiKueue check, whose name is empty if it cannot be read.
    fn follow_check(&mut self, name: &str, queue: &str, workload: &'c Workload) -> StatusFinding {
        if !workload.cluster.is_empty() {
            let (worker, state) = (&*workload.cluster, "Running");
            let age = self.limits.age_of_evidence(workload.reserved);
            if self.add("MultiKueueCluster", worker) && age.is_some() {
                let reason = format!("MultiKueueCluster {worker} does not exist");
                let action = format!("create MultiKueueCluster {worker}");
                return StatusFinding::new(Stalled, state, reason).action(action);
            }
            let lost = self.inactive(state, "MultiKueueCluster", worker);
            return lost
                .unwrap_or_else(|| StatusFinding::new(Healthy, state, format!("on {worker}")));
        }
        let state = "Dispatching";
        let own = workload.checks.iter().find(|state| state.name == name);
        let retries = own.map_or(0, |state| state.retry_count);
        if retries >= MANY_RETRIES {
            let reason = format!("came back from its workers {retries} times");
            let action =
                "check its ttlSecondsAfterFinished, its priority, and the queues of the workers";
            return StatusFinding::new(Stalled, state, reason).action(action);
        }
        let nominated = match &*workload.nominated {
            [] => {
                let check = self.node("AdmissionCheck", name);
                let config = check.and_then(|check| check.next.first());
                let config = config.and_then(|config| self.node("MultiKueueConfig", config));
                config.map(|config| &config.next)
            }
            _ => Some(&workload.nominated),
        };
        if nominated.is_none() {
            self.note_missing("MultiKueueConfig");
        }
        let workers = nominated.map(Vec::as_slice).unwrap_or_default();
        for worker in workers {
            self.add("MultiKueueCluster", worker);
        }
        if let Some(finding) = self.inactive(state, "AdmissionCheck", name) {
            return finding;
        }
        let lost = |worker: &String| self.inactive(state, "MultiKueueCluster", worker);
        let mut lost = workers.iter().map(lost);
        if let Some(Some(first)) = lost.next()
            && lost.all(|other| other.is_some())
        {
            return first;
        }
        let message = own.map_or("", |state| &*state.message);
        let age = workload.reserved.map_or(TimeDelta::zero(), |time| {
            self.limits.now.signed_duration_since(time)
        });
        let colon = if message.is_empty() { "" } else { ": " };
        if age > self.limits.dispatch {
            let reason = format!(
                "no worker cluster has admitted it for {}{colon}{message}",
                duration(age)
            );
            let action = format!(
                "check that the workers have LocalQueue {queue} in {}, and quota",
                self.object.object.namespace
            );
            return StatusFinding::new(Stalled, state, reason).action(action);
        }
        let waits = format!("waits for a worker since {}", duration(age));
        let reason = if message.is_empty() { &waits } else { message };
        StatusFinding::new(Healthy, state, reason)
    }
}
