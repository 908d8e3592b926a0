//! `managed-by diff`: the updates between two files.

use std::collections::BTreeMap;
use std::path::Path;

use managed_by_requests::Document;
use managed_by_requests::manifest::{self, Object};

use super::lint::{At, for_each_document, object_name, unknown_name, user};
use super::settings::Chosen;
use crate::Stop;
use crate::args::{Judging, Who};
use crate::input::Input;
use crate::report::{Report, Unjudged};

/// Group, kind, namespace and name.
type Key = (String, String, String, String);

fn key(object: &Object<'_>, namespace: &str) -> Key {
    let name = object_name(object, namespace);
    (name.group, name.kind, name.namespace, name.name)
}

/// Judges the updates between two files. What is new is judged as created, what is gone is counted.
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
    // The old objects borrow from their documents, so these are kept.
    let mut stored: BTreeMap<Key, String> = BTreeMap::new();
    for_each_document(&old.name, &old_bytes, &mut report, |_, document, report| {
        match manifest::objects(document) {
            Ok(objects) => stored.extend(
                objects
                    .iter()
                    .map(|object| (key(object, namespace), object.json().to_owned())),
            ),
            Err(trouble) => report.unjudged.push(Unjudged::new(&old.name, trouble)),
        }
    });
    for_each_document(
        &new.name,
        &new_bytes,
        &mut report,
        |text, document, report| {
            let objects = match manifest::objects(document) {
                Ok(objects) => objects,
                Err(trouble) => {
                    report.unjudged.push(Unjudged::new(&new.name, trouble));
                    return;
                }
            };
            for object in &objects {
                let name = object_name(object, namespace);
                let before = stored.remove(&key(object, namespace));
                if !judge.knows(object.group(), object.version(), object.kind()) {
                    report.count_unknown(unknown_name(&name), 1);
                    continue;
                }
                let documents = before.as_deref().map(Document::all).unwrap_or_default();
                let document_before = documents.into_iter().next().and_then(Result::ok);
                let objects_before = document_before.as_ref().map(manifest::objects);
                let objects_before = objects_before.and_then(Result::ok).unwrap_or_default();
                let at = At {
                    file: &new.name,
                    text,
                    document,
                    object,
                };
                if let Some(before) = objects_before.first() {
                    let requests = manifest::updates(before, object, is_status, namespace, &user);
                    for request in &requests {
                        at.add(&judge, request, name.clone(), report);
                    }
                } else {
                    at.add(&judge, &object.alone(namespace, &user), name, report);
                }
            }
        },
    );
    report.gone = u64::try_from(stored.len()).unwrap_or(u64::MAX);
    Ok(report)
}
