//! Settings: what is documented of each key, their schema, and the clusters of `examples/settings/`.

use std::fs;

use boon::{Compiler, Draft, Schemas};
use managed_by::Settings;
use managed_by::{Key, SETTINGS_REFERENCE as KEYS};
use proptest::prelude::*;
use serde_json::{Value, from_str, json};
use xtask::settings::SCHEMA;

use crate::support::{GUEST, root};

#[test]
fn the_examples_of_each_key_are_what_they_say() {
    for key in KEYS {
        let valid = |json| Settings::from_json(str::as_bytes(json)).is_ok();
        assert!(valid(key.accepted), "{}", key.accepted);
        assert!(!valid(key.rejected), "{}", key.rejected);
        let accepted: Value = from_str(key.accepted).unwrap();
        assert!(GUEST.validate_settings(&accepted).unwrap().valid);
        let top = key.path.split(['[', '.']).next().unwrap();
        assert!(managed_by::SETTINGS_KEYS.contains(&top), "{top}");
        assert!(!accepted[top].is_null(), "{}", key.path);
    }
    for name in managed_by::SETTINGS_KEYS {
        let about = |key: &&Key| key.path.split(['[', '.']).next() == Some(name);
        assert!(
            KEYS.iter().any(|key| about(&key)),
            "{name} is not documented"
        );
    }
}

#[test]
fn the_settings_of_the_examples_are_valid() {
    let mut names = Vec::new();
    for entry in fs::read_dir(root("examples/settings")).unwrap() {
        let path = entry.unwrap().path();
        let yaml = fs::read_to_string(&path).unwrap();
        let settings: Value = serde_yaml_ng::from_str(&yaml).unwrap();
        let answer = GUEST.validate_settings(&settings).unwrap();
        assert_eq!(answer.message, None, "{}", path.display());
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if name != "custom-kinds" {
            assert_eq!(settings["role"], name);
        }
        names.push(name);
    }
    names.sort();
    assert_eq!(names, ["custom-kinds", "hybrid", "management", "worker"]);
}

/// Values of every form that a key may meet, right ones and wrong ones.
fn leaf() -> impl Strategy<Value = Value> {
    let words = [
        "1.36",
        "1.3",
        "allow",
        "deny",
        "warn",
        "off",
        "hybrid",
        "management",
        "worker",
        "required",
        "forbidden",
        "allowed",
        "Job",
        "CronJob",
        "job",
        "team-*",
        "*",
        "**",
        "team-a",
        "Team",
        "",
        " ",
        "ana",
        "ana ",
        "a b",
        "a*",
        "system:masters",
        "system:serviceaccounts",
        "system:serviceaccounts:a",
        "system:serviceaccount:a:b",
        "system:serviceaccount:a",
        "system:serviceaccount:A:b",
        "system:serviceaccount:a:b.c",
        "system:authenticated",
        "a\u{0}",
        "\u{e9}",
    ];
    prop_oneof![
        12 => prop::sample::select(words.to_vec()).prop_map(Value::from),
        1 => prop::sample::select(vec![Value::Null, json!(1), json!(1.5), json!(true), json!({}), json!([])]),
        2 => "[a-z*-]{1,6}".prop_map(Value::from),
        1 => Just(json!("a".repeat(64))),
    ]
}

/// Paths of `custom_kinds`, right ones and wrong ones.
fn path() -> impl Strategy<Value = Value> {
    let paths = [
        "spec.managedBy",
        "spec.a.managedBy",
        "status.phase",
        "status.a.b",
        "status.a[].b",
        "status.a[]",
        "status[].a",
        "status",
        "spec",
        "status..a",
        "status.a[][].b",
        "status.a b",
        "",
        "phase",
        "status.\u{e9}",
    ];
    let long = [16, 17].map(|names| format!("status{}", ".a".repeat(names - 1)));
    let name = [63, 64].map(|bytes| format!("status.{}", "a".repeat(bytes)));
    let mut all: Vec<Value> = paths.map(Value::from).to_vec();
    all.extend(long.into_iter().chain(name).map(Value::from));
    all.push(json!(5));
    prop::sample::select(all)
}

/// Values of a key of `custom_kinds`, mostly right ones.
fn declared(key: &str) -> impl Strategy<Value = Value> {
    let (right, wrong) = match key {
        "group" => (
            "argoproj.io",
            ["argoproj", "Argoproj.io", "argoproj.io.", ""],
        ),
        "kind" => (
            "Workflow",
            ["workflow", "Work flow", "Workflow-", "1Workflow"],
        ),
        "plural" => ("workflows", ["Workflows", "work flows", "1workflows", ""]),
        _ => ("any", ["path", "workload", "template", "v1"]),
    };
    prop_oneof![
        12 => Just(json!(right)),
        1 => prop::sample::select(wrong.to_vec()).prop_map(Value::from),
        1 => leaf(),
    ]
}

fn list() -> impl Strategy<Value = Value> {
    prop_oneof![
        12 => prop::collection::vec(leaf(), 0..4).prop_map(Value::from),
        1 => leaf(),
    ]
}

fn object(
    keys: &'static [&'static str],
    value: BoxedStrategy<Value>,
) -> impl Strategy<Value = Value> {
    let members = prop::collection::vec((prop::sample::select(keys), value.clone()), 0..4);
    let members = members.prop_map(|members| {
        Value::Object(
            members
                .into_iter()
                .map(|(k, v)| (k.to_owned(), v))
                .collect(),
        )
    });
    prop_oneof![12 => members, 1 => value]
}

fn any_settings() -> impl Strategy<Value = Value> {
    const NAMES: &[&str] = &[
        "acme.io/runner",
        "kueue.x-k8s.io/multikueue",
        "tekton-runner",
        "Acme.io/x",
        "acme.io/",
        "/x",
        "",
        "acme.io/a b",
        "kubernetes.io/job-controller",
        "a-.io/x",
        "acme.io/a/b",
        "acme.io/\u{e9}",
    ];
    let controller = object(
        &["kinds", "namespaces", "status_writers", "x"],
        list().boxed(),
    );
    let entry = (
        leaf(),
        list(),
        object(&["match", "delegation", "x"], list().boxed()),
        0..4,
    );
    let entry = entry.prop_map(|(delegation, patterns, other, which)| match which {
        0 => other,
        _ => json!({"match": patterns, "delegation": delegation}),
    });
    let sign = || {
        prop_oneof![
            object(&["condition", "path", "values", "x"], list().boxed()),
            object(
                &["condition"],
                prop_oneof![Just(json!("Done")), Just(json!(""))].boxed()
            ),
            (path(), list()).prop_map(|(path, values)| json!({"path": path, "values": values})),
        ]
    };
    let paths = || prop::collection::vec(path(), 0..3).prop_map(Value::from);
    let status = prop_oneof![
        sign().prop_map(|sign| json!({"success": sign})),
        (sign(), sign()).prop_map(|(a, b)| json!({"success": a, "failure": b})),
        (path(), path()).prop_map(|(start, end)| json!({"start": start, "end": end})),
        (paths(), paths()).prop_map(|(a, b)| json!({"counters": a, "totals": b})),
        object(&["success", "start", "counters", "x"], list().boxed()),
    ];
    let kind = (
        declared("group"),
        declared("kind"),
        declared("plural"),
        status,
        object(
            &[
                "versions",
                "managed_by",
                "reserved",
                "form",
                "holder",
                "status",
                "x",
            ],
            prop_oneof![list().boxed(), path().boxed(), declared("other").boxed()].boxed(),
        ),
    );
    let kind = kind.prop_map(|(group, kind, plural, status, mut other)| {
        if let Some(entry) = other.as_object_mut() {
            entry.insert("group".to_owned(), group);
            entry.insert("kind".to_owned(), kind);
            entry.insert("plural".to_owned(), plural);
            entry.entry("status").or_insert(status);
        }
        other
    });
    let section = prop_oneof![
        prop::collection::vec(kind, 0..3).prop_map(|v| ("custom_kinds", v.into())),
        leaf().prop_map(|v| ("kubernetes_version", v)),
        leaf().prop_map(|v| ("reserved_value", v)),
        leaf().prop_map(|v| ("role", v)),
        object(NAMES, controller.boxed()).prop_map(|v| ("controllers", v)),
        prop::collection::vec(entry, 0..3).prop_map(|v| ("namespaces", v.into())),
        list().prop_map(|v| ("namespaces", v)),
        object(&["Job", "CronJob", "Jobs"], list().boxed())
            .prop_map(|v| ("standard_status_writers", v)),
        object(&["users", "groups", "x"], list().boxed()).prop_map(|v| ("exempt", v)),
        object(
            &["managed-by/format", "managed-by/allowed", "x"],
            leaf().boxed()
        )
        .prop_map(|v| ("rules", v)),
        leaf().prop_map(|v| ("unknown", v)),
    ];
    prop::collection::vec(section, 0..3).prop_map(|sections| {
        Value::Object(
            sections
                .into_iter()
                .map(|(k, v)| (k.to_owned(), v))
                .collect(),
        )
    })
}

/// A schema cannot say that two parts do not go together; in all else it says what `validate_settings` says.
#[test]
fn the_schema_accepts_what_validate_settings_accepts() {
    let mut schemas = Schemas::new();
    let mut compiler = Compiler::new();
    compiler.set_default_draft(Draft::V2020_12);
    let committed: Value = from_str(&fs::read_to_string(root(SCHEMA)).unwrap()).unwrap();
    compiler.add_resource("settings.json", committed).unwrap();
    let index = compiler.compile("settings.json", &mut schemas).unwrap();
    let says = |settings: &Value| {
        let schema = schemas.validate(settings, index).is_ok();
        let text = settings.to_string();
        let problems = Settings::from_json(text.as_bytes()).err();
        let of_form = problems.map(|p| p.as_slice().iter().filter(|p| !p.is_semantic()).count());
        (schema, of_form.unwrap_or_default() == 0)
    };
    for key in KEYS {
        for settings in [key.accepted, key.rejected] {
            let (schema, policy) = says(&from_str(settings).unwrap());
            assert_eq!(schema, policy, "{settings}");
        }
    }
    for settings in [json!(null), json!([]), json!("x"), json!({})] {
        let (schema, policy) = says(&settings);
        assert_eq!(schema, policy, "{settings}");
    }
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(20_000)
    });
    let counted = std::cell::Cell::new(0_u32);
    runner
        .run(&any_settings(), |settings| {
            let (schema, policy) = says(&settings);
            prop_assert_eq!(schema, policy, "{}", settings);
            counted.set(counted.get() + u32::from(policy));
            Ok(())
        })
        .unwrap();
    let valid = counted.get();
    // Neither side is of one mind about everything.
    assert!(
        (2000..18_000).contains(&valid),
        "{valid} of 20000 are valid"
    );
}
