//! `make compare`: the same job done by what people would use instead of this policy, in one real API server.
//!
//! Each way has a namespace of its own, so that all of them are in force at once and requests take turns. `compare/` has
//! the policies, `docs/comparison.md` shows what is written to [`RESULTS`].

mod measure;
mod probes;
mod ways;

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use anyhow::Result;
use serde_json::{Value, json};

use crate::deploy::root;
use crate::programs;
use crate::report::Report;
use ways::Ways;

const RESULTS: &str = "compare/results.json";

pub(crate) fn run(report: &mut Report, folder: &Path) {
    let needed = ["etcd", "kube-apiserver", "policy-server", "opa"];
    if !programs::all_there(report, "compare", &needed) {
        return;
    }
    report.section("the same job, in five ways");
    let Some(ways) = report.need("all of them are in force", Ways::start(folder)) else {
        return;
    };
    report.section("what each can do");
    let features = probes::run(report, &ways);
    let Some(features) = report.need("the same requests to all", features) else {
        return;
    };
    report.section("what each costs");
    let costs = measure::run(report, &ways);
    let Some(costs) = report.need("status updates, in turns", costs) else {
        return;
    };
    report.check(&format!("{RESULTS} is written"), write(&features, &costs));
}

fn write(features: &Value, costs: &Value) -> Result<()> {
    let today = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let (machine, load) = machine();
    let [api, server] = ["kube-apiserver", "policy-server"].map(programs::version);
    let versions = [api, server, opa()];
    let results = json!({
        "date": today.split('T').next().unwrap_or_default(),
        "machine": machine,
        "load": load,
        "versions": versions,
        "features": features,
        "costs": costs,
    });
    Ok(fs::write(
        root(RESULTS),
        serde_json::to_string_pretty(&results)? + "\n",
    )?)
}

/// What `opa version` says, which has no `--version`.
fn opa() -> String {
    let output = std::process::Command::new("opa").arg("version").output();
    let output = output.map(|o| String::from_utf8_lossy(&o.stdout).into_owned());
    let version = output.unwrap_or_default();
    let version = version
        .lines()
        .find_map(|line| line.strip_prefix("Version: "));
    format!("opa {}", version.unwrap_or("of an unknown version"))
}

/// The processors, and how busy they are.
pub(crate) fn machine() -> (String, f64) {
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
