//! The verdict on a workload of MultiKueue: follows it through the objects of Kueue.

use chrono::TimeDelta;
use managed_by::{QUEUE_NAME, QueueProblem};
use serde_json::{Value, json};

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
        Some(resource) if matches!(finding.verdict, Healthy | Orphaned) => {
            let reason = format!("could not read {resource}.kueue.x-k8s.io");
            StatusFinding::new(Unchecked, finding.state, reason)
        }
        _ => finding,
    }
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

/// Follows a workload through its Workload and the queues.
struct Queues<'c> {
    kueue: &'c Kueue,
    limits: &'c Limits,
    object: &'c StoredObject,
    chain: &'c mut Vec<Link>,
    /// The first resource that could not be read, if an object of it is missing.
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

    fn note_missing(&mut self, resource: &'static str) {
        if self.kueue.unread.contains(resource) {
            self.unread.get_or_insert(resource);
        }
    }

    fn find(&mut self, state: &'static str) -> StatusFinding {
        let (kueue, object, limits) = (self.kueue, self.object, self.limits);
        let name = &object.argument;
        let workload = kueue.workload(object);
        if workload.is_none() {
            self.note_missing("workloads");
        }
        // Kueue needs a moment after a change of the label, too.
        let age = limits.age_of_evidence(object.last_spec_write.max(object.created));
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
            let reason = format!("Kueue has created no Workload for it in {}", duration(age));
            let action = "check that Kueue is running and manages this kind and namespace";
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
            let command = self.kubectl("delete", name);
            let action = format!("{command}, and recreate it with a longer TTL");
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
        let queues = self.kueue.local_queues.iter();
        let mut usable = queues.filter(|((place, _), local)| {
            let queue = self.kueue.cluster_queues.get(&local.cluster_queue);
            let checks = queue.into_iter().flat_map(|queue| &queue.checks);
            place == namespace && self.kueue.multikueue_check(checks.map(|c| &**c)).is_some()
        });
        let queue = usable.next().map_or("QUEUE", |((_, name), _)| name);
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
    fn add(
        &mut self,
        kind: &'static str,
        resource: &'static str,
        name: &str,
        activity: Option<&Activity>,
    ) -> bool {
        let is_unread = self.kueue.unread.contains(resource);
        if activity.is_none() {
            self.note_missing(resource);
        }
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

    fn follow(&mut self, queue: &str, workload: &'c Workload) -> StatusFinding {
        let kueue = self.kueue;
        let namespace = &*self.object.object.namespace;
        let local = kueue
            .local_queues
            .get(&(namespace.to_owned(), queue.to_owned()));
        let is_reserved = workload.reserved.is_some();
        let activity = local.map(|queue| &queue.activity);
        let unread = self.unread;
        let is_missing = self.add("LocalQueue", "localqueues", queue, activity);
        if is_reserved {
            // It has done its part.
            self.unread = unread;
        } else if is_missing {
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
        let of_queue: Vec<_> = of_queue.map(|check| &**check).collect();
        // Kueue has chosen the checks of the flavors once it has reserved quota.
        let chosen = workload.checks.iter().map(|check| &*check.name);
        let chosen: Vec<_> = chosen.collect();
        let is_chosen = is_reserved && (workload.is_admitted || !chosen.is_empty());
        let names = if is_chosen { &chosen } else { &of_queue };
        if names.iter().any(|name| !kueue.checks.contains_key(*name)) {
            self.note_missing("admissionchecks");
        }
        let Some((check, facts)) = kueue.multikueue_check(names.iter().copied()) else {
            // A worker in the Workload shows that it has a MultiKueue check, also to a user who may not read the check.
            let has_worker = !workload.cluster.is_empty() || !workload.nominated.is_empty();
            return if has_worker {
                self.follow_check("", &AdmissionCheck::default(), queue, workload)
            } else {
                let of_queue = kueue.multikueue_check(of_queue.into_iter());
                self.without_check(name, of_queue.is_some(), workload)
            };
        };
        self.add(
            "AdmissionCheck",
            "admissionchecks",
            check,
            Some(&facts.activity),
        );
        if is_reserved {
            return self.follow_check(check, facts, queue, workload);
        }
        // A LocalQueue is also inactive if an admin stopped its ClusterQueue.
        let local = local.filter(|_| cluster_queue.is_none());
        let local = local.map(|queue| &queue.activity);
        self.inactive("Queued", "ClusterQueue", name, activity)
            .or_else(|| self.inactive("Queued", "LocalQueue", queue, local))
            .or_else(|| self.inadmissible(name, workload))
            .unwrap_or_else(|| StatusFinding::new(Healthy, "Queued", &workload.waits_for))
    }

    /// Returns a finding if Kueue never admits the Workload to its queue as both are.
    ///
    /// Source: the messages of scheduler.go and flavorassigner.go in Kueue 0.18.4. With `more needed`, it waits for quota in use.
    fn inadmissible(&self, queue: &str, workload: &Workload) -> Option<StatusFinding> {
        let text = &*workload.waits_for;
        let action = if text.contains("namespace doesn't match ClusterQueue selector") {
            format!("correct the namespaceSelector of ClusterQueue {queue}, or use another queue")
        } else if text.contains(" unavailable in ClusterQueue")
            || text.contains(" > maximum capacity") && !text.contains(" more needed")
        {
            format!("add the resource to ClusterQueue {queue}, or request what it has")
        } else {
            return None;
        };
        let since = workload.waits_since.or(workload.created);
        self.limits.age_of_evidence(since)?;
        Some(StatusFinding::new(Stalled, "Queued", text).action(action))
    }

    /// Returns the finding for a Workload without a MultiKueue check: its queue has none, or none for the flavors of its quota. Kueue
    /// gives it quota, and takes the quota back when the timeout of `waitForPodsReady` has passed, again and again.
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
        let (missing, action) = if !has_queue_check {
            let problem = QueueProblem::NoMultiKueueCheck {
                cluster_queue: queue,
            };
            let action =
                format!("add a MultiKueue check to ClusterQueue {queue}, or use another queue");
            (problem.to_string(), action)
        } else if workload.flavors.is_empty() {
            (
                format!("its pods request no resource of ClusterQueue {queue}"),
                format!("recreate {} with resource requests", self.object.argument),
            )
        } else {
            let flavors = workload.flavors.iter().map(|flavor| &**flavor);
            let flavors = flavors.collect::<Vec<_>>().join(" and ");
            (
                format!("no MultiKueue check of ClusterQueue {queue} applies to flavor {flavors}"),
                format!(
                    "correct onFlavors of the check in ClusterQueue {queue}, or use another queue"
                ),
            )
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

    fn follow_check(
        &mut self,
        name: &str,
        check: &AdmissionCheck,
        queue: &str,
        workload: &Workload,
    ) -> StatusFinding {
        let kueue = self.kueue;
        if !workload.cluster.is_empty() {
            let (worker, state) = (&*workload.cluster, "Running");
            let activity = kueue.clusters.get(worker);
            self.add("MultiKueueCluster", "multikueueclusters", worker, activity);
            let lost = self.inactive(state, "MultiKueueCluster", worker, activity);
            return lost
                .unwrap_or_else(|| StatusFinding::new(Healthy, state, format!("on {worker}")));
        }
        let state = "Dispatching";
        let own = workload.checks.iter().find(|state| state.name == name);
        let retries = own.map_or(0, |state| state.retries);
        if retries >= MANY_RETRIES {
            let reason = format!("came back from its workers {retries} times");
            let action =
                "check its ttlSecondsAfterFinished, its priority, and the queues of the workers";
            return StatusFinding::new(Stalled, state, reason).action(action);
        }
        let nominated = match &*workload.nominated {
            [] => kueue.configs.get(&check.config),
            _ => Some(&workload.nominated),
        };
        if nominated.is_none() {
            self.note_missing("multikueueconfigs");
        }
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
        let message = own.map_or("", |state| &*state.message.0);
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
