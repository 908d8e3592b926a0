//! Generates `values.schema.json` of the Helm chart from the JSON Schema of the settings.
//!
//! Helm checks values against it, so that invalid settings never reach PolicyServer. The schema of `projects` comes from
//! `files/projects.yaml`, and the schema of other values is written by hand in the file.
//! `make generate` also renders `deploy/` from the chart, if Helm is installed.

use std::mem;

use anyhow::{Context as _, Result};
use managed_by_testing::{VALUES, VALUES_SCHEMA, read};
use serde_json::{Value, from_str, json};

use crate::chart_values;
use crate::generated::Generated;
use crate::settings;

/// Settings of the pods policy. They are in `$defs`, because the other policy has them too.
const PODS: [&str; 3] = ["on_lookup_failure", "exempt", "rules"];

/// Generates the schema.
///
/// # Errors
/// If the file cannot be read, or the schema of the settings lacks a key that the chart uses.
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
    replace_patterns(&mut schema);
    Ok(schema)
}

/// Replaces patterns that have examples by conditions with the same meaning: Helm prints a pattern that does not match, and readers
/// need an example instead.
fn replace_patterns(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            members.values_mut().for_each(replace_patterns);
            let examples = members.get("examples").and_then(Value::as_array);
            let examples = examples.map(|examples| {
                let examples = examples.iter().filter_map(Value::as_str);
                examples.collect::<Vec<_>>().join(" or ")
            });
            if let Some(examples) = examples
                && let Some(pattern) = members.remove("pattern")
            {
                members.insert("if".to_owned(), json!({"pattern": pattern}));
                let hint = json!({"const": format!("a value such as {examples}")});
                members.insert("else".to_owned(), hint);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(replace_patterns),
        _ => {}
    }
}
