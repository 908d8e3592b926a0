//! Rancher's Kubewarden UI, which removes empty values from a policy before it saves it.

use managed_by::{SETTINGS_REFERENCE, Settings, rules};
use managed_by_testing::examples;
use serde_json::{Map, Value, from_str, json};

use crate::support::{GUEST, review, root};

/// Releases of the UI (`pkg/kubewarden/utils/object.ts` of rancher/kubewarden-ui), by what its `removeEmptyAttrs` removes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Ui {
    /// Removes empty values: null, `""`, `[]` and `{}`.
    V1_3_0,
    /// Also removes an object that becomes empty. An element of a list becomes null.
    V1_3_5,
    /// Leaves lists that are not empty as they are.
    V4_1_4,
}

const UIS: [Ui; 3] = [Ui::V1_3_0, Ui::V1_3_5, Ui::V4_1_4];

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

impl Ui {
    /// Returns the settings of a policy that is saved with this release.
    fn save(self, mut settings: Value) -> Value {
        self.clean(&mut settings);
        settings
    }

    fn clean(self, value: &mut Value) {
        let is_removed = |value: &mut Value| {
            let was_empty = is_empty(value);
            self.clean(value);
            was_empty || (self != Self::V1_3_0 && is_empty(value))
        };
        match value {
            Value::Object(members) => members.retain(|_, value| !is_removed(value)),
            Value::Array(items) if self != Self::V4_1_4 => {
                for item in items {
                    if is_removed(item) {
                        item.take();
                    }
                }
            }
            _ => {}
        }
    }
}

/// Returns the settings in the documentation, in the examples and in the manifests, with their sources.
fn documented_settings() -> Vec<(String, Value)> {
    let mut all = Vec::new();
    for key in SETTINGS_REFERENCE {
        all.push((key.path.to_owned(), from_str(key.accepted).unwrap()));
    }
    for rule in rules() {
        let documentation = rule.documentation();
        for example in [documentation.accepted, documentation.rejected] {
            all.push((rule.id().to_owned(), from_str(example.settings).unwrap()));
        }
    }
    for example in examples::all().unwrap() {
        all.push((example.name, example.settings));
    }
    let read = |path: &str| std::fs::read_to_string(root(path)).unwrap();
    for name in ["custom-kinds", "hybrid", "management", "worker"] {
        let path = format!("examples/settings/{name}.yml");
        all.push((path.clone(), serde_yaml_ng::from_str(&read(&path)).unwrap()));
    }
    for path in ["management", "worker", "hybrid", "namespace"] {
        let path = format!("deploy/{path}.yml");
        let policy: Value = serde_yaml_ng::from_str(&read(&path)).unwrap();
        assert!(policy["spec"]["settings"].is_object(), "{path}");
        all.push((path, policy["spec"]["settings"].clone()));
    }
    let policies: Map<String, Value> =
        serde_yaml_ng::from_str(&read("deploy/policies.yml")).unwrap();
    for (name, policy) in policies {
        all.push((
            format!("deploy/policies.yml: {name}"),
            policy["settings"].clone(),
        ));
    }
    all
}

#[test]
fn documented_settings_are_saved_unchanged() {
    for (source, settings) in documented_settings() {
        for ui in UIS {
            assert_eq!(ui.save(settings.clone()), settings, "{source}: {ui:?}");
        }
    }
}

/// Replaces each value in the settings by each kind of empty value.
fn with_an_empty_value(settings: &Value) -> Vec<Value> {
    let mut variants = Vec::new();
    let mut pointers = vec![String::new()];
    while let Some(pointer) = pointers.pop() {
        for empty in [json!(null), json!(""), json!([]), json!({})] {
            let mut variant = settings.clone();
            *variant.pointer_mut(&pointer).unwrap() = empty;
            variants.push(variant);
        }
        match settings.pointer(&pointer).unwrap() {
            Value::Object(members) => {
                let escaped = members
                    .keys()
                    .map(|key| key.replace('~', "~0").replace('/', "~1"));
                pointers.extend(escaped.map(|key| format!("{pointer}/{key}")));
            }
            Value::Array(items) => {
                pointers.extend((0..items.len()).map(|index| format!("{pointer}/{index}")));
            }
            _ => {}
        }
    }
    variants
}

fn is_valid(settings: &Value) -> bool {
    Settings::from_json(settings.to_string().as_bytes()).is_ok()
}

/// If the policy accepts settings with an empty value, then it rejects what the UI saves, or its responses stay the same.
#[test]
fn empty_values_mean_the_same_as_missing_keys() {
    let examples = examples::all().unwrap();
    let mut compared = 0;
    for (source, settings) in documented_settings() {
        for settings in with_an_empty_value(&settings) {
            for ui in UIS {
                let saved = ui.save(settings.clone());
                if saved == settings || !is_valid(&settings) || !is_valid(&saved) {
                    continue;
                }
                compared += 1;
                for example in &examples {
                    let [before, after] =
                        [&settings, &saved].map(|settings| review(&example.request, settings));
                    assert_eq!(
                        before, after,
                        "{source}: {ui:?}: {settings}: {}",
                        example.name
                    );
                }
            }
        }
    }
    assert!(compared > 100, "{compared}");
}

/// Shows what becomes of each form of an allow-list: the settings that each release of the UI saves, and the result for a Job that is
/// delegated to MultiKueue and for one with a typo.
#[test]
fn allow_lists_are_saved() {
    let job = |name: &str| {
        json!({
            "kind": {"group": "batch", "version": "v1", "kind": "Job"},
            "resource": {"group": "batch", "version": "v1", "resource": "jobs"},
            "name": "pi", "namespace": "team-a", "operation": "CREATE", "userInfo": {"username": "ana"},
            "object": {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "pi", "namespace": "team-a"}, "spec": {"managedBy": name}},
        })
    };
    let result = |settings: &Value| {
        if !GUEST.validate_settings(settings).unwrap().valid {
            return "rejected".to_owned();
        }
        let allows = |name: &str| match review(&job(name), settings).allowed {
            true => "allowed",
            false => "denied",
        };
        let (right, typo) = (
            allows("kueue.x-k8s.io/multikueue"),
            allows("acme.io/multikeue"),
        );
        format!("multikueue {right}, typo {typo}")
    };
    let mut table = String::new();
    for settings in [
        json!({"controllers": {"kueue.x-k8s.io/multikueue": "any"}}),
        json!({"controllers": {"kueue.x-k8s.io/multikueue": "any", "acme.io/runner": {"kinds": ["Job"]}}}),
        json!({"controllers": "none"}),
        json!({"controllers": {"kueue.x-k8s.io/multikueue": {}}}),
        json!({"controllers": {"kueue.x-k8s.io/multikueue": {}, "acme.io/runner": {"kinds": ["Job"]}}}),
        json!({"controllers": {"kueue.x-k8s.io/multikueue": null}}),
        json!({"controllers": {"kueue.x-k8s.io/multikueue": {"status_writers": []}}}),
        json!({"controllers": {}}),
        json!({"namespaces": [{"match": [], "delegation": "forbidden"}]}),
        json!({"namespaces": [{"match": ["team-a"], "matchLabels": {"example.com/here": ""}, "delegation": "forbidden"}]}),
    ] {
        table += &format!("{settings}: {}\n", result(&settings));
        for ui in UIS {
            let saved = ui.save(settings.clone());
            if saved != settings {
                table += &format!("    {ui:?}: {saved}: {}\n", result(&saved));
            }
        }
    }
    expect_test::expect![[r#"
        {"controllers":{"kueue.x-k8s.io/multikueue":"any"}}: multikueue allowed, typo denied
        {"controllers":{"acme.io/runner":{"kinds":["Job"]},"kueue.x-k8s.io/multikueue":"any"}}: multikueue allowed, typo denied
        {"controllers":"none"}: multikueue denied, typo denied
        {"controllers":{"kueue.x-k8s.io/multikueue":{}}}: rejected
            V1_3_0: {"controllers":{}}: rejected
            V1_3_5: {}: multikueue allowed, typo allowed
            V4_1_4: {}: multikueue allowed, typo allowed
        {"controllers":{"acme.io/runner":{"kinds":["Job"]},"kueue.x-k8s.io/multikueue":{}}}: rejected
            V1_3_0: {"controllers":{"acme.io/runner":{"kinds":["Job"]}}}: multikueue denied, typo denied
            V1_3_5: {"controllers":{"acme.io/runner":{"kinds":["Job"]}}}: multikueue denied, typo denied
            V4_1_4: {"controllers":{"acme.io/runner":{"kinds":["Job"]}}}: multikueue denied, typo denied
        {"controllers":{"kueue.x-k8s.io/multikueue":null}}: rejected
            V1_3_0: {"controllers":{}}: rejected
            V1_3_5: {}: multikueue allowed, typo allowed
            V4_1_4: {}: multikueue allowed, typo allowed
        {"controllers":{"kueue.x-k8s.io/multikueue":{"status_writers":[]}}}: rejected
            V1_3_0: {"controllers":{"kueue.x-k8s.io/multikueue":{}}}: rejected
            V1_3_5: {}: multikueue allowed, typo allowed
            V4_1_4: {}: multikueue allowed, typo allowed
        {"controllers":{}}: rejected
            V1_3_0: {}: multikueue allowed, typo allowed
            V1_3_5: {}: multikueue allowed, typo allowed
            V4_1_4: {}: multikueue allowed, typo allowed
        {"namespaces":[{"delegation":"forbidden","match":[]}]}: rejected
            V1_3_0: {"namespaces":[{"delegation":"forbidden"}]}: rejected
            V1_3_5: {"namespaces":[{"delegation":"forbidden"}]}: rejected
        {"namespaces":[{"delegation":"forbidden","match":["team-a"],"matchLabels":{"example.com/here":""}}]}: rejected
            V1_3_0: {"namespaces":[{"delegation":"forbidden","match":["team-a"],"matchLabels":{}}]}: rejected
            V1_3_5: {"namespaces":[{"delegation":"forbidden","match":["team-a"]}]}: multikueue denied, typo denied
    "#]].assert_eq(&table);
}
