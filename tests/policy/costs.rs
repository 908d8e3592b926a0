//! Compares the fuel of requests and the module's size with the record in `costs.tsv`, and checks that costs grow linearly.
//!
//! wasmi counts 2.9 times as much fuel as wasmtime for a status update. `make update-costs` writes the record.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::LazyLock;
use std::{env, fs};

use crate::support::payload::{self, intervals, sized, uncounted};
use crate::support::{module, root};
use managed_by::Settings;
use managed_by_testing::{Policy, admission, examples};
use serde_json::{Map, Value, json};

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

/// Returns `count` texts, made from a prefix and a number.
fn texts(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|i| format!("{prefix}{i}")).collect()
}

/// Returns `count` controllers that may run the given kinds.
fn controllers(count: usize, kinds: &[String]) -> Value {
    let names = texts("acme.io/c", count).into_iter();
    let all: Map<_, _> = names.map(|c| (c, json!({"kinds": kinds}))).collect();
    all.into()
}

/// Returns `count` declared kinds, named `Kind0` and so on, with every list at its limit.
fn custom_kinds(count: usize) -> Value {
    let kind = |i: usize| {
        json!({
            "group": format!("g{i}.acme.io"),
            "kind": format!("Kind{i}"),
            "plural": format!("kind{i}s"),
            "versions": texts("v", 16),
            "format": "any",
            "status": {
                "success": {"path": "status.phase", "values": texts("Succeeded", 16)},
                "failure": {"path": "status.phase", "values": texts("Failed", 16)},
                "start": "status.startTime",
                "end": "status.completionTime",
                "counters": texts("status.counter", 16),
                "totals": texts("status.total", 16),
            },
        })
    };
    (0..count).map(kind).collect::<Vec<_>>().into()
}

/// Returns each section at its limit. Sections that name kinds list all known ones and `declared`; controllers list no namespaces or
/// writers, because a search with full lists would take minutes.
///
/// Validation compares each pattern with the patterns that contain `*`, and each item of a list with the items before it.
fn full_sections(declared: &[String]) -> BTreeMap<&'static str, Value> {
    let kinds: Vec<_> = managed_by::workload_kinds().map(str::to_owned).collect();
    let accepts = |kind: &&String| {
        let settings = json!({"controllers": controllers(1, &[(*kind).clone()])}).to_string();
        Settings::from_json(settings.as_bytes()).is_ok()
    };
    let accepting: Vec<_> = kinds.iter().filter(accepts).cloned().collect();
    let accepting = [&accepting, declared].concat();
    let kinds = [&kinds, declared].concat();
    let namespaces = (0..16).map(|entry| {
        let pattern = |item: usize| match item % 8 {
            0 => format!("*a{entry}b{item}c*"),
            _ => format!("n{entry}-{item}"),
        };
        let patterns: Vec<_> = (0..256).map(pattern).collect();
        json!({"match": patterns, "delegation": "allowed"})
    });
    let users = texts("user-", 256);
    let writers: Map<_, _> = kinds.iter().map(|k| (k.clone(), json!(users))).collect();
    let rules: Map<_, _> = managed_by::rules()
        .iter()
        .map(|rule| (rule.id().to_owned(), "deny".into()))
        .collect();
    BTreeMap::from([
        ("builtin_status_writers", writers.into()),
        ("controllers", controllers(1024, &accepting)),
        ("custom_kinds", custom_kinds(64)),
        (
            "exempt",
            json!({"users": users, "groups": texts("group-", 256)}),
        ),
        ("namespaces", namespaces.collect::<Vec<_>>().into()),
        ("rules", rules.into()),
    ])
}

/// Measures the validation of settings, which must be valid.
fn settings_fuel(settings: &Value) -> u64 {
    let settings = settings.to_string();
    let problems = Settings::from_json(settings.as_bytes()).err();
    assert_eq!(problems, None);
    let cost = POLICY.measure("validate_settings", settings.as_bytes());
    cost.unwrap().fuel
}

/// Searches for the single section and the pair of sections that cost most to validate, and returns them with their fuel.
///
/// A pair shows if a section is decoded for each entry of another one, which the sum of the sections doesn't.
fn worst_settings() -> [(String, u64); 2] {
    let alone = full_sections(&[]);
    let declared = texts("Kind", 64);
    let with_declared = full_sections(&declared);
    let single = |(name, section): (&&'static str, &Value)| {
        ((*name).to_owned(), settings_fuel(&json!({*name: section})))
    };
    let singles: Vec<_> = alone.iter().map(single).collect();
    let mut pairs = Vec::new();
    for first in alone.keys() {
        for second in alone.keys().filter(|second| first < *second) {
            let sections = if [*first, *second].contains(&"custom_kinds") {
                &with_declared
            } else {
                &alone
            };
            let settings = json!({*first: sections[first], *second: sections[second]});
            pairs.push((format!("{first} and {second}"), settings_fuel(&settings)));
        }
    }
    [singles, pairs].map(|all| all.into_iter().max_by_key(|(_, fuel)| *fuel).unwrap())
}

/// Declared kinds add a constant to the cost of other sections: they are not decoded for each controller.
#[test]
fn cost_is_linear_in_the_size_of_each_section() {
    let job = ["Job".to_owned()];
    let settings = |count, kinds| {
        let controllers = controllers(count, &job);
        json!({"controllers": controllers, "custom_kinds": custom_kinds(kinds)})
    };
    let denied = |settings: &Value| {
        let payload = payload::job_create("acme.io/x");
        let mut payload: Value = serde_json::from_slice(&payload).unwrap();
        payload["settings"] = settings.clone();
        fuel(payload.to_string().as_bytes())
    };
    let check = |name: &str, measure: &dyn Fn(&Value) -> u64| {
        let one_kind = measure(&settings(1, 1)) - measure(&settings(1, 0));
        let controllers = measure(&settings(1024, 0));
        let both = measure(&settings(1024, 64));
        let limit = 3 * controllers + 64 * one_kind;
        assert!(both <= limit, "{name}: {both}, at most {limit}");
    };
    check("validation", &settings_fuel);
    check("denied create", &denied);
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
    for (name, fuel) in worst_settings() {
        costs.insert(format!("fuel: settings, {name}"), fuel);
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
