//! Rancher's Kubewarden UI, which removes empty values from a policy before it saves it.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use managed_by::{SETTINGS_REFERENCE, Settings, rules};
use managed_by_testing::examples;
use serde_json::{Map, Value, from_str, json};

use crate::support::cluster::FakeCluster;
use crate::support::{GUEST, pods_guest_in, review, root};

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
    let mut seen = BTreeSet::new();
    for (source, settings) in documented_settings() {
        if !seen.insert(settings.to_string()) {
            continue;
        }
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
        let allows = |name: &str| {
            let allowed = review(&job(name), settings).allowed;
            if allowed { "allowed" } else { "denied" }
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
        writeln!(table, "{settings}: {}", result(&settings)).unwrap();
        for ui in UIS {
            let saved = ui.save(settings.clone());
            if saved != settings {
                writeln!(table, "    {ui:?}: {saved}: {}", result(&saved)).unwrap();
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

/// Returns the questions of a policy.
fn questions(file: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(root(file)).unwrap();
    let file: Value = serde_yaml_ng::from_str(&text).unwrap();
    file["questions"].as_array().unwrap().clone()
}

fn list<'q>(question: &'q Value, key: &str) -> &'q [Value] {
    question[key].as_array().map_or(&[], Vec::as_slice)
}

fn text<'q>(question: &'q Value, key: &str) -> &'q str {
    question[key]
        .as_str()
        .unwrap_or_else(|| panic!("{key}: {question}"))
}

/// Checks that the UI has an input for a question, and shows its help.
fn check_question(question: &Value) {
    for key in ["label", "description", "variable"] {
        assert!(!text(question, key).is_empty(), "{key}: {question}");
    }
    assert!(question["required"].is_boolean(), "{question}");
    match text(question, "type") {
        "string" => {}
        "enum" => assert!(!list(question, "options").is_empty(), "{question}"),
        "array[" => assert_eq!(question["default"], json!([]), "{question}"),
        // The UI shows a heading, and its subquestions.
        "map[" => {
            assert_eq!(question["hide_input"], true, "{question}");
            assert!(!list(question, "subquestions").is_empty(), "{question}");
        }
        // The UI adds a row only if the default is a list.
        "sequence[" => {
            assert_eq!(question["default"], json!([]), "{question}");
            assert!(
                !list(question, "sequence_questions").is_empty(),
                "{question}"
            );
        }
        other => panic!("{other}: {question}"),
    }
    for sub in list(question, "sequence_questions") {
        check_question(sub);
    }
    for sub in list(question, "subquestions") {
        check_question(sub);
        let parent = format!("{}.", text(question, "variable"));
        assert!(text(sub, "variable").starts_with(&parent), "{sub}");
    }
}

/// Sets a member as the UI does: a dot separates names, and a quoted name may contain dots.
fn set(settings: &mut Value, variable: &str, answer: Value) {
    let mut target = settings;
    for (index, part) in variable.split('"').enumerate() {
        let names: Vec<_> = match index % 2 {
            0 => part.split('.').filter(|name| !name.is_empty()).collect(),
            _ => vec![part],
        };
        for name in names {
            if !target.is_object() {
                *target = json!({});
            }
            target = &mut target[name];
        }
    }
    *target = answer;
}

/// Returns the answers that a user can give: complete ones, and ones with an empty row.
fn answers(question: &Value) -> [Vec<Value>; 2] {
    match text(question, "type") {
        "enum" => [list(question, "options").to_vec(), Vec::new()],
        // The version of Kubernetes.
        "string" => [vec!["1.36".into(), "v1.33.4".into()], Vec::new()],
        "array[" => {
            let name = "example";
            [vec![json!([name])], vec![json!([""]), json!([name, ""])]]
        }
        "sequence[" => {
            let mut complete = vec![json!({})];
            let mut empty = json!({});
            for sub in list(question, "sequence_questions") {
                let variable = text(sub, "variable");
                set(&mut empty, variable, sub["default"].clone());
                let [values, _] = answers(sub);
                complete = (complete.iter())
                    .flat_map(|row| {
                        values.iter().map(|value| {
                            let mut row = row.clone();
                            set(&mut row, variable, value.clone());
                            row
                        })
                    })
                    .collect();
            }
            let rows = complete.into_iter().map(|row| json!([row]));
            [rows.collect(), vec![json!([empty])]]
        }
        _ => [Vec::new(), Vec::new()],
    }
}

/// Answers the questions of a policy as the UI does, each alone and each pair, and gives the settings to the module.
fn check_answers(file: &str, guest: &managed_by_testing::Policy) {
    let top = questions(file);
    let mut groups = BTreeSet::new();
    let mut all = Vec::new();
    for question in &top {
        check_question(question);
        groups.insert(text(question, "group"));
        assert!(managed_by::settings_keys().any(|key| key == text(question, "variable")));
        all.push(question);
        all.extend(list(question, "subquestions"));
    }
    // Each group is a tab.
    assert!(groups.len() <= 3, "{groups:?}");

    let mut defaults = json!({});
    for question in all.iter().filter(|q| !q["default"].is_null()) {
        set(
            &mut defaults,
            text(question, "variable"),
            question["default"].clone(),
        );
    }
    let is_accepted = |settings: &Value| {
        let response = guest.validate_settings(settings).unwrap();
        assert_eq!(response.valid, is_valid(settings), "{settings}");
        response.valid
    };
    let saved = Ui::V4_1_4.save(defaults.clone()).to_string();
    let parsed = Settings::from_json(saved.as_bytes()).unwrap();
    assert_eq!(parsed, Settings::default(), "{file}: {saved}");
    let mut given = Vec::new();
    for question in &all {
        let [complete, incomplete] = answers(question);
        let variable = text(question, "variable");
        given.extend(complete.into_iter().map(|answer| (variable, answer, true)));
        given.extend(
            incomplete
                .into_iter()
                .map(|answer| (variable, answer, false)),
        );
    }
    for (index, (first, answer, first_is_complete)) in given.iter().enumerate() {
        for (second, other, second_is_complete) in given.iter().skip(index) {
            let mut settings = defaults.clone();
            set(&mut settings, first, answer.clone());
            set(&mut settings, second, other.clone());
            // The second answer to the same question replaces the first.
            let is_complete = (*first_is_complete || first == second) && *second_is_complete;
            let conflicts =
                settings["role"] == "worker" && settings.to_string().contains("required");
            for ui in UIS {
                let saved = ui.save(settings.clone());
                let expected = is_complete && !conflicts;
                assert_eq!(is_accepted(&saved), expected, "{ui:?}: {saved}");
            }
        }
    }
}

#[test]
fn answered_questions_are_valid_settings() {
    check_answers("questions-ui.yml", &GUEST);
    check_answers(
        "pods/questions-ui.yml",
        &pods_guest_in(FakeCluster::Recorded),
    );
}

/// The questions of the pods policy are about the settings in its README.
#[test]
fn questions_of_the_pods_policy_match_its_readme() {
    let readme = std::fs::read_to_string(root("pods/README.md")).unwrap();
    for question in questions("pods/questions-ui.yml") {
        let row = format!("| `{}` | ", text(&question, "variable"));
        assert!(readme.contains(&row), "{row}");
    }
}

/// The UI hides no question because of an expression that it cannot evaluate: alternatives such as `role=worker` and `!role`, with
/// another question's variable and one of its options.
#[test]
fn conditions_name_questions() {
    let all = questions("questions-ui.yml");
    let conditions = all
        .iter()
        .filter_map(|question| question["show_if"].as_str());
    let mut count = 0;
    for alternative in conditions.flat_map(|condition| condition.split("||")) {
        count += 1;
        let (variable, option) = match alternative.split_once('=') {
            Some((variable, option)) => (variable, Some(json!(option))),
            None => (alternative.strip_prefix('!').unwrap(), None),
        };
        let question = all.iter().find(|q| q["variable"] == variable).unwrap();
        let options = list(question, "options");
        assert!(
            option.is_none_or(|option| options.contains(&option)),
            "{alternative}"
        );
    }
    assert_eq!(count, 3);
}
