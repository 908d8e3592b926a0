//! A management cluster and a worker, with MultiKueue between them and the policies of `deploy/` in force.

use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::api_server::{ADMIN, ApiServer, MULTIKUEUE, Options, USUAL};
use super::controllers;
use super::hook::{Hook, TEAM, job};
use super::jobs::{ends, has};
use super::modules;
use crate::deploy::{self, base64};
use crate::kube::{self, Client, done, path, text};
use crate::kubelet::Kubelet;
use crate::process::{Process, until};
use crate::tls::Authority;
use crate::{programs, report};

/// The version in which Kueue's objects are written.
pub(crate) const KUEUE: &str = "kueue.x-k8s.io/v1beta2";

/// Kueue asks for watches that Debian's etcd 3.4.23 cannot serve: it dispatches nothing, and says that it is connected.
const OPTIONS: Options = Options {
    etcd: modules::ETCD_FOR_KUEUE,
    ..USUAL
};

/// The version in which JobSets are written.
pub(crate) const JOBSETS: &str = "jobset.x-k8s.io/v1alpha2";

/// What a fleet needs on the PATH, beside what every cluster needs.
pub(super) const PROGRAMS: [&str; 6] = [
    OPTIONS.etcd,
    "kube-controller-manager",
    "jobset",
    modules::KUEUE_PROGRAM,
    "go",
    "unshare",
];

/// The projects in both clusters that the manifests do not take in by themselves.
const PROJECTS: [&str; 1] = ["jobset"];

/// One of the two clusters.
pub(crate) struct Member {
    pub(crate) cluster: ApiServer,
    /// The manifest in `deploy/` that is in force there.
    pub(crate) policy: &'static str,
    pub(crate) hook: Hook,
    /// kube-controller-manager, JobSet and Kueue.
    pub(crate) controllers: Vec<Process>,
}

/// Both.
pub(crate) struct Fleet {
    /// The hub and its worker.
    pub(crate) members: [Member; 2],
    _kubelet: Kubelet,
}

/// The settings of `deploy/management.yml` and `deploy/worker.yml`, for the API servers that run here.
pub(crate) fn settings(name: &str) -> Result<Value> {
    deploy::settings(name, OPTIONS.release, &PROJECTS)
}

impl Member {
    fn start(folder: &Path, policy: &'static str, authority: &Authority) -> Result<Self> {
        let cluster = ApiServer::start(folder, authority, OPTIONS)?;
        cluster.namespaces(&[TEAM, "kueue-system"])?;
        let controllers = vec![
            controllers::manager(&cluster, &[])?,
            controllers::jobset(&cluster, |_| ())?,
            controllers::kueue(&cluster)?,
        ];
        let hook = Hook::start(&cluster, &settings(policy)?, &PROJECTS)?;
        Ok(Self {
            cluster,
            policy,
            hook,
            controllers,
        })
    }

    /// Applies Kueue's objects, and waits until those that say so are active.
    fn objects(&self, objects: &Value) -> Result<()> {
        let admin = self.cluster.client(ADMIN);
        let objects = objects.as_array().context("no objects")?;
        for object in objects {
            // Kueue's webhook takes a moment.
            let applied = || admin.apply(object).map(Some);
            until(&object.to_string(), Duration::from_secs(20), applied)?;
        }
        for object in objects {
            let kind = text(&object["kind"]);
            if ["MultiKueueCluster", "AdmissionCheck", "ClusterQueue"].contains(&kind) {
                let path = kube::place(object);
                until(&format!("Active of {path}"), Duration::from_mins(1), || {
                    let object = done(admin.get(&path)?)?;
                    ensure!(has(&object["status"], "Active"), "{}", object["status"]);
                    Ok(Some(()))
                })?;
            }
        }
        Ok(())
    }
}

impl Fleet {
    /// Both, or the report says why they are not there.
    pub(crate) fn needed(part: &str, folder: &Path, authority: &Authority) -> Option<Self> {
        programs::all_there(part, &PROGRAMS)?;
        report::note(modules::JOBSET);
        report::note(modules::KUEUE);
        let started = Self::start(folder, authority);
        report::need("MultiKueue connects the hub with its worker", started)
    }

    /// Starts everything.
    fn start(folder: &Path, authority: &Authority) -> Result<Self> {
        let start = |name: &str, policy| {
            Member::start(&folder.join(name), policy, authority).with_context(|| name.to_owned())
        };
        let (hub, worker) = (start("hub", "management")?, start("worker", "worker")?);
        let objects = deploy::yaml("e2e/cluster/kueue.yml")?[0].take();
        worker.objects(&objects["worker"])?;
        let kubeconfig = worker.cluster.kubeconfig(MULTIKUEUE).to_string();
        let secret = json!({"metadata": {"name": "worker"}, "data": {"kubeconfig": base64(kubeconfig.as_bytes())}});
        let secrets = path("v1", "kueue-system", "secrets");
        hub.cluster.client(ADMIN).create(&secrets, &secret)?;
        hub.objects(&objects["hub"])?;
        let kubelet = Kubelet::scripted(&worker.cluster);
        Ok(Self {
            members: [hub, worker],
            _kubelet: kubelet,
        })
    }
}

/// A workload that people hand to the hub, and how it ends.
#[derive(Debug, Clone)]
pub(crate) struct Workload {
    pub(crate) object: Value,
    /// The condition that tells its end.
    pub(crate) end: &'static str,
}

/// A Job whose pods do as annotations say.
pub(crate) fn one_job(
    name: &str,
    spec: &Value,
    annotations: &Value,
    end: &'static str,
) -> Workload {
    let mut object = job(TEAM, name, spec);
    object["spec"]["template"]["metadata"]["annotations"] = annotations.clone();
    Workload { object, end }
}

/// A JobSet of two such Jobs.
pub(crate) fn job_set(name: &str, annotations: &Value, end: &'static str) -> Workload {
    let spec = json!({"backoffLimit": 0, "completions": 1, "parallelism": 1});
    let spec = one_job(name, &spec, annotations, end).object["spec"].take();
    let object = json!({
        "apiVersion": JOBSETS,
        "kind": "JobSet",
        "metadata": {"name": name, "namespace": TEAM},
        "spec": {"replicatedJobs": [{"name": "a", "replicas": 2, "template": {"spec": spec}}]},
    });
    Workload { object, end }
}

impl Workload {
    /// For the queue of MultiKueue.
    pub(crate) fn queued(mut self) -> Self {
        let queue = json!({"kueue.x-k8s.io/queue-name": "queue"});
        self.object["metadata"]["labels"] = queue;
        self.object["spec"]["suspend"] = true.into();
        self.object["spec"]["managedBy"] = "kueue.x-k8s.io/multikueue".into();
        self
    }

    /// It as an API server has it.
    fn found(&self, client: &Client) -> Result<Value> {
        done(client.get(&kube::place(&self.object))?)
    }

    /// Hands it in. Who is told that nobody can judge it now tries again, as people do.
    pub(crate) fn submit(&self, client: &Client) -> Result<()> {
        let (limit, place) = (Duration::from_mins(1), kube::place(&self.object));
        until(&format!("creation of {place}"), limit, || {
            Ok(self.try_submit(client)?.then_some(()))
        })
    }

    /// The same once. It is an error if it is refused for another reason than that nobody could judge it.
    pub(crate) fn try_submit(&self, client: &Client) -> Result<bool> {
        let answer = client.post(&kube::siblings(&self.object), &self.object)?;
        let nobody = answer.code == 500 && answer.message().contains("failed calling webhook");
        // The answer to an earlier try may have been lost.
        if nobody || answer.code == 409 {
            return Ok(!nobody);
        }
        done(answer).map(|_| true)
    }

    /// Waits until its copy on the worker has begun.
    pub(crate) fn runs(&self, worker: &Client) -> Result<()> {
        let (limit, place) = (Duration::from_mins(1), kube::place(&self.object));
        until(&format!("start of {place}"), limit, || {
            Ok(self.has_begun(worker)?.then_some(()))
        })
    }

    /// Whether its copy on the worker has begun.
    pub(crate) fn has_begun(&self, worker: &Client) -> Result<bool> {
        let status = &self.found(worker)?["status"];
        let active = status["replicatedJobsStatus"][0]["active"].as_u64();
        Ok(!status["startTime"].is_null() || active > Some(0))
    }

    /// Whether it has ended as it should. It is an error if it has ended otherwise.
    pub(crate) fn is_over(&self, client: &Client) -> Result<bool> {
        let object = self.found(client)?;
        let status = &object["status"];
        ensure!(ends(status).all(|end| end == self.end), "{object}");
        Ok(ends(status).next().is_some())
    }
}

/// Waits until all of them have ended as they should, and names those that have not.
pub(crate) fn all_end(hub: &Client, workloads: &[Workload], limit: Duration) -> Result<()> {
    until("end of all", limit, || {
        let mut left = Vec::new();
        for workload in workloads {
            if !workload.is_over(hub)? {
                let object = workload.found(hub)?;
                let (suspend, status) = (&object["spec"]["suspend"], &object["status"]);
                left.push(format!("{}: {suspend}, {status}", kube::place(&object)));
            }
        }
        thread::sleep(Duration::from_millis(500));
        let (count, all) = (left.len(), workloads.len());
        ensure!(left.is_empty(), "{count} of {all}:\n{}", left.join("\n"));
        Ok(Some(()))
    })
}
