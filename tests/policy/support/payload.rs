//! Requests of a given size: what a Job update looks like to the guest, with a pod template that fills it up.

use managed_by_engine::admission;
use serde_json::{Value, json};

/// The sizes that budgets speak of, in bytes.
pub(crate) const SIZES: [(&str, usize); 2] = [("6 KB", 6 * 1024), ("118 KB", 118 * 1024)];

/// An accepted UPDATE of a delegated Job whose payload has `size` bytes, give or take 100.
pub(crate) fn job_update(size: usize) -> Vec<u8> {
    let mut env = Vec::new();
    loop {
        let payload = update(&env);
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

fn update(env: &[Value]) -> Vec<u8> {
    let old = job(env, true);
    let new = job(env, false);
    let request = json!({
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": {"group": "batch", "version": "v1", "kind": "Job"},
        "resource": {"group": "batch", "version": "v1", "resource": "jobs"},
        "requestKind": {"group": "batch", "version": "v1", "kind": "Job"},
        "requestResource": {"group": "batch", "version": "v1", "resource": "jobs"},
        "name": "pi",
        "namespace": "default",
        "operation": "UPDATE",
        "userInfo": {"username": "ana", "groups": ["system:authenticated"]},
        "object": new,
        "oldObject": old,
        "dryRun": false,
        "options": {"apiVersion": "meta.k8s.io/v1", "kind": "UpdateOptions"},
    });
    admission::payload(&request, &json!({}))
}

fn job(env: &[Value], suspend: bool) -> Value {
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
            "suspend": suspend,
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
