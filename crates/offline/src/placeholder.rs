//! Placeholders of templates in fields that rules read. A template that happens to be valid YAML must not be evaluated as if the
//! placeholder were the value.

use serde_json::Value;

use crate::json::quoted;

/// Beginnings of placeholders: Helm, Go templates and Argo (`{{ }}`), envsubst and Flux (`${ }`), and Tekton's variables.
const PLACEHOLDERS: [&str; 8] = [
    "{{",
    "${",
    "$(params.",
    "$(tt.params.",
    "$(context.",
    "$(tasks.",
    "$(workspaces.",
    "$(inputs.",
];

/// Returns a text about the first field with a placeholder, and the field's path. Looks only at the fields that rules read in objects
/// of any kind: the name, the namespace and every `managedBy`.
pub(crate) fn find(object: &str) -> Option<(String, String)> {
    // Placeholders are rare, and parsing every object takes time.
    if !has_placeholder(object) {
        return None;
    }
    let object: Value = serde_json::from_str(object).ok()?;
    let metadata = ["name", "generateName", "namespace"].into_iter();
    let metadata = metadata.filter_map(|field| {
        let value = object.get("metadata")?.get(field)?.as_str()?;
        Some((format!("metadata.{field}"), value))
    });
    let mut values: Vec<_> = metadata.collect();
    let members = object.as_object().into_iter().flatten();
    for (name, value) in members.filter(|(name, _)| !["metadata", "status"].contains(&&***name)) {
        managed_by_values(name.clone(), value, &mut values);
    }
    let found = values.into_iter().find(|(_, value)| has_placeholder(value));
    found.map(|(path, value)| {
        let text = format!(
            "{path}: {} is a placeholder: render the template, and evaluate the result",
            quoted(value)
        );
        (path, text)
    })
}

fn has_placeholder(text: &str) -> bool {
    PLACEHOLDERS.iter().any(|start| text.contains(start))
}

/// Collects the strings named `managedBy`, at any depth, with their paths.
fn managed_by_values<'v>(path: String, value: &'v Value, found: &mut Vec<(String, &'v str)>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                managed_by_values(format!("{path}.{name}"), value, found);
            }
        }
        Value::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                managed_by_values(format!("{path}[{index}]"), element, found);
            }
        }
        Value::String(text) if path.ends_with(".managedBy") => found.push((path, text)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn placeholders_are_found_only_where_rules_read() {
        let managed_by = |value: &str| format!(r#"{{"spec":{{"managedBy":"{value}"}}}}"#);
        for value in [
            "{{ .Values.managedBy }}",
            "{{workflow.parameters.x}}",
            "${managed_by:=acme.io/x}",
            "$(params.controller)",
        ] {
            let (path, text) = find(&managed_by(value)).unwrap();
            assert_eq!(path, "spec.managedBy");
            assert!(text.contains(value), "{text}");
        }
        assert_eq!(find(&managed_by("acme.io/$(x)")), None);
        let nested = r#"{"spec":{"replicatedJobs":[{"template":{"spec":{"managedBy":"${X}"}}}]}}"#;
        let (path, _) = find(nested).unwrap();
        assert_eq!(path, "spec.replicatedJobs[0].template.spec.managedBy");
        let namespace = r#"{"metadata":{"namespace":"{{ .Release.Namespace }}"}}"#;
        assert!(find(namespace).is_some());
        // Rules don't read the command of a container, or free labels.
        let command = r#"{"metadata":{"labels":{"a":"${X}"}},"spec":{"template":{"spec":{"containers":[{"args":["${X}"]}]}}}}"#;
        assert_eq!(find(command), None);
    }
}
