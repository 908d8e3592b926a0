//! Placeholders of templates in fields that rules read. A template that happens to be valid YAML must not be evaluated as if the
//! placeholder were the value.

use std::borrow::Cow;

use crate::json::{Members, elements, quoted, string};

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
    let root = Members::parse(object)?;
    let metadata = root.object("metadata");
    let mut fields = ["name", "generateName", "namespace"].into_iter();
    let in_metadata = fields.find_map(|field| {
        let value = metadata.string(field)?;
        has_placeholder(&value).then(|| (["metadata.", field].concat(), value))
    });
    let (path, value) = in_metadata.or_else(|| find_managed_by(object))?;
    let mut text = path.clone();
    for part in [
        ": ",
        &quoted(&value),
        " is a placeholder: render the template, and evaluate the result",
    ] {
        text.push_str(part);
    }
    Some((path, text))
}

fn has_placeholder(text: &str) -> bool {
    PLACEHOLDERS.iter().any(|start| text.contains(start))
}

/// Returns the first string with a placeholder that is named `managedBy`, at any depth, with its path.
fn find_managed_by(json: &str) -> Option<(String, Cow<'_, str>)> {
    if let Some(list) = elements(json) {
        return list.into_iter().enumerate().find_map(|(index, element)| {
            let (rest, value) = find_managed_by(element)?;
            Some((["[", &index.to_string(), "].", &rest].concat(), value))
        });
    }
    let members = Members::parse(json)?;
    members.iter().find_map(|(name, json)| {
        // Labels and annotations are the user's own.
        if name == "metadata" || !has_placeholder(json) {
            return None;
        }
        if name == "managedBy" {
            return string(json).map(|value| (name.into_owned(), value));
        }
        let (rest, value) = find_managed_by(json)?;
        let dot = if rest.starts_with('[') { "" } else { "." };
        Some(([&*name, dot, &rest].concat(), value))
    })
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
        let command = r#"{"metadata":{"labels":{"managedBy":"${X}"}},"spec":{"template":{"spec":{"containers":[{"args":["${X}"]}]}}}}"#;
        assert_eq!(find(command), None);
    }
}
