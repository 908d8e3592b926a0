//! `make bench-server`: what the policy costs in PolicyServer, beside a policy that does nothing.
//!
//! All of them are policies of one server and take turns, request by request, so that a machine that slows down slows all.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context as _, Result, anyhow, ensure};
use serde_json::{Map, Value, json};

use crate::deploy::{self, root};
use crate::load;
use crate::policy_server::{Launch, PolicyServer, review};
use crate::programs;
use crate::report::Report;

const PAGE: &str = "docs/performance.md";

/// The policies, in the order of the table: after each that does nothing comes ours with the same settings, because
/// PolicyServer itself writes the settings into every request.
const POLICIES: [(&str, &str); 4] = [
    ("noop", "one that does nothing"),
    ("ours", "this policy, `{}`"),
    ("noop-large", "one that does nothing, large settings"),
    ("ours-large", "this policy, large settings"),
];

/// Sizes of a request, with how many of them are timed.
const SIZES: [(&str, usize, usize); 2] = [("6 KB", 6 * 1024, 3000), ("118 KB", 118 * 1024, 1000)];

/// How long each policy is asked as often as it can be, and how many turns it has.
const THROUGHPUT: (Duration, usize) = (Duration::from_secs(2), 3);

const CONNECTIONS: usize = 4;

/// How long the server is under load while its memory is watched.
const LOAD: Duration = Duration::from_mins(1);

/// What the median may cost, over the policy that does nothing.
const AIM: f64 = 1.08;

pub(crate) fn run(report: &mut Report, folder: &Path) {
    if !programs::all_there(report, "bench-server", &["policy-server"]) {
        return;
    }
    report.section("timing");
    let Some(server) = report.need("PolicyServer with all three policies", start(folder)) else {
        return;
    };
    let Some(rows) = report.need("all policies, in turns", measure(&server)) else {
        return;
    };
    for row in rows.iter().filter(|row| row.policy == "ours") {
        let outcome = if row.ratio <= AIM {
            Ok(())
        } else {
            Err(anyhow!("{:.2}", row.ratio))
        };
        let text = format!(
            "{} at {}: p50 {:.2}x, at most {AIM}x",
            row.policy, row.size, row.ratio
        );
        report.check(&text, outcome);
    }
    let memory = memory(&server);
    let Some(memory) = report.need("memory under 60 s of load stays flat", memory) else {
        return;
    };
    report.check(&format!("the table is in {PAGE}"), write(&rows, &memory));
}

fn start(folder: &Path) -> Result<PolicyServer> {
    let noop = |settings: &Value| -> Result<Value> {
        let mut policy = deploy::protect(settings)?;
        policy["module"] = deploy::module("annotated-noop.wasm")?.into();
        Ok(policy)
    };
    let (small, large) = (json!({}), large());
    let policies = json!({
        "noop": noop(&small)?,
        "ours": deploy::protect(&small)?,
        "noop-large": noop(&large)?,
        "ours-large": deploy::protect(&large)?,
    });
    let mut place = Launch::plain(folder, "policy-server")?;
    // A line for each request would be part of what is timed.
    place.arguments = vec!["--log-level".to_owned(), "warn".to_owned()];
    place.start(&policies)
}

/// Settings as large as anybody's.
fn large() -> Value {
    let mut controllers = Map::new();
    for index in 0..200 {
        let writers = json!([format!("system:serviceaccount:acme:{index}")]);
        let namespaces = json!([format!("team-{index}-*")]);
        let controller = json!({"namespaces": namespaces, "status_writers": writers});
        controllers.insert(format!("acme.io/runner-{index}"), controller);
    }
    controllers.insert("acme.io/runner".to_owned(), json!({}));
    let namespaces: Vec<_> = (0..200)
        .map(|index| json!({"match": [format!("infra-{index}-*")], "delegation": "forbidden"}))
        .collect();
    let rules: Map<_, _> = managed_by::rules()
        .iter()
        .map(|rule| (rule.id().to_owned(), json!("deny")))
        .collect();
    json!({"controllers": controllers, "namespaces": namespaces, "rules": rules})
}

/// An update of a delegated Job's status that is accepted, as long as that.
fn request(size: usize) -> Result<Vec<u8>> {
    let template = |variables: usize| {
        let variable =
            |index| json!({"name": format!("VARIABLE_{index}"), "value": "a value of some length"});
        let environment: Vec<_> = (0..variables).map(variable).collect();
        json!({"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "e2e", "env": environment}]}})
    };
    let job = |variables: usize, ready: u32| {
        json!({
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "pi", "namespace": "team-a", "uid": "1"},
            "spec": {"managedBy": "acme.io/runner", "parallelism": 3, "completions": 3, "template": template(variables)},
            "status": {"startTime": "2026-01-01T00:00:00Z", "active": 3, "ready": ready, "uncountedTerminatedPods": {}},
        })
    };
    let body = |variables: usize| {
        review(&json!({
            "uid": "00000000-0000-4000-8000-000000000000",
            "kind": {"group": "batch", "version": "v1", "kind": "Job"},
            "resource": {"group": "batch", "version": "v1", "resource": "jobs"},
            "subResource": "status",
            "operation": "UPDATE",
            "userInfo": {"username": "system:serviceaccount:acme:runner"},
            "name": "pi",
            "namespace": "team-a",
            "object": job(variables, 2),
            "oldObject": job(variables, 1),
        }))
        .to_string()
        .into_bytes()
    };
    let each = body(2).len() - body(1).len();
    let variables = size.saturating_sub(body(0).len()) / each;
    let body = body(variables);
    ensure!(body.len() * 100 > size * 93, "{} of {size}", body.len());
    Ok(body)
}

struct Row {
    size: &'static str,
    policy: &'static str,
    p50: Duration,
    p99: Duration,
    per_second: f64,
    ratio: f64,
}

fn ask(server: &PolicyServer, policy: &str, body: &[u8]) -> Result<Duration> {
    let path = format!("/validate/{policy}");
    let body = body.to_vec();
    let started = Instant::now();
    let answer = server.post(&path, "application/json", body)?;
    let took = started.elapsed();
    let allowed = &answer.body["response"]["allowed"];
    ensure!(
        *allowed == true,
        "{policy}: {} {}",
        answer.code,
        answer.body
    );
    Ok(took)
}

fn measure(server: &PolicyServer) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (size, bytes, rounds) in SIZES {
        let body = request(bytes)?;
        let mut times = POLICIES.map(|_| Vec::with_capacity(rounds));
        for round in 0..rounds {
            // Whoever comes first in a turn changes.
            for turn in 0..POLICIES.len() {
                let index = (round + turn) % POLICIES.len();
                times[index].push(ask(server, POLICIES[index].0, &body)?);
            }
        }
        let mut counts = [0_usize; POLICIES.len()];
        let (long, turns) = THROUGHPUT;
        for _ in 0..turns {
            for (index, (policy, _)) in POLICIES.iter().enumerate() {
                counts[index] += hammer(server, policy, &body, long)?;
            }
        }
        let mut floor = Duration::ZERO;
        for (index, (policy, _)) in POLICIES.iter().enumerate() {
            let times = &mut times[index];
            times.sort_unstable();
            let p50 = times[rounds / 2];
            if index % 2 == 0 {
                floor = p50;
            }
            #[expect(clippy::cast_precision_loss, reason = "far from that many")]
            let per_second = counts[index] as f64 / (long.as_secs_f64() * turns as f64);
            rows.push(Row {
                size,
                policy,
                p50,
                p99: times[rounds * 99 / 100],
                per_second,
                ratio: p50.as_secs_f64() / floor.as_secs_f64(),
            });
        }
    }
    Ok(rows)
}

/// How many requests are answered in that time.
fn hammer(server: &PolicyServer, policy: &str, body: &[u8], long: Duration) -> Result<usize> {
    let started = Instant::now();
    load::at_once(CONNECTIONS, |_| {
        let is_time = started.elapsed() < long;
        if is_time {
            ask(server, policy, body)?;
        }
        Ok(is_time)
    })
}

/// What was seen of the server's memory.
struct Memory {
    requests: usize,
    /// The peak of each third of the time, in MB.
    thirds: [u64; 3],
}

fn memory(server: &PolicyServer) -> Result<Memory> {
    let (small, large) = (request(SIZES[0].1)?, request(SIZES[1].1)?);
    let ended = AtomicBool::new(false);
    let (requests, thirds) = thread::scope(|scope| {
        let loads = [("ours", &small), ("ours-large", &large)];
        let loads =
            loads.map(|(policy, body)| scope.spawn(move || hammer(server, policy, body, LOAD)));
        let watch = scope.spawn(|| {
            let started = Instant::now();
            let mut thirds = [0; 3];
            while !ended.load(Ordering::Relaxed) {
                let third = started.elapsed().as_secs() * 3 / LOAD.as_secs();
                let third = usize::try_from(third.min(2)).unwrap_or(2);
                thirds[third] = server.process.memory()?.max(thirds[third]);
                thread::sleep(Duration::from_millis(250));
            }
            anyhow::Ok(thirds)
        });
        let mut requests = 0;
        for load in loads {
            requests += load.join().map_err(|_| anyhow!("a thread panicked"))??;
        }
        ended.store(true, Ordering::Relaxed);
        let thirds = watch.join().map_err(|_| anyhow!("a thread panicked"))??;
        anyhow::Ok((requests, thirds))
    })?;
    let thirds = thirds.map(|bytes| bytes / 1_000_000);
    // The first third has the growth of a fresh process in it.
    ensure!(thirds[2] * 2 <= thirds[1] * 3, "peaks of {thirds:?} MB");
    Ok(Memory { requests, thirds })
}

/// Writes the table between its two marks.
fn write(rows: &[Row], memory: &Memory) -> Result<()> {
    let text = deploy::text(PAGE)?;
    let (open, close) = ("<!-- server -->\n", "<!-- /server -->\n");
    let (before, rest) = text.split_once(open).context("no mark")?;
    let (_, after) = rest.split_once(close).context("no mark")?;
    let table = table(rows, memory)?;
    Ok(fs::write(
        root(PAGE),
        format!("{before}{open}{table}{close}{after}"),
    )?)
}

fn table(rows: &[Row], memory: &Memory) -> Result<String> {
    let today = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let today = today.split('T').next().unwrap_or_default();
    let (machine, load) = machine();
    let mut text = format!(
        "{today}, {}, {machine}, load average {load:.2} at the end of the run. One connection for the times, {CONNECTIONS} for requests in a second.\n\n\
         | request | policy | p50 | p99 | requests/s | p50 over the one that does nothing |\n| --- | --- | --- | --- | --- | --- |\n",
        programs::version("policy-server"),
    );
    // A policy that does nothing shows only in the last column of the others.
    for row in rows.iter().filter(|row| row.policy.starts_with("ours")) {
        let name = POLICIES.iter().find(|(p, _)| *p == row.policy);
        let name = name.map_or(row.policy, |(_, name)| name);
        writeln!(
            text,
            "| {} | {name} | {:.0} us | {:.0} us | {:.0} | {:.2}x |",
            row.size,
            row.p50.as_secs_f64() * 1e6,
            row.p99.as_secs_f64() * 1e6,
            row.per_second,
            row.ratio,
        )?;
    }
    let [first, second, third] = memory.thirds;
    writeln!(
        text,
        "\nMemory while it answered {} requests of both sizes in 60 s: peaks of {first}, {second} and {third} MB in the first, second and last 20 s.",
        memory.requests,
    )?;
    Ok(text)
}

/// The processor and the load of this machine.
fn machine() -> (String, f64) {
    let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let names = processors
        .lines()
        .filter_map(|l| l.strip_prefix("model name"));
    let names: Vec<_> = names
        .filter_map(|l| l.split_once(": "))
        .map(|(_, n)| n)
        .collect();
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load
        .split(' ')
        .next()
        .and_then(|l| l.parse().ok())
        .unwrap_or_default();
    let name = names.first().unwrap_or(&"an unknown processor");
    (format!("{} cores of {name}", names.len()), load)
}
