//! Settings: what is documented of each key, their schema, and the clusters of `examples/settings/`.

use std::collections::BTreeMap;
use std::fs;

use boon::{Compiler, Draft, Schemas};
use managed_by::Settings;
use managed_by::{Key, SETTINGS_REFERENCE as KEYS};
use proptest::prelude::*;
use proptest::sample::{Index, select};
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
        assert!(managed_by::settings_keys().any(|key| key == top), "{top}");
        assert!(!accepted[top].is_null(), "{}", key.path);
    }
    for name in managed_by::settings_keys() {
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

/// Settings right and wrong: what is documented of each key, what the library's tests refuse, and the settings of clusters.
fn written() -> Vec<Value> {
    let read = |file: &str| fs::read_to_string(root(file)).unwrap();
    let mut all: Vec<Value> = Vec::new();
    for key in KEYS {
        all.extend([key.accepted, key.rejected].map(|json| from_str(json).unwrap()));
    }
    let refused = read("crates/managed-by/src/settings/problems.txt");
    let refused = refused.lines().filter(|line| line.starts_with('{'));
    all.extend(refused.filter_map(|json| from_str::<Value>(json).ok()));
    let rules = managed_by::rules().iter().map(|rule| (rule.id(), "warn"));
    all.push(json!({"rules": rules.collect::<BTreeMap<_, _>>()}));
    for name in ["custom-kinds", "hybrid", "management", "worker"] {
        all.push(serde_yaml_ng::from_str(&read(&format!("examples/settings/{name}.yml"))).unwrap());
    }
    all
}

/// Each value within a value, with its pointer.
fn within(value: &Value, at: &str, found: &mut Vec<(String, Value)>) {
    found.push((at.to_owned(), value.clone()));
    let escaped = |key: &str| key.replace('~', "~0").replace('/', "~1");
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                within(member, &format!("{at}/{}", escaped(key)), found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                within(item, &format!("{at}/{index}"), found);
            }
        }
        _ => {}
    }
}

/// Settings in which up to three values are gone, replaced by values that stand elsewhere, or followed by them.
fn any_settings() -> impl Strategy<Value = Value> {
    let all = written();
    let mut values = Vec::new();
    for settings in &all {
        within(settings, "", &mut values);
    }
    let mut odd: Vec<_> = ODD.map(Value::from).to_vec();
    odd.extend([json!(null), json!(1.5), json!(true), json!({}), json!([])]);
    let odd = select(odd).prop_map(|value| (String::new(), value));
    let value = prop_oneof![2 => select(values), 1 => odd];
    let change = (any::<Index>(), value, 0..4_u8);
    (select(all), prop::collection::vec(change, 0..4)).prop_map(|(mut settings, changes)| {
        for (place, (from, value), how) in changes {
            let mut places = Vec::new();
            within(&settings, "", &mut places);
            let (place, _) = place.get(&places);
            let name = from.rsplit('/').next().unwrap_or_default();
            match (settings.pointer_mut(place).unwrap(), how) {
                (Value::Object(members), 0) => drop(members.insert(name.replace("~1", "/"), value)),
                (Value::Object(members), 1) => {
                    drop(members.remove(&members.keys().next().cloned().unwrap_or_default()));
                }
                (Value::Array(items), 0) => items.push(value),
                (Value::Array(items), 1) => drop(items.pop()),
                (at, _) => *at = value,
            }
        }
        settings
    })
}

/// Words that are nearly right.
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
    let plain = [json!(null), json!([]), json!("x"), json!({})];
    for settings in written().into_iter().chain(plain) {
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
