//! Plays the nodes: pods start, run for a while and end as their annotations say.
//!
//! `e2e/run` is how long a pod runs, in milliseconds, or `forever`; `e2e/exit` is its exit code; `e2e/fail-index` lists the
//! completion indexes that fail.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::{Value, json};

use super::api_server::{ApiServer, KUBELET};
use crate::kube::{Client, done, path};

/// How long an image takes.
const PULL: Duration = Duration::from_millis(300);

/// How long a pod takes to stop when it is deleted.
const STOP: Duration = Duration::from_millis(500);

/// The scripted kubelet. It ends when this is dropped.
pub(crate) struct Kubelet {
    ended: Arc<AtomicBool>,
}

impl Drop for Kubelet {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Pending,
    Running,
    Ended,
}

struct Pod {
    object: Value,
    phase: Phase,
    /// When that phase began.
    since: Instant,
    /// When it was first seen to be deleted.
    deleted: Option<Instant>,
}

type Pods = Arc<Mutex<BTreeMap<String, Pod>>>;

impl Kubelet {
    /// Plays the nodes of a cluster.
    pub(crate) fn start(cluster: &ApiServer) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let pods = Pods::default();
        let client = cluster.client(KUBELET);
        let (watching, seen, done) = (client.clone(), pods.clone(), ended.clone());
        thread::spawn(move || {
            while !done.load(Ordering::Relaxed) {
                // It ends when the API server does, and now and then by itself.
                let _ = watching.watch("/api/v1/pods", |event| {
                    see(&seen, event);
                    !done.load(Ordering::Relaxed)
                });
                thread::sleep(Duration::from_millis(100));
            }
        });
        let stop = ended.clone();
        thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                act(&client, &pods);
                thread::sleep(Duration::from_millis(50));
            }
        });
        Self { ended }
    }
}

fn see(pods: &Pods, mut event: Value) {
    let object = event["object"].take();
    let Some(uid) = object["metadata"]["uid"].as_str().map(str::to_owned) else {
        return;
    };
    let mut pods = pods.lock().unwrap_or_else(PoisonError::into_inner);
    if event["type"] == "DELETED" {
        pods.remove(&uid);
        return;
    }
    let phase = match object["status"]["phase"].as_str() {
        Some("Succeeded" | "Failed") => Phase::Ended,
        Some("Running") => Phase::Running,
        _ => Phase::Pending,
    };
    let new = Pod {
        object: Value::Null,
        phase,
        since: Instant::now(),
        deleted: None,
    };
    let pod = pods.entry(uid).or_insert(new);
    if !object["metadata"]["deletionTimestamp"].is_null() {
        pod.deleted.get_or_insert_with(Instant::now);
    }
    if !object["spec"]["schedulingGates"].is_null() {
        pod.since = Instant::now();
    }
    pod.object = object;
}

/// What each pod does next.
fn act(client: &Client, pods: &Pods) {
    let mut steps = Vec::new();
    let all = || pods.lock().unwrap_or_else(PoisonError::into_inner);
    for (uid, pod) in all().iter_mut() {
        let before = pod.phase;
        if let Some(step) = step(pod) {
            steps.push((uid.clone(), before, pod.object.clone(), step));
        }
    }
    for (uid, before, pod, step) in steps {
        // The API server may be away.
        if take(client, &pod, &step).is_err()
            && let Some(pod) = all().get_mut(&uid)
        {
            pod.phase = before;
        }
    }
}

enum Step {
    Run,
    End(i64),
    Remove { was_alive: bool },
}

fn step(pod: &mut Pod) -> Option<Step> {
    let annotation = |key: &str| pod.object["metadata"]["annotations"][key].as_str();
    if let Some(deleted) = pod.deleted {
        if deleted.elapsed() < STOP {
            return None;
        }
        // Again, should it still be there a little later.
        pod.deleted = Some(Instant::now());
        let was_alive = pod.phase != Phase::Ended;
        pod.phase = Phase::Ended;
        return Some(Step::Remove { was_alive });
    }
    match pod.phase {
        Phase::Pending if pod.object["spec"]["schedulingGates"].is_null() => {
            (pod.since.elapsed() > PULL).then(|| {
                pod.phase = Phase::Running;
                pod.since = Instant::now();
                Step::Run
            })
        }
        Phase::Running => {
            let run = annotation("e2e/run").unwrap_or("500");
            let run = Duration::from_millis(run.parse().ok()?);
            let index = annotation("batch.kubernetes.io/job-completion-index").unwrap_or("none");
            let failing = annotation("e2e/fail-index").unwrap_or_default();
            let fails = failing.split(',').any(|i| i == index);
            let code = annotation("e2e/exit").and_then(|code| code.parse().ok());
            let code = if fails { 1 } else { code.unwrap_or(0) };
            (pod.since.elapsed() > run).then(|| {
                pod.phase = Phase::Ended;
                Step::End(code)
            })
        }
        Phase::Pending | Phase::Ended => None,
    }
}

fn take(client: &Client, pod: &Value, step: &Step) -> Result<()> {
    let text = |key: &str| pod["metadata"][key].as_str().unwrap_or_default();
    let path = format!("{}/{}", path("v1", text("namespace"), "pods"), text("name"));
    let status = format!("{path}/status");
    let answer = match step {
        Step::Run => client.patch(&status, &running(pod))?,
        Step::End(code) => client.patch(&status, &ended(pod, *code))?,
        Step::Remove { was_alive } => {
            if *was_alive {
                client.patch(&status, &ended(pod, 137))?;
            }
            client.delete_now(&path)?
        }
    };
    // A pod may be gone by now.
    if answer.code == 404 {
        return Ok(());
    }
    done(answer).map(drop)
}

fn running(pod: &Value) -> Value {
    let state = json!({"running": {"startedAt": now()}});
    status(pod, "Running", &state, true)
}

fn ended(pod: &Value, code: i64) -> Value {
    let reason = if code == 0 { "Completed" } else { "Error" };
    let state = json!({"terminated": {"exitCode": code, "reason": reason, "startedAt": now(), "finishedAt": now()}});
    let phase = if code == 0 { "Succeeded" } else { "Failed" };
    status(pod, phase, &state, false)
}

fn status(pod: &Value, phase: &str, state: &Value, ready: bool) -> Value {
    let containers = pod["spec"]["containers"].as_array().into_iter().flatten();
    let containers: Vec<_> = containers
        .map(|c| json!({"name": c["name"], "image": c["image"], "imageID": "e2e", "ready": ready, "restartCount": 0, "state": state}))
        .collect();
    let condition = |name: &str, holds: bool| {
        let status = if holds { "True" } else { "False" };
        json!({"type": name, "status": status, "lastTransitionTime": now()})
    };
    let conditions = [
        condition("PodScheduled", true),
        condition("Initialized", true),
        condition("Ready", ready),
        condition("ContainersReady", ready),
    ];
    json!({"status": {"phase": phase, "startTime": now(), "containerStatuses": containers, "conditions": conditions}})
}

/// The time as Kubernetes writes it.
pub(crate) fn now() -> String {
    humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string()
}
