//! Site rules: every rule in every situation, on every front end. `cases/site.yml` has what they say.

mod properties;

use crate::support::{Answer, everywhere};
use serde_json::{Value, json};

const MULTIKUEUE: &str = "kueue.x-k8s.io/multikueue";
const KUEUE: &str = "system:serviceaccount:kueue-system:kueue-controller-manager";
const JOB_CONTROLLER: &str = "system:serviceaccount:kube-system:job-controller";

/// A management cluster with every setting of site rules in use.
fn settings() -> Value {
    json!({
        "role": "management",
        "controllers": {
            MULTIKUEUE: {"kinds": ["Job"], "namespaces": ["team-*"], "status_writers": [KUEUE]},
            "acme.io/runner": {},
        },
        "namespaces": [
            {"match": ["kube-system", "infra-*"], "delegation": "forbidden"},
            {"match": ["free"], "delegation": "allowed"},
        ],
        "standard_status_writers": {"Job": [JOB_CONTROLLER, KUEUE]},
        "exempt": {"users": ["root"], "groups": ["system:masters"]},
    })
}

/// A request about the Job `pi`.
struct Ask {
    operation: &'static str,
    sub_resource: &'static str,
    namespace: &'static str,
    user: &'static str,
    groups: &'static [&'static str],
    old: Option<&'static str>,
    new: Option<&'static str>,
    active: [u8; 2],
    deleted: bool,
}

const CREATE: Ask = Ask {
    operation: "CREATE",
    sub_resource: "",
    namespace: "team-a",
    user: "ana",
    groups: &["system:authenticated"],
    old: None,
    new: None,
    active: [0, 0],
    deleted: false,
};

const UPDATE: Ask = Ask {
    operation: "UPDATE",
    ..CREATE
};

/// One pod more is active.
const STATUS: Ask = Ask {
    operation: "UPDATE",
    sub_resource: "status",
    active: [0, 1],
    ..CREATE
};

impl Ask {
    fn request(&self) -> Value {
        let object = |managed_by: Option<&str>, active: u8| {
            let mut object = json!({
                "metadata": {"name": "pi", "namespace": self.namespace},
                "spec": {"suspend": false},
                "status": {"active": active},
            });
            if let Some(value) = managed_by {
                object["spec"]["managedBy"] = value.into();
            }
            if self.deleted {
                object["metadata"]["deletionTimestamp"] = "2026-11-20T09:00:00Z".into();
            }
            object
        };
        let mut request = json!({
            "kind": {"group": "batch", "version": "v1", "kind": "Job"},
            "resource": {"group": "batch", "version": "v1", "resource": "jobs"},
            "name": "pi",
            "namespace": self.namespace,
            "operation": self.operation,
            "userInfo": {"username": self.user, "groups": self.groups},
            "object": object(self.new, self.active[1]),
        });
        if !self.sub_resource.is_empty() {
            request["subResource"] = self.sub_resource.into();
        }
        if self.operation == "UPDATE" {
            request["oldObject"] = object(self.old, self.active[0]);
        }
        request
    }

    fn answer(&self) -> Answer {
        everywhere(&self.request(), &settings())
    }
}

const DELEGATED: Option<&str> = Some(MULTIKUEUE);
const RESERVED: Option<&str> = Some("kubernetes.io/job-controller");
const TYPO: Option<&str> = Some("kueue.x-k8s.io/multikeueu");

/// Rule and situation, with the rules that deny and those that somebody was exempt from.
#[test]
fn every_rule_in_every_situation() {
    const ALLOWED: &str = "managed-by/allowed spec.managedBy";
    const DELEGATION: &str = "managed-by/delegation spec.managedBy";
    const IMMUTABLE: &str = "managed-by/immutable spec.managedBy";
    const BY_DELEGATE: &str = "status-writer/delegated status";
    const STANDARD: &str = "status-writer/standard status";
    #[rustfmt::skip]
    let rows: &[(&str, Ask, &[&str], &[&str])] = &[
        ("create: delegated as listed", Ask { new: DELEGATED, ..CREATE }, &[], &[]),
        ("create: a typo", Ask { new: TYPO, ..CREATE }, &[ALLOWED], &[]),
        ("create: listed for other namespaces", Ask { new: DELEGATED, namespace: "free", ..CREATE }, &[ALLOWED], &[]),
        ("create: listed for all namespaces", Ask { new: Some("acme.io/runner"), namespace: "free", ..CREATE }, &[], &[]),
        ("create: not delegated where it is required", CREATE, &[DELEGATION], &[]),
        ("create: the reserved value where delegation is required", Ask { new: RESERVED, ..CREATE }, &[DELEGATION], &[]),
        ("create: not delegated where it is allowed", Ask { namespace: "free", ..CREATE }, &[], &[]),
        ("create: not delegated where it is forbidden", Ask { namespace: "infra-1", ..CREATE }, &[], &[]),
        ("create: delegated where it is forbidden", Ask { new: Some("acme.io/runner"), namespace: "kube-system", ..CREATE }, &[DELEGATION], &[]),
        ("create: a typo where delegation is forbidden", Ask { new: TYPO, namespace: "infra-1", ..CREATE }, &[ALLOWED, DELEGATION], &[]),
        ("create: exempt user", Ask { new: TYPO, user: "root", ..CREATE }, &[], &[ALLOWED]),
        ("create: exempt group", Ask { groups: &["system:authenticated", "system:masters"], ..CREATE }, &[], &[DELEGATION]),
        ("create: exempt user, nothing to be exempt from", Ask { new: DELEGATED, user: "root", ..CREATE }, &[], &[]),
        ("audit replay: an object on its way out", Ask { new: TYPO, deleted: true, ..CREATE }, &[], &[]),
        ("audit replay: an object that stays, with its status", Ask { new: TYPO, active: [0, 2], ..CREATE }, &[ALLOWED], &[]),
        ("update: a stored typo is left alone", Ask { old: TYPO, new: TYPO, ..UPDATE }, &[], &[]),
        ("update: a stored value that is forbidden here", Ask { old: TYPO, new: TYPO, namespace: "infra-1", ..UPDATE }, &[], &[]),
        ("update: not delegated, as before", Ask { old: None, ..UPDATE }, &[], &[]),
        ("update: the value changes to a typo", Ask { old: DELEGATED, new: TYPO, ..UPDATE }, &[IMMUTABLE, ALLOWED], &[]),
        ("update: delegated no more", Ask { old: DELEGATED, ..UPDATE }, &[IMMUTABLE, DELEGATION], &[]),
        ("update: exempt user, but the API has its own rules", Ask { old: DELEGATED, user: "root", ..UPDATE }, &[IMMUTABLE], &[DELEGATION]),
        ("update: on its way out", Ask { old: TYPO, new: TYPO, deleted: true, ..UPDATE }, &[], &[]),
        ("update: on its way out, delegated no more", Ask { old: DELEGATED, deleted: true, ..UPDATE }, &[IMMUTABLE], &[]),
        ("status: the right writer", Ask { old: DELEGATED, new: DELEGATED, user: KUEUE, ..STATUS }, &[], &[]),
        ("status: the wrong writer", Ask { old: DELEGATED, new: DELEGATED, ..STATUS }, &[BY_DELEGATE], &[]),
        ("status: the wrong writer, nothing changed", Ask { old: DELEGATED, new: DELEGATED, active: [1, 1], ..STATUS }, &[], &[]),
        ("status: the built-in controller of a delegated Job", Ask { old: DELEGATED, new: DELEGATED, user: JOB_CONTROLLER, ..STATUS }, &[BY_DELEGATE], &[]),
        ("status: of a controller without status_writers", Ask { old: Some("acme.io/runner"), new: Some("acme.io/runner"), ..STATUS }, &[], &[]),
        ("status: of a controller that is not listed", Ask { old: TYPO, new: TYPO, ..STATUS }, &[], &[]),
        ("status: exempt user", Ask { old: DELEGATED, new: DELEGATED, user: "root", ..STATUS }, &[], &[BY_DELEGATE]),
        ("status: on its way out", Ask { old: DELEGATED, new: DELEGATED, deleted: true, ..STATUS }, &[], &[]),
        ("standard status: the built-in controller", Ask { old: None, user: JOB_CONTROLLER, ..STATUS }, &[], &[]),
        ("standard status: Kueue, on a hub", Ask { old: None, user: KUEUE, ..STATUS }, &[], &[]),
        ("standard status: anyone else", Ask { old: None, ..STATUS }, &[STANDARD], &[]),
        ("standard status: of the reserved value", Ask { old: RESERVED, new: RESERVED, ..STATUS }, &[STANDARD], &[]),
        ("standard status: nothing changed", Ask { old: None, active: [1, 1], ..STATUS }, &[], &[]),
        ("standard status: on its way out", Ask { old: None, deleted: true, ..STATUS }, &[], &[]),
    ];
    for (situation, ask, denied, exempted) in rows {
        let answer = ask.answer();
        assert_eq!(answer.denied(), *denied, "{situation}");
        assert_eq!(answer.exempted(), *exempted, "{situation}");
        assert_eq!(answer.allowed, denied.is_empty(), "{situation}");
        assert_eq!(
            answer.warnings.iter().any(|w| w.ends_with(" is exempt")),
            !exempted.is_empty(),
            "{situation}"
        );
        // Without settings nothing of this is denied but what kube-apiserver denies.
        let silent: Vec<&str> = denied.iter().copied().filter(|d| *d == IMMUTABLE).collect();
        let plain = everywhere(&ask.request(), &json!({}));
        assert_eq!(plain.denied(), silent, "{situation}");
    }
}
