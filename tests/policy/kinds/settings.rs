//! Site rules on kinds other than Jobs.

use super::{find, request, with};
use crate::support::everywhere;
use serde_json::{Value, json};

const MULTIKUEUE: &str = "kueue.x-k8s.io/multikueue";

/// A template counts as what is made of it: `kinds: [RayJob]` is about a RayCronJob too, and not about a RayCluster.
#[test]
fn an_allow_list_names_what_is_made() {
    let settings = json!({"controllers": {MULTIKUEUE: {"kinds": ["RayJob", "TrainJob"]}}});
    for (kind, allowed) in [
        ("RayJob", true),
        ("RayCronJob", true),
        ("RayCluster", false),
        ("OptimizationJob", true),
        ("JobSet", false),
        ("CronJob", false),
    ] {
        let kind = find(kind);
        let object = with(kind.0, Some(MULTIKUEUE));
        let answer = everywhere(
            &request(kind, "CREATE", "", &Value::Null, &object),
            &settings,
        );
        assert_eq!(answer.allowed, allowed, "{answer:?}");
        if !allowed {
            let path = kind.0.managed_by_path();
            assert_eq!(answer.denied(), [format!("managed-by/allowed {path}")]);
        }
    }
}

/// The writer rule holds for every kind with a status, in the words of the resource.
#[test]
fn the_status_of_a_delegated_workload_has_its_writers() {
    let settings =
        json!({"controllers": {MULTIKUEUE: {"status_writers": ["system:serviceaccount:k:m"]}}});
    for kind in [
        "JobSet",
        "RayJob",
        "PyTorchJob",
        "MPIJob v2beta1",
        "PipelineRun",
    ] {
        let kind = find(kind);
        let old = with(kind.0, Some(MULTIKUEUE));
        let mut new = old.clone();
        new["status"] = json!({"conditions": []});
        let mut request = request(kind, "UPDATE", "status", &old, &new);
        let answer = everywhere(&request, &settings);
        assert_eq!(answer.denied(), ["status-writer/delegated status"]);
        assert_eq!(answer.code, Some(403));
        request["userInfo"] = json!({"username": "system:serviceaccount:k:m"});
        assert!(everywhere(&request, &settings).allowed);
    }
}

/// Advice that another rule or the kind's own API would refuse is none.
#[test]
fn what_must_be_delegated_is_told_to_whom_it_may_be() {
    for (kind, controllers, advice) in [
        (
            "TrainJob",
            json!({"acme.io/a": {}, MULTIKUEUE: {}}),
            MULTIKUEUE,
        ),
        (
            "JobSet",
            json!({"acme.io/a": {}, MULTIKUEUE: {}}),
            "acme.io/a",
        ),
        ("JobSet", Value::Null, MULTIKUEUE),
        ("TrainJob", json!({"acme.io/a": {}}), ""),
        ("JobSet", json!({"acme.io/a": {"kinds": ["Job"]}}), ""),
    ] {
        let mut settings = json!({"role": "management"});
        if !controllers.is_null() {
            settings["controllers"] = controllers;
        }
        let (profile, version) = find(kind);
        let object = with(profile, None);
        let request = request((profile, version), "CREATE", "", &Value::Null, &object);
        let message = everywhere(&request, &settings).message().to_owned();
        let expected = match advice {
            "" => "(role management), but the settings list no controller for it [".to_owned(),
            name => format!("(role management), to {name:?} for example ["),
        };
        assert!(message.contains(&expected), "{message}");
    }
}
