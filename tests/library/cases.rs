//! Table tests: `cases/*.yml` lists requests with their settings and the expected answer.
//!
//! A file is a list of claims. Members of a claim apply to each of its `cases`, which can override them:
//!
//! - `name`: description of the case, printed if it fails.
//! - `kind: MPIJob v2beta1`: the kind, with a version if it is not the kind's first; or a list of kinds.
//! - `create: OBJECT`, `update: [OLD, NEW]`, or `status: [OLD, NEW]` of an object with the given `metadata` and `spec`. The default
//!   metadata is `{name: x}`. A condition can be abbreviated as `Failed=True Reason`. `request` sets other members of the request.
//!   `payload` replaces all of these with the text of a payload of the module.
//! - `settings`: settings, or a list of them. `strict` makes the rules about a status deny on objects that are not delegated too.
//!   `custom_kinds: examples` inserts the kinds of `examples/settings/custom-kinds.yml`. The settings must be valid unless the expected
//!   code is 500, or `refused` is set because the request does not read the invalid part.
//! - `denied`, `warned`, `exempted`: the rules that fire, each with its path. Without any of them the answer must be empty. `code`
//!   defaults to 422 for a denial. `message`, `warnings` and `annotations` are compared if present; `annotations: {}` means none.
//!
//! Each case also checks two properties: the project's own rules accept an update that leaves the object unchanged, and the order of
//! keys in the settings does not change the answer.

use std::fmt::Write as _;

use managed_by::{Kind, kinds};
use serde_json::{Map, Value, json};
use xtask::kinds::{invalid_requests, objects};

use crate::support::{Answer, answer_to_payload, review, review_with, root, settings_error};

/// Returns the items of a list, or any other value as the only item.
fn one_or_many(value: &Value) -> &[Value] {
    value
        .as_array()
        .map_or(std::slice::from_ref(value), Vec::as_slice)
}

/// Returns the settings of a case in full.
fn settings(case: &Value) -> Value {
    if *case == "strict" {
        return invalid_requests::strict();
    }
    let mut settings = case.clone();
    if settings["custom_kinds"] == "examples" {
        let text = std::fs::read_to_string(root("examples/settings/custom-kinds.yml")).unwrap();
        let declared: Value = serde_yaml_ng::from_str(&text).unwrap();
        settings["custom_kinds"] = declared["custom_kinds"].clone();
    }
    if settings.is_null() {
        json!({})
    } else {
        settings
    }
}

/// Expands the abbreviated conditions in a value.
pub(crate) fn expand_conditions(value: &Value) -> Value {
    let condition = |item: &Value| match item.as_str().and_then(|text| text.split_once('=')) {
        Some((name, rest)) => {
            let (status, reason) = rest.split_once(' ').unwrap_or((rest, ""));
            objects::condition(name, status, reason)
        }
        None => item.clone(),
    };
    match value {
        Value::Array(items) => items.iter().map(expand_conditions).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(key, value)| match value {
                Value::Array(items) if key == "conditions" => {
                    (key.clone(), items.iter().map(condition).collect())
                }
                _ => (key.clone(), expand_conditions(value)),
            })
            .collect(),
        _ => value.clone(),
    }
}

/// Returns an object of a case in full.
fn object(value: &Value) -> Value {
    let mut object = expand_conditions(value);
    if let Some(members) = object.as_object_mut() {
        members
            .entry("metadata")
            .or_insert_with(|| json!({"name": "x"}));
    }
    object
}

/// Builds the request of a case for a built-in kind or a kind declared in the settings.
fn request(case: &Map<String, Value>, kind: &str, settings: &Value) -> Value {
    let (name, version) = kind.split_once(' ').unwrap_or((kind, ""));
    let with = |status: &Value| {
        let mut object = object(&json!({"status": status}));
        object["spec"] = case.get("spec").cloned().unwrap_or_else(|| json!({}));
        if let Some(metadata) = case.get("metadata") {
            object["metadata"] = metadata.clone();
        }
        object
    };
    let none = Value::Null;
    let (operation, sub_resource, old, new) =
        match (case.get("create"), case.get("update"), case.get("status")) {
            (Some(new), None, None) => ("CREATE", "", none, object(new)),
            (None, Some(update), None) => ("UPDATE", "", object(&update[0]), object(&update[1])),
            (None, None, Some(status)) => ("UPDATE", "status", with(&status[0]), with(&status[1])),
            _ => panic!("one of create, update and status: {case:?}"),
        };
    let is_wanted = |kind: &&&Kind<'_>| {
        kind.name() == name && (version.is_empty() || kind.versions().contains(&version))
    };
    let mut request = if let Some(kind) = kinds().iter().find(is_wanted) {
        let version = if version.is_empty() {
            kind.versions()[0]
        } else {
            version
        };
        objects::request((kind, version), operation, sub_resource, &old, &new)
    } else {
        let mut declared = settings["custom_kinds"].as_array().into_iter().flatten();
        let declared = declared
            .find(|d| d["kind"] == name)
            .unwrap_or_else(|| panic!("no kind {name}"));
        let mut request = objects::request((kinds()[0], ""), operation, sub_resource, &old, &new);
        let (group, version) = (&declared["group"], &declared["versions"][0]);
        request["kind"] = json!({"group": group, "version": version, "kind": name});
        request["resource"] =
            json!({"group": group, "version": version, "resource": declared["plural"]});
        request
    };
    for (member, value) in case
        .get("request")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        request[member] = value.clone();
    }
    request
}

/// Compares the answer with the expected one and describes the differences.
fn answer_mismatch(case: &Map<String, Value>, answer: &Answer) -> Option<String> {
    let expected = |key: &str| case.get(key).cloned().unwrap_or_else(|| json!([]));
    let mut differences = String::new();
    let mut compare = |member: &str, actual: Value, expected: Value| {
        if actual != expected {
            writeln!(differences, "  {member}: {actual}\n  expected: {expected}").unwrap();
        }
    };
    for key in ["denied", "warned", "exempted"] {
        let fired: Vec<String> = serde_json::from_value(expected(key)).unwrap();
        let annotated = answer.annotations.get(key).map_or("", String::as_str);
        compare(key, annotated.into(), fired.join(", ").into());
    }
    let denied = expected("denied") != json!([]);
    let code = case
        .get("code")
        .cloned()
        .unwrap_or_else(|| json!(denied.then_some(422)));
    compare("code", json!(answer.code), code);
    compare(
        "allowed",
        json!(answer.allowed),
        json!(answer.code.is_none()),
    );
    if let Some(message) = case.get("message") {
        compare("message", json!(answer.message), message.clone());
    }
    let is_silent = !["denied", "warned", "exempted", "code"]
        .iter()
        .any(|key| case.contains_key(*key));
    if is_silent || case.contains_key("warnings") {
        compare("warnings", json!(answer.warnings), expected("warnings"));
    }
    if answer.code == Some(400) {
        compare("annotations", json!(answer.annotations), json!({}));
        compare("warnings", json!(answer.warnings), json!([]));
    }
    let annotations = case.get("annotations").and_then(Value::as_object);
    if annotations.is_some_and(Map::is_empty) {
        compare("annotations", json!(answer.annotations), json!({}));
    }
    for (key, value) in annotations.into_iter().flatten() {
        compare(key, json!(answer.annotations.get(key)), value.clone());
    }
    (!differences.is_empty()).then_some(differences)
}

/// Compares the answer with the result of `validate_settings`. The message of an answer with code 500 must contain its error.
fn settings_mismatch(
    case: &Map<String, Value>,
    answer: &Answer,
    settings: &Value,
) -> Option<String> {
    let error = settings_error(settings);
    let is_refused = case.contains_key("refused");
    let is_expected = match answer.code {
        Some(500) => {
            let message = error
                .as_ref()
                .map(|message| format!("managed-by-policy is misconfigured: {message}"));
            message == answer.message
        }
        _ => error.is_some() == is_refused,
    };
    (!is_expected).then(|| format!("  validate_settings: {error:?}\n"))
}

/// Describes the project's own rules that deny an update without a change.
///
/// Guards are exempt, because a version that drops the field changes the object.
fn unchanged_denial(request: &Value, settings: &Value) -> Option<String> {
    let mut request = request.clone();
    request["operation"] = "UPDATE".into();
    request["oldObject"] = request["object"].clone();
    let answer = review_with(&request, &settings.to_string());
    let is_own_rule = |fired: &&str| {
        let rule = fired.split(' ').next().and_then(managed_by::rule);
        rule.is_some_and(|rule| !rule.is_upstream() && !rule.is_guard())
    };
    let fired: Vec<_> = answer.denied().into_iter().filter(is_own_rule).collect();
    (!fired.is_empty()).then(|| format!("  unchanged: {fired:?}\n"))
}

/// Serializes a value with the keys of every object in reverse order.
fn reversed(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let members = members.iter().rev();
            let members = members.map(|(key, value)| format!("{}:{}", json!(key), reversed(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(reversed).collect();
            format!("[{}]", items.join(","))
        }
        other => other.to_string(),
    }
}

/// Describes a different answer to the same settings with reversed keys.
///
/// Answers with code 500 are exempt, because they list problems in the order of the settings.
fn order_mismatch(request: &Value, settings: &Value, answer: &Answer) -> Option<String> {
    let other = review_with(request, &reversed(settings));
    let differs = answer.code != Some(500) && other != *answer;
    differs.then(|| format!("  reversed settings: {other:?}\n"))
}

/// Allowed keys of a claim or a case.
const KEYS: [&str; 20] = [
    "claim",
    "cases",
    "name",
    "kind",
    "create",
    "update",
    "status",
    "metadata",
    "spec",
    "request",
    "payload",
    "settings",
    "refused",
    "denied",
    "warned",
    "exempted",
    "code",
    "message",
    "warnings",
    "annotations",
];

#[test]
fn each_case_gets_the_expected_answer() {
    let (mut count, mut failed) = (0, String::new());
    for file in std::fs::read_dir(root("tests/library/cases")).unwrap() {
        let file = file.unwrap().path();
        let text = std::fs::read_to_string(&file).unwrap();
        let claims: Vec<Map<String, Value>> = serde_yaml_ng::from_str(&text).unwrap();
        for claim in claims {
            let one = json!([{}]);
            for case in claim.get("cases").unwrap_or(&one).as_array().unwrap() {
                let mut all = claim.clone();
                all.extend(case.as_object().unwrap().clone());
                let unknown = all.keys().find(|key| !KEYS.contains(&&***key));
                assert_eq!(unknown, None, "{}: {case}", file.display());
                let mut check = |mismatch: Option<String>| {
                    count += 1;
                    if let Some(mismatch) = mismatch {
                        let (file, claim) = (file.display(), &claim["claim"]);
                        writeln!(failed, "{file}: {claim}: {case}\n{mismatch}").unwrap();
                    }
                };
                if let Some(payload) = all.get("payload") {
                    check(answer_mismatch(
                        &all,
                        &answer_to_payload(payload.as_str().unwrap().as_bytes()),
                    ));
                    continue;
                }
                for settings in one_or_many(all.get("settings").unwrap_or(&Value::Null)) {
                    let settings = self::settings(settings);
                    for kind in one_or_many(&all["kind"]) {
                        let request = request(&all, kind.as_str().unwrap(), &settings);
                        let answer = review(&request, &settings);
                        check(
                            answer_mismatch(&all, &answer)
                                .or_else(|| settings_mismatch(&all, &answer, &settings))
                                .or_else(|| unchanged_denial(&request, &settings))
                                .or_else(|| order_mismatch(&request, &settings, &answer)),
                        );
                    }
                }
            }
        }
    }
    assert!(failed.is_empty(), "{failed}");
    assert!(count > 450, "{count}");
}
