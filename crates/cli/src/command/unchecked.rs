//! Changes of a Job that kube-apiserver may reject and no rule checks.

use managed_by::{Unchecked, UncheckedReason};
use managed_by_offline::manifest::Object;
use serde_json::Value;

/// The fields of a Job that kube-apiserver restricts and no rule checks (`ValidateJobSpecUpdate`, 1.36), and whether they
/// have a default. If the new object omits a field without a default, the update removes it.
const UNCHECKED: [(&str, bool); 7] = [
    ("template", true),
    ("completions", true),
    ("completionMode", true),
    ("selector", true),
    ("podFailurePolicy", false),
    ("successPolicy", false),
    ("backoffLimitPerIndex", false),
];

/// Returns the parts that an update changes and no rule checks. Fields missing in the new object keep their value or get a
/// default, unless the field has no default.
pub(super) fn only_api_server_validates(old: &Object<'_>, new: &Object<'_>) -> Vec<Unchecked> {
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
    let differing = UNCHECKED
        .iter()
        .filter(|(field, has_default)| match new.get(field) {
            Some(new) if !new.is_null() => differs(old.get(field), new),
            _ => !has_default && old.get(field).is_some_and(|old| !old.is_null()),
        });
    differing
        .map(|(field, _)| {
            let reason = UncheckedReason::OnlyApiServerValidates;
            Unchecked::new(format!("spec.{field}"), reason)
        })
        .collect()
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
