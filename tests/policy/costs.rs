//! What a request costs, in wasmtime fuel (about one for each instruction), and the module's size, against the record in
//! `costs.tsv`. `make fuel-update` writes the record anew.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::{env, fs};

use crate::support::payload::{self, intervals, job_update, status_update, uncounted};
use crate::support::{module, root};
use managed_by_engine::meter::Meter;
use managed_by_engine::{admission, examples};

/// More than this above the record fails, in percent.
const TOLERANCE: u64 = 2;

/// The module may not be larger, in bytes.
const MAX_SIZE: u64 = 400 * 1024;

const RECORD: &str = "tests/policy/costs.tsv";

fn payloads() -> Vec<(String, Vec<u8>)> {
    let examples = examples::read(&root("examples")).unwrap().into_iter();
    let mut payloads: Vec<_> = examples
        .map(|e| (e.name, admission::payload(&e.request, &e.settings)))
        .collect();
    payloads.extend(payload::all().into_iter().map(|p| (p.name, p.payload)));
    payloads
}

/// The costs of today, by name. Those of the policy that does nothing are taken off: they are the SDK's and the host's.
fn costs() -> BTreeMap<String, u64> {
    let ours = Meter::load(&module("policy.wasm")).unwrap();
    let floor = Meter::load(&module("noop.wasm")).unwrap();
    let fuel = |meter: &Meter, payload: &[u8]| meter.measure("validate", payload).unwrap().fuel;
    let own = |payload: &[u8]| fuel(&ours, payload) - fuel(&floor, payload);
    let mut costs: BTreeMap<_, _> = payloads()
        .iter()
        .map(|(name, payload)| (format!("fuel: {name}"), own(payload)))
        .collect();
    let size = module("policy.wasm").len() as u64;
    costs.insert("size: policy.wasm".to_owned(), size);
    costs
}

fn record() -> BTreeMap<String, u64> {
    let text = fs::read_to_string(root(RECORD)).unwrap_or_default();
    let pair = |line: &str| {
        let (name, cost) = line.split_once('\t').unwrap();
        (name.to_owned(), cost.parse().unwrap())
    };
    text.lines().map(pair).collect()
}

#[test]
fn nothing_costs_more_than_recorded() {
    let costs = costs();
    if env::var_os("UPDATE_COSTS").is_some() {
        let mut text = String::new();
        for (name, cost) in &costs {
            writeln!(text, "{name}\t{cost}").unwrap();
        }
        fs::write(root(RECORD), text).unwrap();
    }
    let record = record();
    let names = |costs: &BTreeMap<String, u64>| costs.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&costs), names(&record), "make fuel-update");
    for (name, &cost) in &costs {
        let recorded = record[name];
        assert!(
            cost * 100 <= recorded * (100 + TOLERANCE),
            "{name}: {cost}, recorded {recorded}; if it is worth it, `make fuel-update`"
        );
    }
}

#[test]
fn the_module_is_small() {
    assert!(module("policy.wasm").len() as u64 <= MAX_SIZE);
    assert!(module("annotated-policy.wasm").len() as u64 <= MAX_SIZE);
}

/// A byte of a large request costs at most as much as one of a small request, and half as much again where it is sorted.
#[test]
fn cost_is_linear_in_the_request() {
    let meter = Meter::load(&module("policy.wasm")).unwrap();
    let fuel = |payload: &[u8]| meter.measure("validate", payload).unwrap().fuel;
    for (name, small, large) in [
        ("job update", job_update(6 * 1024), job_update(120 * 1024)),
        (
            "status update",
            status_update(6 * 1024),
            status_update(120 * 1024),
        ),
        ("intervals", intervals(1000), intervals(20_000)),
        ("uncounted", uncounted(500), uncounted(10_000)),
    ] {
        let factor = large.len() as u64 * 150 / small.len() as u64;
        let (small, large) = (fuel(&small), fuel(&large));
        assert!(large * 100 <= small * factor, "{name}: {small}, {large}");
    }
}

/// Four megabytes and four times the input are enough.
#[test]
fn memory_is_bounded() {
    let meter = Meter::load(&module("policy.wasm")).unwrap();
    let mut payloads: Vec<_> = payload::all().into_iter().map(|p| p.payload).collect();
    payloads.push(job_update(2 * 1024 * 1024));
    for payload in payloads {
        let memory = meter.measure("validate", &payload).unwrap().memory;
        let allowed = 4 * 1024 * 1024 + 4 * payload.len() as u64;
        assert!(
            memory <= allowed,
            "{memory} bytes for a request of {}",
            payload.len()
        );
    }
}
