//! Checks the fuel of requests and the module's size against budgets, and that costs grow linearly.

use std::sync::LazyLock;

use crate::support::module;
use crate::support::payload::{self, intervals, nested, sized, uncounted, with_large_settings};
use managed_by::Settings;
use managed_by_testing::Policy;
use serde_json::{Map, Value, json};

/// Maximum size of `policy.wasm`, in bytes.
const MAX_SIZE: usize = 384_000;

/// The policy, compiled once for all tests.
static POLICY: LazyLock<Policy> =
    LazyLock::new(|| Policy::load_unannotated(&module("policy.wasm")).unwrap());

/// Returns the fuel of a call of `validate`.
pub(crate) fn fuel(payload: &[u8]) -> u64 {
    POLICY.measure("validate", payload).unwrap().fuel
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

/// Measures the validation of settings, which must be valid.
fn settings_fuel(settings: &Value) -> u64 {
    let settings = settings.to_string();
    let problems = Settings::from_json(settings.as_bytes()).err();
    assert_eq!(problems, None);
    let cost = POLICY.measure("validate_settings", settings.as_bytes());
    cost.unwrap().fuel
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

/// Returns requests with their budgets in wasmi's fuel.
///
/// The design's budgets are in wasmtime's fuel, which PolicyServer counts. How much more wasmi counts depends on the request; the ratios
/// were measured with wasmtime 50 on 2026-11-28. The other budgets are at most an eighth above what the requests cost on that day.
fn budgets() -> [(&'static str, Vec<u8>, u64); 14] {
    const SMALL: usize = 6 * 1024;
    const LARGE: usize = 118 * 1024;
    // The design's budget is 230k, 685,900 here. Until the request is within it, its cost must not grow.
    let status_update = 709_400;
    let large_status_update = 3_000_000 * 2_926 / 1000;
    let with_200_controllers_and_namespaces = 900_000 * 2_802 / 1000;
    [
        (
            "status update",
            sized("status update", SMALL),
            status_update,
        ),
        (
            "large status update",
            sized("status update", LARGE),
            large_status_update,
        ),
        (
            "200 controllers and 200 namespaces",
            payload::status_update_with_controllers_and_namespaces(),
            with_200_controllers_and_namespaces,
        ),
        ("job update", sized("job update", SMALL), 650_000),
        ("large job update", sized("job update", LARGE), 9_000_000),
        ("rayjob", sized("rayjob status update", SMALL), 700_000),
        (
            "large rayjob",
            sized("rayjob status update", LARGE),
            9_000_000,
        ),
        ("appwrapper", sized("appwrapper update", LARGE), 12_000_000),
        ("nested, warn", nested(1000, "warn"), 88_000_000),
        ("nested, deny", nested(1000, "deny"), 90_000_000),
        ("intervals", intervals(10_000), 35_000_000),
        ("uncounted", uncounted(1000), 3_700_000),
        ("large settings", with_large_settings(Some(199)), 12_000_000),
        ("no managedBy", with_large_settings(None), 12_000_000),
    ]
}

/// A request costs at most its budget more than with a module that does nothing (`noop.wasm`).
#[test]
fn requests_are_within_their_budgets() {
    let noop = Policy::load_unannotated(&module("noop.wasm")).unwrap();
    for (name, payload, budget) in budgets() {
        let cost = fuel(&payload) - noop.measure("validate", &payload).unwrap().fuel;
        assert!(cost <= budget, "{name}: {cost}, at most {budget}");
    }
}

#[test]
fn module_size_is_within_the_limit() {
    let size = module("policy.wasm").len();
    assert!(size <= MAX_SIZE, "{size}");
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
    let mut payloads: Vec<_> = budgets().map(|(_, payload, _)| payload).into();
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
