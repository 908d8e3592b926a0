//! Fuel of requests for custom kinds. Their verdicts are in `tests/library/cases/custom_kinds.yml`.

use managed_by_testing::admission;
use serde_json::{Value, json};

use crate::costs::fuel;
use crate::support::payload;

/// Returns length and fuel of a payload with other settings.
fn cost(payload: &Value, settings: &Value) -> (u64, u64) {
    let payload = admission::payload(&payload["request"], settings);
    (payload.len() as u64, fuel(&payload))
}

/// Returns a custom kind with the same fields as the built-in RayJob.
fn custom_ray_job(group: &str) -> Value {
    json!({
        "group": group,
        "kind": "RayJob",
        "plural": "rayjobs",
        "reserved_value": "ray.io/kuberay-operator",
        "format": ["ray.io/kuberay-operator", "kueue.x-k8s.io/multikueue"],
        "status": {
            "success": {"path": "status.jobDeploymentStatus", "values": ["Complete"]},
            "failure": {"path": "status.jobDeploymentStatus", "values": ["Failed"]},
            "start": "status.startTime",
            "end": "status.endTime",
            "totals": ["status.succeeded", "status.failed"],
        },
    })
}

#[test]
fn custom_kind_costs_at_most_1_4_times_a_built_in_kind() {
    for bytes in [6 * 1024, 118 * 1024] {
        let update = payload::sized("rayjob status update", bytes);
        let mut update: Value = serde_json::from_slice(&update).unwrap();
        let (_, built_in) = cost(&update, &json!({}));
        for member in ["kind", "requestKind", "resource", "requestResource"] {
            update["request"][member]["group"] = "ray.example.com".into();
        }
        let settings = json!({"custom_kinds": [custom_ray_job("ray.example.com")]});
        let (_, custom) = cost(&update, &settings);
        assert!(
            custom * 10 <= built_in * 14,
            "{bytes} bytes: {built_in}, {custom}"
        );
    }
}

/// Custom kinds in the settings cost requests of other kinds a constant amount per byte.
#[test]
fn custom_kinds_cost_other_kinds_a_constant_per_byte() {
    let job = payload::job_create("kueue.x-k8s.io/multikueue");
    let job: Value = serde_json::from_slice(&job).unwrap();
    let with = |count: usize| {
        let entries = (0..count).map(|index| custom_ray_job(&format!("ray{index:02}.example.com")));
        let settings = json!({"custom_kinds": entries.collect::<Vec<_>>()});
        cost(&job, &settings)
    };
    let (none, one, all) = (with(0), with(1), with(64));
    let per_byte = |(bytes, fuel): (u64, u64)| (fuel - none.1) * 100 / (bytes - none.0);
    let (one, all) = (per_byte(one), per_byte(all));
    assert!(all <= one * 110 / 100, "{one}, {all}");
}
