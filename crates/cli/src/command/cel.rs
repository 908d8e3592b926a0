//! Coverage of settings by the policies in CEL, which `docs/explanation/cel.md` describes.

use managed_by::rules;
use serde_json::Value;

/// Rules that the policies enforce.
const COVERED: [&str; 10] = [
    "managed-by/format",
    "managed-by/immutable",
    "managed-by/reserved",
    "managed-by/reserved-domain",
    "managed-by/wrong-kind",
    "managed-by/pruned-version",
    "managed-by/allowed",
    "managed-by/delegation",
    "status-writer/delegated",
    "status-writer/builtin",
];

/// Maximum number of names in the path of a declared kind that the policies read.
const MAX_PATH: usize = 6;

/// Maximum number of patterns that keeps the policies far below kube-apiserver's cost limit.
const MAX_PATTERNS: usize = 10_000;

/// Returns a line for each setting: CEL and the module enforce it, or only the module. Further lines report that the settings
/// are too large for CEL, and the number of rules that CEL does not cover.
pub(super) fn coverage(settings: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    let members = settings.as_object().into_iter().flatten();
    for (key, value) in members.filter(|(_, value)| !value.is_null()) {
        match key.as_str() {
            "kubernetes_version" | "on_lookup_failure" => lines.push(module(key)),
            "rules" => lines.extend(names(value).map(|rule| {
                let path = format!("rules[{rule}]");
                if COVERED.contains(&rule) {
                    cel(&path)
                } else {
                    module(&path)
                }
            })),
            "custom_kinds" => lines.extend(elements(value).enumerate().flat_map(custom_kind)),
            _ => lines.push(cel(key)),
        }
    }
    let patterns = count_patterns(settings);
    if patterns > MAX_PATTERNS {
        lines.push(format!(
            "too large for CEL: {patterns} patterns of namespaces, expected at most {MAX_PATTERNS}"
        ));
    }
    let others = rules().iter().filter(|rule| !COVERED.contains(&rule.id()));
    lines.push(format!(
        "the module also enforces {} rules that are not in CEL",
        others.count()
    ));
    lines
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

/// Counts the patterns of namespaces, of all controllers and of all entries of `namespaces`.
fn count_patterns(settings: &Value) -> usize {
    let count = |entry: &Value, key: &str| entry.get(key).map_or(0, |list| elements(list).count());
    let controllers = settings.get("controllers").and_then(Value::as_object);
    let controllers = controllers
        .into_iter()
        .flatten()
        .map(|(_, entry)| count(entry, "namespaces"));
    let namespaces = settings.get("namespaces").into_iter().flat_map(elements);
    controllers
        .chain(namespaces.map(|entry| count(entry, "match")))
        .sum()
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

    use super::{COVERED, coverage};

    /// The chart's policies enforce the same rules (`make generate` writes the list from the library).
    #[test]
    fn covered_rules_are_in_the_chart() {
        let path = managed_by_testing::root("charts/managed-by-policy/files/library.yaml");
        let library = std::fs::read_to_string(path).unwrap();
        let library: Value = serde_yaml_ng::from_str(&library).unwrap();
        let rows = library["cel"].as_array().unwrap().iter();
        let mut rules: Vec<_> = rows.map(|row| row["rule"].as_str().unwrap()).collect();
        rules.dedup();
        assert_eq!(rules, COVERED);
    }

    #[test]
    fn large_settings_are_reported() {
        let patterns: Vec<_> = (0..11_000).map(|number| format!("team-{number}")).collect();
        let settings = json!({"controllers": {"acme.io/runner": {"namespaces": patterns}}});
        assert_eq!(
            coverage(&settings)[1],
            "too large for CEL: 11000 patterns of namespaces, expected at most 10000"
        );
    }
}
