//! Corners that two unfriendly readings found. `cases/settings.yml` has what happens to somebody who installs the policy
//! without reading.

use serde_json::{Value, json};
use xtask::kinds::objects::request;

use crate::support::{Answer, everywhere};
use managed_by::Kind;

fn kind(group: &str, version: &'static str, name: &str) -> (&'static Kind<'static>, &'static str) {
    (Kind::find(group, version, name).unwrap(), version)
}

fn job() -> (&'static Kind<'static>, &'static str) {
    kind("batch", "v1", "Job")
}

fn create(kind: (&Kind<'_>, &str), object: &Value, settings: &Value) -> Answer {
    let mut request = request(kind, "CREATE", "", &Value::Null, object);
    request["namespace"] = "team-a".into();
    everywhere(&request, settings)
}

/// Settings that say who delegates what to whom, each in one way.
fn saying_who_delegates() -> [Value; 4] {
    [
        json!({"role": "hybrid"}),
        json!({"role": "worker"}),
        json!({"controllers": {"acme.io/runner": {}}}),
        json!({"namespaces": [{"match": ["lab"], "delegation": "required"}]}),
    ]
}

/// PolicyServer takes 2 MiB, and an update carries the object twice, as Go writes it.
#[test]
fn an_object_whose_updates_are_too_large_is_denied_where_the_settings_say_who_delegates() {
    let with = |text: String| json!({"metadata": {"name": "x"}, "spec": {"managedBy": "acme.io/runner", "template": {"spec": {"containers": [{"args": [text]}]}}}});
    let size = |object: &Value| object.to_string().len();
    let empty = size(&with(String::new()));
    let fired = ["managed-by/updates-too-large spec"];
    for (object, is_too_large) in [
        (with("x".repeat(983_040 - empty)), false),
        (with("x".repeat(983_041 - empty)), true),
        // PolicyServer hands these on as one byte; kube-apiserver sends six.
        (with("<".repeat(150_000)), false),
        (with("<".repeat(190_000)), true),
        (with("\u{2028}".repeat(170_000)), true),
        (with("é".repeat(400_000)), false),
    ] {
        for settings in saying_who_delegates() {
            let mut settings = settings;
            settings["rules"] = json!({"managed-by/delegation": "off"});
            let answer = create(job(), &object, &settings);
            let expected = if is_too_large { &fired[..] } else { &[] };
            assert_eq!(
                answer.denied(),
                expected,
                "{settings}, {} bytes",
                size(&object)
            );
        }
        let answer = create(job(), &object, &json!({}));
        assert!(answer.allowed);
        assert_eq!(answer.warned().len(), usize::from(is_too_large));
    }
    // What is stored is not judged again; what grows is.
    let (small, large) = (with(String::new()), with("x".repeat(990_000)));
    let settings = json!({"role": "hybrid"});
    for (sub_resource, old, new, expected) in [
        ("", &large, &large, &[][..]),
        ("status", &large, &large, &[]),
        ("", &small, &large, &fired),
        ("", &large, &small, &[]),
    ] {
        let update = request(job(), "UPDATE", sub_resource, old, new);
        let answer = everywhere(&update, &settings);
        assert!(
            answer.denied().contains(&fired[0]) != expected.is_empty(),
            "{:?}",
            answer.denied()
        );
    }
    // Nobody waits for a verdict on the status of a Job that is not delegated, until somebody is listed for it.
    let mut own = with("x".repeat(990_000));
    own["spec"].as_object_mut().unwrap().remove("managedBy");
    let answer = create(job(), &own, &settings);
    assert_eq!((answer.allowed, answer.warned()), (true, fired.to_vec()));
    let listed = json!({"role": "hybrid", "standard_status_writers": {"Job": ["ana"]}});
    assert_eq!(create(job(), &own, &listed).denied(), fired);
}

/// The way to the field is strict; everything else is the business of the kind's schema.
#[test]
fn what_is_not_on_the_way_to_the_field_may_be_of_any_type() {
    for kind in managed_by::kinds().iter().copied() {
        let spec = json!({
            "replicatedJobs": [5, {"template": 5}, null], "components": 5, "rayClusterSpec": "x",
            "rayClusterConfig": [], "retries": {}, "runPolicy": {}, "template": 7,
        });
        // A Job is decoded by kube-apiserver itself.
        let status = match kind.name() {
            "Job" => json!({}),
            _ => json!({"conditions": 5, "replicaStatuses": [5], "restarts": "many", "phase": []}),
        };
        let object = json!({"metadata": {"name": "x"}, "spec": spec, "status": status});
        let answer = create((kind, kind.versions()[0]), &object, &json!({}));
        assert!(
            answer.allowed && answer.warnings.is_empty(),
            "{}: {answer:?}",
            kind.name()
        );
    }
}

/// A list that is too long is refused whichever key comes first, by every reading.
#[test]
fn too_many_patterns_are_refused_in_every_order() {
    let patterns: Vec<_> = (0..257).map(|i| format!("n{i}")).collect();
    let patterns = serde_json::to_string(&patterns).unwrap();
    for entry in [
        format!(r#"{{"delegation":"allowed","match":{patterns}}}"#),
        format!(r#"{{"match":{patterns},"delegation":"allowed"}}"#),
    ] {
        let settings: Value =
            serde_json::from_str(&format!(r#"{{"namespaces":[{entry}]}}"#)).unwrap();
        let refusal = xtask::judge::refusal(&settings).unwrap();
        assert!(
            refusal.contains("got 257 items, expected at most 256"),
            "{refusal}"
        );
        let object = json!({"metadata": {"name": "x"}, "spec": {}});
        assert_eq!(create(job(), &object, &settings).code, Some(500));
    }
}
