//! Site rules: every rule in every situation, on every front end.

mod properties;

use crate::support::{Answer, GUEST, everywhere};
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

#[test]
fn what_it_says() {
    let said = |ask: Ask| {
        let answer = ask.answer();
        (answer.code, answer.message.unwrap())
    };
    for (ask, code, message) in [
        (
            Ask {
                new: TYPO,
                ..CREATE
            },
            422,
            r#"Job.batch "pi" is invalid: spec.managedBy: Unsupported value: "kueue.x-k8s.io/multikeueu": did you mean "kueue.x-k8s.io/multikueue"? allowed for Jobs in namespace "team-a": "acme.io/runner", "kueue.x-k8s.io/multikueue" [managed-by/allowed]"#,
        ),
        (
            CREATE,
            403,
            r#"jobs.batch "pi" is forbidden: spec.managedBy: Forbidden: a Job in namespace "team-a" must be delegated (role management), to "acme.io/runner" for example [managed-by/delegation]"#,
        ),
        (
            Ask {
                new: Some("acme.io/runner"),
                namespace: "infra-1",
                ..CREATE
            },
            403,
            r#"jobs.batch "pi" is forbidden: spec.managedBy: Forbidden: a Job in namespace "infra-1" must not be delegated (namespaces[0] of the settings), leave the field out [managed-by/delegation]"#,
        ),
        (
            Ask {
                old: DELEGATED,
                new: DELEGATED,
                ..STATUS
            },
            403,
            r#"jobs.batch "pi" is forbidden: User "ana" cannot update resource "jobs/status" in API group "batch" in the namespace "team-a": only system:serviceaccount:kueue-system:kueue-controller-manager may write the status of what is delegated to "kueue.x-k8s.io/multikueue" [status-writer/delegated]"#,
        ),
        (
            Ask {
                old: None,
                ..STATUS
            },
            403,
            r#"jobs.batch "pi" is forbidden: User "ana" cannot update resource "jobs/status" in API group "batch" in the namespace "team-a": only system:serviceaccount:kube-system:job-controller, system:serviceaccount:kueue-system:kueue-controller-manager may write the status of a Job that is not delegated [status-writer/standard]"#,
        ),
        // Several, of both families: who has no access is told nothing else, as by the API server.
        (
            Ask {
                old: DELEGATED,
                ..UPDATE
            },
            403,
            r#"jobs.batch "pi" is forbidden: spec.managedBy: Forbidden: a Job in namespace "team-a" must be delegated (role management), to "acme.io/runner" for example [managed-by/delegation]"#,
        ),
    ] {
        assert_eq!(said(ask), (Some(code), message.to_owned()));
    }
}

/// A controller of parents may be missing in the list: the denial says whose.
#[test]
fn the_denial_of_a_status_names_the_kind_that_controls_the_object() {
    let hint = "; a JobSet controls it, so JobSet's controller may need to be listed in standard_status_writers.Job";
    for (api_version, kind, expected) in [
        ("jobset.x-k8s.io/v1alpha2", "JobSet", hint),
        ("batch/v1", "CronJob", ""),
        ("apps/v1", "Deployment", ""),
    ] {
        let mut request = Ask {
            old: None,
            ..STATUS
        }
        .request();
        for object in ["object", "oldObject"] {
            request[object]["metadata"]["ownerReferences"] = json!([{"apiVersion": api_version, "kind": kind, "name": "x", "uid": "1", "controller": true}]);
        }
        let message = everywhere(&request, &settings()).message.unwrap();
        let end = format!(
            "may write the status of a Job that is not delegated{expected} [status-writer/standard]"
        );
        assert!(message.ends_with(&end), "{message}");
    }
}

#[test]
fn an_exemption_is_told_and_audited() {
    let exempt = |user, groups| Ask {
        new: TYPO,
        namespace: "infra-1",
        user,
        groups,
        ..CREATE
    };
    let answer = exempt("root", &[]).answer();
    assert_eq!(
        answer.warnings[0],
        r#"managed-by/allowed, managed-by/delegation would have denied this, but user "root" is exempt"#
    );
    assert_eq!(
        answer.annotations["exempted"],
        "managed-by/allowed spec.managedBy, managed-by/delegation spec.managedBy"
    );
    let answer = exempt("ana", &["system:masters"]).answer();
    assert!(answer.warnings[0].ends_with(r#"but group "system:masters" is exempt"#));
}

#[test]
fn warnings_of_site_rules_are_short() {
    let mut settings = settings();
    for rule in [
        "managed-by/allowed",
        "managed-by/delegation",
        "status-writer/delegated",
    ] {
        settings["rules"][rule] = "warn".into();
    }
    let warnings = |ask: Ask| everywhere(&ask.request(), &settings).warnings;
    let [_, allowed] = &warnings(Ask {
        new: TYPO,
        ..CREATE
    })[..] else {
        panic!("two warnings");
    };
    assert_eq!(
        allowed,
        r#"spec.managedBy: "kueue.x-k8s.io/multikeueu": did you mean "kueue.x-k8s.io/multikueue"? [managed-by/allowed]"#
    );
    assert_eq!(
        warnings(CREATE),
        [
            r#"spec.managedBy: a Job in namespace "team-a" must be delegated (role management) [managed-by/delegation]"#
        ]
    );
    assert_eq!(
        warnings(Ask {
            old: DELEGATED,
            new: DELEGATED,
            ..STATUS
        }),
        [
            r#"status: "ana" is no status writer of what is delegated to "kueue.x-k8s.io/multikueue" [status-writer/delegated]"#
        ]
    );
}

/// A template may wait for the workloads that are made of it, but not break what it can break itself.
#[test]
fn a_cron_job_is_judged_as_its_jobs() {
    let denied = |namespace: &str, managed_by: Option<&str>| {
        let mut request = json!({
            "kind": {"group": "batch", "version": "v1", "kind": "CronJob"},
            "namespace": namespace,
            "operation": "CREATE",
            "object": {"metadata": {"name": "nightly"}, "spec": {"jobTemplate": {"spec": {}}}},
        });
        if let Some(value) = managed_by {
            request["object"]["spec"]["jobTemplate"]["spec"]["managedBy"] = value.into();
        }
        let answer = everywhere(&request, &settings());
        answer
            .denied()
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    let path = "spec.jobTemplate.spec.managedBy";
    assert_eq!(denied("team-a", None), Vec::<String>::new());
    assert_eq!(denied("team-a", DELEGATED), Vec::<String>::new());
    assert_eq!(
        denied("team-a", TYPO),
        [format!("managed-by/allowed {path}")]
    );
    assert_eq!(
        denied("infra-1", Some("acme.io/runner")),
        [format!("managed-by/delegation {path}")]
    );
}

/// A part of the settings that a verdict rests on denies if it is bad; another one was not looked at.
#[test]
fn bad_settings_never_let_anything_pass_that_rests_on_them() {
    let ask = Ask {
        new: Some("acme.io/runner"),
        ..CREATE
    };
    let status = Ask {
        old: DELEGATED,
        new: DELEGATED,
        user: KUEUE,
        ..STATUS
    };
    for (ask, settings, problem) in [
        (
            &ask,
            json!({"controlers": {}}),
            "\"controlers\": settings has no such key",
        ),
        (
            &ask,
            json!({"controllers": []}),
            "controllers: got an array, expected an object",
        ),
        (
            &ask,
            json!({"controllers": {"acme.io/runner": {"namespaces": ["*", 1]}}}),
            "controllers[\"acme.io/runner\"].namespaces[1]: got the number 1",
        ),
        (
            &ask,
            json!({"controllers": {"acme.io/other": {"kind": []}}}),
            "controllers[\"acme.io/other\"][\"kind\"]: controllers[\"acme.io/other\"] has no such key",
        ),
        (
            &ask,
            json!({"namespaces": [{"match": ["x"], "delegation": "no"}, {"match": ["*"], "delegation": "allowed"}]}),
            "namespaces[0].delegation: got \"no\"",
        ),
        (
            &status,
            json!({"controllers": {MULTIKUEUE: {"status_writers": [7]}}}),
            "controllers[\"kueue.x-k8s.io/multikueue\"].status_writers[0]: got the number 7",
        ),
        (
            &ask,
            json!({"role": "worker", "exempt": {"user": ["ana"]}}),
            "exempt[\"user\"]: exempt has no such key",
        ),
    ] {
        let answer = everywhere(&ask.request(), &settings);
        assert_eq!(
            (answer.allowed, answer.code),
            (false, Some(500)),
            "{settings}"
        );
        let message = answer.message();
        assert!(
            message.starts_with(&format!(
                "managed-by-policy is misconfigured: invalid settings: {problem}"
            )),
            "{message}"
        );
        assert!(
            !GUEST.validate_settings(&settings).unwrap().valid,
            "{settings}"
        );
    }
    // The entry of another controller has no say in this.
    let settings = json!({"controllers": {"acme.io/other": {"kind": []}, "acme.io/runner": {}}});
    assert_eq!(
        everywhere(&ask.request(), &settings).denied(),
        Vec::<&str>::new()
    );
    assert!(!GUEST.validate_settings(&settings).unwrap().valid);
}
