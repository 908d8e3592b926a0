//! `pods/delegated-owner`: pods whose Job is looked up through the host, in clusters of all sorts. `cases/pods.yml` has the answers
//! in the recorded one.

use crate::support::cluster::{Played, job};
use crate::support::{Answer, module, pods_guest_in, root};
use managed_by_testing::{admission, module as inspect};
use serde_json::{Value, json};
use xtask::judge::judge_in;
use xtask::metadata::Metadata;

/// The creation of a pod of a Job, as kube-controller-manager asks for it.
fn pod_of(namespace: &str, name: &str, uid: &Value) -> Value {
    json!({
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "name": format!("{name}-x7k2p"),
        "namespace": namespace,
        "operation": "CREATE",
        "userInfo": {"username": "system:serviceaccount:kube-system:job-controller", "groups": ["system:serviceaccounts"]},
        "object": {
            "metadata": {
                "generateName": format!("{name}-"),
                "name": format!("{name}-x7k2p"),
                "ownerReferences": [
                    {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "1"},
                    {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": uid, "controller": true, "blockOwnerDeletion": true},
                ],
            },
            "spec": {"containers": []},
        },
    })
}

/// The pod of a Job that MultiKueue's hub had.
fn delegated() -> Value {
    pod_of(
        "team-mk",
        "mk-plain",
        &job("team-mk", "mk-plain")["metadata"]["uid"],
    )
}

fn management() -> Value {
    json!({"role": "management"})
}

/// The answer of both front ends in a cluster.
fn answer_in(cluster: Played, request: &Value, settings: &Value) -> Answer {
    let native = judge_in(&cluster, &request.to_string(), &settings.to_string());
    let payload = admission::payload(request, settings);
    let guest = pods_guest_in(cluster).validate_bytes(&payload).unwrap();
    assert_eq!(native, guest);
    native
}

/// A name that no Job can have would be part of another path of the API: there is nothing to look up.
#[test]
fn an_owner_with_a_name_that_no_job_has_is_no_job() {
    for name in [
        "b1?x=1",
        "b1/status",
        "b 1",
        "../b1",
        "B1",
        "b1\0",
        "",
        "-b1",
        "mk-plain%2Fstatus",
    ] {
        let uid = &job("team-mk", "mk-plain")["metadata"]["uid"];
        for cluster in [Played::Recorded, Played::Failing("asked")] {
            let mut settings = management();
            settings["on_lookup_failure"] = "deny".into();
            let answer = answer_in(cluster, &pod_of("team-mk", name, uid), &settings);
            assert!(
                answer.allowed && answer.warnings.is_empty(),
                "{name:?}: {answer:?}"
            );
        }
    }
}

#[test]
fn on_other_clusters_nobody_is_asked() {
    for role in ["hybrid", "worker"] {
        let settings = json!({"role": role, "on_lookup_failure": "deny"});
        let answer = answer_in(Played::Failing("asked"), &delegated(), &settings);
        assert!(answer.allowed, "{answer:?}");
        assert_eq!(answer.warnings, Vec::<String>::new());
        let why = format!("pods are judged with role management, not {role}");
        assert_eq!(answer.annotations["not-judged"], why);
    }
}

#[test]
fn a_failed_look_up_passes_with_a_warning_or_is_denied() {
    let why = "kube::Client was not initialized properly";
    for (cluster, reason) in [
        (Played::Failing(why), format!("Host error: {why}")),
        (
            Played::Giving("[]"),
            "not a Job: expected an object, got an array".to_owned(),
        ),
        (
            Played::Giving("{"),
            "not a Job: not JSON: EOF while parsing an object at line 1 column 1".to_owned(),
        ),
    ] {
        let open = answer_in(cluster, &delegated(), &management());
        assert!(open.allowed);
        assert_eq!(
            open.warnings,
            [
                r#"could not look up Job "mk-plain", which controls this pod, and let it pass [pods/delegated-owner]"#
            ]
        );
        assert_eq!(
            open.annotations["lookup-failed"],
            format!("Job \"mk-plain\": {reason:?}")
        );
        let settings = json!({"role": "management", "on_lookup_failure": "deny"});
        let closed = answer_in(cluster, &delegated(), &settings);
        assert_eq!((closed.allowed, closed.code), (false, Some(503)));
        assert_eq!(
            closed.message(),
            format!(
                "could not look up Job \"mk-plain\", which controls this pod: {reason:?}; try again [pods/delegated-owner]"
            )
        );
    }
}

/// The plain module cannot ask the host for anything, and the other one asks for what its metadata declares.
#[test]
fn a_module_asks_for_what_its_metadata_declares() {
    let asks = |file: &str| {
        let imports = inspect::imports(&module(file)).unwrap();
        imports.iter().any(|import| import == "wapc.__host_call")
    };
    assert!(!asks("policy.wasm"));
    assert!(asks("pods-policy.wasm"));
    let metadata = |file: &str| {
        let yaml = std::fs::read_to_string(root(file)).unwrap();
        serde_json::to_value(Metadata::from_yaml(&yaml).unwrap()).unwrap()
    };
    let plain = metadata("policy-metadata.yml");
    assert_eq!(plain["contextAwareResources"], json!([]));
    assert_eq!(plain.get("hostCapabilities"), None);
    // Of Jobs, and of pods that are created; the played host refuses every other question.
    let pods = metadata("pods/metadata.yml");
    let jobs = json!([{"apiVersion": "batch/v1", "kind": "Job"}]);
    assert_eq!(pods["contextAwareResources"], jobs);
    assert_eq!(
        pods["rules"],
        json!([{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}])
    );
    assert_eq!(pods["hostCapabilities"], json!(["kubernetes/get_resource"]));
}
