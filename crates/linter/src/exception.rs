//! Exceptions in an object suppress findings, each with a reason.

use std::collections::BTreeMap;

use managed_by::rule;
use serde_json::Value;

use crate::args::unknown_rule;

/// The annotation that lists an object's exceptions. Its domain is the domain of the project's pages.
pub(crate) const ANNOTATION: &str = "managed-by-policy.github.io/except";

/// The annotation's domain. It excludes the slash after it, because some JSON encoders escape slashes.
const DOMAIN: &str = "managed-by-policy.github.io";

/// Returns the exceptions in an object's annotation: the reason of each rule. Fails if the annotation is malformed.
pub(crate) fn exceptions(object: &str) -> Result<BTreeMap<&'static str, String>, String> {
    let mut exceptions = BTreeMap::new();
    // Exceptions are rare, and parsing every object takes time.
    if !object.contains(DOMAIN) {
        return Ok(exceptions);
    }
    let object: Value = serde_json::from_str(object).unwrap_or_default();
    let annotations = object.pointer("/metadata/annotations");
    let Some(value) = annotations.and_then(|annotations| annotations.get(ANNOTATION)) else {
        return Ok(exceptions);
    };
    let lines = value.as_str().unwrap_or_default().lines().map(str::trim);
    for line in lines.filter(|line| !line.is_empty()) {
        let (id, reason) = line.split_once(':').unwrap_or((line, ""));
        let (id, reason) = (id.trim(), reason.trim());
        let rule = rule(id).ok_or_else(|| unknown_rule(id))?;
        if reason.is_empty() {
            return Err(format!("missing reason, expected {id}: REASON"));
        }
        if exceptions.insert(rule.id(), reason.to_owned()).is_some() {
            return Err(format!(
                "duplicate rule {id}, expected one line for each rule"
            ));
        }
    }
    if exceptions.is_empty() {
        return Err("expected a line RULE: REASON for each rule".to_owned());
    }
    Ok(exceptions)
}
