//! What happens to somebody who installs the policy without reading, and the corners that two unfriendly readings found.

use managed_by::Release;
use serde_json::{Value, json};
use xtask::kinds::objects::request;

use crate::support::{Answer, everywhere};
use managed_by::Kind;

const MULTIKUEUE: &str = "kueue.x-k8s.io/multikueue";

fn kind(group: &str, version: &'static str, name: &str) -> (&'static Kind<'static>, &'static str) {
    (Kind::find(group, version, name).unwrap(), version)
}

fn job() -> (&'static Kind<'static>, &'static str) {
    kind("batch", "v1", "Job")
}

fn job_set() -> (&'static Kind<'static>, &'static str) {
    kind("jobset.x-k8s.io", "v1alpha2", "JobSet")
}

fn create(kind: (&Kind<'_>, &str), object: &Value, settings: &Value) -> Answer {
    let mut request = request(kind, "CREATE", "", &Value::Null, object);
    request["namespace"] = "team-a".into();
    everywhere(&request, settings)
}

fn status(
    kind: (&Kind<'_>, &str),
    spec: &Value,
    old: &Value,
    new: &Value,
    settings: &Value,
) -> Answer {
    let with = |status: &Value| json!({"metadata": {"name": "x"}, "spec": spec, "status": status});
    everywhere(
        &request(kind, "UPDATE", "status", &with(old), &with(new)),
        settings,
    )
}

fn delegated() -> Value {
    json!({ "managedBy": MULTIKUEUE })
}

/// The Job controller of 1.30 completes Jobs without `SuccessCriteriaMet`: `{}` must not stop a cluster of that release.
#[test]
fn a_completion_of_a_1_30_control_plane_is_accepted_by_default() {
    let old = json!({"startTime": "2026-01-01T00:00:00Z", "active": 0});
    let new = json!({"startTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T00:01:00Z",
        "succeeded": 1, "conditions": [{"type": "Complete", "status": "True"}]});
    let answer = status(job(), &json!({}), &old, &new, &json!({}));
    assert!(answer.allowed, "{answer:?}");
    assert_eq!(
        answer.warnings,
        [
            "status.conditions: Invalid value: cannot set Complete=True condition without the SuccessCriteriaMet=true condition; \
             kube-apiserver 1.31 to 1.37 denies it, set kubernetes_version to deny it here \
             [job-status/complete-without-success-criteria-met]"
        ]
    );
    for &release in Release::ALL {
        let settings = json!({"kubernetes_version": release.as_str()});
        let answer = status(job(), &json!({}), &old, &new, &settings);
        assert_eq!(answer.allowed, release == Release::V1_30, "{release}");
    }
}

/// What all releases deny is denied, with the text of the newest.
#[test]
fn what_all_releases_deny_is_denied_by_default() {
    let terminal = json!({"conditions": [{"type": "Failed", "status": "True"}]});
    let answer = status(job(), &json!({}), &terminal, &json!({}), &json!({}));
    assert_eq!(
        answer.message(),
        r#"Job.batch "x" is invalid: status.conditions: Invalid value: cannot disable the terminal Failed=True condition"#
    );
}

/// A controller that the admin lists is known, whatever its domain.
#[test]
fn a_listed_controller_under_a_reserved_domain_is_known() {
    let object = json!({"metadata": {"name": "x"}, "spec": {"managedBy": "batch.x-k8s.io/runner"}});
    let answer = create(job(), &object, &json!({}));
    assert_eq!(
        answer.warned(),
        ["managed-by/reserved-domain spec.managedBy"]
    );
    let listed = json!({"controllers": {"batch.x-k8s.io/runner": {}},
        "rules": {"managed-by/reserved-domain": "deny"}});
    let answer = create(job(), &object, &listed);
    assert!(answer.allowed && answer.warnings.is_empty(), "{answer:?}");
}

/// A write through the version without the field, converted before the policy sees it.
#[test]
fn a_write_through_a_version_without_the_field_is_warned_of() {
    let kind = kind("ray.io", "v1", "RayJob");
    let object = json!({"metadata": {"name": "x"}, "spec": {}});
    let mut request = request(kind, "UPDATE", "", &object, &object);
    request["requestKind"] = json!({"group": "ray.io", "version": "v1alpha1", "kind": "RayJob"});
    let answer = everywhere(&request, &json!({}));
    assert_eq!(
        answer.warned(),
        ["managed-by/pruned-version spec.managedBy"]
    );
    request["requestKind"]["version"] = "v1".into();
    assert!(everywhere(&request, &json!({})).warnings.is_empty());
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

/// Where the settings say who delegates, such a write is denied, also one of the status: it would hide the field from them.
#[test]
fn a_write_through_a_version_without_the_field_is_denied_where_the_settings_say_who_delegates() {
    let kind = kind("ray.io", "v1alpha1", "RayCluster");
    let object = json!({"metadata": {"name": "x"}, "spec": {}, "status": {"state": "ready"}});
    let deleted =
        json!({"metadata": {"name": "x", "deletionTimestamp": "2026-11-20T09:00:00Z"}, "spec": {}});
    for settings in saying_who_delegates() {
        let created = create(kind, &object, &settings);
        assert!(
            !created
                .denied()
                .contains(&"managed-by/pruned-version spec.managedBy"),
            "{settings}"
        );
        for sub_resource in ["", "status"] {
            let through = |object: &Value| request(kind, "UPDATE", sub_resource, object, object);
            let answer = everywhere(&through(&object), &settings);
            let denied = answer.denied();
            assert_eq!(
                denied,
                ["managed-by/pruned-version spec.managedBy"],
                "{settings}"
            );
            // Nothing gets in the way of a deletion.
            let answer = everywhere(&through(&deleted), &settings);
            assert!(
                answer.allowed && answer.warnings.is_empty(),
                "{settings}: {answer:?}"
            );
        }
    }
    for settings in [
        json!({}),
        json!({"namespaces": []}),
        json!({"rules": {"managed-by/pruned-version": "warn"}, "role": "worker"}),
    ] {
        let answer = everywhere(
            &request(kind, "UPDATE", "status", &object, &object),
            &settings,
        );
        assert_eq!(
            answer.warned(),
            ["managed-by/pruned-version spec.managedBy"],
            "{settings}"
        );
    }
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

/// A key of the object adds neither an entry to an audit annotation nor a line to a message.
#[test]
fn a_key_of_the_object_cannot_write_into_the_audit_log() {
    let kind = kind("kubeflow.org", "v1", "PyTorchJob");
    let spec = json!({"runPolicy": delegated()});
    for (key, shown) in [
        (
            "x], managed-by/allowed spec.y[",
            r#"["x], managed-by/allowed spec.y["]"#.to_owned(),
        ),
        ("a\nb", r#"["a\nb"]"#.to_owned()),
        (&"k".repeat(300), "[a key of 300 bytes]".to_owned()),
    ] {
        let new = json!({"replicaStatuses": {key: {"active": -1}}});
        let answer = status(kind, &spec, &json!({}), &new, &json!({}));
        let expected = format!("status/negative-counter status.replicaStatuses{shown}.active");
        assert_eq!(answer.annotations["denied"], expected);
        assert!(!answer.message().contains('\n'), "{answer:?}");
    }
}

/// No number and no key is too odd to be judged, and of two members the last counts.
#[test]
fn odd_counters_are_judged() {
    for (text, is_denied) in [
        (r#"{"restarts": -1e21}"#, true),
        (r#"{"restarts": -0.5}"#, true),
        (r#"{"restarts": 1e21}"#, false),
        (r#"{"restarts": -1, "restarts": 1}"#, false),
        (r#"{"restarts": 1, "restarts": -1}"#, true),
        (
            r#"{"replicatedJobsStatus": [{"failed": -1}], "replicatedJobsStatus": []}"#,
            false,
        ),
    ] {
        let status = |text: &str| {
            format!(
                r#"{{"metadata": {{"name": "x"}}, "spec": {{"managedBy": "{MULTIKUEUE}"}}, "status": {text}}}"#
            )
        };
        let request = format!(
            r#"{{"kind": {{"group": "jobset.x-k8s.io", "version": "v1alpha2", "kind": "JobSet"}}, "operation": "UPDATE",
                "subResource": "status", "object": {}, "oldObject": {}}}"#,
            status(text),
            status("{}"),
        );
        let payload = format!(r#"{{"request": {request}, "settings": {{}}}}"#);
        let answer = crate::support::in_engine(payload.as_bytes());
        assert_eq!(!answer.allowed, is_denied, "{text}: {answer:?}");
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

fn management() -> Value {
    json!({"role": "management", "namespaces": [
        {"matchLabels": {"example.com/runs-here": "true"}, "delegation": "allowed"},
        {"match": ["infra-*"], "delegation": "allowed"},
    ]})
}

/// Helm hooks and backups have no queue name, so that no webhook delegates them.
#[test]
fn an_entry_by_label_lets_a_job_run_here() {
    let with = |labels: Value| json!({"metadata": {"name": "x", "labels": labels}, "spec": {}});
    for (labels, allowed) in [
        (json!({"example.com/runs-here": "true"}), true),
        (json!({"example.com/runs-here": "false"}), false),
        (json!({"other": "true"}), false),
        (json!(null), false),
        (json!("odd"), false),
    ] {
        let answer = create(job(), &with(labels.clone()), &management());
        assert_eq!(answer.allowed, allowed, "{labels}: {answer:?}");
    }
}

/// The Jobs of a CronJob that does not delegate are denied later, where nobody looks: the CronJob says so.
#[test]
fn a_cron_job_whose_jobs_would_be_denied_is_warned_of() {
    let cron_job = kind("batch", "v1", "CronJob");
    let object = json!({"metadata": {"name": "x"}, "spec": {"jobTemplate": {"spec": {}}}});
    let answer = create(cron_job, &object, &management());
    assert!(answer.allowed, "{answer:?}");
    assert_eq!(
        answer.warnings,
        [
            "spec.jobTemplate.spec.managedBy: each Job made of this is denied unless a webhook sets the field (role management) \
             [managed-by/delegation]"
        ]
    );
    let delegated =
        json!({"metadata": {"name": "x"}, "spec": {"jobTemplate": {"spec": delegated()}}});
    assert!(
        create(cron_job, &delegated, &management())
            .warnings
            .is_empty()
    );
}

/// What an owner with the field was allowed, its child is, if a writer of the owner's kind creates it: anybody can write an owner
/// reference. A Job of a CronJob is judged itself.
#[test]
fn only_a_writer_of_the_owners_kind_creates_children_that_are_not_delegated() {
    let child = |api_version: &str, kind: &str, controller: bool| {
        json!({"metadata": {"name": "x", "ownerReferences": [{"apiVersion": api_version, "kind": kind,
            "name": "parent", "uid": "1", "controller": controller}]}, "spec": {}})
    };
    let jobset = "system:serviceaccount:jobset-system:jobset-controller-manager";
    let runner = "system:serviceaccount:acme:runner";
    let mut listed = management();
    listed["standard_status_writers"] = json!({"JobSet": [jobset], "Job": ["ana"]});
    listed["controllers"] =
        json!({"acme.io/runner": {"kinds": ["JobSet"], "status_writers": [runner]}});
    let list = "list it in standard_status_writers.JobSet";
    for (user, owner, settings, hint) in [
        (
            jobset,
            child("jobset.x-k8s.io/v1alpha2", "JobSet", true),
            &listed,
            None,
        ),
        (
            runner,
            child("jobset.x-k8s.io/v1alpha2", "JobSet", true),
            &listed,
            None,
        ),
        (
            "ana",
            child("jobset.x-k8s.io/v1alpha2", "JobSet", true),
            &listed,
            Some(list),
        ),
        // Nobody is listed.
        (
            jobset,
            child("jobset.x-k8s.io/v1alpha2", "JobSet", true),
            &management(),
            Some(list),
        ),
        (
            jobset,
            child("kubeflow.org/v1", "PyTorchJob", true),
            &listed,
            Some("list it in standard_status_writers.PyTorchJob"),
        ),
        (
            jobset,
            child("jobset.x-k8s.io/v1alpha2", "JobSet", false),
            &listed,
            Some(""),
        ),
        (
            jobset,
            child("batch/v1", "CronJob", true),
            &listed,
            Some(""),
        ),
        (
            jobset,
            child("apps/v1", "Deployment", true),
            &listed,
            Some(""),
        ),
    ] {
        let mut request = request(job(), "CREATE", "", &Value::Null, &owner);
        request["userInfo"] = json!({"username": user});
        let answer = everywhere(&request, settings);
        assert_eq!(
            answer.allowed,
            hint.is_none(),
            "{user}: {owner}: {answer:?}"
        );
        let message = answer.message.unwrap_or_default();
        assert!(message.contains(hint.unwrap_or_default()), "{message}");
        assert_eq!(
            message.contains("list it in"),
            hint.is_some_and(|hint| !hint.is_empty()),
            "{message}"
        );
    }
}

/// On its own objects a project's controller is warned at most, until the settings say otherwise.
#[test]
fn a_status_of_what_is_not_delegated_is_warned_of_until_a_rule_is_set_to_deny() {
    let (old, new) = (json!({"restarts": 0}), json!({"restarts": -1}));
    let fired = ["status/negative-counter status.restarts"];
    let answer = status(job_set(), &delegated(), &old, &new, &json!({}));
    assert_eq!(answer.denied(), fired);
    let answer = status(job_set(), &json!({}), &old, &new, &json!({}));
    assert!(
        answer.allowed && answer.warned().contains(&fired[0]),
        "{answer:?}"
    );
    let strict = json!({"rules": {"status/negative-counter": "deny"}});
    let answer = status(job_set(), &json!({}), &old, &new, &strict);
    assert_eq!(answer.denied(), fired);
}
