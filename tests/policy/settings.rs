//! The settings: documented examples of each key, and the JSON Schema.

use std::collections::BTreeMap;
use std::fs;

use boon::{Compiler, Draft, Schemas};
use managed_by::Settings;
use managed_by::{SETTINGS_REFERENCE as KEYS, SettingsKey};
use managed_by_testing::SETTINGS_SCHEMA;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, from_str, json};

use crate::support::{GUEST, root};

#[test]
fn documented_examples_of_each_key_are_accepted_and_rejected() {
    for key in KEYS {
        let valid = |json| Settings::from_json(str::as_bytes(json)).is_ok();
        assert!(valid(key.accepted), "{}", key.accepted);
        assert!(!valid(key.rejected), "{}", key.rejected);
        let accepted: Value = from_str(key.accepted).unwrap();
        assert!(GUEST.validate_settings(&accepted).unwrap().valid);
        let top = key.path.split(['[', '.']).next().unwrap();
        assert!(managed_by::settings_keys().any(|key| key == top), "{top}");
        assert!(!accepted[top].is_null(), "{}", key.path);
    }
    for name in managed_by::settings_keys() {
        let about = |key: &&SettingsKey| key.path.split(['[', '.']).next() == Some(name);
        assert!(
            KEYS.iter().any(|key| about(&key)),
            "{name} is not documented"
        );
    }
}

/// Returns handwritten settings, valid and invalid: documented examples, the library's tests and `examples/settings/`.
fn handwritten_settings() -> Vec<Value> {
    let read = |file: &str| fs::read_to_string(root(file)).unwrap();
    let mut all: Vec<Value> = Vec::new();
    for key in KEYS {
        all.extend([key.accepted, key.rejected].map(|json| from_str(json).unwrap()));
    }
    let invalid = read("crates/managed-by/src/settings/problems.txt");
    let invalid = invalid.lines().filter(|line| line.starts_with('{'));
    all.extend(invalid.filter_map(|json| from_str::<Value>(json).ok()));
    let rules = managed_by::rules().iter().map(|rule| (rule.id(), "warn"));
    all.push(json!({"rules": rules.collect::<BTreeMap<_, _>>()}));
    for name in ["custom-kinds", "hybrid", "management", "worker"] {
        all.push(serde_yaml_ng::from_str(&read(&format!("examples/settings/{name}.yml"))).unwrap());
    }
    all
}

/// Collects a value and all values in it, each with its JSON pointer.
pub(crate) fn collect_values(value: &Value, pointer: &str, found: &mut Vec<(String, Value)>) {
    found.push((pointer.to_owned(), value.clone()));
    let escaped = |key: &str| key.replace('~', "~0").replace('/', "~1");
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                collect_values(member, &format!("{pointer}/{}", escaped(key)), found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect_values(item, &format!("{pointer}/{index}"), found);
            }
        }
        _ => {}
    }
}

/// Generates settings with up to three values removed, replaced, or added from elsewhere.
fn any_settings() -> impl Strategy<Value = Value> {
    let all = handwritten_settings();
    let mut values = Vec::new();
    for settings in &all {
        collect_values(settings, "", &mut values);
    }
    let mut odd: Vec<_> = ODD.map(Value::from).to_vec();
    odd.extend([json!(null), json!(1.5), json!(true), json!({}), json!([])]);
    let odd = select(odd).prop_map(|value| (String::new(), value));
    let value = prop_oneof![2 => select(values), 1 => odd];
    let change = (any::<Index>(), value, 0..4_u8);
    (select(all), prop::collection::vec(change, 0..4)).prop_map(|(mut settings, changes)| {
        for (target, (from, value), operation) in changes {
            let mut targets = Vec::new();
            collect_values(&settings, "", &mut targets);
            let (target, _) = target.get(&targets);
            let name = from.rsplit('/').next().unwrap_or_default();
            match (settings.pointer_mut(target).unwrap(), operation) {
                (Value::Object(members), 0) => drop(members.insert(name.replace("~1", "/"), value)),
                (Value::Object(members), 1) => {
                    drop(members.remove(&members.keys().next().cloned().unwrap_or_default()));
                }
                (Value::Array(items), 0) => items.push(value),
                (Value::Array(items), 1) => drop(items.pop()),
                (target, _) => *target = value,
            }
        }
        settings
    })
}

/// Strings that are close to valid values.
const ODD: [&str; 16] = [
    "",
    " ",
    "ana ",
    "a*",
    "**",
    "Team",
    "off",
    "required",
    "system:masters",
    "system:serviceaccounts:a",
    "system:serviceaccount:a:b",
    "system:serviceaccount:A:b",
    "a\u{0}",
    "\u{e9}",
    "spec.a b",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
];

/// Returns a function that validates values with a schema.
pub(crate) fn validator(file: &str) -> impl Fn(&Value) -> bool + use<> {
    let mut schemas = Schemas::new();
    let mut compiler = Compiler::new();
    compiler.set_default_draft(Draft::V2020_12);
    let schema = from_str(&fs::read_to_string(root(file)).unwrap()).unwrap();
    compiler.add_resource(file, schema).unwrap();
    let index = compiler.compile(file, &mut schemas).unwrap();
    move |value| schemas.validate(value, index).is_ok()
}

/// The schema accepts the same settings as `validate_settings`, except for conflicts between keys, which a schema cannot express.
#[test]
fn schema_accepts_the_same_settings_as_the_policy() {
    let is_valid = validator(SETTINGS_SCHEMA);
    let validate = |settings: &Value| {
        let schema = is_valid(settings);
        let text = settings.to_string();
        let problems = Settings::from_json(text.as_bytes()).err();
        let syntactic = problems.map(|p| p.as_slice().iter().filter(|p| !p.is_semantic()).count());
        (schema, syntactic.unwrap_or_default() == 0)
    };
    let plain = [json!(null), json!([]), json!("x"), json!({})];
    for settings in handwritten_settings().into_iter().chain(plain) {
        let (schema, policy) = validate(&settings);
        assert_eq!(schema, policy, "{settings}");
    }
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(20_000)
    });
    let valid = std::cell::Cell::new(0_u32);
    runner
        .run(&any_settings(), |settings| {
            let (schema, policy) = validate(&settings);
            prop_assert_eq!(schema, policy, "{}", settings);
            valid.set(valid.get() + u32::from(policy));
            Ok(())
        })
        .unwrap();
    let valid = valid.get();
    // The generator must produce both valid and invalid settings.
    assert!(
        (2000..18_000).contains(&valid),
        "{valid} of 20000 are valid"
    );
}
