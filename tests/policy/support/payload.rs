//! Payloads for cost tests, made from `costs/requests.yml`: unchanged, padded to a size, or with long lists or settings.

use std::sync::LazyLock;

use managed_by::rules;
use managed_by_testing::{admission, root};
use serde_json::{Map, Value, json};

/// Number of components in an `AppWrapper`.
const COMPONENTS: usize = 50;

static REQUESTS: LazyLock<Value> = LazyLock::new(|| {
    let text = std::fs::read_to_string(root("tests/policy/costs/requests.yml")).unwrap();
    let mut requests: serde_yaml_ng::Value = serde_yaml_ng::from_str(&text).unwrap();
    requests.apply_merge().unwrap();
    serde_json::to_value(requests).unwrap()
});

fn payload(request: &Value) -> Vec<u8> {
    admission::payload(request, &json!({}))
}

/// Pads a request with environment variables to `size` bytes, give or take 100.
pub(crate) fn sized(request: &str, size: usize) -> Vec<u8> {
    payload(&padded(request, size))
}

/// Returns a status update of 6 KB with settings for 200 controllers and 200 namespaces.
pub(crate) fn status_update_with_controllers_and_namespaces() -> Vec<u8> {
    let controllers: Map<_, _> = (0..200)
        .map(|i| (format!("acme.io/runner-{i}"), "any".into()))
        .collect();
    let namespaces: Vec<_> = (0..200)
        .map(|i| json!({"match": [format!("team-{i}-*")], "delegation": "allowed"}))
        .collect();
    let settings = json!({"controllers": controllers, "namespaces": namespaces});
    admission::payload(&padded("status update", 6 * 1024), &settings)
}

fn padded(request: &str, size: usize) -> Value {
    let mut env = Vec::new();
    loop {
        let mut request = REQUESTS[request].clone();
        fill(&mut request, &env);
        let payload = payload(&request);
        if payload.len() + 100 > size {
            return request;
        }
        // Adds about half of the missing bytes at once, to serialize large payloads only a few times.
        for _ in 0..((size - payload.len()) / 400).max(1) {
            let i = env.len();
            env.push(
                json!({"name": format!("VARIABLE_{i}"), "value": format!("a value, number {i}")}),
            );
        }
    }
}

/// Replaces each list of environment variables. The components of an `AppWrapper` get equal shares.
fn fill(value: &mut Value, env: &[Value]) {
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                match (key.as_str(), member) {
                    ("env", member) => *member = env.into(),
                    ("components", member) => {
                        fill(&mut member[0], &env[..env.len() / COMPONENTS]);
                        *member = vec![member[0].clone(); COMPONENTS].into();
                    }
                    (_, member) => fill(member, env),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| fill(item, env)),
        _ => {}
    }
}

/// Returns the creation of a Job with settings for 200 controllers, 200 namespaces and every rule.
///
/// The Job is delegated to the given controller, or has no `managedBy`. The last entry of `namespaces` matches its namespace.
pub(crate) fn with_large_settings(controller: Option<usize>) -> Vec<u8> {
    let name = |i: usize| format!("controller-{i:03}.acme.io/runner");
    let entry = |i: usize| {
        json!({
            "kinds": ["Job"],
            "namespaces": ["default", format!("team-{i:03}-*")],
            "status_writers": [format!("system:serviceaccount:controller-{i:03}:manager")],
        })
    };
    let controllers: Map<_, _> = (0..200).map(|i| (name(i), entry(i))).collect();
    let patterns = (0..199).map(|i| format!("team-{i:03}-*"));
    let namespaces: Vec<_> = patterns
        .chain(["default".to_owned()])
        .map(|pattern| json!({"match": [pattern], "delegation": "allowed"}))
        .collect();
    let rules = rules().iter().map(|rule| (rule.id(), "deny"));
    let rules: Map<_, _> = rules
        .map(|(id, level)| (id.to_owned(), level.into()))
        .collect();
    let mut request = REQUESTS["job created"].clone();
    let spec = request["object"]["spec"].as_object_mut().unwrap();
    spec.remove("managedBy");
    spec.extend(controller.map(|i| ("managedBy".to_owned(), name(i).into())));
    let settings = json!({"controllers": controllers, "namespaces": namespaces, "rules": rules});
    admission::payload(&request, &settings)
}

/// Returns a status update of a Job, with the change that `change` makes to the status.
fn status_update(completions: Option<usize>, change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut request = REQUESTS["status update"].clone();
    let mut job = REQUESTS["job created"]["object"].clone();
    if let Some(completions) = completions {
        job["spec"]["completions"] = completions.into();
        job["spec"]["backoffLimitPerIndex"] = 1.into();
    }
    request["oldObject"] = job.clone();
    change(&mut job["status"]);
    request["object"] = job;
    payload(&request)
}

/// Returns a status update that replaces the status.
pub(crate) fn status(status: Value) -> Vec<u8> {
    status_update(Some(5), |old| *old = status)
}

/// Returns a status update that adds `count` intervals of completed indexes and as many of failed ones, none adjacent.
pub(crate) fn intervals(count: usize) -> Vec<u8> {
    let list = |from: usize| {
        let interval = |i: usize| format!("{}-{}", i * 8 + from, i * 8 + from + 1);
        (0..count).map(interval).collect::<Vec<_>>().join(",")
    };
    status_update(Some(count * 8), |status| {
        status["completedIndexes"] = list(0).into();
        status["failedIndexes"] = list(4).into();
    })
}

/// Returns a status update that adds `count` uncounted pods, half of them succeeded.
pub(crate) fn uncounted(count: usize) -> Vec<u8> {
    // In pseudorandom order, as in a cluster.
    let uid = |i: usize| {
        let first = i * 2_654_435_761 % (1 << 32);
        format!("{first:08x}-5d5c-4f0e-9a3b-2c3d4e5f6a7b")
    };
    let uids = |numbers: std::ops::Range<usize>| numbers.map(uid).collect::<Value>();
    status_update(None, |status| {
        status["uncountedTerminatedPods"] =
            json!({"succeeded": uids(0..count / 2), "failed": uids(count / 2..count)});
    })
}

/// Returns an update of a JobSet that changes the `managedBy` of `count` child Jobs, each to a value that `managed-by/template`
/// reports.
pub(crate) fn nested(count: usize, enforcement: &str) -> Vec<u8> {
    let mut request = REQUESTS["jobset update"].clone();
    for (member, value) in [("oldObject", "acme.io/x"), ("object", "acme.io/y")] {
        let job = json!({"template": {"spec": {"managedBy": value}}});
        request[member]["spec"]["replicatedJobs"] = vec![job; count].into();
    }
    let settings = json!({"rules": {"managed-by/template": enforcement}});
    admission::payload(&request, &settings)
}

/// Converts an update in the file into the creation of its new object.
fn creation(update: &str) -> Value {
    let mut request = REQUESTS[update].clone();
    request["operation"] = "CREATE".into();
    request["options"]["kind"] = "CreateOptions".into();
    request.as_object_mut().unwrap().remove("oldObject");
    request
}

/// Returns the creation of a Job with a value of `managedBy`.
pub(crate) fn job_create(managed_by: &str) -> Vec<u8> {
    let mut request = creation("job update");
    request["object"]["spec"]["managedBy"] = managed_by.into();
    payload(&request)
}

/// Returns the creation of an `AppWrapper` with the given components.
pub(crate) fn app_wrapper_create(components: &Value) -> Vec<u8> {
    let mut request = creation("appwrapper update");
    request["object"]["spec"]["components"] = components.clone();
    payload(&request)
}
