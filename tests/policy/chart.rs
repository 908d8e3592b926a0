//! The Helm chart: its table of projects matches the library, and its schema accepts what the settings accept.

use std::fs;

use boon::{Compiler, Draft, Schemas};
use managed_by::{Release, SETTINGS_REFERENCE, kinds};
use serde_json::{Value, from_str, json};
use xtask::chart::{VALUES, VALUES_SCHEMA};

use crate::support::root;

fn chart(file: &str) -> Value {
    let text = fs::read_to_string(root("charts/managed-by-policy").join(file)).unwrap();
    serde_yaml_ng::from_str(&text).unwrap()
}

/// The table contains each kind of the library with its path, reserved value, versions and templates.
#[test]
fn projects_match_the_kinds() {
    let projects = chart("files/projects.yaml");
    let mut listed: Vec<Value> = Vec::new();
    for project in projects.as_array().unwrap() {
        listed.extend(project["kinds"].as_array().unwrap().clone());
    }
    let sort = |kinds: &mut Vec<Value>| {
        kinds
            .sort_by_key(|kind| json!([kind["group"], kind["kind"], kind["versions"]]).to_string());
    };
    let mut expected = Vec::new();
    for kind in kinds() {
        let mut row = json!({"group": kind.group(), "versions": kind.versions(), "kind": kind.name(), "plural": kind.plural()});
        if kind.managed_by_path() != "spec.managedBy" {
            row["path"] = kind.managed_by_path().into();
        }
        if let Some(value) = kind.reserved_value() {
            row["reservedValue"] = value.into();
        }
        if kind.has_status_rules() {
            row["status"] = true.into();
        }
        let templates: Vec<_> = kind.nested_paths().collect();
        if !templates.is_empty() {
            row["templates"] = json!(templates);
        }
        if !kind.pruned_in().is_empty() {
            row["pruned"] = json!(kind.pruned_in());
        }
        expected.push(row);
    }
    sort(&mut listed);
    sort(&mut expected);
    assert_eq!(listed.len(), expected.len());
    for (listed, expected) in listed.iter().zip(&expected) {
        assert_eq!(listed, expected);
    }
}

/// Every account in the table is on the page, and every account on the page is in the table.
#[test]
fn projects_match_the_page_of_status_writers() {
    let page = fs::read_to_string(root("docs/reference/status-writers.md")).unwrap();
    let mut on_page: Vec<_> = page
        .split('`')
        .filter_map(|text| text.strip_prefix("system:serviceaccount:"))
        .filter(|account| !account.contains("NAMESPACE"))
        .map(|account| account.replace(':', "/"))
        .collect();
    on_page.sort();
    on_page.dedup();
    let projects = chart("files/projects.yaml");
    let projects = projects.as_array().unwrap().iter();
    let accounts =
        projects.flat_map(|project| project["accounts"].as_array().into_iter().flatten());
    let mut in_table: Vec<_> = accounts.map(|a| a.as_str().unwrap().to_owned()).collect();
    in_table.sort();
    in_table.dedup();
    assert_eq!(in_table, on_page);
}

#[test]
fn version_and_newest_release_match() {
    let chart = chart("Chart.yaml");
    for key in ["version", "appVersion"] {
        assert_eq!(chart[key], env!("CARGO_PKG_VERSION"), "{key}");
    }
    let helpers = root("charts/managed-by-policy/templates/_settings.tpl");
    let helpers = fs::read_to_string(helpers).unwrap();
    let newest = Release::ALL.last().unwrap();
    let line = format!("{{{{- define \"managed-by.newestRelease\" -}}}}{newest}{{{{- end }}}}");
    assert!(helpers.contains(&line), "{line}");
}

/// Returns a function that validates values with the schema, as Helm does.
pub(crate) fn values_validator() -> impl Fn(&Value) -> bool {
    let mut schemas = Schemas::new();
    let mut compiler = Compiler::new();
    compiler.set_default_draft(Draft::V2020_12);
    let schema = fs::read_to_string(root(VALUES_SCHEMA)).unwrap();
    compiler
        .add_resource("values.json", from_str(&schema).unwrap())
        .unwrap();
    let index = compiler.compile("values.json", &mut schemas).unwrap();
    move |values| schemas.validate(values, index).is_ok()
}

/// The schema accepts the documented examples of the settings as values, and rejects those that the settings reject.
#[test]
fn schema_of_the_values_accepts_what_the_settings_accept() {
    let is_valid = values_validator();
    assert!(is_valid(&chart("values.yaml")));
    let values = |settings: &str| {
        let mut others: Value = from_str(settings).unwrap();
        let mut values = json!({});
        for (setting, value) in VALUES {
            if let Some(found) = others.as_object_mut().unwrap().remove(setting) {
                values[value] = found;
            }
        }
        values["settings"] = others;
        values
    };
    let mut rejected = 0;
    for key in SETTINGS_REFERENCE {
        assert!(is_valid(&values(key.accepted)), "{}", key.accepted);
        rejected += usize::from(!is_valid(&values(key.rejected)));
    }
    // A schema cannot express conflicts between keys.
    let conflicts = SETTINGS_REFERENCE.len() - rejected;
    assert!(
        conflicts <= 4,
        "{conflicts} of {}",
        SETTINGS_REFERENCE.len()
    );
}
