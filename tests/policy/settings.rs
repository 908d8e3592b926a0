//! Settings: their reference page, their schema, and the clusters of `examples/settings/`.

use std::fmt::Write as _;
use std::{env, fs};

use boon::{Compiler, Draft, Schemas};
use managed_by::RESERVED;
use managed_by::rules;
use managed_by::{Delegation, OnLookupFailure, ReservedValue, Role};
use managed_by::{Key, SETTINGS_REFERENCE as KEYS};
use managed_by::{Release, Settings};
use proptest::prelude::*;
use serde_json::{Map, Value, from_str, json};

use crate::support::{GUEST, root};

const PAGE: &str = "docs/settings.md";
const SCHEMA: &str = "docs/settings.schema.json";

/// A label of RFC 1123, without its limit of 63 characters, as in kube-apiserver's own check of a subdomain.
const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const PATH: &str = r"A-Za-z0-9\-._~%!$&'()*+,;=:";

/// The schema, made of what the library knows. `null` is as good as absent.
fn schema() -> Value {
    let or_null = |mut schema: Value| {
        let of = schema["type"].clone();
        schema["type"] = json!([of, "null"]);
        schema
    };
    let words = |words: &[&str]| json!({"enum": words});
    let words_or_null = |words: &[&str]| {
        let words: Vec<_> = words
            .iter()
            .map(|w| json!(w))
            .chain([Value::Null])
            .collect();
        json!({"enum": words})
    };
    let list = |items: &Value, at_least: u8| json!({"type": "array", "items": items, "minItems": at_least, "maxItems": 256});
    let object = |properties: Value| json!({"type": "object", "properties": properties, "additionalProperties": false});
    let subdomain = format!(r"{LABEL}(\.{LABEL})*");
    let kinds: Vec<&str> = managed_by::workload_kinds().collect();
    let reserved: Vec<&str> = RESERVED.iter().map(|(name, _)| *name).collect();
    let releases = Release::ALL
        .iter()
        .map(|release| release.as_str())
        .collect::<Vec<_>>();
    let namespaces = json!({"$ref": "#/$defs/namespace"});
    let people = json!({"$ref": "#/$defs/userOrGroup"});
    let rules: Map<_, _> = rules()
        .iter()
        .map(|r| (r.id().to_owned(), words_or_null(&["deny", "warn", "off"])))
        .collect();
    let describe = |mut schema: Value, path: &str| {
        let key = KEYS.iter().find(|key| key.path == path).unwrap();
        schema["description"] = key.text.into();
        schema
    };
    let controller = or_null(object(json!({
        "kinds": describe(or_null(list(&words(&kinds), 1)), "controllers[NAME].kinds"),
        "namespaces": describe(or_null(list(&namespaces, 1)), "controllers[NAME].namespaces"),
        "status_writers": describe(or_null(list(&people, 1)), "controllers[NAME].status_writers"),
    })));
    let mut entry = object(json!({
        "match": describe(list(&namespaces, 1), "namespaces[].match"),
        "delegation": describe(words(&Delegation::ALL.iter().map(|(w, _)| *w).collect::<Vec<_>>()), "namespaces[].delegation"),
    }));
    entry["required"] = json!(["match", "delegation"]);
    let writers: Map<_, _> = kinds
        .iter()
        .map(|kind| ((*kind).to_owned(), or_null(list(&people, 1))))
        .collect();
    let properties = json!({
        "kubernetes_version": describe(words_or_null(&releases), "kubernetes_version"),
        "reserved_value": describe(words_or_null(&ReservedValue::ALL.iter().map(|(w, _)| *w).collect::<Vec<_>>()), "reserved_value"),
        "role": describe(words_or_null(&Role::ALL.iter().map(|(w, _)| *w).collect::<Vec<_>>()), "role"),
        "controllers": describe(json!({
            "type": ["object", "null"],
            "propertyNames": {
                "pattern": format!("^({subdomain}/[/{PATH}]+|[{PATH}]+)$"),
                "maxLength": 63,
                "not": {"enum": reserved},
            },
            "additionalProperties": controller,
            "maxProperties": 1024,
        }), "controllers"),
        "namespaces": describe(json!({"type": ["array", "null"], "items": entry, "maxItems": 1024}), "namespaces"),
        "standard_status_writers": describe(or_null(object(Value::Object(writers))), "standard_status_writers"),
        "exempt": or_null(object(json!({
            "users": describe(or_null(list(&json!({"$ref": "#/$defs/user"}), 0)), "exempt.users"),
            "groups": describe(or_null(list(&json!({"$ref": "#/$defs/group"}), 0)), "exempt.groups"),
        }))),
        "on_lookup_failure": describe(words_or_null(&OnLookupFailure::ALL.iter().map(|(w, _)| *w).collect::<Vec<_>>()), "on_lookup_failure"),
        "rules": describe(or_null(object(Value::Object(rules))), "rules"),
    });
    let keys: Vec<&str> = properties
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    let mut known = managed_by::SETTINGS_KEYS.to_vec();
    known.sort_unstable();
    assert_eq!(keys, known, "the schema has every key");
    let account = "^system:serviceaccount:";
    let group = "^system:(authenticated|masters|unauthenticated|serviceaccounts(:.*)?)$";
    let mut schema = or_null(object(properties));
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema["title"] = "Settings of managed-by-policy".into();
    schema["$defs"] = json!({
        "namespace": {"type": "string", "pattern": r"^(\*|\*?[a-z0-9-]+(\*[a-z0-9-]+)*\*?)$", "maxLength": 63},
        "userOrGroup": {
            "type": "string",
            "pattern": r"^[^\x00-\x20\x7f*]([^\x00-\x1f\x7f*]*[^\x00-\x20\x7f*])?$",
            "anyOf": [{"not": {"pattern": account}}, {"pattern": format!("{account}{LABEL}:{subdomain}$")}],
        },
        "user": {"allOf": [{"$ref": "#/$defs/userOrGroup"}, {"not": {"pattern": group}}]},
        "group": {"allOf": [{"$ref": "#/$defs/userOrGroup"}, {"not": {"pattern": account}}]},
    });
    schema
}

fn problem(settings: &str) -> String {
    let settings: Value = from_str(settings).unwrap();
    GUEST.validate_settings(&settings).unwrap().message.unwrap()
}

fn page() -> String {
    let mut text = "\
# Settings

Generated from the code (`make docs`); the tests run the examples. Every key may be left out, and `{}` denies nothing
of a Job or CronJob that the kube-apiserver of `kubernetes_version` accepts. The same as a schema, for editors: [settings.schema.json](settings.schema.json). Whole
settings, for three clusters: [examples/settings](../examples/settings).

PolicyServer asks the policy about its settings when it starts, and does not start with bad ones: the policy tells every
problem at once, each with its place. It tells of more than a schema can: entries that are never reached, parts that
contradict each other, too many patterns together (4096 in `namespaces`).

Settings are read again for every request, and only as far as the request needs them. Should bad ones ever get that far,
a verdict that rests on a bad part is a denial with code 500; a bad part that the request has nothing to do with (the
entry of another controller, an entry of `namespaces` behind the one that matches) is not looked at.
"
    .to_owned();
    for Key {
        path,
        values,
        default,
        text: about,
        accepted,
        rejected,
    } in KEYS
    {
        let yaml = |json: &str| {
            let value: Value = from_str(json).unwrap();
            serde_yaml_ng::to_string(&value).unwrap()
        };
        write!(
            text,
            "\n## `{path}`\n\n{about}\n\n- Values: {values}\n- Default: {default}\n\n```yaml\n{}```\n\nRefused:\n\n\
             ```yaml\n{}```\n\n```text\n{}\n```\n",
            yaml(accepted),
            yaml(rejected),
            problem(rejected),
        )
        .unwrap();
    }
    text
}

#[test]
fn the_page_and_the_schema_are_up_to_date() {
    let schema = format!("{:#}\n", schema());
    for (file, text) in [(PAGE, page()), (SCHEMA, schema)] {
        if env::var_os("UPDATE_DOCS").is_some() {
            fs::write(root(file), &text).unwrap();
        }
        let committed = fs::read_to_string(root(file)).unwrap_or_default();
        assert_eq!(committed, text, "{file}: make docs");
    }
}

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
fn the_settings_of_three_clusters_are_valid() {
    let mut names = Vec::new();
    for entry in fs::read_dir(root("examples/settings")).unwrap() {
        let path = entry.unwrap().path();
        let yaml = fs::read_to_string(&path).unwrap();
        let settings: Value = serde_yaml_ng::from_str(&yaml).unwrap();
        let answer = GUEST.validate_settings(&settings).unwrap();
        assert_eq!(answer.message, None, "{}", path.display());
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        assert_eq!(settings["role"], name);
        names.push(name);
    }
    names.sort();
    assert_eq!(names, ["hybrid", "management", "worker"]);
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
    let section = prop_oneof![
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
