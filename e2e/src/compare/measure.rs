//! What each way costs: the time that it adds to a status update, the processor time that it takes, its memory and size.

use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, ensure};
use serde_json::{Value, json};

use super::ways::{Way, Ways};
use crate::cluster::api_server::{ANA, KUEUE};
use crate::cluster::hook::job;
use crate::kube::{done, jobs};
use crate::load::at_once;
use crate::policy_server::review;
use crate::process::Process;
use crate::report::Report;

/// Sizes of the review that a webhook gets, with how many status updates are timed for each way.
const SIZES: [(&str, usize, usize); 2] = [("6 KB", 6 * 1024, 400), ("118 KB", 118 * 1024, 200)];

/// How many turns each way takes in a row while processor time is counted.
const BLOCK: usize = 100;

/// How long a server is asked as often as it can be.
const LOAD: Duration = Duration::from_secs(3);

const CONNECTIONS: usize = 4;

pub(super) fn run(report: &Report, ways: &Ways) -> Result<Value> {
    let mut sizes = Vec::new();
    for (size, bytes, rounds) in SIZES {
        let review = prepare(ways, size, bytes)?;
        let times = times(ways, size, rounds)?;
        let processor = processor(ways, size)?;
        let mut rows = Vec::new();
        for (index, way) in Way::ALL.into_iter().enumerate() {
            let mut times = times[index].clone();
            times.sort_unstable();
            let (p50, p99) = (times[rounds / 2], times[rounds * 99 / 100]);
            let load = match ways.server(way) {
                Some(_) => Some(load(ways, way, &review)?),
                None => None,
            };
            report.note(&format!(
                "{size} {}: p50 {} us, p99 {} us, processor {:.0} us in the API server and {:.0} us in a server",
                way.name(), micros(p50), micros(p99), processor[index].0, processor[index].1,
            ));
            let (per_second, busy, memory) = load.unzip3();
            rows.push(json!({
                "way": way.name(),
                "p50_us": micros(p50),
                "p99_us": micros(p99),
                "api_server_cpu_us": processor[index].0.round(),
                "server_cpu_us": processor[index].1.round(),
                "requests_per_second": per_second,
                "requests_per_second_per_core": busy,
                "server_memory_mb": memory,
            }));
        }
        sizes.push(json!({"size": size, "bytes": review.len(), "updates": rounds, "rows": rows}));
    }
    let mut policies = Vec::new();
    for way in Way::ALL {
        policies.push(json!({"way": way.name(), "bytes": way.size()?, "lines": way.lines()?}));
    }
    Ok(json!({"sizes": sizes, "policies": policies}))
}

/// Three numbers that are there together or not at all.
trait Unzip3 {
    fn unzip3(self) -> (Option<u64>, Option<u64>, Option<u64>);
}

impl Unzip3 for Option<(u64, u64, u64)> {
    fn unzip3(self) -> (Option<u64>, Option<u64>, Option<u64>) {
        (self.map(|l| l.0), self.map(|l| l.1), self.map(|l| l.2))
    }
}

fn name(size: &str) -> String {
    format!("load-{}", size.to_lowercase().replace(' ', ""))
}

/// A delegated Job in each namespace, so large that the review of its status update has that many bytes.
fn prepare(ways: &Ways, size: &str, bytes: usize) -> Result<Vec<u8>> {
    let spec = |variables: usize| {
        let variable =
            |index| json!({"name": format!("VARIABLE_{index}"), "value": "a value of some length"});
        let environment: Vec<_> = (0..variables).map(variable).collect();
        json!({
            "managedBy": "kueue.x-k8s.io/multikueue", "parallelism": 3, "completions": 3,
            "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "e2e", "env": environment}]}},
        })
    };
    let mut body = Vec::new();
    let mut variables = 0;
    for way in Way::ALL {
        let namespace = way.namespace();
        let path = format!("{}/{}", jobs(&namespace), name(size));
        let user = ways.cluster.client(ANA);
        let kueue = ways.cluster.client(KUEUE);
        let mut last = (0, 0);
        // The API server adds to what it is given, managed fields above all, so the size is known only afterwards.
        for _ in 0..4 {
            user.delete(&path)?;
            let spec = spec(variables);
            done(user.post(&jobs(&namespace), &job(&namespace, &name(size), &spec))?)?;
            let start = json!({"status": {"startTime": "2026-01-01T00:00:00Z", "active": 3, "ready": 1, "uncountedTerminatedPods": {}}});
            let old = done(kueue.patch(&format!("{path}/status"), &start)?)?;
            let mut new = old.clone();
            new["status"]["ready"] = 2.into();
            body = review(&request(&old, &new)).to_string().into_bytes();
            let here = (variables, body.len());
            if here.1 * 100 > bytes * 95 && here.1 * 100 < bytes * 105 {
                break;
            }
            let each = match (here.0.checked_sub(last.0), here.1.checked_sub(last.1)) {
                (Some(more), Some(larger)) if more > 0 && last.1 > 0 => larger / more,
                _ => 300,
            };
            variables = if here.1 < bytes {
                here.0 + (bytes - here.1) / each
            } else {
                here.0.saturating_sub((here.1 - bytes) / each)
            };
            last = here;
        }
    }
    ensure!(
        body.len() * 100 > bytes * 90 && body.len() * 100 < bytes * 110,
        "{} of {bytes}",
        body.len()
    );
    Ok(body)
}

fn request(old: &Value, new: &Value) -> Value {
    let resource = json!({"group": "batch", "version": "v1", "resource": "jobs"});
    let kind = json!({"group": "batch", "version": "v1", "kind": "Job"});
    json!({
        "uid": "00000000-0000-4000-8000-000000000000",
        "kind": kind, "requestKind": kind, "resource": resource, "requestResource": resource,
        "subResource": "status", "requestSubResource": "status",
        "operation": "UPDATE", "userInfo": {"username": KUEUE, "groups": ["system:serviceaccounts"]},
        "name": new["metadata"]["name"], "namespace": new["metadata"]["namespace"],
        "object": new, "oldObject": old, "dryRun": false, "options": {"apiVersion": "meta.k8s.io/v1", "kind": "UpdateOptions"},
    })
}

/// One status update through the API server.
fn update(ways: &Ways, way: Way, size: &str, round: usize) -> Result<Duration> {
    let path = format!("{}/{}/status", jobs(&way.namespace()), name(size));
    let change = json!({"status": {"ready": round % 3}});
    let client = ways.cluster.client(KUEUE);
    let started = Instant::now();
    let answer = client.patch(&path, &change)?;
    let took = started.elapsed();
    done(answer)?;
    Ok(took)
}

fn times(ways: &Ways, size: &str, rounds: usize) -> Result<[Vec<Duration>; 5]> {
    let mut times = Way::ALL.map(|_| Vec::with_capacity(rounds));
    for round in 0..rounds {
        for turn in 0..Way::ALL.len() {
            // Whoever comes first in a turn changes.
            let index = (round + turn) % Way::ALL.len();
            times[index].push(update(ways, Way::ALL[index], size, round)?);
        }
    }
    Ok(times)
}

/// Microseconds of processor time for a status update: in the API server, and in the way's own server.
fn processor(ways: &Ways, size: &str) -> Result<[(f64, f64); 5]> {
    let mut sums = [(Duration::ZERO, Duration::ZERO); 5];
    let turns = 3;
    for turn in 0..turns {
        for (index, way) in Way::ALL.into_iter().enumerate() {
            let server = || {
                ways.server(way)
                    .map_or(Ok(Duration::ZERO), Process::processor)
            };
            let before = (ways.cluster.processor()?, server()?);
            for round in 0..BLOCK {
                update(ways, way, size, turn + round)?;
            }
            let after = (ways.cluster.processor()?, server()?);
            sums[index].0 += after.0.saturating_sub(before.0);
            sums[index].1 += after.1.saturating_sub(before.1);
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "far from that many")]
    let each = |sum: Duration| sum.as_secs_f64() * 1e6 / (BLOCK * turns) as f64;
    Ok(sums.map(|(api, server)| (each(api), each(server))))
}

/// A server under load: requests in a second, requests in a second of processor time, and its memory in MB.
fn load(ways: &Ways, way: Way, body: &[u8]) -> Result<(u64, u64, u64)> {
    let Some(server) = ways.server(way) else {
        return Err(anyhow!("no server"));
    };
    let before = server.processor()?;
    let started = Instant::now();
    let count = at_once(CONNECTIONS, |_| {
        let is_time = started.elapsed() < LOAD;
        if is_time {
            let answer = ways.ask(way, body.to_vec())?;
            let is_allowed = answer.body["response"]["allowed"] == true;
            ensure!(is_allowed, "{}: {}", way.name(), answer.body);
        }
        Ok(is_time)
    })?;
    let busy = server.processor()?.saturating_sub(before);
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "far from that many"
    )]
    let rate = |time: Duration| (count as f64 / time.as_secs_f64()).round() as u64;
    Ok((
        rate(started.elapsed()),
        rate(busy),
        server.memory()? / 1_000_000,
    ))
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
