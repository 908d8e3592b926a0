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
use crate::kube::{Client, done, list, path, text};
use crate::kubelet::{Kubelet, status, tell};
use crate::process::Process;

const NODE: &str = "e2e";

/// The pause before the first restart; it doubles. A kubelet begins with 10 s.
const BACK_OFF: Duration = Duration::from_secs(2);

#[derive(Default)]
struct Pod {
    object: Value,
    ip: String,
    process: Option<Process>,
    restarts: u32,
    /// When it is started once more, if it has ended.
    again: Option<Instant>,
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
            let name = text(&object["metadata"]["name"]).to_owned();
            let place = format!("{listed}/{name}");
            if !object["metadata"]["deletionTimestamp"].is_null() {
                // PolicyServer handles no signal, and the first process of a container ignores what it does not handle. So it
                // goes on until its time is over, which is shorter here, and is killed then.
                let grace = fs::read_to_string(self.folder.join("grace")).unwrap_or_default();
                let since = self.deleted.entry(name.clone());
                if since.or_insert_with(Instant::now).elapsed()
                    >= Duration::from_secs(grace.trim().parse().unwrap_or(1))
                {
                    self.pods.remove(&name);
                    self.client.delete(&place)?;
                }
            } else if object["spec"]["nodeName"].is_null() {
                let target = json!({"kind": "Node", "name": NODE});
                let binding = json!({"metadata": {"name": name}, "target": target});
                self.client.create(&format!("{place}/binding"), &binding)?;
            } else {
                let mut pod = self.pods.remove(&name).unwrap_or_default();
                if pod.ip.is_empty() {
                    self.last = self.last.checked_add(1).context("no address is left")?;
                    pod.ip = format!("10.244.1.{}", self.last);
                    pod.object = object;
                }
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

    /// Starts what does not run, and tells the API server what changed.
    fn care(&self, pod: &mut Pod, name: &str, place: &str) -> Result<()> {
        let ended = |process: &mut Process| process.ended(Duration::ZERO).is_ok();
        if pod.process.as_mut().is_some_and(ended) {
            pod.process = None;
            pod.again = Some(Instant::now() + BACK_OFF * 2_u32.pow(pod.restarts.min(5)));
            pod.restarts += 1;
        }
        if pod.process.is_none() && pod.again.is_none_or(|again| again <= Instant::now()) {
            let process = self.run(pod, name)?;
            let file = self.folder.join(format!("{name}.pid"));
            fs::write(file, process.id().to_string())?;
            pod.process = Some(process);
        }
        let container = &pod.object["spec"]["containers"][0];
        let port = &container["readinessProbe"]["httpGet"]["port"];
        let probe = format!("http://{}:{port}/readiness", pod.ip);
        let answer = self.agent.get(probe).call();
        let ready = pod.process.is_some() && answer.is_ok_and(|a| a.status() == 200);
        let state = match pod.process {
            Some(_) => json!({"running": {}}),
            None => json!({"waiting": {"reason": "CrashLoopBackOff"}}),
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
        let mut mounts = Vec::new();
        for mount in list(&container["volumeMounts"]) {
            let path = text(&mount["mountPath"]).to_owned();
            let place = folder.join(path.trim_start_matches('/'));
            fs::create_dir_all(&place)?;
            for volume in list(&spec["volumes"]) {
                if volume["name"] == mount["name"] {
                    self.fill(volume, &place)?;
                }
            }
            mounts.push((path, place.display().to_string()));
        }
        // A path in the environment is where that path is mounted.
        let variables = list(&container["env"]).iter().map(|variable| {
            let value = text(&variable["value"]).to_owned();
            let mounted = mounts.iter().find_map(|(path, place)| {
                let rest = value.strip_prefix(path)?;
                (rest.is_empty() || rest.starts_with('/')).then(|| format!("{place}{rest}"))
            });
            (text(&variable["name"]).to_owned(), mounted.unwrap_or(value))
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
        let (source, resource, name) = if !config.is_null() {
            (config, "configmaps", text(&config["name"]))
        } else if !secret.is_null() {
            (secret, "secrets", text(&secret["secretName"]))
        } else {
            return Ok(());
        };
        let stored = format!("{}/{name}", path("v1", NAMESPACE, resource));
        let object = done(self.client.get(&stored)?)?;
        for (key, value) in object["data"].as_object().context("no data")? {
            let mut items = list(&source["items"]).iter();
            let item = items.find(|item| item["key"] == **key);
            let file = item.and_then(|item| item["path"].as_str());
            let bytes = match resource {
                "secrets" => STANDARD.decode(text(value))?,
                _ => text(value).into(),
            };
            fs::write(place.join(file.unwrap_or(key)), bytes)?;
        }
        Ok(())
    }
}
