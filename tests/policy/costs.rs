//! Fuel of requests, as wasmi counts it, and the module's size, against the record in `costs.tsv`. wasmi counts 2.9 times as much as
//! wasmtime for a status update. `make test UPDATE=costs` writes the record.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::LazyLock;
use std::{env, fs};

use crate::support::payload::{self, intervals, sized, uncounted};
use crate::support::{module, root};
use managed_by_testing::{Policy, admission};
use serde_json::{Map, Value, json};
use xtask::examples;

/// More than this above the record fails, in percent.
const TOLERANCE: u64 = 2;

/// The module may not be larger, in bytes.
const MAX_SIZE: u64 = 400 * 1024;

const RECORD: &str = "tests/policy/costs.tsv";

/// The policy, compiled once for all tests.
static POLICY: LazyLock<Policy> =
    LazyLock::new(|| Policy::load_unannotated(&module("policy.wasm")).unwrap());

/// What a call of `validate` costs the policy.
pub(crate) fn fuel(payload: &[u8]) -> u64 {
    POLICY.measure("validate", payload).unwrap().fuel
}

fn payloads() -> Vec<(String, Vec<u8>)> {
    let examples = examples::all().unwrap().into_iter();
    let mut payloads: Vec<_> = examples
        .map(|e| (e.name, admission::payload(&e.request, &e.settings)))
        .collect();
    let denied = "jobset with 1000 nested values, deny";
    payloads.push((denied.to_owned(), payload::nested(1000, "deny")));
    payloads.extend(payload::all());
    payloads
}

/// The settings that cost most to look through, of those that are accepted: each pattern is compared with the ones that have a
/// `*`, and each entry of a list with those before it.
fn worst_settings() -> [(&'static str, Value); 2] {
    let namespaces = (0..16).map(|entry| {
        let pattern = |item: usize| match item % 8 {
            0 => format!("*a{entry}b{item}*"),
            _ => format!("n{entry}-{item}"),
        };
        let patterns: Vec<_> = (0..256).map(pattern).collect();
        json!({"match": patterns, "delegation": "allowed"})
    });
    let namespaces: Vec<_> = namespaces.collect();
    let users: Vec<_> = (0..256).map(|i| format!("user-{i}")).collect();
    let controllers: Map<_, _> = (0..1024)
        .map(|i| (format!("acme.io/c{i}"), json!({"kinds": ["Job"]})))
        .collect();
    [
        (
            "4096 patterns, 512 with a star",
            json!({ "namespaces": namespaces }),
        ),
        (
            "1024 controllers and 256 users",
            json!({"controllers": controllers, "exempt": {"users": users}}),
        ),
    ]
}

/// The costs of today, by name. Those of the policy that does nothing are taken off: they are the SDK's and the host's.
fn costs() -> BTreeMap<String, u64> {
    let floor = Policy::load_unannotated(&module("noop.wasm")).unwrap();
    let own = |payload: &[u8]| fuel(payload) - floor.measure("validate", payload).unwrap().fuel;
    let mut costs: BTreeMap<_, _> = payloads()
        .iter()
        .map(|(name, payload)| (format!("fuel: {name}"), own(payload)))
        .collect();
    for (name, settings) in worst_settings() {
        let settings = settings.to_string();
        let cost = POLICY.measure("validate_settings", settings.as_bytes());
        costs.insert(format!("fuel: settings, {name}"), cost.unwrap().fuel);
    }
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
    for (name, small, large) in [
        (
            "job update",
            sized("job update", 6 * 1024),
            sized("job update", 120 * 1024),
        ),
        (
            "status update",
            sized("status update", 6 * 1024),
            sized("status update", 120 * 1024),
        ),
        ("intervals", intervals(1000), intervals(20_000)),
        ("uncounted", uncounted(500), uncounted(10_000)),
    ] {
        let factor = large.len() as u64 * 150 / small.len() as u64;
        let (small, large) = (fuel(&small), fuel(&large));
        assert!(large * 100 <= small * factor, "{name}: {small}, {large}");
    }
}

/// Of templates the first thousand are looked at. What comes after them costs what it costs where no rule reads it.
#[test]
fn templates_that_are_left_out_are_passed_over() {
    let job = json!({"template": {"apiVersion": "batch/v1", "kind": "Job", "spec": {"managedBy": "a.io/b"}}});
    let app_wrapper = |count| payload::app_wrapper_of(&json!(vec![job.clone(); count]));
    let (looked_at, all) = (app_wrapper(1000), app_wrapper(10_000));
    let unread = String::from_utf8(all.clone())
        .unwrap()
        .replace("\"components\"", "\"komponents\"");
    let (looked_at, all, unread) = (fuel(&looked_at), fuel(&all), fuel(unread.as_bytes()));
    assert!(
        all <= looked_at + unread * 11 / 10,
        "{all} of ten thousand, {looked_at} of one thousand, {unread} unread"
    );
}

/// Requests of two megabytes that are denied, each with what may be the longest message that can be had that way. The soft
/// hyphen is printed as an escape, three times as long.
fn hostile(bytes: usize) -> [(&'static str, Vec<u8>); 5] {
    let indexes = |field: &str, text: String| {
        let mut status = json!({"completedIndexes": "0"});
        status[field] = text.into();
        payload::status(status)
    };
    let hyphens = |length: usize| "\u{ad}".repeat(length / 2);
    let uids = |uid: &str| {
        let count = bytes / (uid.len() + 3);
        payload::status(json!({"uncountedTerminatedPods": {"failed": vec![uid; count]}}))
    };
    [
        (
            "completed indexes",
            indexes("completedIndexes", hyphens(bytes)),
        ),
        ("failed indexes", indexes("failedIndexes", hyphens(bytes))),
        (
            "managedBy",
            payload::created(&format!("acme.io/{}", hyphens(bytes))),
        ),
        ("empty UIDs", uids("")),
        ("equal UIDs", uids("a")),
    ]
}

/// What is hostile costs no more than fifteen times what is harmless, byte by byte.
#[test]
fn denials_are_linear_in_the_request() {
    // An update repeats itself, and what comes again costs little.
    let harmless = sized("job created", 1024 * 1024);
    let limit = 15 * fuel(&harmless) / harmless.len() as u64;
    for (name, payload) in hostile(1024 * 1024) {
        let each = fuel(&payload) / payload.len() as u64;
        assert!(each <= limit, "{name}: {each} for a byte, at most {limit}");
    }
    // Few bytes may make many errors.
    for count in [125, 250, 500, 1000, 2000] {
        let status = json!({"uncountedTerminatedPods": {"failed": vec!["a"; count]}});
        let fuel = fuel(&payload::status(status));
        assert!(fuel <= 10_000_000, "{count} equal UIDs: {fuel}");
    }
}

/// Four megabytes and four times the input are enough.
#[test]
fn memory_is_bounded() {
    let mut payloads: Vec<_> = payload::all()
        .into_iter()
        .map(|(_, payload)| payload)
        .collect();
    payloads.push(sized("job update", 2 * 1024 * 1024));
    let hostile = hostile(2 * 1024 * 1024);
    // A value that its children remember, and a key that stands in their paths, both long and with an escape.
    let long = "\\".repeat(1 << 19);
    let job = json!({"template": {"spec": {"managedBy": "x"}}});
    let set = |value: &str| {
        json!({"template": {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
        "spec": {"managedBy": value, "replicatedJobs": vec![job.clone(); 999]}}})
    };
    payloads.push(payload::app_wrapper_of(&json!([set(&long)])));
    payloads.push(payload::app_wrapper_of(&json!({long: set("x")})));
    let (strings, uids) = hostile.split_at(3);
    payloads.extend(strings.iter().map(|(_, payload)| payload.clone()));
    // Lists of the shortest UIDs are the exception: three bytes make an entry of twelve, and one more to sort them by.
    for (name, payload) in uids {
        let memory = POLICY.measure("validate", payload).unwrap().memory;
        assert!(memory <= 24 * payload.len() as u64, "{name}: {memory}");
    }
    for payload in payloads {
        let memory = POLICY.measure("validate", &payload).unwrap().memory;
        let allowed = 4 * 1024 * 1024 + 4 * payload.len() as u64;
        assert!(
            memory <= allowed,
            "{memory} bytes for a request of {}",
            payload.len()
        );
    }
}
