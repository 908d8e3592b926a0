//! What is put in for the variables of steps, and what a step sends then.
//!
//! `$name` stands for a variable: one of the file, of an `each`, or one that an earlier step has kept. `$now` and `$pod` (the
//! template of a pod) are there always. In what is sent, `{repeat: [TEXT, COUNT, BEFORE]}` is a long text or list,
//! `{holds: TYPE}` a condition, and the members of `+` join the others.

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Map, Value, json};

use super::Step;
use crate::cluster::hook::{job, merge};
use crate::deploy;

/// Sets of variables, which may be a variable themselves and hold others.
pub(super) fn each(vars: &Map<String, Value>, sets: &Value) -> Result<Vec<Map<String, Value>>> {
    Ok(serde_json::from_value(filled(vars, &filled(vars, sets)?)?)?)
}

/// A value with its variables.
pub(super) fn filled(vars: &Map<String, Value>, value: &Value) -> Result<Value> {
    Ok(match value {
        Value::String(template) => filled_text(vars, template),
        Value::Array(items) => items
            .iter()
            .map(|i| filled(vars, i))
            .collect::<Result<_>>()?,
        Value::Object(members) => {
            if let Some(Value::Array(parts)) = members.get("repeat") {
                return repeated(parts);
            }
            if let Some(holds) = members.get("holds") {
                let now = &vars["now"];
                return Ok(
                    json!({"type": holds, "status": "True", "lastProbeTime": now, "lastTransitionTime": now}),
                );
            }
            let mut object = Map::new();
            for (key, value) in members {
                match (key.as_str(), filled(vars, value)?) {
                    ("+", Value::Object(more)) => object.extend(more),
                    (_, value) => drop(object.insert(key.clone(), value)),
                }
            }
            object.into()
        }
        other => other.clone(),
    })
}

/// A text with its variables, or the value of the only one.
pub(super) fn filled_text(vars: &Map<String, Value>, template: &str) -> Value {
    if let Some(value) = template.strip_prefix('$').and_then(|name| vars.get(name)) {
        return value.clone();
    }
    let mut parts = template.split('$');
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let length = part
            .find(|c: char| !c.is_ascii_lowercase())
            .unwrap_or(part.len());
        let (name, rest) = part.split_at(length);
        match vars.get(name) {
            Some(Value::String(value)) => filled.extend([value, rest]),
            Some(value) => filled.extend([&value.to_string(), rest]),
            None => filled.extend(["$", part]),
        }
    }
    filled.into()
}

/// What a step sends.
pub(super) fn body(
    step: &Step,
    how: &str,
    kind: &str,
    api_version: &str,
    namespace: &str,
    name: &str,
) -> Result<Value> {
    let mut body = match (&step.file, &step.body) {
        (Some(file), _) => deploy::yaml(file)?.into_iter().next().context("empty")?,
        (None, Value::Null) if ["create", "apply"].contains(&how) => {
            let mut object = match kind {
                "Job" => job(namespace, name, &step.spec),
                _ => {
                    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}})
                }
            };
            if kind != "Job" && !step.spec.is_null() {
                object["spec"] = step.spec.clone();
            }
            merge(&mut object["metadata"], &step.metadata);
            object
        }
        (None, Value::Null) if how == "delete" => json!({"propagationPolicy": "Background"}),
        (None, body) => body.clone(),
    };
    for place in &step.without {
        let (parent, member) = place.rsplit_once('/').context("a place")?;
        let parent = body.pointer_mut(parent).and_then(Value::as_object_mut);
        let removed = parent.and_then(|parent| parent.remove(member));
        ensure!(removed.is_some(), "nothing to leave out at {place}");
    }
    for (place, value) in &step.with {
        let (parent, member) = place.rsplit_once('/').context("a place")?;
        let parent = body.pointer_mut(parent);
        parent.with_context(|| place.clone())?[member] = value.clone();
    }
    Ok(body)
}

/// What `repeat` stands for.
fn repeated(parts: &[Value]) -> Result<Value> {
    let count = parts.get(1).and_then(Value::as_u64).context("no count")?;
    let count = usize::try_from(count)?;
    let before = parts.get(2).and_then(Value::as_str).unwrap_or_default();
    Ok(match parts.first() {
        Some(Value::String(text)) => format!("{before}{}", text.repeat(count)).into(),
        Some(item) => vec![item.clone(); count].into(),
        None => bail!("nothing to repeat"),
    })
}
