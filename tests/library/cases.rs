//! Table tests: `cases/*.yml` lists requests with settings and the expected response.
//!
//! A file is a list of groups. The keys of a group apply to each of its `cases`, which can override them:
//!
//! - `name`: description of the case, printed if it fails.
//! - `kind: MPIJob v2beta1`: the kind, with a version if it is not the kind's first; or a list of kinds.
//! - `create: OBJECT`, `update: [OLD, NEW]`, or `status: [OLD, NEW, ...]` of an object with the given `metadata` and `spec`, which may
//!   be a list of specs. Each status is written over the one before it. The default metadata is `{name: x}`. A condition can be
//!   abbreviated as `Failed=True Reason`. `request` sets other members of the request. `payload` replaces all of these with the text
//!   of a payload of the module.
//! - `settings`: settings, or a list of them. With `strict`, the rules about the status also deny for objects that are not
//!   delegated. `custom_kinds: examples` inserts the kinds of `examples/settings/custom-kinds.yml`. The settings must be valid
//!   unless the expected code is 500, or `invalid_settings` is set because the invalid part is not used for the request.
//! - `denied`, `warned`, `exempted`: the rules that fire, each with its path. Without any of them, the response must have no
//!   findings and no warnings. `code` defaults to the one with which the rules deny. `message`, `warnings` and `annotations` are
//!   compared if present; `annotations: {}` means none.
//!
//! Each case without `payload` also checks two properties: the policy's own rules, except those with `RuleCategory::PolicyBypass`, allow
//! an update that leaves the object unchanged, and the order of keys in the settings does not affect the response.

use std::fmt::Write as _;

use managed_by::{Kind, kinds};
use managed_by_testing::objects;
use serde_json::{Map, Value, json};

use crate::catalog::code_of;
use crate::kinds::strict;
use crate::support::{
    ValidationResponse, review, review_with, root, settings_error, validate_payload,
};

/// Returns the items of a list, or any other value as the only item.
fn one_or_many(value: &Value) -> &[Value] {
    value
        .as_array()
        .map_or(std::slice::from_ref(value), Vec::as_slice)
}

/// Expands the settings of a case.
fn settings(case: &Value) -> Value {
    if *case == "strict" {
        return strict();
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

/// Expands an object of a case, and adds the default metadata, with the label that MultiKueue requires.
fn object(value: &Value) -> Value {
    let mut object = expand_conditions(value);
    if let Some(members) = object.as_object_mut() {
        members
            .entry("metadata")
            .or_insert_with(|| json!({"name": "x", "labels": {"kueue.x-k8s.io/queue-name": "q"}}));
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
            _ => panic!("expected exactly one of create, update and status: {case:?}"),
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

/// Returns the case for each of its specs, and for each two consecutive statuses.
fn steps(case: &Map<String, Value>) -> Vec<Map<String, Value>> {
    let with = |case: &Map<String, Value>, key: &str, value: Value| {
        let mut case = case.clone();
        case.insert(key.to_owned(), value);
        case
    };
    let empty = json!({});
    let specs = one_or_many(case.get("spec").unwrap_or(&empty)).iter();
    let with_spec = specs.map(|spec| with(case, "spec", spec.clone()));
    let Some(Value::Array(statuses)) = case.get("status") else {
        return with_spec.collect();
    };
    let with_step = |case: Map<String, Value>| {
        let steps = statuses.windows(2);
        steps.map(move |step| with(&case, "status", step.into()))
    };
    with_spec.flat_map(with_step).collect()
}

/// Describes the differences between the response and the expected one.
fn response_mismatch(case: &Map<String, Value>, response: &ValidationResponse) -> Option<String> {
    let expected = |key: &str| case.get(key).cloned().unwrap_or_else(|| json!([]));
    let mut differences = String::new();
    let mut compare = |member: &str, actual: Value, expected: Value| {
        if actual != expected {
            writeln!(differences, "  {member}: {actual}\n  expected: {expected}").unwrap();
        }
    };
    for key in ["denied", "warned", "exempted"] {
        let fired: Vec<String> = serde_json::from_value(expected(key)).unwrap();
        let annotated = response.annotations.get(key).map_or("", String::as_str);
        compare(key, annotated.into(), fired.join(", ").into());
    }
    let denied: Vec<String> = serde_json::from_value(expected("denied")).unwrap();
    let code = json!(denied.iter().map(|fired| code_of(fired)).min());
    let code = case.get("code").cloned().unwrap_or(code);
    compare("code", json!(response.code), code);
    compare(
        "allowed",
        json!(response.allowed),
        json!(response.code.is_none()),
    );
    if let Some(message) = case.get("message") {
        compare("message", json!(response.message), message.clone());
    }
    let expects_no_findings = !["denied", "warned", "exempted", "code"]
        .iter()
        .any(|key| case.contains_key(*key));
    if expects_no_findings || case.contains_key("warnings") {
        compare("warnings", json!(response.warnings), expected("warnings"));
    }
    if response.code == Some(400) {
        compare("annotations", json!(response.annotations), json!({}));
        compare("warnings", json!(response.warnings), json!([]));
    }
    let annotations = case.get("annotations").and_then(Value::as_object);
    if annotations.is_some_and(Map::is_empty) {
        compare("annotations", json!(response.annotations), json!({}));
    }
    for (key, value) in annotations.into_iter().flatten() {
        compare(key, json!(response.annotations.get(key)), value.clone());
    }
    (!differences.is_empty()).then_some(differences)
}

/// Describes a result of `validate_settings` that contradicts the response. A response with code 500 must contain its error.
fn settings_mismatch(
    case: &Map<String, Value>,
    response: &ValidationResponse,
    settings: &Value,
) -> Option<String> {
    let error = settings_error(settings);
    let has_invalid_settings = case.contains_key("invalid_settings");
    let is_expected = match response.code {
        Some(500) => {
            let message = error
                .as_ref()
                .map(|message| format!("managed-by-policy is misconfigured: {message}"));
            message == response.message
        }
        _ => error.is_some() == has_invalid_settings,
    };
    (!is_expected).then(|| format!("  validate_settings: {error:?}\n"))
}

/// Lists rules of the policy itself that deny a no-op update.
///
/// Rules with `RuleCategory::PolicyBypass` are exempt: if the API version prunes the field, the update is not a no-op.
fn unchanged_denial(request: &Value, settings: &Value) -> Option<String> {
    let mut request = request.clone();
    request["operation"] = "UPDATE".into();
    request["oldObject"] = request["object"].clone();
    let response = review_with(&request, &settings.to_string());
    let is_own_rule = |fired: &&str| {
        let rule = fired.split(' ').next().and_then(managed_by::rule);
        rule.is_some_and(|rule| !rule.is_upstream() && !rule.prevents_bypass())
    };
    let fired: Vec<_> = response.denied().into_iter().filter(is_own_rule).collect();
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

/// Describes a different response to the same settings with reversed keys.
///
/// Responses with code 500 are exempt, because they list problems in the order of the settings.
fn order_mismatch(
    request: &Value,
    settings: &Value,
    response: &ValidationResponse,
) -> Option<String> {
    let other = review_with(request, &reversed(settings));
    let differs = response.code != Some(500) && other != *response;
    differs.then(|| format!("  reversed settings: {other:?}\n"))
}

/// Allowed keys of a group or a case.
const KEYS: [&str; 20] = [
    "group",
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
    "invalid_settings",
    "denied",
    "warned",
    "exempted",
    "code",
    "message",
    "warnings",
    "annotations",
];

#[test]
fn responses_match_cases() {
    let (mut count, mut failed) = (0, String::new());
    for file in std::fs::read_dir(root("tests/library/cases")).unwrap() {
        let file = file.unwrap().path();
        let text = std::fs::read_to_string(&file).unwrap();
        let groups: Vec<Map<String, Value>> = serde_yaml_ng::from_str(&text).unwrap();
        for group in groups {
            let one = json!([{}]);
            for case in group.get("cases").unwrap_or(&one).as_array().unwrap() {
                let mut all = group.clone();
                all.extend(case.as_object().unwrap().clone());
                let unknown = all.keys().find(|key| !KEYS.contains(&&***key));
                assert_eq!(unknown, None, "{}: {case}", file.display());
                let mut check = |mismatch: Option<String>| {
                    count += 1;
                    if let Some(mismatch) = mismatch {
                        let (file, group) = (file.display(), &group["group"]);
                        writeln!(failed, "{file}: {group}: {case}\n{mismatch}").unwrap();
                    }
                };
                if let Some(payload) = all.get("payload") {
                    check(response_mismatch(
                        &all,
                        &validate_payload(payload.as_str().unwrap().as_bytes()),
                    ));
                    continue;
                }
                for settings in one_or_many(all.get("settings").unwrap_or(&Value::Null)) {
                    let settings = self::settings(settings);
                    for kind in one_or_many(&all["kind"]) {
                        for step in steps(&all) {
                            let request = request(&step, kind.as_str().unwrap(), &settings);
                            let response = review(&request, &settings);
                            check(
                                response_mismatch(&all, &response)
                                    .or_else(|| settings_mismatch(&all, &response, &settings))
                                    .or_else(|| unchanged_denial(&request, &settings))
                                    .or_else(|| order_mismatch(&request, &settings, &response)),
                            );
                        }
                    }
                }
            }
        }
    }
    assert!(failed.is_empty(), "{failed}");
    assert!(count > 450, "{count}");
}
