//! The cases of `cases/*.yml`: a request, settings and the answer that every front end gives, in the words of a table.
//!
//! A file is a list of claims. What stands beside the claim holds for each of its cases, unless the case says otherwise:
//!
//! - `name`: the situation, for who reads that the case failed.
//! - `kind: MPIJob v2beta1`: the kind, and the version if it is not the first; several in a list.
//! - `create: OBJECT`, `update: [OLD, NEW]`, or `status: [OLD, NEW]` of an object with that `metadata` and `spec`. An object without
//!   metadata is named x, and a condition may be written `Failed=True Reason`. `request` holds other members of the request.
//!   `payload` is the text of all, which goes to the module alone.
//! - `settings`: several in a list; `strict` under which the rules about a status deny on objects that are not delegated, too.
//!   `custom_kinds: examples` are those of `examples/settings/custom-kinds.yml`.
//!   The module finds them valid, unless it answers with code 500 what it finds, or `refused` says that the request has no use
//!   for what is wrong.
//! - `denied`, `warned`, `exempted`: the rules that fire, each with its path; none of them: nothing is said at all. `code` if it
//!   is not 422. `message`, `warnings` and `annotations` are compared where they stand, `annotations: {}` with none.
//!
//! Of each case two things hold besides: no rule of this project denies its object where that stays as it is, and no order of keys in
//! the settings changes the answer.

use std::fmt::Write as _;

use managed_by::{Kind, kinds};
use serde_json::{Map, Value, json};
use xtask::kinds::{objects, questions};

use crate::support::{Answer, refusal, review, review_of, review_with, root};

/// One or several.
fn alternatives(value: &Value) -> &[Value] {
    value
        .as_array()
        .map_or(std::slice::from_ref(value), Vec::as_slice)
}

/// The settings as the policy gets them.
fn settings(case: &Value) -> Value {
    if *case == "strict" {
        return questions::strict();
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

/// A value with all conditions written out.
pub(crate) fn written_out(value: &Value) -> Value {
    let condition = |item: &Value| match item.as_str().and_then(|text| text.split_once('=')) {
        Some((name, rest)) => {
            let (status, reason) = rest.split_once(' ').unwrap_or((rest, ""));
            objects::condition(name, status, reason)
        }
        None => item.clone(),
    };
    match value {
        Value::Array(items) => items.iter().map(written_out).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(key, value)| match value {
                Value::Array(items) if key == "conditions" => {
                    (key.clone(), items.iter().map(condition).collect())
                }
                _ => (key.clone(), written_out(value)),
            })
            .collect(),
        _ => value.clone(),
    }
}

/// An object as the cases write it.
fn object(value: &Value) -> Value {
    let mut object = written_out(value);
    if let Some(members) = object.as_object_mut() {
        members
            .entry("metadata")
            .or_insert_with(|| json!({"name": "x"}));
    }
    object
}

/// The request about an object of a kind that the policy knows or the settings declare.
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
    let nothing = Value::Null;
    let (operation, sub_resource, old, new) =
        match (case.get("create"), case.get("update"), case.get("status")) {
            (Some(new), None, None) => ("CREATE", "", nothing, object(new)),
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

/// Why the answer is not the expected one.
fn wrong(case: &Map<String, Value>, answer: &Answer) -> Option<String> {
    let expected = |key: &str| case.get(key).cloned().unwrap_or_else(|| json!([]));
    let mut why = String::new();
    let mut compare = |what: &str, ours: Value, expected: Value| {
        if ours != expected {
            writeln!(why, "  {what}: {ours}\n  expected: {expected}").unwrap();
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
    (!why.is_empty()).then_some(why)
}

/// What is wrong with the settings, as `validate_settings` sees it: an answer with code 500 tells what it refuses.
fn wrongly_valid(case: &Map<String, Value>, answer: &Answer, settings: &Value) -> Option<String> {
    let refused = refusal(settings);
    let is_refused = case.contains_key("refused");
    let is_right = match answer.code {
        Some(500) => {
            let message = refused
                .as_ref()
                .map(|message| format!("managed-by-policy is misconfigured: {message}"));
            message == answer.message
        }
        _ => refused.is_some() == is_refused,
    };
    (!is_right).then(|| format!("  validate_settings: {refused:?}\n"))
}

/// A denial of an update that changes nothing, by a rule of this project. What the version drops is a change all the same.
fn denied_unchanged(request: &Value, settings: &Value) -> Option<String> {
    let mut request = request.clone();
    request["operation"] = "UPDATE".into();
    request["oldObject"] = request["object"].clone();
    let answer = review_with(&request, &settings.to_string());
    let is_ours = |fired: &&str| {
        let rule = fired.split(' ').next().and_then(managed_by::rule);
        rule.is_some_and(|rule| !rule.is_upstream() && !rule.is_guard())
    };
    let fired: Vec<_> = answer.denied().into_iter().filter(is_ours).collect();
    (!fired.is_empty()).then(|| format!("  unchanged: {fired:?}\n"))
}

/// The value as text, with the keys of every object in reverse.
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

/// Another answer to the same settings in another order. Problems are told in the order in which they stand.
fn other_by_order(request: &Value, settings: &Value, answer: &Answer) -> Option<String> {
    let other = review_with(request, &reversed(settings));
    let differs = answer.code != Some(500) && other != *answer;
    differs.then(|| format!("  reversed settings: {other:?}\n"))
}

/// What a claim or a case may say.
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
fn each_case_gets_its_answer() {
    let (mut asked, mut failed) = (0, String::new());
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
                let mut check = |why: Option<String>| {
                    asked += 1;
                    if let Some(why) = why {
                        let (file, claim) = (file.display(), &claim["claim"]);
                        writeln!(failed, "{file}: {claim}: {case}\n{why}").unwrap();
                    }
                };
                if let Some(payload) = all.get("payload") {
                    check(wrong(
                        &all,
                        &review_of(payload.as_str().unwrap().as_bytes()),
                    ));
                    continue;
                }
                for settings in alternatives(all.get("settings").unwrap_or(&Value::Null)) {
                    let settings = self::settings(settings);
                    for kind in alternatives(&all["kind"]) {
                        let request = request(&all, kind.as_str().unwrap(), &settings);
                        let answer = review(&request, &settings);
                        check(
                            wrong(&all, &answer)
                                .or_else(|| wrongly_valid(&all, &answer, &settings))
                                .or_else(|| denied_unchanged(&request, &settings))
                                .or_else(|| other_by_order(&request, &settings, &answer)),
                        );
                    }
                }
            }
        }
    }
    assert!(failed.is_empty(), "{failed}");
    assert!(asked > 450, "{asked}");
}
