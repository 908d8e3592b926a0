//! What people and editors read about the settings: the reference page and the schema.

use std::fmt::Write as _;

use anyhow::{Context as _, Result, ensure};
use managed_by::RESERVED;
use managed_by::Release;
use managed_by::rules;
use managed_by::{Delegation, OnLookupFailure, ReservedValue, Role};
use managed_by::{Key, SETTINGS_REFERENCE as KEYS};
use serde_json::{Map, Value, from_str, json};

use crate::generated::Generated;
use crate::judge::refusal;

/// The page and the schema.
///
/// # Errors
/// If an example of a key is no JSON or is not refused, or the schema lacks a key.
pub fn generated() -> Result<Vec<Generated>> {
    let schema = format!("{:#}\n", schema()?);
    Ok(vec![
        Generated::new(PAGE, page()?),
        Generated::new(SCHEMA, schema),
    ])
}

const PAGE: &str = "docs/settings.md";
/// Where the schema is.
pub const SCHEMA: &str = "docs/settings.schema.json";

/// A label of RFC 1123, without its limit of 63 characters, as in kube-apiserver's own check of a subdomain.
const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const PATH: &str = r"A-Za-z0-9\-._~%!$&'()*+,;=:";

/// The schema, made of what the library knows. `null` is as good as absent.
fn schema() -> Result<Value> {
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
        let key = KEYS.iter().find(|key| key.path == path);
        schema["description"] = key.map(|key| key.text).into();
        schema
    };
    let controller = or_null(object(json!({
        "kinds": describe(or_null(list(&words(&kinds), 1)), "controllers[NAME].kinds"),
        "namespaces": describe(or_null(list(&namespaces, 1)), "controllers[NAME].namespaces"),
        "status_writers": describe(or_null(list(&people, 1)), "controllers[NAME].status_writers"),
    })));
    let mut entry = object(json!({
        "match": describe(or_null(list(&namespaces, 1)), "namespaces[].match"),
        "matchLabels": describe(json!({
            "type": ["object", "null"],
            "additionalProperties": {"type": "string"},
            "minProperties": 1,
            "maxProperties": 16,
        }), "namespaces[].matchLabels"),
        "delegation": describe(words(&Delegation::ALL.iter().map(|(w, _)| *w).collect::<Vec<_>>()), "namespaces[].delegation"),
    }));
    let given = |key: &str| {
        let of_type = if key == "match" { "array" } else { "object" };
        json!({"required": [key], "properties": {key: {"type": of_type}}})
    };
    entry["required"] = json!(["delegation"]);
    entry["anyOf"] = json!([given("match"), given("matchLabels")]);
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
    for key in managed_by::SETTINGS_KEYS {
        ensure!(properties.get(key).is_some(), "the schema lacks {key}");
    }
    let mut schema = or_null(object(properties));
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema["title"] = "Settings of managed-by-policy".into();
    schema["$defs"] = definitions();
    Ok(schema)
}

/// The names that settings hold: of namespaces, users and groups.
fn definitions() -> Value {
    let subdomain = format!(r"{LABEL}(\.{LABEL})*");
    let account = "^system:serviceaccount:";
    let group = "^system:(authenticated|masters|unauthenticated|serviceaccounts(:.*)?)$";
    json!({
        "namespace": {"type": "string", "pattern": r"^(\*|\*?[a-z0-9-]+(\*[a-z0-9-]+)*\*?)$", "maxLength": 63},
        "userOrGroup": {
            "type": "string",
            "pattern": r"^[^\x00-\x20\x7f*]([^\x00-\x1f\x7f*]*[^\x00-\x20\x7f*])?$",
            "anyOf": [{"not": {"pattern": account}}, {"pattern": format!("{account}{LABEL}:{subdomain}$")}],
        },
        "user": {"allOf": [{"$ref": "#/$defs/userOrGroup"}, {"not": {"pattern": group}}]},
        "group": {"allOf": [{"$ref": "#/$defs/userOrGroup"}, {"not": {"pattern": account}}]},
    })
}

fn page() -> Result<String> {
    let mut text = "\
# Settings

Generated from the code (`make docs`); the tests run the examples. Every key may be left out. `{}` denies nothing of a
Job or CronJob that the kube-apiserver of any release from 1.30 to 1.37 accepts. The same as a schema, for editors: [settings.schema.json](settings.schema.json). Whole
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
        ..
    } in KEYS
    {
        let yaml = |json: &str| -> Result<String> {
            let value: Value = from_str(json)?;
            Ok(serde_yaml_ng::to_string(&value)?)
        };
        let problem = refusal(&from_str(rejected)?);
        write!(
            text,
            "\n## `{path}`\n\n{about}\n\n- Values: {values}\n- Default: {default}\n\n```yaml\n{}```\n\nRefused:\n\n\
             ```yaml\n{}```\n\n```text\n{}\n```\n",
            yaml(accepted)?,
            yaml(rejected)?,
            problem.with_context(|| format!("accepted: {rejected}"))?,
        )?;
    }
    Ok(text)
}
