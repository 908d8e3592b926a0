//! Rancher's Kubewarden UI: answers to its form are valid settings, and the empty values that it removes mean the same as missing keys.

use managed_by::{SETTINGS_REFERENCE, Settings, settings_keys};
use managed_by_testing::examples;
use serde_json::{Value, from_str, json};

use crate::settings::collect_values;
use crate::support::cluster::FakeCluster;
use crate::support::{GUEST, pods_guest_in, review, root};

/// Removes empty members, as the UI does before it saves a policy (`removeEmptyAttrs` in rancher/kubewarden-ui 1.3.5; other releases
/// remove less). Returns true if nothing is left.
fn clean(value: &mut Value) -> bool {
    match value {
        Value::Object(members) => members.retain(|_, member| !clean(member)),
        Value::Array(items) => {
            let emptied = items.iter_mut().filter_map(|i| clean(i).then_some(i));
            emptied.for_each(|item| *item = Value::Null);
        }
        _ => {}
    }
    [json!(null), json!(""), json!([]), json!({})].contains(value)
}

/// With an empty value anywhere in documented settings, the policy rejects them or what is saved, or both mean the same.
#[test]
fn empty_values_mean_the_same_as_missing_keys() {
    let examples = examples::all().unwrap();
    let is_valid = |settings: &Value| Settings::from_json(settings.to_string().as_bytes()).is_ok();
    let mut compared = 0;
    for key in SETTINGS_REFERENCE {
        let documented: Value = from_str(key.accepted).unwrap();
        let mut values = Vec::new();
        collect_values(&documented, "", &mut values);
        for (pointer, _) in &values {
            for empty in [json!(null), json!(""), json!([]), json!({})] {
                let mut settings = documented.clone();
                *settings.pointer_mut(pointer).unwrap() = empty;
                let mut saved = settings.clone();
                clean(&mut saved);
                if [&settings, &saved].map(is_valid) != [true, true] || saved == settings {
                    continue;
                }
                compared += 1;
                for example in &examples {
                    let [before, after] = [&settings, &saved].map(|s| review(&example.request, s));
                    assert_eq!(
                        before, after,
                        "{settings} is saved as {saved}: {}",
                        example.name
                    );
                }
            }
        }
    }
    assert!(compared > 50, "{compared}");
}

fn list<'q>(question: &'q Value, key: &str) -> &'q [Value] {
    question[key].as_array().map_or(&[], Vec::as_slice)
}

fn variable(question: &Value) -> &str {
    question["variable"].as_str().unwrap()
}

fn answers(question: &Value) -> Vec<Value> {
    match question["type"].as_str().unwrap() {
        "string" => vec!["1.36".into(), "v1.33.4".into()],
        "enum" => list(question, "options").to_vec(),
        "array[" => vec![json!(["example"])],
        // The UI shows a heading, and its subquestions.
        "map[" => Vec::new(),
        "sequence[" => {
            let [names, choice] = list(question, "sequence_questions") else {
                panic!("a list of names and a choice: {question}")
            };
            let row = |option| json!([{variable(names): ["example"], variable(choice): option}]);
            answers(choice).into_iter().map(row).collect()
        }
        other => panic!("the UI has no input for {other}"),
    }
}

/// Sets a member as the UI does: a dot separates a name from the next one, which may be quoted.
fn set(settings: &mut Value, variable: &str, answer: Value) {
    match variable.split_once('.') {
        Some((first, rest)) => settings[first][rest.trim_matches('"')] = answer,
        None => settings[variable] = answer,
    }
}

#[test]
fn answers_to_the_form_are_valid_settings() {
    let pods = pods_guest_in(FakeCluster::Recorded);
    for (path, guest) in [
        ("questions-ui.yml", &*GUEST),
        ("pods/questions-ui.yml", &pods),
    ] {
        let text = std::fs::read_to_string(root(path)).unwrap();
        let form: Value = serde_yaml_ng::from_str(&text).unwrap();
        let top = list(&form, "questions").iter();
        let with_subquestions = |q| [q].into_iter().chain(list(q, "subquestions"));
        let questions: Vec<_> = top.flat_map(with_subquestions).collect();
        let mut defaults = json!({});
        for question in questions.iter().filter(|q| !q["default"].is_null()) {
            set(
                &mut defaults,
                variable(question),
                question["default"].clone(),
            );
        }
        let mut saved = defaults.clone();
        clean(&mut saved);
        let saved = saved.to_string();
        let parsed = Settings::from_json(saved.as_bytes());
        assert_eq!(parsed, Ok(Settings::default()), "{path}: {saved}");
        for question in &questions {
            let name = variable(question);
            assert!(
                settings_keys().any(|key| name.split('.').next() == Some(key)),
                "{name}"
            );
            for answer in answers(question) {
                let mut settings = defaults.clone();
                set(&mut settings, name, answer);
                clean(&mut settings);
                let response = guest.validate_settings(&settings).unwrap();
                assert!(response.valid, "{settings}: {:?}", response.message);
            }
            // The UI never shows a question whose condition, such as `!role||role=worker`, names no question or option.
            let conditions = question["show_if"].as_str().into_iter();
            for condition in conditions.flat_map(|all| all.split("||")) {
                let (other, option) = condition.split_once('=').unwrap_or((condition, ""));
                let other = other.trim_start_matches('!');
                let other = questions.iter().find(|q| variable(q) == other).unwrap();
                assert!(option.is_empty() || list(other, "options").contains(&option.into()));
            }
        }
    }
}
