//! Changes of a Job that kube-apiserver may refuse, and no rule judges.

use managed_by_offline::manifest::Object;
use serde_json::Value;

/// The parts of a Job that kube-apiserver does not let everybody change, and that no rule judges (`ValidateJobSpecUpdate`, 1.36).
const UNCHECKED: [&str; 7] = [
    "template",
    "completions",
    "completionMode",
    "selector",
    "podFailurePolicy",
    "successPolicy",
    "backoffLimitPerIndex",
];

/// Those of them that no API server fills in: a new object without one takes it away.
const NEVER_DEFAULTED: [&str; 3] = ["podFailurePolicy", "successPolicy", "backoffLimitPerIndex"];

/// The paths that an update changes and nobody checks here. What the new object does not mention stays
/// or is defaulted, unless nobody defaults it.
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

/// Whether a value says something that the old one does not.
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
