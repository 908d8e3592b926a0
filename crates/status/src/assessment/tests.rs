//! Verdicts on recorded objects: of a management cluster with Kueue 0.19.2, JobSet 0.12.0 and Kubernetes 1.36.3, 15 minutes after
//! their creation. Each change to the recording is a state of the same programs at another time.

use chrono::{DateTime, TimeDelta, Utc};
use managed_by::Settings;
use managed_by_offline::{Document, Evaluator, manifest};
use serde_json::{Value, json};

use super::{
    ClusterState, Kueue, Limits, ObjectStatus, StatusVerdict, StoredObject, Unread, assess,
};
use StatusVerdict::{
    Contradicting, Finished, ForeignWriter, Healthy, Orphaned, Stalled, Unchecked,
};

/// A cluster, with the objects of the recording.
struct Recording {
    objects: Value,
    limits: Limits,
    settings: &'static str,
    leases: Vec<(&'static str, Value)>,
    unread: Vec<&'static str>,
}

impl Recording {
    fn new() -> Self {
        let objects: Value = serde_json::from_str(include_str!("recorded.json")).unwrap();
        let now: DateTime<Utc> = objects["now"].as_str().unwrap().parse().unwrap();
        Self {
            limits: Limits {
                now,
                after: TimeDelta::minutes(1),
                writers: [].into(),
            },
            objects,
            settings: "{}",
            leases: Vec::new(),
            unread: Vec::new(),
        }
    }

    /// Changes an object of the recording.
    fn change(mut self, resource: &str, name: &str, change: impl Fn(&mut Value)) -> Self {
        let object = self.find(resource, name);
        change(object);
        self
    }

    fn find(&mut self, resource: &str, name: &str) -> &mut Value {
        let list = self.objects[resource].as_array_mut().unwrap();
        let found = list.iter_mut().find(|object| {
            let found = object["metadata"]["name"].as_str().unwrap();
            // The name of a Workload has a suffix.
            found == name
                || found
                    .rsplit_once('-')
                    .is_some_and(|(prefix, _)| prefix == name)
        });
        found.unwrap()
    }

    fn remove(mut self, resource: &str, name: &str) -> Self {
        let list = self.objects[resource].as_array_mut().unwrap();
        let before = list.len();
        list.retain(|object| {
            let found = object["metadata"]["name"].as_str().unwrap();
            found != name
                && found
                    .rsplit_once('-')
                    .is_none_or(|(prefix, _)| prefix != name)
        });
        assert_eq!(list.len(), before.saturating_sub(1));
        self
    }

    fn time(&self, seconds_ago: i64) -> String {
        let time = TimeDelta::seconds(seconds_ago);
        self.limits
            .now
            .checked_sub_signed(time)
            .unwrap()
            .to_rfc3339()
    }

    fn cluster(&self) -> ClusterState {
        let mut kueue = Kueue::default();
        for resource in Kueue::RESOURCES {
            if self.unread.contains(&resource) {
                kueue.note_unread(Unread(resource));
                continue;
            }
            for object in self.objects[resource].as_array().unwrap() {
                kueue.add(resource, &object.to_string());
            }
        }
        let mut cluster = ClusterState {
            kueue: Some(kueue),
            ..ClusterState::default()
        };
        for (controller, lease) in &self.leases {
            cluster.leases.add(controller, &lease.to_string());
        }
        cluster
    }

    /// Evaluates all objects, as a list like kube-apiserver's.
    fn evaluate(&self) -> Vec<ObjectStatus> {
        let mut cluster = self.cluster();
        let settings = Settings::from_json(self.settings.as_bytes()).unwrap();
        let evaluator = Evaluator::new(settings, None);
        let mut objects = Vec::new();
        for (kind, resource) in [("JobList", "jobs"), ("JobSetList", "jobsets")] {
            let list =
                json!({"apiVersion": "batch/v1", "kind": kind, "items": self.objects[resource]});
            let list = list.to_string();
            let document = Document::parse_all(&list).remove(0).unwrap();
            for object in manifest::objects(&document) {
                objects
                    .extend(StoredObject::read(&object.unwrap(), &evaluator).unwrap_or_default());
            }
        }
        for object in &objects {
            if let Some(write) = &object.last_status_write {
                cluster.leases.note_write(object.controller(), write.time);
            }
        }
        let evaluated = objects.into_iter();
        evaluated
            .map(|object| assess(object, &cluster, &self.limits))
            .collect()
    }

    fn status(&self, name: &str) -> ObjectStatus {
        let mut evaluated = self.evaluate().into_iter();
        evaluated.find(|status| status.object.name == name).unwrap()
    }

    /// Fails unless an object has a verdict, with a reason that contains a text.
    #[track_caller]
    fn assert(&self, name: &str, verdict: StatusVerdict, reason: &str) -> ObjectStatus {
        let status = self.status(name);
        assert_eq!(status.verdict, verdict, "{status:#?}");
        assert!(status.reason.contains(reason), "{status:#?}");
        assert_eq!(
            status.action.is_empty(),
            !verdict.is_problem(),
            "{status:#?}"
        );
        status
    }
}

#[test]
fn recorded_objects_have_the_expected_verdicts() {
    let recording = Recording::new();
    for (name, verdict, state, reason) in [
        ("builtin", Finished, "Complete", ""),
        ("builtin-long", Healthy, "Running", ""),
        ("suspended", Healthy, "Suspended", ""),
        (
            "a-noqueue",
            Orphaned,
            "Pending",
            "no label kueue.x-k8s.io/queue-name",
        ),
        (
            "b-localqueue",
            Contradicting,
            "Admitted",
            "but ClusterQueue local has no MultiKueue check",
        ),
        ("b2-waits", Healthy, "Suspended", ""),
        (
            "c-badqueue",
            Orphaned,
            "Queued",
            "LocalQueue lqq does not exist in team-mk",
        ),
        ("control", Finished, "Complete", ""),
        ("forged", Healthy, "Running", ""),
        ("preq2", Healthy, "Queued", "insufficient unused quota"),
        ("running", Healthy, "Running", "on w1"),
        (
            "typo",
            Orphaned,
            "Pending",
            "did you mean \"kueue.x-k8s.io/multikueue\"",
        ),
        (
            "wq2",
            Healthy,
            "Dispatching",
            "waits for a worker since 14m",
        ),
        ("js", Finished, "Complete", ""),
        ("js-plain", Healthy, "Suspended", ""),
        ("js-run", Healthy, "Running", "on w1"),
        (
            "js-typo",
            Orphaned,
            "Pending",
            "no status since its creation 14m ago",
        ),
    ] {
        assert_eq!(
            recording.assert(name, verdict, reason).state,
            state,
            "{name}"
        );
    }
    assert_eq!(recording.evaluate().len(), 17);
}

#[test]
fn a_delegated_job_has_the_chain_to_its_worker() {
    let status = Recording::new().status("running");
    let chain = status.chain.iter();
    let chain: Vec<_> = chain.map(|link| (link.kind, &*link.state)).collect();
    let expected = [
        ("Workload", "Admitted"),
        ("LocalQueue", "active"),
        ("ClusterQueue", "active"),
        ("AdmissionCheck", "active"),
        ("MultiKueueCluster", "active"),
    ];
    assert_eq!(chain, expected);
}

#[test]
fn nothing_is_reported_before_the_evidence_is_old() {
    let mut recording = Recording::new();
    recording.limits.after = TimeDelta::hours(1);
    for status in recording.evaluate() {
        // Two need no time: a name that no controller has, and a queue that does not exist.
        let is_certain = ["typo", "c-badqueue"].contains(&&*status.object.name);
        assert_eq!(status.verdict.is_problem(), is_certain, "{status:#?}");
    }
}

#[test]
fn a_lost_worker_stalls_its_workloads() {
    let lost = |seconds| {
        let recording = Recording::new();
        let time = recording.time(seconds);
        recording.change("multikueueclusters", "w1", |cluster| {
            cluster["status"]["conditions"][0] = json!({"type": "Active", "status": "False", "reason": "ClientConnectionFailed",
                "message": "connection refused", "lastTransitionTime": time});
        })
    };
    let recording = lost(61);
    for name in ["running", "js-run", "wq2"] {
        recording.assert(
            name,
            Stalled,
            "MultiKueueCluster w1 has been inactive for 61s: connection refused",
        );
    }
    recording.assert("control", Finished, "");
    lost(60).assert("running", Healthy, "on w1");
}

#[test]
fn an_inactive_queue_stalls_unless_an_admin_stopped_it() {
    let recording = Recording::new();
    let time = recording.time(300);
    let recording = recording.change("clusterqueues", "cqp", |queue| {
        queue["status"]["conditions"][0] = json!({"type": "Active", "status": "False", "message": "flavor not found", "lastTransitionTime": time});
    });
    recording.assert(
        "preq2",
        Stalled,
        "ClusterQueue cqp has been inactive for 5m: flavor not found",
    );
    // Kueue's message for a LocalQueue whose ClusterQueue is not active.
    let time = recording.time(300);
    let recording = recording.change("localqueues", "lqp", |queue| {
        queue["status"]["conditions"] = json!([{"type": "Active", "status": "False", "reason": "ClusterQueueIsInactive",
            "message": "Can't submit new workloads to clusterQueue", "lastTransitionTime": time}]);
    });
    let recording = recording.change("clusterqueues", "cqp", |queue| {
        queue["spec"]["stopPolicy"] = json!("Hold");
    });
    recording.assert("preq2", Healthy, "");
}

/// Recorded half an hour later, when the timeout of `waitForPodsReady` had passed.
#[test]
fn a_workload_in_a_queue_without_a_check_stays_an_orphan_without_quota() {
    let recording = Recording::new().change("workloads", "job-b-localqueue", |workload| {
        workload["status"] = json!({"conditions": [{"type": "QuotaReserved", "status": "False", "reason": "Pending",
            "message": "Exceeded the PodsReady timeout team-mk/job-b-localqueue-8866e", "lastTransitionTime": "2026-11-28T06:09:14Z"}]});
    });
    recording.assert(
        "b-localqueue",
        Orphaned,
        "ClusterQueue local has no MultiKueue check",
    );
}

#[test]
fn a_missing_workload_is_an_orphan() {
    let recording = Recording::new().remove("workloads", "job-preq2");
    recording.assert(
        "preq2",
        Orphaned,
        "Kueue has created no Workload for it in 14m",
    );
    let recording = Recording::new().remove("clusterqueues", "cqp");
    recording.assert(
        "preq2",
        Orphaned,
        "ClusterQueue cqp of LocalQueue lqp does not exist",
    );
}

#[test]
fn a_finished_workload_contradicts_an_active_job() {
    let finished = |seconds| {
        let recording = Recording::new();
        let time = recording.time(seconds);
        recording.change("workloads", "job-running", |workload| {
            let conditions = workload["status"]["conditions"].as_array_mut().unwrap();
            conditions.push(json!({"type": "Finished", "status": "True", "reason": "Succeeded", "lastTransitionTime": time}));
        })
    };
    finished(61).assert(
        "running",
        Contradicting,
        "its Workload finished 61s ago (Succeeded)",
    );
    finished(59).assert("running", Healthy, "");
}

#[test]
fn a_deactivated_workload_stalls_only_if_kueue_gave_up() {
    let deactivated = |reason: &str| {
        Recording::new().change("workloads", "job-running", |workload| {
            workload["spec"]["active"] = json!(false);
            let conditions = workload["status"]["conditions"].as_array_mut().unwrap();
            conditions.push(json!({"type": "Evicted", "status": "True", "reason": reason, "message": "exceeded the retries"}));
        })
    };
    deactivated("DeactivatedDueToRequeuingLimitExceeded").assert(
        "running",
        Stalled,
        "exceeded the retries",
    );
    deactivated("Deactivated").assert("running", Healthy, "not active");
}

#[test]
fn a_workload_that_comes_back_again_and_again_stalls() {
    let retried = |count: u64| {
        Recording::new().change("workloads", "job-running", |workload| {
            workload["status"]["admissionChecks"][0]["retryCount"] = json!(count);
        })
    };
    retried(5).assert("running", Stalled, "came back from its workers 5 times");
    retried(4).assert("running", Healthy, "on w1");
}

#[test]
fn foreign_writers_are_reported() {
    let written_by = |name: &str, manager: &str| {
        Recording::new().change("jobs", name, |job| {
            let fields = job["metadata"]["managedFields"].as_array_mut().unwrap();
            fields.retain(|fields| fields["subresource"] != "status");
            fields.push(json!({"manager": manager, "operation": "Update", "subresource": "status", "time": "2026-11-28T06:09:30Z"}));
        })
    };
    for (name, manager) in [
        ("running", "kubectl-edit"),
        ("running", "Python-urllib"),
        ("builtin-long", "kubectl"),
        ("control", "curl"),
    ] {
        written_by(name, manager).assert(name, ForeignWriter, manager);
    }
    for (name, manager) in [
        ("running", "manager"),
        ("builtin-long", "k3s"),
        ("forged", "kubectlish"),
    ] {
        written_by(name, manager).assert(name, Healthy, "");
    }
    written_by("running", "kube-controller-manager").assert(
        "running",
        Contradicting,
        "delegated to kueue.x-k8s.io/multikueue, but kube-controller-manager wrote the status",
    );
    let mut recording = Recording::new();
    let writers = vec!["acme-runner".to_owned()];
    recording.limits.writers = [("acme.io/runner".to_owned(), writers)].into();
    recording.assert(
        "forged",
        ForeignWriter,
        "Python-urllib wrote the status 14m ago, expected acme-runner",
    );
}

#[test]
fn a_status_that_violates_a_rule_contradicts() {
    let recording = Recording::new().change("jobs", "control", |job| {
        let conditions = job["status"]["conditions"].as_array_mut().unwrap();
        conditions.push(json!({"type": "Failed", "status": "True"}));
    });
    recording.assert("control", Contradicting, "[job-status/");
}

#[test]
fn the_settings_list_the_controllers() {
    let mut recording = Recording::new();
    recording.settings = r#"{"controllers": {"kueue.x-k8s.io/multikueue": "any"}}"#;
    recording.assert("forged", Orphaned, "acme.io/runner");
    recording.assert("running", Healthy, "on w1");
}

#[test]
fn an_ignored_change_of_suspend_stalls() {
    let recording = Recording::new().change("jobs", "suspended", |job| {
        job["spec"]["suspend"] = json!(false);
    });
    recording.assert("suspended", Stalled, "resumed at least 14m ago");
    let recording = Recording::new().change("jobs", "builtin-long", |job| {
        job["spec"]["suspend"] = json!(true);
    });
    recording.assert("builtin-long", Stalled, "suspended at least 14m ago");
}

#[test]
fn a_lease_that_is_not_renewed_stalls() {
    let mut recording = Recording::new();
    let (recent, old) = (recording.time(20), recording.time(120));
    let lease = |time: &str| json!({"spec": {"renewTime": time}});
    let leases = vec![
        ("kueue.x-k8s.io/multikueue", lease(&recent)),
        ("kubernetes.io/job-controller", lease(&old)),
    ];
    recording.leases = leases;
    recording.assert("builtin-long", Stalled, "renewed its Lease 2m ago");
    recording.assert("running", Healthy, "on w1");
    recording.assert("builtin", Finished, "");
    let later = TimeDelta::seconds(100);
    recording.limits.now = recording.limits.now.checked_add_signed(later).unwrap();
    let status = recording.assert("running", Stalled, "Kueue renewed its Lease 2m ago");
    assert_eq!(status.chain.len(), 5);
    recording.assert("c-badqueue", Orphaned, "LocalQueue lqq does not exist");
    // A later write shows that the controller runs without leader election.
    let recording = Recording::new();
    let time = recording.time(30);
    let mut recording = recording.change("jobs", "builtin-long", |job| {
        job["metadata"]["managedFields"][1]["time"] = json!(time);
    });
    recording.leases = vec![(
        "kubernetes.io/job-controller",
        json!({"spec": {"renewTime": recording.time(120)}}),
    )];
    recording.assert("builtin-long", Healthy, "");
}

#[test]
fn without_permissions_the_verdict_is_unchecked() {
    let mut recording = Recording::new();
    recording.unread = vec!["workloads"];
    recording.assert("running", Unchecked, "workloads.kueue.x-k8s.io");
    recording.assert("a-noqueue", Orphaned, "no label");
    // A user who may only read one namespace.
    recording.unread = vec![
        "multikueueclusters",
        "multikueueconfigs",
        "admissionchecks",
        "clusterqueues",
    ];
    recording.assert("running", Healthy, "on w1");
    recording.assert("wq2", Healthy, "waits for a worker");
    recording.assert("preq2", Healthy, "insufficient unused quota");
    recording.assert("b-localqueue", Unchecked, "ClusterQueues");
}

#[test]
fn hostile_objects_do_no_harm() {
    let mut recording = Recording::new();
    for (path, value) in [
        ("/status", json!([])),
        ("/status/conditions", json!({"a": 1})),
        ("/metadata/managedFields", json!("x")),
        ("/metadata/creationTimestamp", json!("9999999-01-01")),
        ("/metadata/labels", json!({"kueue.x-k8s.io/queue-name": 1})),
        ("/spec/suspend", json!("true")),
    ] {
        let mut object = recording.find("jobs", "running").clone();
        if let Some(found) = object.pointer_mut(path) {
            *found = value;
        }
        recording.objects["jobs"]
            .as_array_mut()
            .unwrap()
            .push(object);
    }
    // Three of the objects cannot be read.
    assert_eq!(recording.evaluate().len(), 20);
}
