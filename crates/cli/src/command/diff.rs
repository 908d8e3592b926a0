//! `managed-by diff`: the updates between two files or folders, or since a commit.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use managed_by_offline::Document;
use managed_by_offline::manifest::{self, Object};
use managed_by_offline::replay::ObjectName;
use serde_json::Value;

use super::lint::{At, for_each_object, user};
use super::settings::Chosen;
use crate::args::{Diff, Folders, Manifests};
use crate::diagnostic::Diagnostic;
use crate::error::CliError;
use crate::git;
use crate::input::{Input, files};
use crate::report::{Kind, Report};

/// The files of both sides, the old ones first.
fn inputs(asked: &Diff) -> Result<[Vec<Result<Input, Diagnostic>>; 2], CliError> {
    let folders = &asked.manifests.folders;
    if let Some(new) = &asked.new {
        return Ok([side(&asked.old, folders)?, side(new, folders)?]);
    }
    // Both sides have the same files: a commit has links and ignored files, which a folder is read without.
    let mut new = side(&asked.old, folders)?;
    new.retain(|input| {
        !input
            .as_ref()
            .is_ok_and(|input| input.path().is_some_and(Path::is_symlink))
    });
    let there: Vec<_> = new
        .iter()
        .flatten()
        .filter_map(|input| input.path()?.canonicalize().ok())
        .collect();
    let is_left_out = |file: &Path| {
        let file = file.canonicalize();
        file.is_ok_and(|file| !there.contains(&file))
    };
    let commit = asked.git.as_deref().unwrap_or_default();
    let old = git::files(commit, &asked.old, is_left_out)?;
    Ok([old.into_iter().map(Ok).collect(), new])
}

/// The files of one side. `/dev/null` has none, as for git: all objects of the other side are new, or gone.
fn side(path: &Path, folders: &Folders) -> Result<Vec<Result<Input, Diagnostic>>, CliError> {
    if path.as_os_str() == "/dev/null" {
        return Ok(Vec::new());
    }
    files(&[path.to_owned()], folders)
}

/// Group, kind, namespace and name.
type Key = (String, String, String, String);

/// The keys of the objects of one side. Those without a name have their `generateName` and a number instead.
#[derive(Default)]
struct Keys {
    unnamed: BTreeMap<Key, usize>,
}

impl Keys {
    fn of(&mut self, object: &Object<'_>, namespace: &str) -> Key {
        let name = object.full_name(namespace);
        let mut key = (name.group, name.kind, name.namespace, name.name);
        if object.name().is_empty() {
            let count = self.unnamed.entry(key.clone()).or_default();
            // No name has a slash.
            key.3 = format!("{}/{count}", key.3);
            *count = count.saturating_add(1);
        }
        key
    }
}

/// An object as it was.
struct Stored {
    name: ObjectName,
    json: String,
    /// How many old objects were read before.
    place: usize,
    /// What is wrong with it, where it stands.
    unjudged: Option<Diagnostic>,
}

/// Judges the updates between two sides. What is new is judged as created, what is gone is named.
pub(super) fn run(asked: &Diff) -> Result<Report, CliError> {
    let Manifests {
        folders,
        who,
        judging,
        ..
    } = &asked.manifests;
    let chosen = Chosen::new(judging)?;
    let judge = chosen.judge()?;
    let user = user(who);
    let namespace = who.namespace();
    let [old, new] = inputs(asked)?;
    let mut report = Report {
        kind: Kind::Diff,
        ..Report::default()
    };
    // The old objects borrow from their documents, of which there is one at a time.
    let mut stored: BTreeMap<Key, Stored> = BTreeMap::new();
    let mut keys = Keys::default();
    let mut place = 0_usize;
    for input in &old {
        for_each_object_of(input, &mut report, |at, _| {
            let name = at.object.full_name(namespace);
            let malformed = if judge.knows(&name.group, &name.version, &name.kind) {
                at.object.check().err()
            } else {
                None
            };
            let old = Stored {
                json: at.object.json().to_owned(),
                place,
                unjudged: malformed.map(|malformed| at.unjudged(&name, &malformed)),
                name,
            };
            stored.insert(keys.of(at.object, namespace), old);
            place = place.saturating_add(1);
        });
    }
    let mut wrong: BTreeMap<usize, Diagnostic> = BTreeMap::new();
    let mut keys = Keys::default();
    for input in &new {
        let file = input.iter().map(|input| Arc::clone(&input.name));
        report.files.extend(file);
        for_each_object_of(input, &mut report, |at, report| {
            let object = at.object;
            let before = stored.remove(&keys.of(object, namespace));
            let judged = report.results.len();
            let Some(name) = at.known(&judge, namespace, report) else {
                return;
            };
            let Some(before) = before else {
                report.created.push(name.clone());
                at.add(&judge, &object.alone(namespace, &user), name, report);
                at.except(judged, report);
                return;
            };
            // A change of the spec and the status is two requests, with a state between them that mixes both objects. What is
            // wrong with one of the two is found before, so that it is shown where it stands.
            let malformed = object.check().err();
            let is_wrong = before.unjudged.is_some() || malformed.is_some();
            wrong.extend(before.unjudged.map(|unjudged| (before.place, unjudged)));
            let malformed = malformed.map(|malformed| at.unjudged(&name, &malformed));
            report.unjudged.extend(malformed);
            let documents = Document::all(&before.json);
            let objects = documents.iter().flatten().flat_map(manifest::objects);
            for old in objects.flatten().filter(|_| !is_wrong) {
                for request in manifest::updates(&old, object, asked.status, namespace, &user) {
                    at.add(&judge, &request, name.clone(), report);
                }
                // The first request is the one that changes the spec.
                if let Some(first) = report.results.get_mut(judged)
                    && !asked.status
                {
                    first.unchecked = unchecked(&old, object);
                }
            }
            at.except(judged, report);
        });
    }
    report.unjudged.extend(wrong.into_values());
    if folders.skip_unreadable {
        report.skip_unreadable();
    }
    let gone = stored.into_values().map(|old| old.name);
    let gone = gone.filter(|name| judge.knows(&name.group, &name.version, &name.kind));
    report.gone = gone.collect();
    Ok(report)
}

/// Does something with each object of a file, if there is one.
fn for_each_object_of(
    input: &Result<Input, Diagnostic>,
    report: &mut Report,
    each: impl FnMut(&At<'_, '_>, &mut Report),
) {
    let read = input.as_ref().map_err(Clone::clone);
    match read.and_then(|input| Ok((input, input.bytes()?))) {
        Ok((input, bytes)) => for_each_object(&input.name, &bytes, report, each),
        Err(unjudged) => report.unjudged.push(unjudged),
    }
}

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
