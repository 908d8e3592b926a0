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
        "kinds": describe(or_null(list(&json!({"type": "string"}), 1)), "controllers[NAME].kinds"),
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
    let writers =
        json!({"type": ["object", "null"], "additionalProperties": or_null(list(&people, 1))});
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
        "custom_kinds": describe(json!({"type": ["array", "null"], "items": custom_kind(), "maxItems": 64}), "custom_kinds"),
        "standard_status_writers": describe(writers, "standard_status_writers"),
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
    // Without kinds of the admin's own, those that the library knows are all that there are.
    schema["if"] = json!({
        "type": "object",
        "required": ["custom_kinds"],
        "properties": {"custom_kinds": {"type": "array", "minItems": 1}},
    });
    schema["else"] = json!({"properties": {
        "controllers": {"additionalProperties": {"properties": {"kinds": {"items": words(&kinds)}}}},
        "standard_status_writers": {"propertyNames": words(&kinds)},
    }});
    Ok(schema)
}

/// An entry of `custom_kinds`.
fn custom_kind() -> Value {
    let describe = |mut schema: Value, path: &str| {
        let key = KEYS.iter().find(|key| key.path == path);
        schema["description"] = key.map(|key| key.text).into();
        schema
    };
    let label = "[a-z]([-a-z0-9]*[a-z0-9])?";
    let name = "[A-Za-z0-9_-]{1,63}";
    let text = |pattern: String| json!({"type": "string", "pattern": pattern});
    let or_null = |mut schema: Value| {
        schema["type"] = json!([schema["type"], "null"]);
        schema
    };
    let label_of = |pattern: &str| {
        let mut schema = text(pattern.to_owned());
        schema["maxLength"] = 63.into();
        schema
    };
    let path = |first: &str| text(format!(r"^{first}(\.{name}){{1,15}}$"));
    let counter = text(format!(r"^status(\.{name}(\[\])?){{1,15}}$"));
    let words = json!({"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1, "maxItems": 16});
    let path_of_word = path("status");
    let sign = |path: &str| {
        let schema = json!({
            "type": ["object", "null"],
            "properties": {
                "condition": {"type": ["string", "null"], "minLength": 1},
                "path": or_null(path_of_word.clone()),
                "values": or_null(words.clone()),
            },
            "additionalProperties": false,
            "anyOf": [
                {"type": "null"},
                {"required": ["condition"], "properties": {"condition": {"type": "string"}, "path": {"type": "null"}, "values": {"type": "null"}}},
                {"required": ["path", "values"], "properties": {"condition": {"type": "null"}, "path": {"type": "string"}, "values": {"type": "array"}}},
            ],
        });
        describe(schema, path)
    };
    let list = |items: Value| json!({"type": ["array", "null"], "items": items, "maxItems": 16});
    json!({
        "type": "object",
        "required": ["group", "kind", "plural"],
        "additionalProperties": false,
        "properties": {
            "group": {"type": "string", "pattern": format!(r"^{LABEL}(\.{LABEL})+$"), "maxLength": 253},
            "versions": describe(json!({"type": ["array", "null"], "items": label_of(&format!("^{label}$")), "minItems": 1, "maxItems": 16}), "custom_kinds[].versions"),
            "kind": label_of("^[A-Z]([-A-Za-z0-9]*[A-Za-z0-9])?$"),
            "plural": label_of(&format!("^{label}$")),
            "managed_by": describe(or_null(path("spec")), "custom_kinds[].managed_by"),
            "reserved": describe(json!({"type": ["string", "null"], "minLength": 1}), "custom_kinds[].reserved"),
            "form": describe(json!({"anyOf": [{"enum": ["path", "any", null]}, words]}), "custom_kinds[].form"),
            "holder": describe(json!({"enum": ["workload", "template", null]}), "custom_kinds[].holder"),
            "status": describe(json!({
                "type": ["object", "null"],
                "additionalProperties": false,
                "properties": {
                    "success": sign("custom_kinds[].status.success"),
                    "failure": sign("custom_kinds[].status.failure"),
                    "start": describe(or_null(path("status")), "custom_kinds[].status.start"),
                    "end": describe(or_null(path("status")), "custom_kinds[].status.end"),
                    "counters": describe(list(counter), "custom_kinds[].status.counters"),
                    "totals": describe(list(path("status")), "custom_kinds[].status.totals"),
                },
            }), "custom_kinds[].status"),
        },
    })
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

All keys are optional. With `{}`, the policy denies no Job or CronJob that a kube-apiserver from 1.30 to 1.37 with `JobManagedBy` accepts. [Terms](terms.md) explains the
words. For editors there is a [JSON Schema](settings.schema.json). There are complete [examples](../examples/settings) for three clusters.
This page is generated from the code (`make docs`), and tests run its examples.

When PolicyServer starts, it asks the policy to check its settings. With invalid settings it does not start. The policy reports all
problems at once, each with its place. Of more than 50 it reports the first 50 and counts the others. It finds more than a schema can: entries that never match, parts that contradict each
other, and too many patterns (4096 in `namespaces`).

The policy reads the settings again for each request, but only the parts that the request needs. If such a part is invalid,
the request is denied with code 500. It does not look at other parts, such as the entry of another controller.
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
