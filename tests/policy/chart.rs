//! The Helm chart: its kinds and rules come from the library, and its schema accepts what the settings accept.

use std::collections::BTreeSet;
use std::fs;

use managed_by::{EXTERNAL_CONTROLLERS, Kind, Release, SETTINGS_REFERENCE, kinds, rules};
use managed_by_testing::{VALUES, VALUES_SCHEMA};
use serde_json::{Value, from_str, json};

use crate::settings::validator;
use crate::support::root;

fn chart(file: &str) -> Value {
    let text = fs::read_to_string(root("charts/managed-by-policy").join(file)).unwrap();
    serde_yaml_ng::from_str(&text).unwrap()
}

/// Each kind of the library belongs to exactly one project, which has the accounts of its controller.
#[test]
fn each_kind_belongs_to_one_project() {
    let projects = chart("files/projects.yaml");
    let library = chart("files/library.yaml");
    let selects = |selector: &Value, kind: &Kind<'_>| {
        let mut rows = library["kinds"].as_array().unwrap().iter();
        let row = rows.find(|row| {
            row["kind"] == kind.name()
                && row["group"] == kind.group()
                && row["versions"] == json!(kind.versions())
        });
        let versions = selector["versions"].as_array();
        selector["group"] == kind.group()
            && versions.is_none_or(|versions| versions.iter().any(|v| v == kind.versions()[0]))
            && (selector["sharesCrd"].is_null()
                || selector["sharesCrd"] == row.unwrap()["sharesCrd"])
    };
    for kind in kinds() {
        let projects = projects.as_array().unwrap().iter();
        let owners: Vec<_> = projects
            .filter(|project| {
                let mut selectors = project["kinds"].as_array().unwrap().iter();
                selectors.any(|selector| selects(selector, kind))
            })
            .map(|project| project["name"].as_str().unwrap())
            .collect();
        let (name, group, versions) = (kind.name(), kind.group(), kind.versions());
        assert_eq!(
            owners.len(),
            1,
            "files/projects.yaml: {group} {versions:?} {name} must belong to one project, found {owners:?}"
        );
    }
}

/// The chart ignores an unknown kind in `writesStatusOf`, so that its controllers would not be listed.
#[test]
fn projects_write_the_status_of_known_kinds() {
    let projects = chart("files/projects.yaml");
    for project in projects.as_array().unwrap() {
        for name in project["writesStatusOf"].as_array().into_iter().flatten() {
            let mut known = kinds().iter().filter(|kind| kind.has_status_rules());
            let name = name.as_str().unwrap();
            assert!(
                known.any(|kind| kind.name() == name),
                "files/projects.yaml: {}: writesStatusOf: no kind {name} with a status",
                project["name"]
            );
        }
    }
}

/// `values.yaml` documents the values of each project.
#[test]
fn each_project_has_values() {
    let projects = chart("files/projects.yaml");
    let projects = projects.as_array().unwrap().iter();
    let names: BTreeSet<_> = projects.map(|p| p["name"].as_str().unwrap()).collect();
    let values = chart("values.yaml");
    let listed = values["projects"].as_object().unwrap().keys();
    assert_eq!(listed.map(String::as_str).collect::<BTreeSet<_>>(), names);
}

/// Returns a template without comments of Helm and YAML. Keeps `#` inside of lines, for example in strings.
fn without_comments(template: &str) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, comment)) = rest.split_once("/*") {
        text.push_str(before);
        rest = comment.split_once("*/").unwrap().1;
    }
    text.push_str(rest);
    let lines = text.lines();
    let lines = lines.filter(|line| !line.trim_start().starts_with('#'));
    lines.collect::<Vec<_>>().join("\n")
}

/// The templates read kinds, groups, controllers and rules from files/library.yaml and contain none of their own.
#[test]
fn templates_name_no_kinds_and_rules() {
    let quoted = |name: &str| ["\"", "'", "`"].map(|quote| format!("{quote}{name}{quote}"));
    let mut names: BTreeSet<String> = BTreeSet::new();
    for kind in kinds() {
        names.extend(quoted(kind.name()));
        names.extend(quoted(kind.plural()));
        names.extend(quoted(kind.group()));
        names.insert(format!("kind: {}\n", kind.name()));
        names.extend(
            kind.versions()
                .iter()
                .map(|v| format!("{}/{v}", kind.group())),
        );
        names.extend(kind.reserved_value().map(str::to_owned));
        // `batch` is also an English word.
        names.extend(Some(kind.group().to_owned()).filter(|group| group.contains('.')));
    }
    names.extend(EXTERNAL_CONTROLLERS.iter().map(|&name| name.to_owned()));
    names.extend(rules().iter().map(|rule| rule.id().to_owned()));
    names.insert(Release::ALL.last().unwrap().to_string());

    let mut found = Vec::new();
    let mut templates = 0;
    for entry in fs::read_dir(root("charts/managed-by-policy/templates")).unwrap() {
        let path = entry.unwrap().path();
        let template = without_comments(&fs::read_to_string(&path).unwrap());
        let file = path.file_name().unwrap().to_str().unwrap();
        found.extend(
            names
                .iter()
                .filter(|name| template.contains(name.as_str()))
                .map(|name| format!("{file}: {name}")),
        );
        templates += 1;
    }
    assert!(templates > 15, "{templates}");
    // The chart creates a CronJob of its own.
    let own = ["batch/v1", "kind: CronJob\n"].map(|name| format!("status-reports.yaml: {name}"));
    assert_eq!(found, own);
}

/// The template of the `ValidatingAdmissionPolicies` has the variables of the rules, and each names its own rule.
#[test]
fn cel_variables_match_the_template() {
    let path = "charts/managed-by-policy/templates/validating-admission-policy.yaml";
    let template = fs::read_to_string(root(path)).unwrap();
    let variables = rules().iter().flat_map(|rule| {
        let variables = rule.cel_variables().iter();
        variables.map(|variable| (*variable, rule.id()))
    });
    let variables: Vec<_> = variables.collect();
    for (variable, id) in &variables {
        let body = template.split_once(&format!("    - name: {variable}\n"));
        let body = body.and_then(|(_, rest)| rest.split("\n    - name: ").next());
        let body = body.unwrap_or_else(|| panic!("{path}: no variable {variable}, for {id}"));
        let end = format!("[{{{{ $rule.{variable} }}}}]");
        assert!(
            body.contains(&end),
            "{path}: the message of {variable} must end with {end}"
        );
    }
    for rest in template.split("$rule.").skip(1) {
        let end = rest.find(|c: char| !c.is_alphanumeric());
        let used = rest.split_at(end.unwrap()).0;
        assert!(
            variables.iter().any(|(variable, _)| *variable == used),
            "{path}: no rule has the variable {used} (Rule::with_cel)"
        );
    }
}

/// Every account in the table is on the page, and every account on the page is in the table.
#[test]
fn projects_match_the_page_of_status_writers() {
    let page = fs::read_to_string(root("docs/reference/status-writers.md")).unwrap();
    let on_page: BTreeSet<_> = page
        .split('`')
        .filter_map(|text| text.strip_prefix("system:serviceaccount:"))
        .filter(|account| !account.contains("NAMESPACE"))
        .map(|account| account.replace(':', "/"))
        .collect();
    let projects = chart("files/projects.yaml");
    let projects = projects.as_array().unwrap().iter();
    let accounts =
        projects.flat_map(|project| project["accounts"].as_array().into_iter().flatten());
    let in_table: BTreeSet<_> = accounts.map(|a| a.as_str().unwrap().to_owned()).collect();
    assert_eq!(in_table, on_page);
}

/// The schema accepts the documented examples of the settings as values, and rejects those that the settings reject.
#[test]
fn schema_of_the_values_accepts_what_the_settings_accept() {
    let is_valid = validator(VALUES_SCHEMA);
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
