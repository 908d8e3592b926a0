//! Coverage of settings by the policies in CEL, which `docs/explanation/outages.md` describes.

use managed_by::{Rule, rule, rules};
use serde_json::Value;

/// Maximum number of names in the path of a declared kind that the policies read.
const MAX_PATH: usize = 6;

/// Maximum number of characters in an expression, a limit of cel-go's parser.
const MAX_SIZE: usize = 100_000;

/// Returns a line for each setting: CEL and the module enforce it, or only the module. Further lines report that the settings
/// are too large for CEL, and the number of rules that CEL does not cover.
pub(super) fn coverage(settings: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    let members = settings.as_object().into_iter().flatten();
    for (key, value) in members.filter(|(_, value)| !value.is_null()) {
        match key.as_str() {
            "kubernetes_version" | "on_lookup_failure" => lines.push(module(key)),
            "rules" => lines.extend(names(value).map(|id| {
                let path = format!("rules[{id}]");
                if rule(id).is_some_and(is_in_cel) {
                    cel(&path)
                } else {
                    module(&path)
                }
            })),
            "custom_kinds" => lines.extend(elements(value).enumerate().flat_map(custom_kind)),
            _ => lines.push(cel(key)),
        }
    }
    let size = literal(settings).chars().count();
    if size > MAX_SIZE {
        lines.push(format!(
            "too large for CEL: {size} characters as an expression, expected at most {MAX_SIZE}"
        ));
    }
    let enforced = rules().iter().filter(|rule| !rule.is_for_manifests());
    let others = enforced.filter(|rule| !is_in_cel(rule));
    lines.push(format!(
        "the module also enforces {} rules that are not in CEL",
        others.count()
    ));
    lines
}

fn is_in_cel(rule: &Rule) -> bool {
    !rule.cel_variables().is_empty()
}

fn cel(path: &str) -> String {
    format!("CEL and the module enforce {path}")
}

fn module(path: &str) -> String {
    format!("only the module enforces {path}")
}

fn custom_kind((index, kind): (usize, &Value)) -> Vec<String> {
    let path = format!("custom_kinds[{index}]");
    let managed_by = kind.get("managed_by_path").and_then(Value::as_str);
    let names = managed_by.unwrap_or_default().split('.').count();
    let mut lines = vec![if names > MAX_PATH {
        module(&path)
    } else {
        cel(&path)
    }];
    if kind.get("status").is_some_and(|status| !status.is_null()) {
        lines.push(module(&format!("{path}.status")));
    }
    lines
}

/// Returns the CEL literal that the chart's template `managed-by.celLiteral` embeds in the policies.
fn literal(value: &Value) -> String {
    let typed = |value: &Value| match value {
        Value::String(_) => literal(value),
        _ => format!("dyn({})", literal(value)),
    };
    match value {
        Value::Object(members) => {
            let members = members.iter().map(|(key, value)| {
                let key = literal(&Value::from(key.as_str()));
                format!("{key}: dyn({})", literal(value))
            });
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => {
            let items = items.iter().map(typed);
            format!("[{}]", items.collect::<Vec<_>>().join(", "))
        }
        // Helm escapes these characters.
        scalar => ['<', '>', '&']
            .iter()
            .fold(scalar.to_string(), |text, escaped| {
                text.replace(*escaped, &format!("\\u{:04x}", u32::from(*escaped)))
            }),
    }
}

fn elements(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn names(object: &Value) -> impl Iterator<Item = &str> {
    let members = object.as_object().into_iter().flatten();
    members.map(|(name, _)| name.as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{MAX_PATH, MAX_SIZE, coverage, literal};

    /// The chart has the same limits.
    #[test]
    fn limits_match_the_template() {
        for (name, limit) in [
            (
                "validating-admission-policy.yaml",
                format!("gt $size {MAX_SIZE} "),
            ),
            ("_conditions.tpl", format!("range until {MAX_PATH} ")),
        ] {
            let path = format!("charts/managed-by-policy/templates/{name}");
            let template = managed_by_testing::read(&path).unwrap();
            assert!(template.contains(&limit), "{path}: no {limit:?}");
        }
    }

    /// The chart renders the same literal.
    #[test]
    fn literal_matches_the_deployed_policies() {
        let read = |name: &str| managed_by_testing::read(&format!("deploy/{name}.yml")).unwrap();
        let policy: Value = serde_yaml_ng::from_str(&read("management")).unwrap();
        let literal = literal(&policy["spec"]["settings"]);
        assert!(
            read("cel").contains(&format!("        {literal}\n")),
            "{literal}"
        );
    }

    #[test]
    fn large_settings_are_reported() {
        let patterns: Vec<_> = (0..10_000).map(|number| format!("team-{number}")).collect();
        let settings = json!({"controllers": {"acme.io/<runner>": {"namespaces": patterns}}});
        assert_eq!(
            coverage(&settings)[1],
            "too large for CEL: 128970 characters as an expression, expected at most 100000"
        );
    }
}
