//! `managed-by diff`: the updates between two files.

use std::collections::BTreeMap;
use std::path::Path;

use managed_by_requests::Document;
use managed_by_requests::manifest::{self, Object};
use managed_by_requests::replay::ObjectName;
use serde_json::Value;

use super::lint::{At, for_each_object, object_name, user};
use super::settings::Chosen;
use crate::Stop;
use crate::args::{Judging, Who};
use crate::input::Input;
use crate::report::Report;

/// Group, kind, namespace and name.
type Key = (String, String, String, String);

fn key(object: &Object<'_>, namespace: &str) -> Key {
    let name = object_name(object, namespace);
    (name.group, name.kind, name.namespace, name.name)
}

/// Judges the updates between two files. What is new is judged as created, what is gone is named.
pub(super) fn run(
    old: &Path,
    new: &Path,
    is_status: bool,
    who: &Who,
    judging: &Judging,
) -> Result<Report, Stop> {
    let chosen = Chosen::new(judging)?;
    let judge = chosen.judge()?;
    let user = user(who);
    let namespace = &*who.namespace;
    let (old, new) = (Input::new(old), Input::new(new));
    let mut report = Report::default();
    let (old_bytes, new_bytes) = match (old.bytes(), new.bytes()) {
        (Ok(old), Ok(new)) => (old, new),
        (old, new) => {
            report
                .unjudged
                .extend(old.err().into_iter().chain(new.err()));
            return Ok(report);
        }
    };
    // The old objects borrow from their documents, of which there is one at a time.
    let mut stored: BTreeMap<Key, (ObjectName, String)> = BTreeMap::new();
    for_each_object(&old.name, &old_bytes, &mut report, |_, _, object, _| {
        let name = object_name(object, namespace);
        stored.insert(key(object, namespace), (name, object.json().to_owned()));
    });
    for_each_object(
        &new.name,
        &new_bytes,
        &mut report,
        |text, document, object, report| {
            let at = At {
                file: &new.name,
                text,
                document,
                object,
            };
            let before = stored.remove(&key(object, namespace));
            let Some(name) = at.known(&judge, namespace, report) else {
                return;
            };
            let Some((_, before)) = before else {
                report.created.push(name.clone());
                at.add(&judge, &object.alone(namespace, &user), name, report);
                return;
            };
            let documents = Document::all(&before);
            let objects = documents.iter().flatten().flat_map(manifest::objects);
            for before in objects.flatten() {
                let requests = manifest::updates(&before, object, is_status, namespace, &user);
                for request in &requests {
                    at.add(&judge, request, name.clone(), report);
                }
                if let Some(last) = report.results.last_mut().filter(|_| !is_status) {
                    last.unchecked = unchecked(&before, object);
                }
            }
        },
    );
    let gone = stored.into_values();
    let gone = gone.filter(|(name, _)| judge.knows(&name.group, &name.version, &name.kind));
    report.gone = gone.map(|(name, _)| name).collect();
    Ok(report)
}

/// The parts of a Job that kube-apiserver does not let everybody change, and that no rule judges.
const UNCHECKED: [&str; 4] = ["template", "completions", "completionMode", "selector"];

/// What an update changes that is not checked here, in sentences. What the new object does not mention stays or is defaulted.
fn unchecked(old: &Object<'_>, new: &Object<'_>) -> Vec<String> {
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
        .filter(|part| new.get(part).is_some_and(|new| differs(old.get(part), new)));
    differing
        .map(|part| {
            format!("spec.{part} differs: kube-apiserver may refuse that, it is not checked here")
        })
        .collect()
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
