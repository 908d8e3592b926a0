//! What a request of a kind costs that the settings declare. `cases/custom_kinds.yml` has the verdicts.

use managed_by_testing::admission;
use serde_json::{Value, json};

use crate::costs::fuel;

const MULTIKUEUE: &str = "kueue.x-k8s.io/multikueue";

fn request(kind: &Value, operation: &str, sub_resource: &str, old: &Value, new: &Value) -> Value {
    json!({
        "uid": "1", "kind": kind, "name": "x", "namespace": "team-a", "operation": operation,
        "subResource": sub_resource, "userInfo": {"username": "ana"}, "object": new, "oldObject": old,
    })
}

/// A declared kind with the shape of a built-in one.
fn twin() -> Value {
    json!({"custom_kinds": [{
        "group": "ray.example.com",
        "kind": "RayJob",
        "plural": "rayjobs",
        "reserved": "ray.io/kuberay-operator",
        "form": ["ray.io/kuberay-operator", MULTIKUEUE],
        "status": {
            "success": {"path": "status.jobDeploymentStatus", "values": ["Complete"]},
            "failure": {"path": "status.jobDeploymentStatus", "values": ["Failed"]},
            "start": "status.startTime",
            "end": "status.endTime",
            "totals": ["status.succeeded", "status.failed"],
        },
    }]})
}

/// A request of a declared kind costs at most 1.3 times one of a built-in kind of the same shape.
#[test]
fn a_declared_kind_costs_little_more_than_a_built_in_one() {
    let cost = |request: &Value, settings: &Value| fuel(&admission::payload(request, settings));
    for bytes in [6 * 1024, 118 * 1024] {
        let template = json!({"containers": [{"name": "ray", "image": "x", "args": ["--flag=value", "--other=value", "--more"]}]});
        let count = bytes / 2 / template.to_string().len();
        let state = |state: &str| {
            json!({
                "metadata": {"name": "x", "namespace": "team-a"},
                "spec": {"managedBy": MULTIKUEUE, "rayClusterSpec": {"workerGroupSpecs": vec![&template; count]}},
                "status": {"jobDeploymentStatus": state, "startTime": "2026-11-20T09:00:00Z", "succeeded": 0},
            })
        };
        let update = |group: &str| {
            let kind = json!({"group": group, "version": "v1", "kind": "RayJob"});
            request(
                &kind,
                "UPDATE",
                "status",
                &state("Running"),
                &state("Complete"),
            )
        };
        let built_in = cost(&update("ray.io"), &json!({}));
        let declared = cost(&update("ray.example.com"), &twin());
        assert!(
            declared * 10 <= built_in * 13,
            "{bytes} bytes: {built_in}, {declared}"
        );
    }
}

/// Declared kinds cost a request of another kind no more than passing over their bytes.
#[test]
fn other_kinds_pay_for_the_bytes_of_the_entries_alone() {
    let entry = |index: usize| {
        let mut entry = twin()["custom_kinds"][0].clone();
        entry["group"] = format!("ray{index:02}.example.com").into();
        entry
    };
    let job = request(
        &json!({"group": "batch", "version": "v1", "kind": "Job"}),
        "CREATE",
        "",
        &Value::Null,
        &json!({"metadata": {"name": "x"}, "spec": {"managedBy": MULTIKUEUE}}),
    );
    let cost = |count: usize| {
        let settings = json!({"custom_kinds": (0..count).map(entry).collect::<Vec<_>>()});
        let payload = admission::payload(&job, &settings);
        (payload.len() as u64, fuel(&payload))
    };
    let ((bytes_0, fuel_0), (bytes_1, fuel_1), (bytes_64, fuel_64)) = (cost(0), cost(1), cost(64));
    let of_each = |(bytes, fuel): (u64, u64)| (fuel - fuel_0) * 100 / (bytes - bytes_0);
    let (one, all) = (of_each((bytes_1, fuel_1)), of_each((bytes_64, fuel_64)));
    assert!(all <= one * 110 / 100, "{one}, {all}");
}
