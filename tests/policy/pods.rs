//! The rule `pods/delegated-owner`, which looks up a pod's Job through the host.
//!
//! `tests/library/cases/pods.yml` has the cases in the recorded cluster, this module the failing lookups.

use crate::support::cluster::{FakeCluster, job};
use crate::support::{ValidationResponse, metadata, module, pods_guest_in};
use managed_by::QueueKind;
use managed_by_testing::{admission, library, module as inspect};
use serde_json::{Value, json};

/// Returns kube-controller-manager's request to create a pod of a Job.
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

/// Returns the request for a pod of a recorded Job that is delegated to MultiKueue.
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

/// Returns the response in a cluster, which must be the same from the library and the module.
fn validate_in(cluster: FakeCluster, request: &Value, settings: &Value) -> ValidationResponse {
    let native = library::validate_in(&cluster, &request.to_string(), &settings.to_string());
    let payload = admission::payload(request, settings);
    let guest = pods_guest_in(cluster).validate_bytes(&payload).unwrap();
    assert_eq!(native, guest);
    native
}

/// The host caches Jobs for a few seconds.
#[test]
fn pods_of_a_job_that_was_deleted_and_created_again_are_denied() {
    let [cached, recreated] = [FakeCluster::Recorded, FakeCluster::Recreated]
        .map(|cluster| validate_in(cluster, &delegated(), &management()));
    assert_eq!((cached.code, &cached), (Some(403), &recreated));
}

/// The policy must not look up an invalid name, which could address another path of the API.
#[test]
fn owner_with_an_invalid_name_is_not_looked_up() {
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
        for cluster in [
            FakeCluster::Recorded,
            FakeCluster::Failing("unexpected lookup"),
        ] {
            let mut settings = management();
            settings["on_lookup_failure"] = "deny".into();
            let response = validate_in(cluster, &pod_of("team-mk", name, uid), &settings);
            assert!(
                response.allowed && response.warnings.is_empty(),
                "{name:?}: {response:?}"
            );
        }
    }
}

#[test]
fn other_roles_do_not_look_up_jobs() {
    for role in ["hybrid", "worker"] {
        let settings = json!({"role": role, "on_lookup_failure": "deny"});
        let response = validate_in(
            FakeCluster::Failing("unexpected lookup"),
            &delegated(),
            &settings,
        );
        assert!(response.allowed, "{response:?}");
        assert_eq!(response.warnings, Vec::<String>::new());
        let why = format!("pods are validated only if role is management or unset; role is {role}");
        assert_eq!(response.annotations["not-validated"], why);
    }
}

/// Returns the response to a pod whose Job lookup fails, with the setting `on_lookup_failure`. The audit annotation contains the reason.
fn failed_lookup(cluster: FakeCluster, on_failure: &str, reason: &str) -> ValidationResponse {
    let settings = json!({"role": "management", "on_lookup_failure": on_failure});
    let response = validate_in(cluster, &delegated(), &settings);
    let annotation = format!("Job \"mk-plain\": {reason:?}");
    assert_eq!(response.annotations["lookup-failed"], annotation);
    response
}

fn assert_lookup_denied(response: &ValidationResponse, reason: &str) {
    assert_eq!((response.allowed, response.code), (false, Some(503)));
    assert_eq!(
        response.message(),
        format!(
            "could not look up Job \"mk-plain\", which controls this pod: {reason:?} [pods/delegated-owner]"
        )
    );
}

/// The texts come from PolicyServer 1.36.0-beta.1 (`e2e/server.bats`).
#[test]
fn unreachable_api_server_warns_or_denies() {
    for text in [
        "Callback evaluation failure: ServiceError: client error (Connect)\n\nCaused by:\n    0: client error (Connect)",
        "Callback evaluation failure: error finding resource batch/v1 / Job: ServiceError: client error (Connect)",
        "Callback evaluation failure: HyperError: connection closed",
        "Callback evaluation failure: kube::Client was not initialized properly",
    ] {
        let cluster = FakeCluster::Unreachable(text);
        let reason = format!("Host error: {text}");
        let open = failed_lookup(cluster, "allow", &reason);
        assert!(open.allowed);
        assert_eq!(
            open.warnings,
            [
                r#"could not look up Job "mk-plain", which controls this pod; the pod was not validated [pods/delegated-owner]"#
            ]
        );
        assert_lookup_denied(&failed_lookup(cluster, "deny", &reason), &reason);
    }
}

/// Users can create Jobs that PolicyServer can't read, so their pods are denied. Errors that quote a text of an unreachable API server don't allow a pod.
#[test]
fn unreadable_job_is_denied() {
    for text in [
        "Callback evaluation failure: Error deserializing response: recursion limit exceeded at line 1 column 1203",
        "Callback evaluation failure: ApiError: jobs.batch \"mk-plain\" is forbidden: Forbidden",
        "Callback evaluation failure: Error deserializing response: invalid type: string \"ServiceError: \", expected a map",
        "Policy has not been granted access to the 'kubernetes/get_resource' host capability",
        "ServiceError: ",
    ] {
        let reason = format!("Host error: {text}");
        for on_failure in ["allow", "deny"] {
            let response = failed_lookup(FakeCluster::Failing(text), on_failure, &reason);
            assert_lookup_denied(&response, &reason);
        }
    }
    for (bytes, reason) in [
        ("[]", "not a Job: expected an object, got an array"),
        (
            "{",
            "not a Job: not JSON: EOF while parsing an object at line 1 column 1",
        ),
    ] {
        let response = failed_lookup(FakeCluster::Returning(bytes), "allow", reason);
        assert_lookup_denied(&response, reason);
    }
}

/// Only the pods policy imports host calls, and its metadata declares them.
#[test]
fn modules_import_the_host_calls_in_their_metadata() {
    let has_host_calls = |file: &str| {
        let imports = inspect::imports(&module(file)).unwrap();
        imports.iter().any(|import| import == "wapc.__host_call")
    };
    assert!(!has_host_calls("policy.wasm"));
    assert!(has_host_calls("pods-policy.wasm"));
    let plain = metadata("policy-metadata.yml");
    assert_eq!(plain["contextAwareResources"], json!([]));
    assert_eq!(plain.get("hostCapabilities"), None);
    // It reviews creations, and looks up Jobs and queues. The fake hosts panic on any other request.
    let pods = metadata("pods/metadata.yml");
    let kinds = QueueKind::ALL
        .iter()
        .map(|kind| (QueueKind::API_VERSION, kind.as_str()));
    let resources = [("batch/v1", "Job")].into_iter().chain(kinds);
    let resources: Vec<_> = resources
        .map(|(version, kind)| json!({"apiVersion": version, "kind": kind}))
        .collect();
    assert_eq!(pods["contextAwareResources"], json!(resources));
    for rule in pods["rules"].as_array().unwrap() {
        assert_eq!(rule["operations"], json!(["CREATE"]));
    }
    assert_eq!(pods["hostCapabilities"], json!(["kubernetes/get_resource"]));
}
