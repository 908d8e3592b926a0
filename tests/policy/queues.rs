//! The rule `delegation/unusable-queue`, which the pods policy runs: each broken link from a queue to the worker clusters, lookups that fail, and
//! the number of lookups. The library and the module must respond alike.

use std::cell::RefCell;
use std::sync::{Arc, Mutex};

use managed_by::{Cluster, Lookup, LookupError, QueueCluster, QueueKind};
use managed_by_testing::{admission, library};
use serde_json::{Value, json};

use crate::support::{ValidationResponse, pods_guest};

/// A cluster in which the queue `good` leads to a worker cluster, and others don't.
fn objects() -> Value {
    let condition = |status: &str, message: &str| json!({"conditions": [{"type": "Other", "status": "False"}, {"type": "Active", "status": status, "message": message}]});
    let local = |queue: &str| json!({"spec": {"clusterQueue": queue}});
    let queue = |checks: &[&str], status: &Value| {
        let checks: Vec<_> = checks.iter().map(|name| json!({"name": name})).collect();
        json!({"spec": {"admissionChecksStrategy": {"admissionChecks": checks}, "stopPolicy": "None"}, "status": status})
    };
    let active = condition("True", "ok");
    let no_check = json!({"spec": {"stopPolicy": "None"}, "status": active});
    let mut stopped = queue(
        &["multikueue"],
        &condition("False", "Can't admit new workloads: is stopped."),
    );
    stopped["spec"]["stopPolicy"] = "Hold".into();
    let multikueue = |status: Value| json!({"spec": {"controllerName": "kueue.x-k8s.io/multikueue"}, "status": status});
    json!({
        "LocalQueue": {
            "good": local("good"), "new": local("new"), "second": local("second"), "dangling": local("gone"), "empty": {"spec": {}}, "plain": local("plain"),
            "provisioning": local("provisioning"), "no-worker": local("no-worker"), "some-worker": local("some-worker"), "no-flavor": local("no-flavor"),
            "missing-check": local("missing-check"), "stopped": local("stopped"), "many": local("many"), "newline": local("newline"), "path": local("a/../b"),
        },
        "ClusterQueue": {
            "good": queue(&["multikueue"], &active), "new": queue(&["new"], &json!({})), "second": queue(&["provisioning", "multikueue"], &active),
            "plain": no_check, "provisioning": queue(&["provisioning"], &active), "stopped": stopped,
            "no-worker": queue(&["no-worker"], &condition("False", "Can't admit new workloads: references inactive AdmissionCheck(s): [no-worker].")),
            "some-worker": queue(&["some-worker"], &active),
            "no-flavor": queue(&["multikueue"], &condition("False", "Can't admit new workloads: references missing ResourceFlavor(s): [a].")),
            "missing-check": queue(&["gone"], &condition("False", "Can't admit new workloads: references missing AdmissionCheck(s): [gone].")),
            "many": queue(&["provisioning", "provisioning", "multikueue"], &active),
            "newline": queue(&["newline"], &active),
        },
        "AdmissionCheck": {
            "multikueue": multikueue(active.clone()), "new": multikueue(json!(null)),
            "some-worker": multikueue(condition("True", "Inactive clusters: [w1]")),
            "no-worker": multikueue(condition("False", "Missing clusters: [w2], Inactive clusters: [w1]")),
            "newline": multikueue(condition("False", "a\nb")),
            "provisioning": {"spec": {"controllerName": "kueue.x-k8s.io/provisioning-request"}, "status": active},
        },
    })
}

/// Response to the lookup of a kind: an error, as the host reports it, or text instead of the object.
#[derive(Debug, Clone, Copy)]
enum Answer {
    Error(&'static str),
    Text(&'static str),
}

#[derive(Default)]
struct Queues {
    /// Kind whose lookups have another response.
    broken: Option<(QueueKind, Answer)>,
    /// Names that were looked up.
    lookups: RefCell<Vec<String>>,
}

impl Queues {
    /// Returns the response of PolicyServer's host.
    fn respond(
        broken: Option<(QueueKind, Answer)>,
        kind: &str,
        namespace: &Value,
        name: &str,
    ) -> Result<Vec<u8>, String> {
        assert_eq!(
            *namespace,
            if kind == "LocalQueue" {
                json!("team-a")
            } else {
                json!(null)
            }
        );
        match broken.filter(|(broken, _)| broken.as_str() == kind) {
            Some((_, Answer::Error(error))) => return Err(error.to_owned()),
            Some((_, Answer::Text(text))) => return Ok(text.as_bytes().to_vec()),
            None => {}
        }
        match &objects()[kind][name] {
            Value::Null => Err(format!(
                "Callback evaluation failure: Cannot find kueue.x-k8s.io/v1beta2/{kind} named '{name}' inside of namespace 'None'"
            )),
            object => Ok(object.to_string().into_bytes()),
        }
    }
}

impl Cluster for Queues {
    fn job(&self, _: &str, _: &str, _: bool) -> Result<Lookup, LookupError> {
        panic!("unexpected lookup of a Job")
    }
}

impl QueueCluster for Queues {
    fn queue_object(
        &self,
        kind: QueueKind,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Lookup, LookupError> {
        self.lookups.borrow_mut().push(format!("{kind:?} {name}"));
        match Self::respond(self.broken, kind.as_str(), &json!(namespace), name) {
            Ok(bytes) => Ok(Lookup::Found(bytes)),
            Err(error) if error.contains("Cannot find kueue.x-k8s.io/v1beta2/") => {
                Ok(Lookup::NotFound)
            }
            Err(error) => Err(LookupError::Unreadable(format!("Host error: {error}"))),
        }
    }
}

/// Returns the response of the library, which must be the module's, and the lookups, which must be the module's too.
fn review(
    broken: Option<(QueueKind, Answer)>,
    request: &Value,
    settings: &Value,
) -> (ValidationResponse, Vec<String>) {
    let cluster = Queues {
        broken,
        ..Queues::default()
    };
    let native = library::review_lookups_in(&cluster, &request.to_string(), &settings.to_string());
    let host_calls = Arc::new(Mutex::new(Vec::new()));
    let recorded = Arc::clone(&host_calls);
    let guest = pods_guest(Arc::new(move |binding, namespace, operation, payload| {
        assert_eq!(
            (binding, namespace, operation),
            ("kubewarden", "kubernetes", "get_resource")
        );
        let request: Value = serde_json::from_slice(payload).unwrap();
        let text = |key: &str| request[key].as_str().unwrap();
        assert_eq!(text("api_version"), "kueue.x-k8s.io/v1beta2");
        assert_eq!(request["disable_cache"], false);
        let (kind, name) = (text("kind"), text("name"));
        recorded.lock().unwrap().push(format!("{kind} {name}"));
        Queues::respond(broken, kind, &request["namespace"], name)
    }));
    let payload = admission::payload(request, settings);
    assert_eq!(guest.validate_bytes(&payload).unwrap(), native);
    let lookups = cluster.lookups.into_inner();
    assert_eq!(*host_calls.lock().unwrap(), lookups);
    (native, lookups)
}

/// Returns the creation of a Job that is delegated to `MultiKueue`, with a queue.
fn job(queue: &str) -> Value {
    json!({
        "operation": "CREATE",
        "kind": {"group": "batch", "version": "v1", "kind": "Job"},
        "resource": {"group": "batch", "version": "v1", "resource": "jobs"},
        "name": "pi",
        "namespace": "team-a",
        "userInfo": {"username": "ana"},
        "object": {
            "metadata": {"name": "pi", "namespace": "team-a", "labels": {"kueue.x-k8s.io/queue-name": queue}},
            "spec": {"managedBy": "kueue.x-k8s.io/multikueue"},
        },
    })
}

/// Returns the warnings without the path and the id, and the number of lookups.
#[track_caller]
fn problems(request: &Value) -> (Vec<String>, usize) {
    let (response, lookups) = review(None, request, &json!({}));
    assert!(response.allowed, "{response:?}");
    assert!(lookups.len() <= 4, "{lookups:?}");
    let count = response.warnings.len();
    assert_eq!(response.annotations.contains_key("warned"), count > 0);
    let problem = |warning: &String| {
        assert!(warning.len() <= 256, "{warning}");
        let warning = warning
            .strip_suffix(" [delegation/unusable-queue]")
            .unwrap();
        let (path, problem) = warning.split_once(": Invalid value: ").unwrap();
        assert!(
            path.ends_with("labels[kueue.x-k8s.io/queue-name]"),
            "{path}"
        );
        problem.to_owned()
    };
    (
        response.warnings.iter().map(problem).collect(),
        lookups.len(),
    )
}

#[test]
fn each_broken_link_is_one_warning_that_names_the_object_to_repair() {
    let queues = [
        ("absent", "LocalQueue absent does not exist in team-a", 1),
        (
            "dangling",
            "ClusterQueue gone of LocalQueue dangling does not exist",
            2,
        ),
        (
            "empty",
            "ClusterQueue \"\" of LocalQueue empty does not exist",
            1,
        ),
        (
            "path",
            "ClusterQueue a/../b of LocalQueue path does not exist",
            1,
        ),
        ("plain", "ClusterQueue plain has no MultiKueue check", 2),
        (
            "provisioning",
            "ClusterQueue provisioning has no MultiKueue check",
            3,
        ),
        (
            "missing-check",
            "ClusterQueue missing-check is inactive: Can't admit new workloads: references missing AdmissionCheck(s): [gone].",
            3,
        ),
        (
            "no-flavor",
            "ClusterQueue no-flavor is inactive: Can't admit new workloads: references missing ResourceFlavor(s): [a].",
            3,
        ),
        // The check names the clusters, and the queue only the check.
        (
            "no-worker",
            "AdmissionCheck no-worker is inactive: Missing clusters: [w2], Inactive clusters: [w1]",
            3,
        ),
        // kube-apiserver drops a warning with a line break.
        (
            "newline",
            "AdmissionCheck newline is inactive: \"a\\nb\"",
            3,
        ),
        // These lead to a worker cluster. Kueue has not set the conditions of `new` yet.
        ("good", "", 3),
        ("new", "", 3),
        ("second", "", 4),
        ("some-worker", "", 3),
        // As an admin intends.
        ("stopped", "", 3),
        // The third check is not looked up.
        ("many", "", 4),
    ];
    for (queue, problem, lookups) in queues {
        let expected = Some(problem.to_owned()).filter(|text| !text.is_empty());
        let expected = (expected.into_iter().collect(), lookups);
        assert_eq!(problems(&job(queue)), expected, "{queue}");
    }
}

/// The static rules warn about these requests, or the requests have no problem.
#[test]
fn other_requests_need_no_lookups() {
    let without_lookups = |request: &Value, what: &str| {
        let (response, lookups) = review(None, request, &json!({}));
        let count = response.warnings.len();
        assert_eq!(
            (response.allowed, count, lookups.len()),
            (true, 0, 0),
            "{what}"
        );
    };
    let with = |pointer: &str, value: Value| {
        let mut request = job("absent");
        *request.pointer_mut(pointer).unwrap() = value;
        request
    };
    without_lookups(&job(""), "empty label");
    without_lookups(
        &with("/object/metadata/labels", json!({"a": "b"})),
        "no label",
    );
    without_lookups(&with("/object/metadata/labels", json!(null)), "no labels");
    for controller in [
        json!(null),
        json!("kubernetes.io/job-controller"),
        json!("acme.io/x"),
    ] {
        without_lookups(
            &with("/object/spec/managedBy", controller),
            "other controller",
        );
    }
    let cron_job = json!([{"apiVersion": "batch/v1", "kind": "CronJob", "name": "c", "uid": "1", "controller": true}]);
    let mut owned = job("absent");
    owned["object"]["metadata"]["ownerReferences"] = cron_job;
    without_lookups(&owned, "owned");
    let mut deleted = job("absent");
    deleted["object"]["metadata"]["deletionTimestamp"] = "2026-11-28T00:00:00Z".into();
    without_lookups(&deleted, "being deleted");
    let mut stored = job("absent");
    stored["object"]["status"] = json!({"startTime": "2026-11-28T00:00:00Z"});
    without_lookups(&stored, "stored");
    for (operation, subresource) in [("UPDATE", ""), ("UPDATE", "status"), ("DELETE", "")] {
        let mut request = with("/operation", operation.into());
        request["oldObject"] = request["object"].clone();
        if !subresource.is_empty() {
            request["subResource"] = subresource.into();
        }
        without_lookups(&request, operation);
    }
}

/// The policy runs next to one with the other rules, which would deny this.
#[test]
fn other_rules_do_not_run() {
    let mut request = job("good");
    request["object"]["spec"]["ttlSecondsAfterFinished"] = 0.into();
    let settings = json!({"role": "worker", "rules": {"delegation/short-ttl": "deny"}});
    let (response, _) = review(None, &request, &settings);
    assert!(
        response.allowed && response.warnings.is_empty(),
        "{response:?}"
    );
}

#[test]
fn templates_and_declared_kinds() {
    let mut request = job("absent");
    request["kind"]["kind"] = "CronJob".into();
    request["resource"]["resource"] = "cronjobs".into();
    let template = request["object"].take();
    request["object"] = json!({"metadata": {"name": "pi"}, "spec": {"jobTemplate": template}});
    let expected = (
        vec!["LocalQueue absent does not exist in team-a".to_owned()],
        1,
    );
    assert_eq!(problems(&request), expected);

    let mut request = job("absent");
    request["kind"] = json!({"group": "acme.io", "version": "v1", "kind": "Sim"});
    let settings = json!({"custom_kinds": [{"group": "acme.io", "versions": ["v1"], "kind": "Sim", "plural": "sims", "managed_by_path": "spec.managedBy"}]});
    let (response, lookups) = review(None, &request, &settings);
    assert_eq!(
        (response.warnings.len(), lookups.len()),
        (1, 1),
        "{response:?}"
    );
    let (response, lookups) = review(None, &request, &json!({}));
    assert!(
        response.warnings[0].starts_with("unsupported kind"),
        "{response:?}"
    );
    assert_eq!(lookups.len(), 0);
}

/// The texts of the errors come from PolicyServer 1.36.0-beta.1.
#[test]
fn failed_lookups_warn_and_never_deny() {
    for (kind, name) in [
        (QueueKind::LocalQueue, "good"),
        (QueueKind::ClusterQueue, "good"),
        (QueueKind::AdmissionCheck, "multikueue"),
    ] {
        let errors = [
            "Callback evaluation failure: ServiceError: client error (Connect)",
            "Callback evaluation failure: ApiError: localqueues.kueue.x-k8s.io \"good\" is forbidden: Forbidden",
            "Callback evaluation failure: error finding resource kueue.x-k8s.io/v1beta2 / LocalQueue: ApiError: 404 page not found",
            "Callback evaluation failure: Cannot find resource kueue.x-k8s.io/v1beta2/LocalQueue",
            "Policy has not been granted access to the 'kubernetes/get_resource' host capability",
        ];
        let texts = ["[]", "null", "{", ""].map(Answer::Text);
        for answer in errors.map(Answer::Error).into_iter().chain(texts) {
            // `on_lookup_failure` is about pods.
            let settings = json!({"on_lookup_failure": "deny"});
            let is_unreachable =
                matches!(answer, Answer::Error(text) if text.contains("ServiceError"));
            let (response, _) = review(Some((kind, answer)), &job("good"), &settings);
            assert!(response.allowed, "{answer:?}: {response:?}");
            let object = format!("{} {name}", kind.as_str());
            let warning = format!(
                "could not look up {object}; the queue was not checked [delegation/unusable-queue]"
            );
            assert_eq!(response.warnings, [warning], "{answer:?}");
            let annotation = &response.annotations["lookup-failed"];
            assert!(
                annotation.starts_with(&format!("{object}: \"")),
                "{annotation}"
            );
            assert!(!is_unreachable || annotation.contains("ServiceError"));
        }
    }
}

#[test]
fn values_of_the_wrong_type_do_not_deny() {
    for text in [
        "{}",
        r#"{"spec": 1, "status": []}"#,
        r#"{"spec": {"clusterQueue": {}, "admissionChecksStrategy": {"admissionChecks": {}}}, "status": {"conditions": [1, null, {"type": 1}]}}"#,
        r#"{"spec": {"clusterQueue": "good", "admissionChecksStrategy": {"admissionChecks": [1, {"name": []}]}, "stopPolicy": 1}, "status": {"conditions": [{"type": "Active", "status": "False", "message": 1}]}}"#,
    ] {
        for kind in QueueKind::ALL {
            let (response, lookups) =
                review(Some((*kind, Answer::Text(text))), &job("good"), &json!({}));
            assert!(response.allowed, "{text}: {response:?}");
            assert!(lookups.len() <= 4);
        }
    }
}

#[test]
fn long_names_and_messages_are_truncated() {
    let (long, _) = problems(&job(&"x".repeat(1 << 20)));
    assert!(long[0].starts_with("LocalQueue xxx") && long[0].ends_with("xxx..."));
    let message = Box::leak(
        json!({"spec": {"controllerName": "kueue.x-k8s.io/multikueue"}, "status": {"conditions": vec![json!({"type": "Active", "status": "False", "message": "é".repeat(1 << 15)}); 30]}})
            .to_string()
            .into_boxed_str(),
    );
    let broken = Some((QueueKind::AdmissionCheck, Answer::Text(message)));
    let (response, _) = review(broken, &job("good"), &json!({}));
    let [warning] = &response.warnings[..] else {
        panic!("{response:?}");
    };
    assert!(warning.len() <= 256 && warning.ends_with("é... [delegation/unusable-queue]"));
}

/// Fuel of the module, without PolicyServer's host.
#[test]
fn cost_is_linear_in_what_the_lookups_return() {
    let cost = |check: Value| {
        let check = check.to_string().into_bytes();
        let host = Arc::new(move |_: &str, _: &str, _: &str, payload: &[u8]| {
            let request: Value = serde_json::from_slice(payload).unwrap();
            match request["kind"].as_str().unwrap() {
                "AdmissionCheck" => Ok(check.clone()),
                kind => Queues::respond(None, kind, &request["namespace"], "good"),
            }
        });
        let payload = admission::payload(&job("good"), &json!({}));
        pods_guest(host).measure("validate", &payload).unwrap().fuel
    };
    let with_conditions = |count: usize| {
        let condition = json!({"type": "Other", "status": "False", "message": "m"});
        let conditions = vec![condition; count];
        cost(
            json!({"spec": {"controllerName": "kueue.x-k8s.io/multikueue"}, "status": {"conditions": conditions}}),
        )
    };
    let (small, large, larger) = (
        with_conditions(1),
        with_conditions(1000),
        with_conditions(10_000),
    );
    assert!(small < 700_000, "{small}");
    assert!(
        (larger - small) < 11 * (large - small),
        "{small}, {large}, {larger}"
    );
}
