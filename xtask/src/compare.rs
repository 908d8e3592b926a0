//! What `make compare` measured, as the tables of `docs/comparison.md`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use serde::Deserialize;

use crate::generated::{Generated, between_marks, read};

const RESULTS: &str = "compare/results.json";
const PAGE: &str = "docs/comparison.md";

/// A load average above this says that more ran than the comparison itself.
const BUSY: f64 = 5.0;

/// What `make compare` wrote.
#[derive(Debug, Deserialize)]
pub struct Results {
    date: String,
    machine: String,
    load: f64,
    versions: Vec<String>,
    features: Features,
    costs: Costs,
}

#[derive(Debug, Deserialize)]
struct Features {
    rows: Vec<Feature>,
    job_status: JobStatus,
}

#[derive(Debug, Deserialize)]
struct Feature {
    #[serde(rename = "feature")]
    title: String,
    #[serde(flatten)]
    ways: BTreeMap<String, bool>,
}

#[derive(Debug, Deserialize)]
struct JobStatus {
    cases: u64,
    denied: u64,
    rows: Vec<Judged>,
}

#[derive(Debug, Deserialize)]
struct Judged {
    way: String,
    wrongly_allowed: u64,
    wrongly_denied: u64,
}

#[derive(Debug, Deserialize)]
struct Costs {
    sizes: Vec<Measured>,
    policies: Vec<Policy>,
}

#[derive(Debug, Deserialize)]
struct Measured {
    size: String,
    updates: u64,
    rows: Vec<Row>,
}

#[derive(Debug, Deserialize)]
struct Row {
    way: String,
    p50_us: f64,
    p99_us: f64,
    api_server_cpu_us: f64,
    server_cpu_us: f64,
    requests_per_second_per_core: Option<u64>,
    server_memory_mb: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct Policy {
    way: String,
    bytes: u64,
    lines: u64,
}

impl Results {
    /// Reads the committed results.
    ///
    /// # Errors
    /// If they are missing or of another shape.
    pub fn read() -> Result<Self> {
        serde_json::from_str(&read(RESULTS)?).context(RESULTS)
    }
}

/// The order of the columns.
const WAYS: [&str; 5] = ["none", "cel", "rego", "usual", "ours"];

/// What people call a way.
fn label(way: &str) -> &str {
    match way {
        "none" => "no policy",
        "cel" => "CEL",
        "rego" => "OPA (Rego)",
        "usual" => "SDK, as usual",
        "ours" => "this policy",
        other => other,
    }
}

/// The page with its tables.
///
/// # Errors
/// If the results or the page cannot be read, or a mark is missing.
pub fn generated() -> Result<Vec<Generated>> {
    let results = Results::read()?;
    let mut page = read(PAGE)?;
    for (mark, table) in [
        ("run", run(&results)),
        ("features", features(&results)?),
        ("status", status(&results)?),
        ("costs", costs(&results)?),
        ("sizes", sizes(&results)?),
    ] {
        page = between_marks(&page, mark, &table)?;
    }
    Ok(vec![Generated::new(PAGE, page)])
}

fn run(results: &Results) -> String {
    let busy = if results.load > BUSY {
        " Other programs kept the machine busy during this run. Compare the rows only with one another."
    } else {
        ""
    };
    format!(
        "Measured on {} by `make compare`: {}. Load average at the end of the run: {}. Versions: {}.{busy}\n",
        results.date,
        results.machine,
        results.load,
        results.versions.join(", ")
    )
}

fn head(first: &str) -> String {
    let labels = WAYS.map(label).join(" | ");
    format!(
        "| {first} | {labels} |\n| --- |{}\n",
        " --- |".repeat(WAYS.len())
    )
}

fn features(results: &Results) -> Result<String> {
    let mut text = head("request");
    for feature in &results.features.rows {
        let cells = WAYS.map(|way| match feature.ways.get(way) {
            Some(true) => "yes",
            Some(false) => "no",
            None => "",
        });
        writeln!(text, "| {} | {} |", feature.title, cells.join(" | "))?;
    }
    Ok(text)
}

fn status(results: &Results) -> Result<String> {
    let judged = &results.features.job_status;
    let allowed = judged.cases.saturating_sub(judged.denied);
    let mut text = format!(
        "| way | allowed wrongly, of {} | denied wrongly, of {allowed} |\n| --- | --- | --- |\n",
        judged.denied
    );
    for row in &judged.rows {
        writeln!(
            text,
            "| {} | {} | {} |",
            label(&row.way),
            row.wrongly_allowed,
            row.wrongly_denied
        )?;
    }
    Ok(text)
}

fn costs(results: &Results) -> Result<String> {
    let mut text = "| request | way | p50 | p99 | p50 over no policy | processor time in kube-apiserver | processor time in the policy's server |\n| --- | --- | --- | --- | --- | --- | --- |\n".to_owned();
    for size in &results.costs.sizes {
        let floor = size.rows.iter().find(|row| row.way == "none");
        let floor = floor.map_or(0.0, |row| row.p50_us);
        for row in &size.rows {
            let server = match row.way.as_str() {
                "none" | "cel" => String::new(),
                _ => format!("{:.2} ms", row.server_cpu_us / 1000.0),
            };
            writeln!(
                text,
                "| {} | {} | {:.2} ms | {:.2} ms | {:+.2} ms | {:.2} ms | {server} |",
                size.size,
                label(&row.way),
                row.p50_us / 1000.0,
                row.p99_us / 1000.0,
                (row.p50_us - floor) / 1000.0,
                row.api_server_cpu_us / 1000.0,
            )?;
        }
    }
    let updates: Vec<_> = results
        .costs
        .sizes
        .iter()
        .map(|size| format!("{} at {}", size.updates, size.size))
        .collect();
    writeln!(
        text,
        "\nStatus updates for each way: {}.",
        updates.join(", ")
    )?;
    Ok(text)
}

fn sizes(results: &Results) -> Result<String> {
    let mut text = "| way | lines to maintain | deployed size | requests/s per core, 6 KB | requests/s per core, 118 KB | memory of the server after load |\n| --- | --- | --- | --- | --- | --- |\n".to_owned();
    for policy in &results.costs.policies {
        let rows: Vec<_> = results
            .costs
            .sizes
            .iter()
            .filter_map(|size| size.rows.iter().find(|row| row.way == policy.way))
            .collect();
        let rate = |index: usize| {
            let row = rows
                .get(index)
                .and_then(|row| row.requests_per_second_per_core);
            row.map(|rate| rate.to_string()).unwrap_or_default()
        };
        let memory = rows.iter().filter_map(|row| row.server_memory_mb).max();
        let memory = memory.map(|mb| format!("{mb} MB")).unwrap_or_default();
        if policy.way == "none" {
            continue;
        }
        writeln!(
            text,
            "| {} | {} | {} KB | {} | {} | {memory} |",
            label(&policy.way),
            policy.lines,
            policy.bytes.div_ceil(1000),
            rate(0),
            rate(1),
        )?;
    }
    Ok(text)
}
