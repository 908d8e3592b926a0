//! A management cluster and a worker, with MultiKueue between them and the policies of `deploy/` in force.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::api_server::{ADMIN, ANA, ApiServer, MULTIKUEUE};
use super::controllers;
use super::hook::{Hook, RELEASE, job, merge};
use super::jobs::has;
use super::kubelet::Kubelet;
use crate::deploy::{self, base64};
use crate::kube::{Client, done, jobs, path};
use crate::process::{Process, until};
use crate::tls::Authority;

/// Where the workloads are.
pub(crate) const TEAM: &str = "team-a";

const KUEUE: &str = "kueue.x-k8s.io/v1beta1";

/// The version in which JobSets are written.
pub(crate) const JOBSETS: &str = "jobset.x-k8s.io/v1alpha2";

/// What a fleet needs on the PATH, beside what every cluster needs.
pub(crate) const PROGRAMS: [&str; 5] = [
    "kube-controller-manager",
    "jobset",
    "kueue",
    "go",
    "unshare",
];

/// The projects in both clusters that the manifests do not take in by themselves.
const PROJECTS: [&str; 1] = ["jobset"];

/// One of the two clusters.
pub(crate) struct Member {
    pub(crate) cluster: ApiServer,
    pub(crate) hook: Hook,
    _processes: Vec<Process>,
    _ticks: Ticks,
}

/// Both.
pub(crate) struct Fleet {
    pub(crate) hub: Member,
    pub(crate) worker: Member,
    _kubelet: Kubelet,
}

/// The settings of `deploy/management.yml` and `deploy/worker.yml`, for the API servers that run here.
pub(crate) fn settings(name: &str) -> Result<Value> {
    deploy::settings(name, RELEASE, &PROJECTS)
}

impl Member {
    fn start(folder: &Path, name: &str, policy: &str, authority: &Authority) -> Result<Self> {
        let cluster = ApiServer::start(folder, name, authority)?;
        cluster.namespaces(&[TEAM, "kueue-system"])?;
        let processes = vec![
            controllers::manager(&cluster)?,
            controllers::jobset(&cluster, authority)?,
            controllers::kueue(&cluster, authority)?,
        ];
        let hook = format!("policy-server-{name}");
        let settings = settings(policy)?;
        let hook = Hook::start(folder, &hook, &cluster, authority, &settings, &PROJECTS)?;
        let ticks = Ticks::start(&cluster)?;
        Ok(Self {
            cluster,
            hook,
            _processes: processes,
            _ticks: ticks,
        })
    }

    /// Kueue's objects of a cluster; those of the whole cluster without a namespace.
    fn create(&self, resource: &str, kind: &str, name: &str, spec: &Value) -> Result<()> {
        let path = match resource {
            "localqueues" => path(KUEUE, TEAM, resource),
            _ => format!("/apis/{KUEUE}/{resource}"),
        };
        let object =
            json!({"apiVersion": KUEUE, "kind": kind, "metadata": {"name": name}, "spec": spec});
        // Kueue's webhook takes a moment.
        until(&format!("{kind} {name}"), Duration::from_secs(20), || {
            let answer = self.cluster.client(ADMIN).post(&path, &object)?;
            if answer.code == 409 {
                return Ok(Some(()));
            }
            done(answer).map(|_| Some(()))
        })
    }

    /// A queue with room for everything.
    fn queue(&self, checks: &[&str]) -> Result<()> {
        let flavor =
            json!({"name": "default", "resources": [{"name": "cpu", "nominalQuota": "1000"}]});
        let groups = json!([{"coveredResources": ["cpu"], "flavors": [flavor]}]);
        let mut queue = json!({"namespaceSelector": {}, "resourceGroups": groups});
        if !checks.is_empty() {
            queue["admissionChecks"] = json!(checks);
        }
        self.create("resourceflavors", "ResourceFlavor", "default", &json!({}))?;
        self.create("clusterqueues", "ClusterQueue", "all", &queue)?;
        let local = json!({"clusterQueue": "all"});
        self.create("localqueues", "LocalQueue", "queue", &local)?;
        self.active(&format!("/apis/{KUEUE}/clusterqueues/all"))
    }

    fn active(&self, path: &str) -> Result<()> {
        until(&format!("Active of {path}"), Duration::from_mins(1), || {
            let object = done(self.cluster.client(ADMIN).get(path)?)?;
            ensure!(has(&object["status"], "Active"), "{}", object["status"]);
            Ok(Some(()))
        })
    }
}

impl Fleet {
    /// Starts everything.
    pub(crate) fn start(folder: &Path, authority: &Authority) -> Result<Self> {
        let hub = Member::start(folder, "hub", "management", authority).context("hub")?;
        let worker = Member::start(folder, "worker", "worker", authority).context("worker")?;
        worker.queue(&[])?;
        let kubeconfig = worker.cluster.kubeconfig(MULTIKUEUE).to_string();
        let secret = json!({"metadata": {"name": "worker"}, "data": {"kubeconfig": base64(kubeconfig.as_bytes())}});
        let path = path("v1", "kueue-system", "secrets");
        done(hub.cluster.client(ADMIN).post(&path, &secret)?)?;
        let location = json!({"kubeConfig": {"location": "worker", "locationType": "Secret"}});
        hub.create(
            "multikueueclusters",
            "MultiKueueCluster",
            "worker",
            &location,
        )?;
        let clusters = json!({"clusters": ["worker"]});
        hub.create("multikueueconfigs", "MultiKueueConfig", "all", &clusters)?;
        let config =
            json!({"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": "all"});
        let check = json!({"controllerName": "kueue.x-k8s.io/multikueue", "parameters": config});
        hub.create("admissionchecks", "AdmissionCheck", "multikueue", &check)?;
        hub.active(&format!("/apis/{KUEUE}/multikueueclusters/worker"))?;
        hub.active(&format!("/apis/{KUEUE}/admissionchecks/multikueue"))?;
        hub.queue(&["multikueue"])?;
        let kubelet = Kubelet::start(&worker.cluster);
        Ok(Self {
            hub,
            worker,
            _kubelet: kubelet,
        })
    }
}

/// A workload that people hand to the hub, and how it ends.
#[derive(Debug, Clone)]
pub(crate) struct Workload {
    pub(crate) path: String,
    pub(crate) name: String,
    object: Value,
    /// The condition that tells its end.
    pub(crate) end: &'static str,
}

impl Workload {
    /// Of an object, at the path of its kind.
    pub(crate) fn new(path: &str, object: Value, end: &'static str) -> Self {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        Self {
            path: path.to_owned(),
            name: name.to_owned(),
            object,
            end,
        }
    }
}

/// A Job for the queue.
pub(crate) fn queued_job(
    name: &str,
    spec: &Value,
    annotations: &Value,
    end: &'static str,
) -> Workload {
    let mut object = job(
        TEAM,
        name,
        &json!({"suspend": true, "managedBy": "kueue.x-k8s.io/multikueue"}),
    );
    merge(&mut object["spec"], spec);
    object["metadata"]["labels"] = json!({"kueue.x-k8s.io/queue-name": "queue"});
    object["spec"]["template"]["metadata"]["annotations"] = annotations.clone();
    Workload::new(&jobs(TEAM), object, end)
}

/// A JobSet of two Jobs.
pub(crate) fn set(namespace: &str, name: &str, annotations: &Value) -> Value {
    let mut child = job(
        namespace,
        name,
        &json!({"backoffLimit": 0, "completions": 1, "parallelism": 1}),
    );
    let mut spec = child["spec"].take();
    spec["template"]["metadata"]["annotations"] = annotations.clone();
    json!({
        "apiVersion": JOBSETS,
        "kind": "JobSet",
        "metadata": {"name": name},
        "spec": {"replicatedJobs": [{"name": "a", "replicas": 2, "template": {"spec": spec}}]},
    })
}

/// The same for the queue.
pub(crate) fn queued_set(name: &str, annotations: &Value, end: &'static str) -> Workload {
    let mut object = set(TEAM, name, annotations);
    object["metadata"]["labels"] = json!({"kueue.x-k8s.io/queue-name": "queue"});
    object["spec"]["suspend"] = true.into();
    object["spec"]["managedBy"] = "kueue.x-k8s.io/multikueue".into();
    Workload::new(&path(JOBSETS, TEAM, "jobsets"), object, end)
}

impl Workload {
    fn own(&self) -> String {
        format!("{}/{}", self.path, self.name)
    }

    /// Hands it in. Who is told that nobody can judge it now tries again, as people do.
    pub(crate) fn submit(&self, cluster: &ApiServer) -> Result<()> {
        let limit = Duration::from_mins(1);
        until(&format!("creation of {}", self.name), limit, || {
            let answer = cluster.client(ANA).post(&self.path, &self.object)?;
            // The answer to an earlier try may have been lost.
            match answer.code {
                409 => Ok(Some(())),
                _ => done(answer).map(|_| Some(())),
            }
        })
    }

    /// The same once. It is an error if it is refused for another reason than that nobody could judge it.
    pub(crate) fn try_submit(&self, cluster: &ApiServer) -> Result<bool> {
        let answer = cluster.client(ANA).post(&self.path, &self.object)?;
        let nobody = answer.code == 500 && answer.message().contains("failed calling webhook");
        if nobody {
            return Ok(false);
        }
        done(answer).map(|_| true)
    }

    /// Waits until its copy on the worker has begun.
    pub(crate) fn runs(&self, worker: &ApiServer) -> Result<()> {
        let client = worker.client(ANA);
        until(
            &format!("start of {}", self.name),
            Duration::from_mins(1),
            || {
                let copy = done(client.get(&self.own())?)?;
                let status = &copy["status"];
                let active = status["replicatedJobsStatus"][0]["active"].as_u64();
                let begun = !status["startTime"].is_null() || active > Some(0);
                Ok(begun.then_some(()))
            },
        )
    }

    /// Whether it has ended as it should. It is an error if it has ended otherwise.
    pub(crate) fn is_over(&self, client: &Client) -> Result<bool> {
        let object = done(client.get(&self.own())?)?;
        let status = &object["status"];
        for end in ["Complete", "Completed", "Succeeded", "Failed"] {
            ensure!(
                end == self.end || !has(status, end),
                "{}: {status}",
                self.name
            );
        }
        Ok(has(status, self.end))
    }

    /// What is known of it.
    pub(crate) fn state(&self, cluster: &ApiServer) -> String {
        let object = cluster.client(ANA).get(&self.own());
        let object = object.map(|answer| answer.body).unwrap_or_default();
        let suspend = &object["spec"]["suspend"];
        format!(
            "{}: suspend {suspend}, status {}",
            self.name, object["status"]
        )
    }
}

/// Waits until all of them have ended as they should, and names those that have not.
pub(crate) fn all_end(cluster: &ApiServer, workloads: &[Workload], limit: Duration) -> Result<()> {
    let client = cluster.client(ANA);
    let mut left: Vec<&Workload> = workloads.iter().collect();
    let waited = until("end of all", limit, || {
        let mut still = Vec::new();
        for workload in &left {
            if !workload.is_over(&client)? {
                still.push(*workload);
            }
        }
        left = still;
        thread::sleep(Duration::from_millis(500));
        Ok(left.is_empty().then_some(()))
    });
    let states: Vec<_> = left.iter().map(|w| w.state(cluster)).collect();
    waited.with_context(|| {
        format!(
            "{} of {}:\n{}",
            left.len(),
            workloads.len(),
            states.join("\n")
        )
    })
}

/// Writes to a cluster now and then. A cluster with nodes is never quiet; in one that is, with an old etcd, watches stay
/// behind.
struct Ticks {
    ended: Arc<AtomicBool>,
}

impl Ticks {
    fn start(cluster: &ApiServer) -> Result<Self> {
        let client = cluster.client(ADMIN);
        // Left out by the policy's selector, and so no part of what is judged.
        let quiet = "kube-system";
        let tick = job(quiet, "tick", &json!({"suspend": true}));
        let mut objects = vec![(jobs(quiet), tick)];
        let spec = objects[0].1["spec"]["template"].clone();
        let template = json!({"spec": {"template": spec}});
        objects.push((
            path("jobset.x-k8s.io/v1alpha2", quiet, "jobsets"),
            json!({"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "tick"},
                "spec": {"suspend": true, "replicatedJobs": [{"name": "a", "template": template}]}}),
        ));
        let sets = json!([{"name": "main", "count": 1, "template": spec}]);
        objects.push((
            path(KUEUE, quiet, "workloads"),
            json!({"apiVersion": KUEUE, "kind": "Workload", "metadata": {"name": "tick"},
                "spec": {"active": false, "queueName": "none", "podSets": sets}}),
        ));
        for (path, object) in &objects {
            until("tick", Duration::from_secs(20), || {
                done(client.post(path, object)?).map(|_| Some(()))
            })?;
        }
        let ended = Arc::new(AtomicBool::new(false));
        let stop = ended.clone();
        thread::spawn(move || {
            let mut count = 0_u64;
            while !stop.load(Ordering::Relaxed) {
                count += 1;
                for (path, _) in &objects {
                    let patch = json!({"metadata": {"annotations": {"tick": count.to_string()}}});
                    // A webhook may be down.
                    let _ = client.patch(&format!("{path}/tick"), &patch);
                }
                thread::sleep(Duration::from_millis(400));
            }
        });
        Ok(Self { ended })
    }
}

impl Drop for Ticks {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
    }
}
