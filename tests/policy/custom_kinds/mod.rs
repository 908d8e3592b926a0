//! Kinds that the settings declare: a valid life of each, what breaks it, and what a request of one costs.

mod costs;

use managed_by_engine::admission;
use serde_json::{Value, json};
use xtask::examples;

use crate::support::{Answer, everywhere, in_engine};
use managed_by::{AdmissionRequest, Settings, review};

const MULTIKUEUE: &str = "kueue.x-k8s.io/multikueue";

/// A declared kind: group, version, kind, plural, and where its field is.
struct Declared(
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

const WORKFLOW: Declared = Declared(
    "argoproj.io",
    "v1alpha1",
    "Workflow",
    "workflows",
    "/spec/managedBy",
);
const SPARK: Declared = Declared(
    "sparkoperator.k8s.io",
    "v1beta2",
    "SparkApplication",
    "sparkapplications",
    "/spec/managedBy",
);
const RENDER: Declared = Declared(
    "studio.example.com",
    "v1",
    "Render",
    "renders",
    "/spec/execution/managedBy",
);

/// The entries of the examples' settings, without their allow-list.
fn settings() -> Value {
    let examples = examples::all().unwrap();
    let example = examples.iter().find(|e| e.topic() == "custom").unwrap();
    json!({"custom_kinds": example.settings["custom_kinds"]})
}

fn object(kind: &Declared, managed_by: Option<&str>, status: &Value) -> Value {
    let mut spec = json!({"execution": {}});
    if let Some(value) = managed_by {
        *match kind.4 {
            "/spec/managedBy" => &mut spec["managedBy"],
            _ => &mut spec["execution"]["managedBy"],
        } = value.into();
    }
    json!({"metadata": {"name": "x", "namespace": "team-a"}, "spec": spec, "status": status})
}

fn request(
    kind: &Declared,
    operation: &str,
    sub_resource: &str,
    old: Option<Value>,
    new: impl Into<Value>,
) -> Value {
    let (new, Declared(group, version, name, plural, _)) = (new.into(), kind);
    let mut request = json!({
        "uid": "1",
        "kind": {"group": group, "version": version, "kind": name},
        "resource": {"group": group, "version": version, "resource": plural},
        "name": "x",
        "namespace": "team-a",
        "operation": operation,
        "subResource": sub_resource,
        "userInfo": {"username": "ana"},
        "object": new,
    });
    if let Some(old) = old {
        request["oldObject"] = old;
    }
    request
}

fn status(kind: &Declared, managed_by: Option<&str>, old: &Value, new: &Value) -> Answer {
    let (old, new) = (object(kind, managed_by, old), object(kind, managed_by, new));
    everywhere(
        &request(kind, "UPDATE", "status", Some(old), new),
        &settings(),
    )
}

/// The life of each kind: each status follows on the one before.
fn lives() -> [(Declared, Vec<Value>); 3] {
    let spark = |state: &str, attempts: u8| json!({"applicationState": {"state": state}, "executionAttempts": attempts});
    let render = |done: &str, left: u16, drawn: u16| json!({"conditions": [{"type": "Done", "status": done}], "frames": {"left": left, "drawn": drawn}});
    [
        (
            WORKFLOW,
            vec![
                json!({}),
                json!({"phase": "Pending"}),
                json!({"phase": "Running", "startedAt": "2026-11-20T09:00:00Z"}),
                json!({"phase": "Succeeded", "startedAt": "2026-11-20T09:00:00Z", "finishedAt": "2026-11-20T09:10:00Z"}),
            ],
        ),
        (
            SPARK,
            vec![
                json!({}),
                spark("SUBMITTED", 1),
                spark("FAILING", 1),
                spark("SUBMITTED", 2),
                spark("RUNNING", 2),
                spark("COMPLETED", 2),
            ],
        ),
        (
            RENDER,
            vec![
                json!({}),
                render("False", 240, 0),
                render("False", 4, 236),
                render("True", 0, 240),
            ],
        ),
    ]
}

#[test]
fn a_valid_life_is_accepted_in_silence() {
    for (kind, life) in lives() {
        for managed_by in [None, Some(MULTIKUEUE)] {
            let created = request(
                &kind,
                "CREATE",
                "",
                None,
                object(&kind, managed_by, &json!({})),
            );
            let mut answers = vec![everywhere(&created, &settings())];
            for step in life.windows(2) {
                answers.push(status(&kind, managed_by, &step[0], &step[1]));
            }
            for answer in answers {
                assert!(answer.allowed && answer.warnings.is_empty(), "{answer:?}");
            }
        }
    }
}

/// What breaks a life: the change, and the rule with its path. Of delegated objects a changed outcome is denied; what only
/// guesses warns.
#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn a_life_that_is_broken_is_denied_or_warned_of() {
    let [(_, workflow), (_, spark), (_, render)] = lives();
    let with = |status: &Value, pointer: &str, value: Value| {
        let mut status = status.clone();
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        status.pointer_mut(parent).unwrap()[name] = value;
        status
    };
    let both = json!([{"type": "Done", "status": "True"}, {"type": "Broken", "status": "True"}]);
    let early = with(&workflow[3], "/finishedAt", json!("2026-11-20T08:00:00Z"));
    let negative = with(&render[2], "/frames/left", json!(-1));
    let failed = with(&workflow[3], "/phase", json!("Error"));
    let changed = "status/outcome-changed";
    for (kind, old, new, denied, warned) in [
        (
            &WORKFLOW,
            &workflow[3],
            &workflow[2],
            &[(changed, "status.phase")] as &[_],
            &[] as &[_],
        ),
        (
            &WORKFLOW,
            &workflow[3],
            &failed,
            &[(changed, "status.phase")],
            &[],
        ),
        (
            &WORKFLOW,
            &failed,
            &workflow[3],
            &[(changed, "status.phase")],
            &[],
        ),
        (
            &WORKFLOW,
            &workflow[3],
            &json!({"phase": "Succeeded", "startedAt": "2026-11-20T09:00:00Z"}),
            &[(changed, "status.finishedAt")],
            &[],
        ),
        (
            &WORKFLOW,
            &workflow[2],
            &early,
            &[],
            &[("status/end-before-start", "status.finishedAt")],
        ),
        (
            &SPARK,
            &spark[5],
            &spark[4],
            &[(changed, "status.applicationState.state")],
            &[],
        ),
        (
            &SPARK,
            &spark[5],
            &with(&spark[5], "/applicationState", json!({})),
            &[(changed, "status.applicationState.state")],
            &[],
        ),
        (
            &RENDER,
            &render[3],
            &with(&render[3], "/conditions", json!([])),
            &[(changed, "status.conditions")],
            &[],
        ),
        (
            &RENDER,
            &render[2],
            &with(&render[2], "/conditions", both),
            &[],
            &[("status/two-outcomes", "status.conditions")],
        ),
        (
            &RENDER,
            &render[2],
            &negative,
            &[],
            &[("status/negative-counter", "status.frames.left")],
        ),
        (
            &RENDER,
            &negative,
            &with(&negative, "/frames/drawn", json!(237)),
            &[],
            &[],
        ),
    ] {
        let fired = |rules: &[(&str, &str)]| {
            rules
                .iter()
                .map(|(id, path)| format!("{id} {path}"))
                .collect::<Vec<_>>()
        };
        let delegated = status(kind, Some(MULTIKUEUE), old, new);
        assert_eq!(delegated.denied(), fired(denied), "{new}");
        assert_eq!(delegated.warned(), fired(warned), "{new}");
        // Its own controller is only warned.
        let own = status(kind, None, old, new);
        assert!(own.allowed, "{own:?}");
        assert_eq!(own.warned(), fired(&[denied, warned].concat()), "{new}");
    }
    // Where another controller starts the workload over, it is counted anew.
    let fewer = with(&spark[4], "/executionAttempts", json!(1));
    let answer = status(&SPARK, None, &spark[4], &fewer);
    assert_eq!(
        answer.warned(),
        ["status/counter-decreased status.executionAttempts"]
    );
    assert_eq!(
        status(&SPARK, Some(MULTIKUEUE), &spark[4], &fewer).warned(),
        [""; 0]
    );
}

#[test]
fn the_field_is_immutable_and_its_form_is_warned_of() {
    let none = json!({});
    for (kind, path) in [
        (WORKFLOW, "spec.managedBy"),
        (SPARK, "spec.managedBy"),
        (RENDER, "spec.execution.managedBy"),
    ] {
        for (old, new) in [
            (None, Some(MULTIKUEUE)),
            (Some(MULTIKUEUE), None),
            (Some(MULTIKUEUE), Some("a.io/x")),
        ] {
            let (old, new) = (object(&kind, old, &none), object(&kind, new, &none));
            let answer = everywhere(&request(&kind, "UPDATE", "", Some(old), new), &settings());
            assert_eq!(answer.denied(), [format!("managed-by/immutable {path}")]);
        }
        for (value, rule) in [
            (
                "typo",
                if kind.2 == "Render" {
                    "unchecked-format"
                } else {
                    "format"
                },
            ),
            ("kubernetes.io/job-controller", "wrong-kind"),
        ] {
            let answer = everywhere(
                &request(&kind, "CREATE", "", None, object(&kind, Some(value), &none)),
                &settings(),
            );
            assert!(answer.allowed, "{answer:?}");
            assert_eq!(answer.warned(), [format!("managed-by/{rule} {path}")]);
        }
    }
}

#[test]
fn the_reserved_value_means_the_kind_s_own_controller() {
    let own = "argoproj.io/workflow-controller";
    let created = request(
        &WORKFLOW,
        "CREATE",
        "",
        None,
        object(&WORKFLOW, Some(own), &json!({})),
    );
    let mut settings = settings();
    let answer = everywhere(&created, &settings);
    assert_eq!(answer.annotations["mode"], "Standard");
    assert!(answer.warnings.is_empty(), "{answer:?}");
    settings["reserved_value"] = "deny".into();
    assert_eq!(
        everywhere(&created, &settings).denied(),
        ["managed-by/reserved spec.managedBy"]
    );
    // An entry without a reserved value has no such name.
    let created = request(
        &SPARK,
        "CREATE",
        "",
        None,
        object(&SPARK, Some(own), &json!({})),
    );
    assert_eq!(
        everywhere(&created, &settings).annotations["mode"],
        "Delegated"
    );
}

/// The roles, the allow-list and the writers know the declared kinds.
#[test]
fn site_specific_rules_hold_for_declared_kinds() {
    let mut settings = settings();
    settings["role"] = "worker".into();
    let delegated = request(
        &RENDER,
        "CREATE",
        "",
        None,
        object(&RENDER, Some(MULTIKUEUE), &json!({})),
    );
    assert_eq!(
        everywhere(&delegated, &settings).denied(),
        ["managed-by/delegation spec.execution.managedBy"]
    );
    settings["role"] = "hybrid".into();
    settings["controllers"] = json!({MULTIKUEUE: {"kinds": ["Workflow"]}});
    assert_eq!(
        everywhere(&delegated, &settings).denied(),
        ["managed-by/allowed spec.execution.managedBy"]
    );
    settings["standard_status_writers"] = json!({"Render": ["render-controller"]});
    let (old, new) = (
        object(&RENDER, None, &json!({})),
        object(&RENDER, None, &json!({"frames": {"left": 1}})),
    );
    let written = request(&RENDER, "UPDATE", "status", Some(old), new);
    let answer = everywhere(&written, &settings);
    assert_eq!(
        (answer.code, answer.denied()),
        (Some(403), vec!["status-writer/standard status"])
    );
    // A Job that a writer of Workflows creates for one need not be delegated.
    let job = json!({
        "uid": "1", "operation": "CREATE", "namespace": "team-a",
        "kind": {"group": "batch", "version": "v1", "kind": "Job"},
        "resource": {"group": "batch", "version": "v1", "resource": "jobs"},
        "userInfo": {"username": "argo"},
        "object": {"metadata": {"name": "x", "ownerReferences": [
            {"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "name": "w", "uid": "2", "controller": true},
        ]}, "spec": {}},
    });
    let mut management = self::settings();
    management["role"] = "management".into();
    assert!(!everywhere(&job, &management).allowed);
    management["standard_status_writers"]["Workflow"] = json!(["argo"]);
    assert!(everywhere(&job, &management).allowed);
    assert!(!everywhere(&job, &json!({"role": "management"})).allowed);
}

#[test]
fn what_is_not_of_the_declared_form_is_told_with_its_place() {
    for (object, message) in [
        (json!(5), "object: expected an object, got a number"),
        (
            json!({"spec": 5}),
            "object.spec: expected an object, got a number",
        ),
        (
            json!({"spec": {"execution": []}}),
            "object.spec.execution: expected an object, got an array",
        ),
        (
            json!({"spec": {"execution": {"managedBy": 5}}}),
            "object.spec.execution.managedBy: expected a string, got a number",
        ),
        (
            json!({"metadata": 5}),
            "object.metadata: expected an object, got a number",
        ),
        (
            json!({"metadata": {"name": 5}}),
            "object.metadata.name: expected a string, got a number",
        ),
    ] {
        let request = request(&RENDER, "CREATE", "", None, object);
        let answer = in_engine(&admission::payload(&request, &settings()));
        assert_eq!(answer.code, Some(400));
        let expected = format!("malformed admission request: request.{message}");
        assert_eq!(answer.message(), expected);
        let text = settings().to_string();
        let settings = Settings::from_json(text.as_bytes()).unwrap();
        let text = request.to_string();
        let request = AdmissionRequest::from_json(text.as_bytes()).unwrap();
        let expected = format!("malformed admission request: {message}");
        assert_eq!(review(&request, &settings).message, Some(expected));
    }
    // What the kind's own schema judges is passed over.
    for status in [
        json!(5),
        json!([]),
        json!({"conditions": 5, "frames": "many"}),
        json!({"conditions": [5, {"type": 5}]}),
    ] {
        let answer = self::status(&RENDER, None, &json!({}), &status);
        assert!(answer.allowed && answer.warnings.is_empty(), "{answer:?}");
    }
    let without_old = request(&RENDER, "UPDATE", "", None, json!({}));
    let nothing = in_engine(&admission::payload(&without_old, &settings()));
    assert_eq!(nothing.code, Some(400));
}

/// A version that the entry leaves out is as unknown as a kind that no entry declares.
#[test]
fn other_versions_and_other_kinds_pass_with_a_warning() {
    for kind in [
        Declared(
            "sparkoperator.k8s.io",
            "v1",
            "SparkApplication",
            "sparkapplications",
            "",
        ),
        Declared(
            "argoproj.io",
            "v1alpha1",
            "CronWorkflow",
            "cronworkflows",
            "",
        ),
        Declared("acme.io", "v1", "Workflow", "workflows", ""),
    ] {
        let answer = everywhere(
            &request(&kind, "CREATE", "", None, json!({"spec": {"managedBy": 5}})),
            &settings(),
        );
        assert!(answer.allowed, "{answer:?}");
        assert_eq!(answer.warnings.len(), 1, "{answer:?}");
    }
}
