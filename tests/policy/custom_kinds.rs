//! What a request of a kind costs that the settings declare. `cases/custom_kinds.yml` has the verdicts.

use managed_by_testing::admission;
use serde_json::{Value, json};

use crate::costs::fuel;
use crate::support::payload;

/// What the payload asks, under other settings: its length and its cost.
fn cost(payload: &Value, settings: &Value) -> (u64, u64) {
    let payload = admission::payload(&payload["request"], settings);
    (payload.len() as u64, fuel(&payload))
}

/// A declared kind with the shape of a built-in one.
fn twin(group: &str) -> Value {
    json!({
        "group": group,
        "kind": "RayJob",
        "plural": "rayjobs",
        "reserved": "ray.io/kuberay-operator",
        "form": ["ray.io/kuberay-operator", "kueue.x-k8s.io/multikueue"],
        "status": {
            "success": {"path": "status.jobDeploymentStatus", "values": ["Complete"]},
            "failure": {"path": "status.jobDeploymentStatus", "values": ["Failed"]},
            "start": "status.startTime",
            "end": "status.endTime",
            "totals": ["status.succeeded", "status.failed"],
        },
    })
}

/// A request of a declared kind costs at most 1.4 times one of a built-in kind of the same shape.
#[test]
fn a_declared_kind_costs_little_more_than_a_built_in_one() {
    for bytes in [6 * 1024, 118 * 1024] {
        let update = payload::sized("rayjob status update", bytes);
        let mut update: Value = serde_json::from_slice(&update).unwrap();
        let (_, built_in) = cost(&update, &json!({}));
        for member in ["kind", "requestKind", "resource", "requestResource"] {
            update["request"][member]["group"] = "ray.example.com".into();
        }
        let settings = json!({"custom_kinds": [twin("ray.example.com")]});
        let (_, declared) = cost(&update, &settings);
        assert!(
            declared * 10 <= built_in * 14,
            "{bytes} bytes: {built_in}, {declared}"
        );
    }
}

/// Declared kinds cost a request of another kind no more than passing over their bytes.
#[test]
fn other_kinds_pay_for_the_bytes_of_the_entries_alone() {
    let job = payload::created("kueue.x-k8s.io/multikueue");
    let job: Value = serde_json::from_slice(&job).unwrap();
    let with = |count: usize| {
        let entries = (0..count).map(|index| twin(&format!("ray{index:02}.example.com")));
        let settings = json!({"custom_kinds": entries.collect::<Vec<_>>()});
        cost(&job, &settings)
    };
    let (none, one, all) = (with(0), with(1), with(64));
    let of_each = |(bytes, fuel): (u64, u64)| (fuel - none.1) * 100 / (bytes - none.0);
    let (one, all) = (of_each(one), of_each(all));
    assert!(all <= one * 110 / 100, "{one}, {all}");
}
