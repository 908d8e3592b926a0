//! Requests of a given size: what a Job update looks like to the guest, with a pod template that fills it up.

use managed_by::rules;
use managed_by_testing::admission;
use serde_json::{Map, Value, json};

/// The sizes that budgets speak of, in bytes.
pub(crate) const SIZES: [(&str, usize); 2] = [("6 KB", 6 * 1024), ("118 KB", 118 * 1024)];

/// An accepted request of a cost that budgets speak of.
pub(crate) struct Sized {
    pub(crate) name: String,
    pub(crate) payload: Vec<u8>,
}

/// All of them: updates of a Job and of its status in each size, and statuses that are long lists.
pub(crate) fn all() -> Vec<Sized> {
    let mut all = Vec::new();
    for (size, bytes) in SIZES {
        all.push(Sized {
            name: format!("job update of {size}"),
            payload: job_update(bytes),
        });
        all.push(Sized {
            name: format!("status update of {size}"),
            payload: status_update(bytes),
        });
    }
    for (size, bytes) in SIZES {
        all.push(Sized {
            name: format!("rayjob status update of {size}"),
            payload: ray_job(bytes),
        });
    }
    all.push(Sized {
        name: "appwrapper of 118 KB with 50 components".to_owned(),
        payload: app_wrapper(SIZES[1].1, 50),
    });
    all.push(Sized {
        name: "jobset with 1000 nested values, warn".to_owned(),
        payload: nested(1000, "warn"),
    });
    all.push(Sized {
        name: "10000 completed and 10000 failed intervals".to_owned(),
        payload: intervals(10_000),
    });
    all.push(Sized {
        name: "1000 uncounted UIDs".to_owned(),
        payload: uncounted(1000),
    });
    for (name, controller) in [("delegated", Some(199)), ("standard", None)] {
        all.push(Sized {
            name: format!("{name} job created with large settings"),
            payload: with_large_settings(controller),
        });
    }
    all
}

/// A CREATE under settings with 200 controllers, 200 namespaces and every rule, of a Job that is delegated to one of the
/// controllers, in the namespace that comes last.
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
    let delegation = |i: usize| {
        let pattern = if i == 199 {
            "default".to_owned()
        } else {
            format!("team-{i:03}-*")
        };
        json!({"match": [pattern], "delegation": "allowed"})
    };
    let namespaces: Vec<Value> = (0..200).map(delegation).collect();
    let rules: Map<_, _> = rules()
        .iter()
        .map(|rule| (rule.id().to_owned(), "deny".into()))
        .collect();
    let mut job = job(&[]);
    if let Some(spec) = job["spec"].as_object_mut() {
        spec.remove("managedBy");
        spec.extend(controller.map(|i| ("managedBy".to_owned(), name(i).into())));
    }
    let request = json!({
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": {"group": "batch", "version": "v1", "kind": "Job"},
        "resource": {"group": "batch", "version": "v1", "resource": "jobs"},
        "name": "pi",
        "namespace": "default",
        "operation": "CREATE",
        "userInfo": {"username": "ana", "groups": ["system:authenticated"]},
        "object": job,
    });
    let settings = json!({"controllers": controllers, "namespaces": namespaces, "rules": rules});
    admission::payload(&request, &settings)
}

/// An UPDATE of a delegated Job whose payload has `size` bytes, give or take 100.
pub(crate) fn job_update(size: usize) -> Vec<u8> {
    padded(size, |env| {
        let (mut old, mut new) = (job(env), job(env));
        old["spec"]["suspend"] = true.into();
        new["spec"]["suspend"] = false.into();
        update("", &old, &new)
    })
}

/// A CREATE of a delegated Job whose payload has `size` bytes, give or take 100.
pub(crate) fn job_create(size: usize) -> Vec<u8> {
    padded(size, |env| {
        let request = json!({
            "kind": {"group": "batch", "version": "v1", "kind": "Job"},
            "operation": "CREATE",
            "object": job(env),
        });
        admission::payload(&request, &json!({}))
    })
}

/// A status update of a delegated Job, to Complete, whose payload has `size` bytes, give or take 100.
pub(crate) fn status_update(size: usize) -> Vec<u8> {
    padded(size, |env| {
        let (mut old, mut new) = (job(env), job(env));
        let met = json!({"type": "SuccessCriteriaMet", "status": "True", "reason": "CompletionsReached",
            "lastProbeTime": "2026-11-20T09:04:59Z", "lastTransitionTime": "2026-11-20T09:04:59Z"});
        let mut complete = met.clone();
        complete["type"] = "Complete".into();
        old["status"] = json!({"startTime": "2026-11-20T09:00:01Z", "terminating": 1, "ready": 0, "succeeded": 2,
            "completedIndexes": "0,2", "uncountedTerminatedPods": {"succeeded": ["0e6f1f6d-5d5c-4f0e-9a3b-2c3d4e5f6a7c"]},
            "conditions": [met]});
        new["status"] = json!({"startTime": "2026-11-20T09:00:01Z", "terminating": 0, "ready": 0, "succeeded": 3,
            "completedIndexes": "0-2", "uncountedTerminatedPods": {}, "completionTime": "2026-11-20T09:05:00Z",
            "conditions": [met, complete]});
        update("status", &old, &new)
    })
}

/// A status update that brings in `count` intervals of completed indexes and as many of failed ones, none adjacent.
pub(crate) fn intervals(count: usize) -> Vec<u8> {
    let mut old = job(&[]);
    old["spec"]["completions"] = (count * 8).into();
    old["spec"]["backoffLimitPerIndex"] = 1.into();
    let mut new = old.clone();
    let list = |from: usize| {
        let interval = |i: usize| format!("{}-{}", i * 8 + from, i * 8 + from + 1);
        (0..count).map(interval).collect::<Vec<_>>().join(",")
    };
    new["status"]["completedIndexes"] = list(0).into();
    new["status"]["failedIndexes"] = list(4).into();
    update("status", &old, &new)
}

/// A status update that brings in `count` pods that are not counted yet, half of them succeeded.
pub(crate) fn uncounted(count: usize) -> Vec<u8> {
    let old = job(&[]);
    let mut new = old.clone();
    let uids = |numbers: std::ops::Range<usize>| {
        // In no order, as they come.
        let uid = |i: usize| {
            format!(
                "{:08x}-5d5c-4f0e-9a3b-2c3d4e5f6a7b",
                i * 2_654_435_761 % (1 << 32)
            )
        };
        numbers.map(uid).collect::<Vec<_>>()
    };
    new["status"]["uncountedTerminatedPods"] =
        json!({"succeeded": uids(0..count / 2), "failed": uids(count / 2..count)});
    update("status", &old, &new)
}

/// What `make` makes of as many environment variables as it takes to fill `size` bytes.
fn padded(size: usize, make: impl Fn(&[Value]) -> Vec<u8>) -> Vec<u8> {
    let mut env = Vec::new();
    loop {
        let payload = make(&env);
        if payload.len() + 100 > size {
            return payload;
        }
        // As many as are missing, by halves, so that a large payload does not take long.
        for _ in 0..((size - payload.len()) / 400).max(1) {
            let i = env.len();
            env.push(
                json!({"name": format!("VARIABLE_{i}"), "value": format!("a value, number {i}")}),
            );
        }
    }
}

/// A status update of a RayJob, its cluster's pod template filled up.
fn ray_job(size: usize) -> Vec<u8> {
    padded(size, |env| {
        let pod = job(env)["spec"]["template"].clone();
        let cluster = json!({"rayVersion": "2.46.0", "headGroupSpec": {"rayStartParams": {}, "template": pod}});
        let object = |status: Value| {
            json!({"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": "pi", "namespace": "default"},
                "spec": {"managedBy": "kueue.x-k8s.io/multikueue", "entrypoint": "python pi.py", "rayClusterSpec": cluster},
                "status": status})
        };
        let time = "2026-11-20T09:00:01Z";
        let old = object(
            json!({"jobDeploymentStatus": "Running", "jobStatus": "RUNNING", "startTime": time, "failed": 0}),
        );
        let new = object(
            json!({"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED", "startTime": time,
            "endTime": "2026-11-20T09:10:01Z", "failed": 0, "succeeded": 1}),
        );
        update_of(["ray.io", "v1", "RayJob", "rayjobs"], "status", &old, &new)
    })
}

/// An update of an AppWrapper of so many Jobs, their pod templates filled up.
fn app_wrapper(size: usize, components: usize) -> Vec<u8> {
    padded(size, |env| {
        // What fills one Job is shared out among all.
        let share = env.len() / components;
        let mut component = json!({"apiVersion": "batch/v1", "kind": "Job"});
        component["spec"] = json!({"template": job(&env[..share])["spec"]["template"]});
        let object = |suspend: bool| {
            json!({"apiVersion": "workload.codeflare.dev/v1beta2", "kind": "AppWrapper", "metadata": {"name": "pi"},
                "spec": {"suspend": suspend, "components": vec![json!({"template": component}); components]}})
        };
        let kind = [
            "workload.codeflare.dev",
            "v1beta2",
            "AppWrapper",
            "appwrappers",
        ];
        update_of(kind, "", &object(true), &object(false))
    })
}

/// An update of a JobSet that brings in so many values that nobody runs.
pub(crate) fn nested(count: usize, enforcement: &str) -> Vec<u8> {
    let object = |value: &str| {
        let job = json!({"template": {"spec": {"managedBy": value}}});
        json!({"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "pi"},
            "spec": {"replicatedJobs": vec![job; count]}})
    };
    let kind = ["jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets"];
    let request = request_of(kind, "", &object("acme.io/x"), &object("acme.io/y"));
    admission::payload(
        &request,
        &json!({"rules": {"managed-by/nested": enforcement}}),
    )
}

fn update(sub_resource: &str, old: &Value, new: &Value) -> Vec<u8> {
    update_of(["batch", "v1", "Job", "jobs"], sub_resource, old, new)
}

fn update_of(kind: [&str; 4], sub_resource: &str, old: &Value, new: &Value) -> Vec<u8> {
    admission::payload(&request_of(kind, sub_resource, old, new), &json!({}))
}

fn request_of(
    [group, version, kind, resource]: [&str; 4],
    sub_resource: &str,
    old: &Value,
    new: &Value,
) -> Value {
    let kind = json!({"group": group, "version": version, "kind": kind});
    let resource = json!({"group": group, "version": version, "resource": resource});
    let mut request = json!({
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": kind,
        "resource": resource,
        "requestKind": kind,
        "requestResource": resource,
        "name": "pi",
        "namespace": "default",
        "operation": "UPDATE",
        "userInfo": {"username": "ana", "groups": ["system:authenticated"]},
        "object": new,
        "oldObject": old,
        "dryRun": false,
        "options": {"apiVersion": "meta.k8s.io/v1", "kind": "UpdateOptions"},
    });
    if !sub_resource.is_empty() {
        request["subResource"] = sub_resource.into();
        request["requestSubResource"] = sub_resource.into();
    }
    request
}

fn job(env: &[Value]) -> Value {
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "pi",
            "namespace": "default",
            "uid": "0e6f1f6d-5d5c-4f0e-9a3b-2c3d4e5f6a7b",
            "resourceVersion": "123456",
            "generation": 2,
            "creationTimestamp": "2026-11-20T09:00:00Z",
            "labels": {"kueue.x-k8s.io/queue-name": "team-a"},
        },
        "spec": {
            "managedBy": "kueue.x-k8s.io/multikueue",
            "parallelism": 3,
            "completions": 3,
            "completionMode": "Indexed",
            "backoffLimit": 6,
            "suspend": false,
            "template": {
                "metadata": {"labels": {"batch.kubernetes.io/job-name": "pi"}},
                "spec": {
                    "containers": [{
                        "name": "pi",
                        "image": "registry.example.com/team-a/pi:1.2.3",
                        "command": ["perl", "-Mbignum=bpi", "-wle", "print bpi(2000)"],
                        "env": env,
                        "resources": {"requests": {"cpu": "1", "memory": "1Gi"}},
                    }],
                    "restartPolicy": "Never",
                },
            },
        },
        "status": {"active": 0, "startTime": "2026-11-20T09:00:01Z"},
    })
}

/// A status update to `status`.
pub(crate) fn status(status: &Value) -> Vec<u8> {
    let mut old = job(&[]);
    old["spec"]["completions"] = 5.into();
    old["spec"]["backoffLimitPerIndex"] = 1.into();
    let mut new = old.clone();
    new["status"] = status.clone();
    update("status", &old, &new)
}

/// The creation of a Job with that value.
pub(crate) fn created(managed_by: &str) -> Vec<u8> {
    let mut job = job(&[]);
    job["spec"]["managedBy"] = managed_by.into();
    let payload = update("", &job, &job);
    let mut payload: Value = serde_json::from_slice(&payload).unwrap();
    payload["request"]["operation"] = "CREATE".into();
    payload["request"]
        .as_object_mut()
        .unwrap()
        .remove("oldObject");
    payload.to_string().into_bytes()
}

/// The creation of an `AppWrapper` with those components.
pub(crate) fn app_wrapper_of(components: &Value) -> Vec<u8> {
    let request = json!({
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": {"group": "workload.codeflare.dev", "version": "v1beta2", "kind": "AppWrapper"},
        "resource": {"group": "workload.codeflare.dev", "version": "v1beta2", "resource": "appwrappers"},
        "name": "x", "namespace": "default", "operation": "CREATE", "userInfo": {"username": "ana"},
        "object": {"metadata": {"name": "x"}, "spec": {"components": components}},
    });
    admission::payload(&request, &json!({}))
}
