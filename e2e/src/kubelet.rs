//! Plays the nodes of a cluster: what a pod does is what [`Scripted`] reads in its annotations, or a real process
//! (`kubewarden/node.rs`).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::{Value, json};

use crate::cluster::api_server::{ApiServer, KUBELET};
use crate::kube::{Client, STRATEGIC_PATCH, done, list, path, text};

/// How often it looks at the pods.
const TICK: Duration = Duration::from_millis(100);

/// A thread that plays a node. It ends, with the processes that it has started, when this is dropped.
pub(crate) struct Kubelet {
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Kubelet {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl Kubelet {
    /// Lets a node look at its pods, again and again.
    pub(crate) fn start(mut step: impl FnMut() + Send + 'static) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let is_over = ended.clone();
        let thread = thread::spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                step();
                thread::sleep(TICK);
            }
        });
        let thread = Some(thread);
        Self { ended, thread }
    }

    /// Plays the nodes of a cluster whose pods do as their annotations say.
    pub(crate) fn scripted(cluster: &ApiServer) -> Self {
        let client = cluster.client(KUBELET);
        let seen = BTreeMap::new();
        let mut node = Scripted { client, seen };
        // The API server may be away.
        Self::start(move || drop(node.step()))
    }
}

/// Tells the API server what became of a pod, which may be gone by now.
pub(crate) fn tell(client: &Client, place: &str, status: &Value) -> Result<()> {
    let (place, change) = (format!("{place}/status"), json!({"status": status}));
    let answer = client.request("PATCH", &place, STRATEGIC_PATCH, &change)?;
    if answer.code == 404 {
        return Ok(());
    }
    done(answer).map(drop)
}

/// The status of a pod whose containers are all in one state.
pub(crate) fn status(pod: &Value, phase: &str, state: &Value, ready: bool, restarts: u32) -> Value {
    let containers = list(&pod["spec"]["containers"]).iter();
    let containers: Vec<_> = containers
        .map(|c| {
            json!({
                "name": c["name"], "image": c["image"], "imageID": "e2e", "ready": ready, "started": ready,
                "restartCount": restarts, "state": state, "lastState": {},
            })
        })
        .collect();
    let condition = |name: &str, holds: bool| json!({"type": name, "status": if holds { "True" } else { "False" }});
    let conditions = [
        condition("PodScheduled", true),
        condition("Initialized", true),
        condition("ContainersReady", ready),
        condition("Ready", ready),
    ];
    json!({"phase": phase, "containerStatuses": containers, "conditions": conditions})
}

/// How long an image takes.
const PULL: Duration = Duration::from_millis(300);

/// How long a pod takes to stop when it is deleted.
const STOP: Duration = Duration::from_millis(500);

/// Pods that start, run for a while and end: `e2e/run` is how long a pod runs, in milliseconds, or `forever`; `e2e/exit` is its exit
/// code; `e2e/fail-index` lists the completion indexes that fail.
struct Scripted {
    client: Client,
    /// Since when each pod is in its state, by its UID.
    seen: BTreeMap<(String, &'static str), Instant>,
}

impl Scripted {
    fn step(&mut self) -> Result<()> {
        let alive = "/api/v1/pods?fieldSelector=status.phase!=Succeeded,status.phase!=Failed";
        let mut seen = BTreeMap::new();
        let mut outcome = Ok(());
        for pod in self.client.list(alive)? {
            let metadata = &pod["metadata"];
            let state = if !metadata["deletionTimestamp"].is_null() {
                "deleted"
            } else if !pod["spec"]["schedulingGates"].is_null() {
                "gated"
            } else if pod["status"]["phase"] == "Running" {
                "running"
            } else {
                "pending"
            };
            let uid = text(&metadata["uid"]).to_owned();
            let since = self.seen.get(&(uid.clone(), state)).copied();
            let since = since.unwrap_or_else(Instant::now);
            seen.insert((uid, state), since);
            outcome = outcome.and(self.act(&pod, state, since.elapsed()));
        }
        self.seen = seen;
        outcome
    }

    /// Does what is due with a pod that has been in a state for that long.
    fn act(&self, pod: &Value, state: &str, long: Duration) -> Result<()> {
        let metadata = &pod["metadata"];
        let annotation = |key: &str| metadata["annotations"][key].as_str();
        let pods = path("v1", text(&metadata["namespace"]), "pods");
        let place = format!("{pods}/{}", text(&metadata["name"]));
        match state {
            "pending" if long > PULL => {
                let state = json!({"running": {"startedAt": now()}});
                let mut status = status(pod, "Running", &state, true, 0);
                status["startTime"] = now().into();
                tell(&self.client, &place, &status)
            }
            "running" => {
                let run = annotation("e2e/run").unwrap_or("500").parse();
                if !run.is_ok_and(|run| long > Duration::from_millis(run)) {
                    return Ok(());
                }
                let index = annotation("batch.kubernetes.io/job-completion-index");
                let failing = annotation("e2e/fail-index").unwrap_or_default();
                let fails = failing.split(',').any(|i| Some(i) == index);
                let code = annotation("e2e/exit").and_then(|code| code.parse().ok());
                let code = if fails { 1 } else { code.unwrap_or(0) };
                tell(&self.client, &place, &ended(pod, code))
            }
            "deleted" if long > STOP => {
                tell(&self.client, &place, &ended(pod, 137))?;
                self.client.delete(&place).map(drop)
            }
            _ => Ok(()),
        }
    }
}

fn ended(pod: &Value, code: i64) -> Value {
    let (phase, reason) = match code {
        0 => ("Succeeded", "Completed"),
        _ => ("Failed", "Error"),
    };
    let state = json!({"terminated": {"exitCode": code, "reason": reason, "startedAt": now(), "finishedAt": now()}});
    status(pod, phase, &state, false, 0)
}

/// The time as Kubernetes writes it.
pub(crate) fn now() -> String {
    humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string()
}
