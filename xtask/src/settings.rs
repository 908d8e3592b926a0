//! Generates the JSON Schema of the settings, and the reference page of the site.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::{Context as _, Result, ensure};
use managed_by::RESERVED_VALUES;
use managed_by::Release;
use managed_by::rules;
use managed_by::{Delegation, OnLookupFailure, ReservedValuePolicy, Role};
use managed_by::{SETTINGS_REFERENCE as KEYS, SettingsKey, with_absolute_links};
use managed_by_testing::library::settings_error;
use managed_by_testing::{SETTINGS_SCHEMA as SCHEMA, read};
use serde_json::{Value, from_str, json};

use crate::generated::{Generated, Page};

pub(crate) fn generated() -> Result<Vec<Generated>> {
    let schema = format!("{:#}\n", schema()?);
    Ok(vec![Generated::new(SCHEMA, schema)])
}

/// Source of the reference page.
const PAGE: &str = "crates/managed-by/src/settings/reference.md";

/// Fills in the descriptions and enums of the schema from the library. Types and patterns are written by hand in the file.
///
/// Enums of optional keys contain `null`, which the policy treats like a missing key.
pub(crate) fn schema() -> Result<Value> {
    let mut schema: Value = from_str(&read(SCHEMA)?)?;
    for key in KEYS {
        // `namespaces[].match` and `controllers[NAME].kinds`
        let path = format!("/properties/{}", key.path.replace('.', "/properties/"));
        let path = path
            .replace("[]", "/items")
            .replace("[NAME]", "/additionalProperties");
        at(&mut schema, &path)?["description"] = with_absolute_links(key.text).into();
    }
    let or_null = |values: &[&str]| {
        let values = values.iter().map(|value| json!(value));
        values.chain([Value::Null]).collect::<Value>()
    };
    let kinds: Vec<_> = managed_by::workload_kinds().collect();
    schema["$defs"]["enforcement"] = json!({"enum": or_null(&["deny", "warn", "off"])});
    let level = json!({"$ref": "#/$defs/enforcement"});
    let rules = rules().iter().map(|rule| (rule.id(), level.clone()));
    for (pointer, value) in [
        ("kubernetes_version/pattern", version_pattern().into()),
        ("kubernetes_version/examples", minor_releases().into()),
        (
            "reserved_value/enum",
            or_null(&names(ReservedValuePolicy::ALL)),
        ),
        ("role/enum", or_null(&names(Role::ALL))),
        (
            "on_lookup_failure/enum",
            or_null(&names(OnLookupFailure::ALL)),
        ),
        (
            "namespaces/items/properties/delegation/enum",
            json!(names(Delegation::ALL)),
        ),
        (
            "controllers/propertyNames/not/enum",
            json!(names(RESERVED_VALUES)),
        ),
        ("rules/properties", rules.collect()),
    ] {
        *at(&mut schema, &format!("/properties/{pointer}"))? = value;
    }
    // Without `custom_kinds` in the settings, only the kinds that the policy supports out of the box are valid.
    for pointer in [
        "controllers/additionalProperties/properties/kinds/items/enum",
        "builtin_status_writers/propertyNames/enum",
    ] {
        *at(&mut schema, &format!("/else/properties/{pointer}"))? = json!(kinds);
    }
    for key in managed_by::settings_keys() {
        ensure!(
            schema["properties"].get(key).is_some(),
            "the schema lacks {key}"
        );
    }
    Ok(schema)
}

/// Returns the pattern of the versions that the library accepts, such as `1.36`, `1.36.3` and `v1.36.3+k3s1`.
pub(crate) fn version_pattern() -> String {
    let minors = minor_releases().join("|").replace("1.", "");
    let beta = Release::BETA_MINOR;
    format!(r"^v?1\.({minors}|{beta})(\.(0|[1-9][0-9]{{0,8}})([-+].*)?)?$")
}

fn minor_releases() -> Vec<String> {
    let minors: BTreeSet<_> = Release::ALL.iter().map(|r| r.minor()).collect();
    minors
        .into_iter()
        .map(|minor| format!("1.{minor}"))
        .collect()
}

fn at<'s>(schema: &'s mut Value, pointer: &str) -> Result<&'s mut Value> {
    let value = schema.pointer_mut(pointer);
    value.with_context(|| format!("{SCHEMA}: no {pointer}"))
}

fn names<T>(all: &[(&'static str, T)]) -> Vec<&'static str> {
    all.iter().map(|(name, _)| *name).collect()
}

/// Generates the page of the site: `reference.md`, with the examples as YAML and the responses to the invalid ones.
pub(crate) fn page() -> Result<Page> {
    let source = read(PAGE)?;
    let (introduction, _) = source.split_once("\nFor each key, ").context(PAGE)?;
    let mut text = introduction.to_owned();
    for SettingsKey {
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
        let error = settings_error(&from_str(rejected)?);
        write!(
            text,
            "\n## `{path}`\n\n{about}\n\n- Values: {values}\n- Default: {default}\n\n```yaml\n{}```\n\nInvalid:\n\n\
             ```yaml\n{}```\n\n```text\n{}\n```\n",
            yaml(accepted)?,
            yaml(rejected)?,
            error.with_context(|| format!("accepted: {rejected}"))?,
        )?;
    }
    Ok(Page {
        path: PAGE.into(),
        target: "reference/settings.md".into(),
        text,
    })
}
