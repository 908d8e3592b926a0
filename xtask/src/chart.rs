//! Generates `values.schema.json` of the Helm chart from the JSON Schema of the settings.
//!
//! Helm checks values against it, so that invalid settings never reach PolicyServer. The schema of `projects` comes from
//! `files/projects.yaml`, and the schema of other values is written by hand in the file.

use std::mem;

use anyhow::{Context as _, Result};
use managed_by_testing::{VALUES, VALUES_SCHEMA, read};
use serde_json::{Map, Value, from_str, json};

use crate::chart_values;
use crate::generated::Generated;
use crate::settings;

/// Settings of the pods policy. They are in `$defs`, because the other policy has them too.
const PODS: [&str; 3] = ["on_lookup_failure", "exempt", "rules"];

pub(crate) fn generated() -> Result<Vec<Generated>> {
    let schema = values_schema(&settings::schema()?, from_str(&read(VALUES_SCHEMA)?)?)?;
    Ok(vec![Generated::new(VALUES_SCHEMA, format!("{schema:#}\n"))])
}

fn values_schema(settings: &Value, mut schema: Value) -> Result<Value> {
    schema["$defs"] = settings["$defs"].clone();
    let mut others = settings["properties"].clone();
    for setting in PODS {
        let reference = json!({"$ref": format!("#/$defs/{setting}")});
        schema["properties"]["pods"]["properties"]["settings"]["properties"][setting] =
            reference.clone();
        schema["$defs"][setting] = mem::replace(&mut others[setting], reference);
    }
    let others = others.as_object_mut().context("no properties")?;
    for (setting, value) in VALUES {
        let of_setting = others.remove(setting).context(setting)?;
        schema["properties"][value] = of_setting;
    }
    // An empty value lists MultiKueue if Kueue is installed, and null removes an entry.
    let controllers = schema["properties"]["controllers"].as_object_mut();
    let controllers = controllers.context("controllers")?;
    controllers.remove("minProperties");
    controllers["additionalProperties"]["type"] = json!(["object", "string", "null"]);
    schema["properties"]["projects"]["properties"] = chart_values::schemas()?;
    let version = settings::version_pattern();
    schema["properties"]["kubernetesVersion"] = json!({"type": "string", "pattern": format!("^(auto)?$|{version}"), "examples": ["1.36", "auto"]});
    schema["properties"]["settings"] =
        json!({"type": "object", "additionalProperties": false, "properties": others});
    // Custom kinds are declared in `settings`. The keys that refer to kinds by name are in `controllers` and in `settings`.
    schema["if"] = json!({"properties": {"settings": settings["if"]}, "required": ["settings"]});
    let mut names = settings["else"]["properties"].clone();
    let names = names.as_object_mut().context("no names of kinds")?;
    let controllers = names.remove("controllers").context("controllers")?;
    schema["else"] =
        json!({"properties": {"controllers": controllers, "settings": {"properties": names}}});
    with_sentences(&mut schema);
    schema["properties"]["kubernetesVersion"]["else"]["const"] =
        json!("auto, empty, or a supported release such as 1.36 or 1.36.3");
    Ok(schema)
}

/// Keywords whose errors are not sentences, such as `minItems: got 0, want 1` and `'not' failed`.
const TERSE: [&str; 11] = [
    "not",
    "allOf",
    "anyOf",
    "pattern",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "minimum",
    "maximum",
];

/// Replaces terse keywords by a condition with the same meaning, whose error says what the value must be. A list has no item twice.
fn with_sentences(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            let hint = hint(members);
            let terse: Map<_, _> = TERSE
                .iter()
                .filter_map(|key| members.remove_entry(*key))
                .collect();
            for (key, value) in members.iter_mut() {
                if !["if", "enum", "examples"].contains(&&**key) {
                    with_sentences(value);
                }
            }
            if members.contains_key("items") {
                members.insert("uniqueItems".to_owned(), true.into());
            }
            if !terse.is_empty() {
                let mut condition = members.remove("if").unwrap_or_else(|| json!({}));
                condition
                    .as_object_mut()
                    .into_iter()
                    .for_each(|all| all.extend(terse.clone()));
                members.insert("if".to_owned(), condition);
                members.insert("else".to_owned(), json!({"const": hint}));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(with_sentences),
        _ => {}
    }
}

/// Describes the values that a schema accepts.
fn hint(schema: &Map<String, Value>) -> String {
    let texts = |value: &Value| {
        let texts = value
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str);
        texts.map(ToOwned::to_owned).collect::<Vec<_>>()
    };
    let required = schema
        .get("anyOf")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let required: Vec<_> = required
        .map(|schema| texts(&schema["required"]).join(" and "))
        .filter(|names| !names.is_empty())
        .collect();
    if let Some(examples) = schema.get("examples") {
        format!("a value such as {}", texts(examples).join(" or "))
    } else if !required.is_empty() {
        let any = schema.get("pattern").map_or("", |_| "any, or ");
        format!("{any}an object with {}", required.join(" or "))
    } else if schema.contains_key("minProperties") {
        "an object with at least one member".to_owned()
    } else if schema.contains_key("minItems") {
        "a list with at least one item".to_owned()
    } else if let Some(max) = schema.get("maxItems") {
        format!("a list of at most {max} items")
    } else if let Some(min) = schema.get("minimum") {
        let max = schema
            .get("maximum")
            .map(|max| format!(" and at most {max}"));
        format!("a number of at least {min}{}", max.unwrap_or_default())
    } else {
        "a value that is not empty".to_owned()
    }
}
