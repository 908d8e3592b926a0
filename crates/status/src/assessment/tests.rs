//! Verdicts on recorded objects: of a management cluster with Kueue 0.19.2, JobSet 0.12.0 and Kubernetes 1.36.3, 15 minutes after
//! their creation (`no-requests`: with Kueue 0.18.4, its times moved). Each change to the recording is a state of the same programs at another time. The real reader reads them.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use super::{Kueue, LEASES, ObjectStatus, StatusVerdict};
use crate::fake::{Cluster, Fault};
use StatusVerdict::{
    Contradicting, Finished, ForeignWriter, Healthy, Orphaned, Stalled, Unchecked,
};

/// A cluster, with the objects of the recording.
struct Recording {
    objects: Value,
    now: DateTime<Utc>,
    /// Further arguments.
    args: Vec<&'static str>,
    settings: &'static str,
    /// Last renewals, by controller.
    leases: Vec<(&'static str, String)>,
    unread: Vec<&'static str>,
}

impl Recording {
    fn new() -> Self {
        let objects: Value = serde_json::from_str(include_str!("recorded.json")).unwrap();
        Self {
            now: objects["now"].as_str().unwrap().parse().unwrap(),
            objects,
            args: Vec::new(),
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
        self.now.checked_sub_signed(time).unwrap().to_rfc3339()
    }

    fn cluster(&self) -> Cluster {
        let mut cluster = Cluster::new(self.now);
        let kueue = Kueue::RESOURCES.map(|resource| ("kueue.x-k8s.io/v1beta2", resource));
        let workloads = [
            ("batch/v1", "jobs"),
            ("jobset.x-k8s.io/v1alpha2", "jobsets"),
        ];
        for (version, resource) in kueue.into_iter().chain(workloads) {
            let path = format!("{version}/{resource}");
            if self.unread.contains(&resource) {
                let forbidden = Fault::Code(403);
                cluster.faults.insert(format!("/apis/{path}"), forbidden);
            }
            let objects = self.objects[resource].as_array().unwrap();
            cluster.objects.insert(path, objects.clone());
        }
        let leases = "coordination.k8s.io/v1/leases";
        cluster.objects.insert(leases.to_owned(), Vec::new());
        for (controller, time) in &self.leases {
            let mut profiles = LEASES.iter();
            let profile = profiles.find(|p| p.controller == *controller).unwrap();
            let metadata = json!({"name": profile.name, "namespace": profile.namespace});
            cluster.add(
                leases,
                json!({"metadata": metadata, "spec": {"renewTime": time}}),
            );
        }
        self.settings.clone_into(&mut cluster.settings);
        cluster
            .args
            .extend(self.args.iter().map(|arg| (*arg).to_owned()));
        cluster
    }

    /// Evaluates all objects.
    fn evaluate(&self) -> Vec<ObjectStatus> {
        self.cluster().report().objects
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
            Orphaned,
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
        (
            "no-requests",
            Orphaned,
            "Admitted",
            "its pods request no resource of ClusterQueue cq",
        ),
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
        ("js-typo", Orphaned, "Pending", "no status in 14m"),
    ] {
        assert_eq!(
            recording.assert(name, verdict, reason).state,
            state,
            "{name}"
        );
    }
    assert_eq!(recording.evaluate().len(), 18);
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
    recording.args = vec!["--after=1h"];
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
fn a_deactivated_workload_stalls() {
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
    deactivated("Deactivated").assert("running", Stalled, "exceeded the retries");
}

#[test]
fn a_workload_that_comes_back_again_and_again_stalls() {
    let retried = |count: u64| {
        Recording::new().change("workloads", "job-wq2", |workload| {
            workload["status"]["admissionChecks"][0]["retryCount"] = json!(count);
        })
    };
    retried(5).assert("wq2", Stalled, "came back from its workers 5 times");
    retried(4).assert("wq2", Healthy, "waits for a worker");
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
        ("running", "manager"),
        ("builtin-long", "kubectl"),
    ] {
        written_by(name, manager).assert(name, ForeignWriter, manager);
    }
    for (name, manager) in [("builtin-long", "k3s"), ("forged", "kubectlish")] {
        written_by(name, manager).assert(name, Healthy, "");
    }
    written_by("running", "kube-controller-manager").assert(
        "running",
        Contradicting,
        "delegated to kueue.x-k8s.io/multikueue, but kube-controller-manager wrote the status",
    );
    let mut recording = Recording::new();
    recording.args = vec!["--writer=acme.io/runner=acme-runner"];
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
    // Its status has a writer.
    recording.assert("forged", Contradicting, "acme.io/runner");
    recording.assert("js-typo", Orphaned, "acme.io/none");
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
    recording.leases = vec![
        ("kueue.x-k8s.io/multikueue", recent),
        ("kubernetes.io/job-controller", old),
    ];
    recording.assert("builtin-long", Stalled, "renewed its Lease 2m ago");
    recording.assert("running", Healthy, "on w1");
    recording.assert("builtin", Finished, "");
    let later = TimeDelta::seconds(100);
    recording.now = recording.now.checked_add_signed(later).unwrap();
    let status = recording.assert("running", Stalled, "Kueue renewed its Lease 2m ago");
    assert_eq!(status.chain.len(), 5);
    recording.assert("c-badqueue", Orphaned, "LocalQueue lqq does not exist");
    // A later write shows that the controller runs without leader election.
    let recording = Recording::new();
    let time = recording.time(30);
    let mut recording = recording.change("jobs", "builtin-long", |job| {
        job["metadata"]["managedFields"][1]["time"] = json!(time);
    });
    recording.leases = vec![("kubernetes.io/job-controller", recording.time(120))];
    recording.assert("builtin-long", Healthy, "");
}

#[test]
fn without_permissions_the_verdict_is_unchecked() {
    let mut recording = Recording::new();
    recording.unread = vec!["workloads"];
    recording.assert("running", Unchecked, "workloads.kueue.x-k8s.io");
    recording.assert("a-noqueue", Unchecked, "workloads.kueue.x-k8s.io");
    // A user who may only read one namespace.
    recording.unread = vec![
        "multikueueclusters",
        "multikueueconfigs",
        "admissionchecks",
        "clusterqueues",
    ];
    for name in ["running", "wq2", "preq2", "b-localqueue"] {
        recording.assert(name, Unchecked, "clusterqueues.kueue.x-k8s.io");
    }
    recording.assert("c-badqueue", Orphaned, "LocalQueue lqq does not exist");
}

/// Returns a copy of a recorded object with other metadata.
fn copy(recording: &mut Recording, resource: &str, of: &str, metadata: &Value) -> Value {
    let mut object = recording.find(resource, of).clone();
    let members = object["metadata"].as_object_mut().unwrap();
    members.extend(metadata.as_object().unwrap().clone());
    object
}

fn push(recording: &mut Recording, resource: &str, object: Value) {
    recording.objects[resource]
        .as_array_mut()
        .unwrap()
        .push(object);
}

#[test]
fn the_workload_of_an_object_is_the_one_that_it_controls() {
    // An elastic Job keeps a finished Workload for each earlier size.
    let mut recording = Recording::new();
    let mut slice = copy(
        &mut recording,
        "workloads",
        "job-running",
        &json!({"name": "slice", "creationTimestamp": "2026-11-28T05:55:00Z"}),
    );
    let finished = json!({"type": "Finished", "status": "True", "reason": "WorkloadSliceReplaced", "lastTransitionTime": "2026-11-28T05:56:00Z"});
    slice["status"]["conditions"]
        .as_array_mut()
        .unwrap()
        .push(finished);
    // Another tenant's Workload with the same owner.
    let stolen = copy(
        &mut recording,
        "workloads",
        "job-b-localqueue",
        &json!({"namespace": "team-evil", "ownerReferences": slice["metadata"]["ownerReferences"]}),
    );
    for object in [slice, stolen] {
        push(&mut recording, "workloads", object.clone());
        recording.objects["workloads"]
            .as_array_mut()
            .unwrap()
            .insert(0, object);
    }
    // A prebuilt Workload has another first owner.
    let recording = recording.change("workloads", "job-preq2", |workload| {
        let owners = workload["metadata"]["ownerReferences"]
            .as_array_mut()
            .unwrap();
        owners.insert(0, json!({"uid": "a", "controller": false}));
    });
    recording.assert("running", Healthy, "on w1");
    recording.assert("preq2", Healthy, "insufficient unused quota");
}

#[test]
fn a_workload_that_is_admitted_without_the_check_is_an_orphan() {
    let admitted = |flavors: Value| {
        let recording = Recording::new();
        let time = recording.time(300);
        recording.change("workloads", "job-running", |workload| {
            let conditions = ["QuotaReserved", "Admitted"].map(|name| json!({"type": name, "status": "True", "lastTransitionTime": time}));
            workload["status"] = json!({"conditions": conditions, "admission": {"clusterQueue": "cq", "podSetAssignments": [{"name": "main", "flavors": flavors}]}});
        })
    };
    admitted(json!({})).assert(
        "running",
        Orphaned,
        "holds quota since 5m, but its pods request no resource of ClusterQueue cq",
    );
    admitted(json!({"cpu": "spot"})).assert(
        "running",
        Orphaned,
        "no MultiKueue check of ClusterQueue cq applies to flavor spot",
    );
}

#[test]
fn what_kueue_never_admits_stalls() {
    let waits = |message: &str| {
        let recording = Recording::new();
        let time = recording.time(61);
        recording.change("workloads", "job-preq2", |workload| {
            workload["status"]["conditions"] = json!([{"type": "QuotaReserved", "status": "False", "message": message, "lastTransitionTime": time}]);
        })
    };
    for message in [
        "Workload namespace doesn't match ClusterQueue selector",
        "couldn't assign flavors to pod set main: resource nvidia.com/gpu unavailable in ClusterQueue",
        "insufficient quota for cpu in flavor default, previously considered podsets requests (0) + current podset request (9) > maximum capacity (2)",
    ] {
        waits(message).assert("preq2", Stalled, message);
    }
    waits("insufficient quota for cpu in flavor a > maximum capacity (2), insufficient unused quota for cpu in flavor b, 1 more needed").assert("preq2", Healthy, "");
}

#[test]
fn a_worker_that_never_admits_stalls_after_a_limit() {
    let mut recording = Recording::new();
    recording.args = vec!["--dispatch-limit=10m"];
    recording.assert("wq2", Stalled, "no worker cluster has admitted it for 14m");
}

#[test]
fn a_job_that_someone_finished_is_finished() {
    let recording = Recording::new().change("jobs", "control", |job| {
        let fields = job["metadata"]["managedFields"].as_array_mut().unwrap();
        fields.push(json!({"manager": "kubectl-edit", "subresource": "status", "time": "2026-11-28T06:09:50Z"}));
    });
    recording.assert("control", Finished, "");
}

#[test]
fn only_a_write_of_the_controller_to_the_object_shows_that_it_runs() {
    let forged = |name: &str, manager: &str, time: &str| {
        let mut recording = Recording::new().change("jobs", name, |job| {
            let fields = job["metadata"]["managedFields"].as_array_mut().unwrap();
            fields.push(json!({"manager": manager, "subresource": "status", "time": time}));
        });
        recording.leases = vec![("kueue.x-k8s.io/multikueue", recording.time(10_800))];
        recording
    };
    for (name, time) in [
        ("control", "2026-11-28T06:09:59Z"),
        ("running", "2099-01-01T00:00:00Z"),
    ] {
        let recording = forged(name, "kueue", time).change("jobs", "running", |job| {
            let fields = job["metadata"]["managedFields"].as_array_mut().unwrap();
            fields.retain(|fields| fields["time"] != "2026-11-28T06:09:24Z");
        });
        recording.assert("running", Stalled, "Kueue renewed its Lease 3h ago");
    }
}

#[test]
fn leases_are_found_in_any_namespace() {
    let lease = |place: &str, seconds: i64| {
        let recording = Recording::new();
        let metadata = json!({"name": "c1f6bfd2.kueue.x-k8s.io", "namespace": place});
        json!({"metadata": metadata, "spec": {"renewTime": recording.time(seconds)}})
    };
    let run = |leases: Vec<Value>| {
        let recording = Recording::new().change("jobs", "running", |job| {
            let fields = job["metadata"]["managedFields"].as_array_mut().unwrap();
            fields.retain(|fields| fields["subresource"] != "status");
        });
        let mut cluster = recording.cluster();
        cluster
            .objects
            .insert("coordination.k8s.io/v1/leases".to_owned(), leases);
        let report = cluster.report();
        let mut rows = report.objects.into_iter();
        let unchecked: Vec<_> = report
            .unchecked
            .into_iter()
            .map(|unread| unread.resource)
            .collect();
        let is_listed =
            unchecked.contains(&"leases.coordination.k8s.io c1f6bfd2.kueue.x-k8s.io".to_owned());
        (
            rows.find(|row| row.object.name == "running")
                .unwrap()
                .verdict,
            is_listed,
        )
    };
    assert_eq!(run(vec![lease("queueing", 10_800)]), (Stalled, false));
    assert_eq!(run(vec![lease("queueing", 1)]), (Healthy, false));
    // A tenant may create one, too.
    assert_eq!(
        run(vec![lease("kueue-system", 10_800), lease("team-evil", 1)]),
        (Stalled, false)
    );
    assert_eq!(
        run(vec![lease("queueing", 10_800), lease("team-evil", 1)]),
        (Unchecked, true)
    );
    assert_eq!(run(vec![]), (Healthy, true));
}

/// A cluster with kinds that differ in version, scope and group only.
fn kinds() -> Cluster {
    let mut cluster = Recording::new().cluster();
    cluster.settings = json!({"custom_kinds": [
        {"group": "acme.io", "kind": "Job", "plural": "jobs"},
        {"group": "acme.io", "kind": "Site", "plural": "sites"},
    ]})
    .to_string();
    cluster.without_namespace.insert("sites");
    let add = |cluster: &mut Cluster,
               resource: &str,
               kind: &str,
               namespace: Option<&str>,
               name: &str,
               spec: Value,
               status: Value| {
        let version = resource.rsplit_once('/').unwrap().0;
        let metadata = json!({"name": name, "namespace": namespace, "uid": name, "creationTimestamp": "2026-11-28T05:55:17Z"});
        cluster.add(resource, json!({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec, "status": status}));
    };
    let suspended = json!({"conditions": [{"type": "Suspended", "status": "True"}]});
    let space = Some("team-mk");
    add(
        &mut cluster,
        "kubeflow.org/v1/pytorchjobs",
        "PyTorchJob",
        space,
        "torch",
        json!({"runPolicy": {"suspend": true}}),
        suspended,
    );
    add(
        &mut cluster,
        "kubeflow.org/v2beta1/mpijobs",
        "MPIJob",
        space,
        "mpi",
        json!({}),
        json!({}),
    );
    add(
        &mut cluster,
        "acme.io/v1/jobs",
        "Job",
        space,
        "own",
        json!({"managedBy": "acme.io/x"}),
        json!({}),
    );
    add(
        &mut cluster,
        "acme.io/v1/sites",
        "Site",
        None,
        "site",
        json!({"managedBy": "acme.io/x"}),
        json!({}),
    );
    cluster
}

#[test]
fn kinds_of_all_versions_and_scopes_are_read() {
    let verdicts = |args: &[&str]| {
        let mut cluster = kinds();
        cluster.args = args.iter().map(|arg| (*arg).to_owned()).collect();
        let rows = cluster.report().objects.into_iter();
        rows.map(|row| (row.object.name, row.verdict))
            .collect::<Vec<_>>()
    };
    let all = verdicts(&["-n", "team-mk"]);
    for (name, verdict) in [
        ("torch", Healthy),
        ("mpi", Orphaned),
        ("own", Orphaned),
        ("site", Orphaned),
    ] {
        assert!(all.contains(&(name.to_owned(), verdict)), "{name}: {all:?}");
    }
    for argument in ["job/own", "jobs.acme.io/own"] {
        assert_eq!(verdicts(&["-A", argument]), [("own".to_owned(), Orphaned)]);
        assert_eq!(verdicts(&[argument]), [("own".to_owned(), Orphaned)]);
    }
    assert_eq!(verdicts(&["site/site"]), [("site".to_owned(), Orphaned)]);
}

#[test]
fn what_to_do_is_one_command_for_the_kind() {
    let command = |name: &str| Recording::new().status(name).action;
    assert_eq!(
        command("a-noqueue"),
        r#"kubectl patch -n team-mk jobs.batch/a-noqueue --type=merge -p '{"metadata":{"labels":{"kueue.x-k8s.io/queue-name":"lq"}},"spec":{"suspend":true}}'"#
    );
    let mut cluster = kinds();
    let torch = &mut cluster
        .objects
        .get_mut("kubeflow.org/v1/pytorchjobs")
        .unwrap()[0];
    torch["spec"] = json!({"runPolicy": {"managedBy": "kueue.x-k8s.io/multikueue"}});
    let mut rows = cluster.report().objects.into_iter();
    let action = rows.find(|row| row.object.name == "torch").unwrap().action;
    assert!(
        action.contains("pytorchjobs.kubeflow.org/torch"),
        "{action}"
    );
    assert!(
        action.ends_with(r#""spec":{"runPolicy":{"suspend":true}}}'"#),
        "{action}"
    );
}

/// Pages have as many objects as fit: 300 of 800 KB need not fit into memory.
#[test]
fn pages_are_bounded_in_bytes() {
    let pages = |count: usize, size: usize| {
        let mut recording = Recording::new();
        let annotations = json!({"name": "big", "annotations": {"a": "x".repeat(size)}});
        let object = copy(&mut recording, "jobs", "suspended", &annotations);
        let mut cluster = recording.cluster();
        cluster.page = 500;
        cluster
            .objects
            .insert("batch/v1/jobs".to_owned(), vec![object; count]);
        let run = cluster.run();
        assert_eq!(run.report.unwrap().objects.len(), count.saturating_add(4));
        run.limits.into_iter().max().unwrap()
    };
    assert_eq!(pages(40, 800_000), 16);
    assert_eq!(pages(3_000, 10), 500);
}
