//! Compares the fuel of requests and the module's size with the record in `costs.tsv`, and checks that costs grow linearly.
//!
//! wasmi counts 2.9 times as much fuel as wasmtime for a status update. `make update-costs` writes the record.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::LazyLock;
use std::{env, fs};

use crate::support::payload::{self, intervals, sized, uncounted};
use crate::support::{module, root};
use managed_by_testing::{Policy, admission};
use serde_json::{Map, Value, json};
use xtask::examples;

/// Accepted increase over the record, in percent.
const TOLERANCE: u64 = 2;

/// Maximum size of the module, in bytes.
const MAX_SIZE: u64 = 400 * 1024;

const RECORD: &str = "tests/policy/costs.tsv";

/// The policy, compiled once for all tests.
static POLICY: LazyLock<Policy> =
    LazyLock::new(|| Policy::load_unannotated(&module("policy.wasm")).unwrap());

/// Returns the fuel of a call of `validate`.
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

/// Returns the valid settings that cost most to validate.
///
/// Validation compares each pattern with the patterns that contain `*`, and each entry of a list with the entries before it.
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

/// Measures the current costs by name. The fuel of a request excludes the SDK and the host (`noop.wasm`); the fuel of settings does
/// not.
fn costs() -> BTreeMap<String, u64> {
    let noop = Policy::load_unannotated(&module("noop.wasm")).unwrap();
    let own = |payload: &[u8]| fuel(payload) - noop.measure("validate", payload).unwrap().fuel;
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
fn costs_do_not_exceed_the_record() {
    let costs = costs();
    if env::var_os("UPDATE_EXPECT").is_some() {
        let mut text = String::new();
        for (name, cost) in &costs {
            writeln!(text, "{name}\t{cost}").unwrap();
        }
        fs::write(root(RECORD), text).unwrap();
    }
    let record = record();
    let names = |costs: &BTreeMap<String, u64>| costs.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&costs), names(&record), "make update-costs");
    for (name, &cost) in &costs {
        let recorded = record[name];
        assert!(
            cost * 100 <= recorded * (100 + TOLERANCE),
            "{name}: {cost}, recorded {recorded}; if it is worth it, `make update-costs`"
        );
    }
}

#[test]
fn module_size_is_within_the_limit() {
    assert!(module("policy.wasm").len() as u64 <= MAX_SIZE);
    assert!(module("annotated-policy.wasm").len() as u64 <= MAX_SIZE);
}

/// A byte of a large request costs at most 1.5 times as much as a byte of a small request.
#[test]
fn cost_is_linear_in_the_request_size() {
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

/// The policy reads the first thousand templates. Further ones cost at most 1.1 times as much as members that no rule reads.
#[test]
fn templates_beyond_the_limit_are_skipped() {
    let job = json!({"template": {"apiVersion": "batch/v1", "kind": "Job", "spec": {"managedBy": "a.io/b"}}});
    let app_wrapper = |count| payload::app_wrapper_create(&json!(vec![job.clone(); count]));
    let (read, all) = (app_wrapper(1000), app_wrapper(10_000));
    let unread = String::from_utf8(all.clone())
        .unwrap()
        .replace("\"components\"", "\"komponents\"");
    let (read, all, unread) = (fuel(&read), fuel(&all), fuel(unread.as_bytes()));
    assert!(
        all <= read + unread * 11 / 10,
        "{all} for ten thousand, {read} for one thousand, {unread} unread"
    );
}

/// Returns denied requests of the given size with the longest messages.
///
/// A soft hyphen is printed as an escape sequence that is three times as long.
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
            payload::job_create(&format!("acme.io/{}", hyphens(bytes))),
        ),
        ("empty UIDs", uids("")),
        ("equal UIDs", uids("a")),
    ]
}

/// A byte of a hostile request costs at most 15 times as much as a byte of an accepted one.
#[test]
fn cost_of_denials_is_linear_in_the_request_size() {
    // A create, because most of an update repeats the old object and costs little.
    let harmless = sized("job created", 1024 * 1024);
    let limit = 15 * fuel(&harmless) / harmless.len() as u64;
    for (name, payload) in hostile(1024 * 1024) {
        let each = fuel(&payload) / payload.len() as u64;
        assert!(each <= limit, "{name}: {each} per byte, at most {limit}");
    }
    // Short requests can cause many errors.
    for count in [125, 250, 500, 1000, 2000] {
        let status = json!({"uncountedTerminatedPods": {"failed": vec!["a"; count]}});
        let fuel = fuel(&payload::status(status));
        assert!(fuel <= 10_000_000, "{count} equal UIDs: {fuel}");
    }
}

/// The module needs at most 4 MiB plus four times the size of the request, or 24 times the size if it is a long list of short UIDs.
#[test]
fn memory_is_bounded() {
    let mut payloads: Vec<_> = payload::all()
        .into_iter()
        .map(|(_, payload)| payload)
        .collect();
    payloads.push(sized("job update", 2 * 1024 * 1024));
    let hostile = hostile(2 * 1024 * 1024);
    // A long value that all children refer to, and a long key in their paths, both with an escape.
    let long = "\\".repeat(1 << 19);
    let job = json!({"template": {"spec": {"managedBy": "x"}}});
    let set = |value: &str| {
        json!({"template": {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
        "spec": {"managedBy": value, "replicatedJobs": vec![job.clone(); 999]}}})
    };
    payloads.push(payload::app_wrapper_create(&json!([set(&long)])));
    payloads.push(payload::app_wrapper_create(&json!({long: set("x")})));
    let (strings, uids) = hostile.split_at(3);
    payloads.extend(strings.iter().map(|(_, payload)| payload.clone()));
    // Except for lists of short UIDs: three bytes become an entry of twelve bytes, and another for sorting.
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
