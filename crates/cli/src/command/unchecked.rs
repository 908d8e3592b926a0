//! Changes of a Job that kube-apiserver may reject and no rule checks.

use managed_by_offline::manifest::Object;
use serde_json::Value;

/// The fields of a Job that kube-apiserver restricts and no rule checks (`ValidateJobSpecUpdate`, 1.36).
const UNCHECKED: [&str; 7] = [
    "template",
    "completions",
    "completionMode",
    "selector",
    "podFailurePolicy",
    "successPolicy",
    "backoffLimitPerIndex",
];

/// Restricted fields without a default: an object without one removes it.
const NEVER_DEFAULTED: [&str; 3] = ["podFailurePolicy", "successPolicy", "backoffLimitPerIndex"];

/// Returns the paths that an update changes and no rule checks. Fields missing in the new object keep their value or get a
/// default, unless the field has no default.
pub(super) fn unchecked(old: &Object<'_>, new: &Object<'_>) -> Vec<String> {
    if (new.group(), new.kind()) != ("batch", "Job") {
        return Vec::new();
    }
    let spec = |object: &Object<'_>| -> Option<Value> {
        serde_json::from_str::<Value>(object.json())
            .ok()
            .and_then(|mut object| object.get_mut("spec").map(Value::take))
    };
    let (Some(old), Some(new)) = (spec(old), spec(new)) else {
        return Vec::new();
    };
    let differing = UNCHECKED.iter().filter(|part| match new.get(part) {
        Some(new) if !new.is_null() => differs(old.get(part), new),
        _ => NEVER_DEFAULTED.contains(part) && old.get(part).is_some_and(|old| !old.is_null()),
    });
    differing.map(|part| format!("spec.{part}")).collect()
}

/// Returns true if a value has contents that the old one does not.
fn differs(old: Option<&Value>, new: &Value) -> bool {
    match (old, new) {
        (_, Value::Null) => false,
        (Some(Value::Object(old)), Value::Object(new)) => {
            new.iter().any(|(key, new)| differs(old.get(key), new))
        }
        (Some(Value::Array(old)), Value::Array(new)) => {
            old.len() != new.len()
                || old
                    .iter()
                    .zip(new)
                    .any(|(old, new)| differs(Some(old), new))
        }
        (old, new) => old != Some(new),
    }
}
