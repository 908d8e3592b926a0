//! A management cluster and a worker, with MultiKueue between them and the policies of `deploy/` in force.

use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::api_server::{ADMIN, ANA, ApiServer, MULTIKUEUE, Options, USUAL};
use super::controllers;
use super::hook::{Hook, RELEASE, job, merge};
use super::jobs::has;
use crate::deploy::{self, base64};
use crate::kube::{Client, done, jobs, path};
use crate::kubelet::Kubelet;
use crate::process::{Process, until};
use crate::tls::Authority;

/// Where the workloads are.
pub(crate) const TEAM: &str = "team-a";

/// The version in which Kueue's objects are written.
pub(crate) const KUEUE: &str = "kueue.x-k8s.io/v1beta2";

/// A priority: a Job with it stops one without it, where there is no room for both.
pub(crate) const IMPORTANT: &str = "important";

/// Kueue asks for watches that Debian's etcd 3.4.23 cannot serve: it dispatches nothing, and says that it is connected.
const OPTIONS: Options = Options {
    etcd: "etcd-3.6.8",
    ..USUAL
};

/// The version in which JobSets are written.
pub(crate) const JOBSETS: &str = "jobset.x-k8s.io/v1alpha2";

/// What a fleet needs on the PATH, beside what every cluster needs.
pub(crate) const PROGRAMS: [&str; 6] = [
    OPTIONS.etcd,
    "kube-controller-manager",
    "jobset",
    controllers::KUEUE_PROGRAM,
    "go",
    "unshare",
];

/// The projects in both clusters that the manifests do not take in by themselves.
const PROJECTS: [&str; 1] = ["jobset"];

/// One of the two clusters.
pub(crate) struct Member {
    pub(crate) cluster: ApiServer,
    pub(crate) hook: Hook,
    /// kube-controller-manager, JobSet and Kueue.
    pub(crate) controllers: Vec<Process>,
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
        let cluster = ApiServer::start(folder, name, authority, OPTIONS)?;
        cluster.namespaces(&[TEAM, "kueue-system"])?;
        let controllers = vec![
            controllers::manager(&cluster)?,
            controllers::jobset(&cluster, authority)?,
            controllers::kueue(&cluster, authority)?,
        ];
        let hook = format!("policy-server-{name}");
        let settings = settings(policy)?;
        let hook = Hook::start(folder, &hook, &cluster, authority, &settings, &PROJECTS)?;
        Ok(Self {
            cluster,
            hook,
            controllers,
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

    /// Two queues: `queue` with room for everything, and `narrow`.
    fn queues(&self, narrow: &str, checks: &[Value]) -> Result<()> {
        self.create("resourceflavors", "ResourceFlavor", "default", &json!({}))?;
        let class = json!({"apiVersion": KUEUE, "kind": "WorkloadPriorityClass", "metadata": {"name": IMPORTANT}, "value": 1});
        let classes = format!("/apis/{KUEUE}/workloadpriorityclasses");
        self.cluster.client(ADMIN).create(&classes, &class)?;
        for (name, room) in [("queue", "1000"), ("narrow", narrow)] {
            let flavor =
                json!({"name": "default", "resources": [{"name": "cpu", "nominalQuota": room}]});
            let groups = json!([{"coveredResources": ["cpu"], "flavors": [flavor]}]);
            let mut queue = json!({
                "namespaceSelector": {},
                "resourceGroups": groups,
                "preemption": {"withinClusterQueue": "LowerPriority"},
            });
            if !checks.is_empty() {
                queue["admissionChecksStrategy"] = json!({"admissionChecks": checks});
            }
            self.create("clusterqueues", "ClusterQueue", name, &queue)?;
            let local = json!({"clusterQueue": name});
            self.create("localqueues", "LocalQueue", name, &local)?;
            self.active(&format!("/apis/{KUEUE}/clusterqueues/{name}"))?;
        }
        Ok(())
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
        worker.queues("1000", &[])?;
        let kubeconfig = worker.cluster.kubeconfig(MULTIKUEUE).to_string();
        let secret = json!({"metadata": {"name": "worker"}, "data": {"kubeconfig": base64(kubeconfig.as_bytes())}});
        let path = path("v1", "kueue-system", "secrets");
        done(hub.cluster.client(ADMIN).post(&path, &secret)?)?;
        let location = json!({"clusterSource": {"kubeConfig": {"location": "worker", "locationType": "Secret"}}});
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
        // Room for one Job.
        hub.queues("1", &[json!({"name": "multikueue"})])?;
        let kubelet = Kubelet::scripted(&worker.cluster);
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
    pub(crate) object: Value,
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

    /// With one more of Kueue's labels.
    pub(crate) fn label(mut self, key: &str, value: &str) -> Self {
        self.object["metadata"]["labels"][format!("kueue.x-k8s.io/{key}")] = value.into();
        self
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
    object["spec"]["template"]["metadata"]["annotations"] = annotations.clone();
    Workload::new(&jobs(TEAM), object, end).label("queue-name", "queue")
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
    object["spec"]["suspend"] = true.into();
    object["spec"]["managedBy"] = "kueue.x-k8s.io/multikueue".into();
    Workload::new(&path(JOBSETS, TEAM, "jobsets"), object, end).label("queue-name", "queue")
}

impl Workload {
    /// Its own path.
    pub(crate) fn own(&self) -> String {
        format!("{}/{}", self.path, self.name)
    }

    /// Hands it in. Who is told that nobody can judge it now tries again, as people do.
    pub(crate) fn submit(&self, cluster: &ApiServer) -> Result<()> {
        let (limit, client) = (Duration::from_mins(1), cluster.client(ANA));
        until(&format!("creation of {}", self.name), limit, || {
            Ok(self.try_submit(&client)?.then_some(()))
        })
    }

    /// The same once. It is an error if it is refused for another reason than that nobody could judge it.
    pub(crate) fn try_submit(&self, client: &Client) -> Result<bool> {
        let answer = client.post(&self.path, &self.object)?;
        let nobody = answer.code == 500 && answer.message().contains("failed calling webhook");
        // The answer to an earlier try may have been lost.
        if nobody || answer.code == 409 {
            return Ok(!nobody);
        }
        done(answer).map(|_| true)
    }

    /// Waits until its copy on the worker has begun.
    pub(crate) fn runs(&self, worker: &ApiServer) -> Result<()> {
        let client = worker.client(ANA);
        until(
            &format!("start of {}", self.name),
            Duration::from_mins(1),
            || Ok(self.has_begun(&client)?.then_some(())),
        )
    }

    /// Whether its copy on the worker has begun.
    pub(crate) fn has_begun(&self, worker: &Client) -> Result<bool> {
        let copy = done(worker.get(&self.own())?)?;
        let status = &copy["status"];
        let active = status["replicatedJobsStatus"][0]["active"].as_u64();
        Ok(!status["startTime"].is_null() || active > Some(0))
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
