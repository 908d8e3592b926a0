//! The node of PolicyServer: each pod of its Deployment is a real process on an address of its own, with the pod's environment, its
//! `ConfigMap`s and Secrets as files, its readiness probe, and a kubelet's back-off.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use ureq::Agent;

use super::install::NAMESPACE;
use crate::http;
use crate::kube::{Client, done, path};
use crate::kubelet::{Kubelet, status, tell};
use crate::process::Process;

const NODE: &str = "e2e";

/// The pause before the first restart; it doubles. A kubelet begins with 10 s.
const BACK_OFF: Duration = Duration::from_secs(2);

struct Pod {
    object: Value,
    ip: String,
    process: Option<Process>,
    restarts: u32,
    again: Instant,
    /// The status that the API server has.
    told: Value,
}

/// The log of each pod is `NAME.log` in the folder, and the id of its process is in `NAME.pid`. A file `grace` says how many seconds a
/// pod goes on when it is deleted.
pub(super) struct Node {
    client: Client,
    agent: Agent,
    folder: PathBuf,
    kubeconfig: PathBuf,
    pods: BTreeMap<String, Pod>,
    /// When the pods that end were told so.
    deleted: BTreeMap<String, Instant>,
    last: u8,
}

impl Node {
    /// Looks at all pods once.
    fn step(&mut self) -> Result<()> {
        let listed = path("v1", NAMESPACE, "pods");
        let selected = format!("{listed}?labelSelector=kubewarden/policy-server");
        let mut seen = BTreeSet::new();
        for object in self.client.list(&selected)? {
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            let (name, place) = (name.to_owned(), format!("{listed}/{name}"));
            if !object["metadata"]["deletionTimestamp"].is_null() {
                // PolicyServer handles no signal, and the first process of a container ignores what it does not handle. So it
                // goes on until its time is over, which is shorter here, and is killed then.
                let grace = fs::read_to_string(self.folder.join("grace")).unwrap_or_default();
                let since = *self
                    .deleted
                    .entry(name.clone())
                    .or_insert_with(Instant::now);
                if since.elapsed() >= Duration::from_secs(grace.trim().parse().unwrap_or(1)) {
                    self.pods.remove(&name);
                    self.client.delete_now(&place)?;
                }
            } else if object["spec"]["nodeName"].is_null() {
                let target = json!({"kind": "Node", "name": NODE});
                let binding = json!({"metadata": {"name": name}, "target": target});
                self.client.create(&format!("{place}/binding"), &binding)?;
            } else {
                let mut pod = match self.pods.remove(&name) {
                    Some(pod) => pod,
                    None => self.pod(object)?,
                };
                let cared = self.care(&mut pod, &name, &place);
                self.pods.insert(name.clone(), pod);
                cared?;
            }
            seen.insert(name);
        }
        self.pods.retain(|name, _| seen.contains(name));
        Ok(())
    }

    pub(super) fn start(folder: PathBuf, client: Client, kubeconfig: PathBuf) -> Result<Kubelet> {
        fs::create_dir_all(&folder)?;
        let mut node = Self {
            client,
            agent: http::agent(None)?,
            folder,
            kubeconfig,
            pods: BTreeMap::new(),
            deleted: BTreeMap::new(),
            last: 0,
        };
        Ok(Kubelet::start(move || {
            if let Err(error) = node.step() {
                // It stands beside the logs, for whoever wonders why a pod does nothing.
                let _ = fs::write(node.folder.join("kubelet.log"), format!("{error:#}\n"));
            }
        }))
    }

    fn pod(&mut self, object: Value) -> Result<Pod> {
        self.last = self.last.checked_add(1).context("no address is left")?;
        let ip = format!("10.244.1.{}", self.last);
        let again = Instant::now();
        Ok(Pod {
            object,
            ip,
            process: None,
            restarts: 0,
            again,
            told: Value::Null,
        })
    }

    /// Starts what does not run, and tells the API server what changed.
    fn care(&self, pod: &mut Pod, name: &str, place: &str) -> Result<()> {
        let ended = |process: &mut Process| process.ended(Duration::ZERO).is_ok();
        if pod.process.as_mut().is_some_and(ended) {
            pod.process = None;
            pod.again = Instant::now() + BACK_OFF * 2_u32.pow(pod.restarts.min(5));
            pod.restarts += 1;
        }
        if pod.process.is_none() && pod.again <= Instant::now() {
            let process = self.run(pod, name)?;
            fs::write(
                self.folder.join(format!("{name}.pid")),
                process.id().to_string(),
            )?;
            pod.process = Some(process);
        }
        let container = &pod.object["spec"]["containers"][0];
        let port = &container["readinessProbe"]["httpGet"]["port"];
        let probe = self
            .agent
            .get(format!("http://{}:{port}/readiness", pod.ip))
            .call();
        let ready = pod.process.is_some() && probe.is_ok_and(|answer| answer.status() == 200);
        let state = if pod.process.is_some() {
            json!({"running": {}})
        } else {
            json!({"waiting": {"reason": "CrashLoopBackOff"}})
        };
        let mut status = status(&pod.object, "Running", &state, ready, pod.restarts);
        status["podIP"] = json!(pod.ip);
        status["podIPs"] = json!([{"ip": pod.ip}]);
        status["hostIP"] = "10.244.0.1".into();
        if pod.told != status {
            tell(&self.client, place, &status)?;
            pod.told = status;
        }
        Ok(())
    }

    fn run(&self, pod: &Pod, name: &str) -> Result<Process> {
        let folder = self.folder.join(name);
        let spec = &pod.object["spec"];
        let container = &spec["containers"][0];
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let mut mounts = Vec::new();
        for mount in list(&container["volumeMounts"]) {
            let path = text(&mount["mountPath"]);
            let place = folder.join(path.trim_start_matches('/'));
            fs::create_dir_all(&place)?;
            for volume in list(&spec["volumes"]) {
                if volume["name"] == mount["name"] {
                    self.fill(&volume, &place)?;
                }
            }
            mounts.push((path, place.display().to_string()));
        }
        // A path in the environment is where that path is mounted.
        let variables = list(&container["env"]).into_iter().map(|variable| {
            let value = text(&variable["value"]);
            let mounted = mounts.iter().find_map(|(path, place)| {
                let rest = value.strip_prefix(path)?;
                (rest.is_empty() || rest.starts_with('/')).then(|| format!("{place}{rest}"))
            });
            (text(&variable["name"]), mounted.unwrap_or(value))
        });
        Process::start("policy-server", name, &self.folder, |command| {
            command
                .envs(variables)
                .env("KUBECONFIG", &self.kubeconfig)
                .env("KUBEWARDEN_BIND_ADDRESS", &pod.ip)
                .env("KUBEWARDEN_LOG_NO_COLOR", "true")
                .env("HOME", &folder)
        })
    }

    /// Writes what a `ConfigMap` or a Secret holds: its keys as files, under other names where the volume says so.
    fn fill(&self, volume: &Value, place: &Path) -> Result<()> {
        let (config, secret) = (&volume["configMap"], &volume["secret"]);
        let (source, resource, name) =
            match (config["name"].as_str(), secret["secretName"].as_str()) {
                (Some(name), _) => (config, "configmaps", name),
                (None, Some(name)) => (secret, "secrets", name),
                (None, None) => return Ok(()),
            };
        let object = done(
            self.client
                .get(&format!("{}/{name}", path("v1", NAMESPACE, resource)))?,
        )?;
        for (key, value) in object["data"].as_object().context("no data")? {
            let items = source["items"].as_array().into_iter().flatten();
            let file = items
                .filter(|item| item["key"] == **key)
                .find_map(|item| item["path"].as_str());
            let value = value.as_str().unwrap_or_default();
            let bytes = match resource {
                "secrets" => STANDARD.decode(value)?,
                _ => value.as_bytes().to_vec(),
            };
            fs::write(place.join(file.unwrap_or(key)), bytes)?;
        }
        Ok(())
    }
}
