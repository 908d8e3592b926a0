//! `managed-by diff`: the updates between two files or folders, or since a commit.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use managed_by::Malformed;
use managed_by_offline::Document;
use managed_by_offline::manifest::{self, Object};
use managed_by_offline::replay::ObjectName;
use serde_json::Value;

use super::lint::{At, for_each_object, object_name, user};
use super::settings::Chosen;
use crate::Stop;
use crate::args::{Folders, Judging, Who};
use crate::git;
use crate::input::{Input, files};
use crate::report::{Report, Unjudged};

/// What is compared.
pub(super) struct Sides {
    old: PathBuf,
    /// Without it, the working tree is compared with a commit.
    new: Option<PathBuf>,
    commit: String,
}

impl Sides {
    /// The sides that the arguments name.
    pub(super) fn new(old: PathBuf, new: Option<PathBuf>, commit: Option<String>) -> Self {
        let commit = commit.unwrap_or_default();
        Self { old, new, commit }
    }

    fn inputs(&self, folders: &Folders) -> Result<[Vec<Result<Input, Unjudged>>; 2], Stop> {
        if let Some(new) = &self.new {
            return Ok([side(&self.old, folders)?, side(new, folders)?]);
        }
        // Both sides have the same files: a commit has links and ignored files, which a folder is read without.
        let mut new = side(&self.old, folders)?;
        new.retain(|input| !input.as_ref().is_ok_and(Input::is_link));
        let there: Vec<_> = new.iter().flatten().filter_map(Input::place).collect();
        let is_left_out = |file: &Path| {
            let file = file.canonicalize();
            file.is_ok_and(|file| !there.contains(&file))
        };
        let old = git::files(&self.commit, &self.old, is_left_out)?;
        Ok([old.into_iter().map(Ok).collect(), new])
    }
}

/// The files of one side. `/dev/null` has none, as for git: all objects of the other side are new, or gone.
fn side(path: &Path, folders: &Folders) -> Result<Vec<Result<Input, Unjudged>>, Stop> {
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
        let name = object_name(object, namespace);
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
    /// Its file, by its number.
    file: usize,
}

/// Judges the updates between two sides. What is new is judged as created, what is gone is named.
pub(super) fn run(
    sides: &Sides,
    is_status: bool,
    folders: &Folders,
    who: &Who,
    judging: &Judging,
) -> Result<Report, Stop> {
    let chosen = Chosen::new(judging)?;
    let judge = chosen.judge()?;
    let user = user(who);
    let namespace = who.namespace();
    let [old, new] = sides.inputs(folders)?;
    let mut report = Report::default();
    // The old objects borrow from their documents, of which there is one at a time.
    let mut stored: BTreeMap<Key, Stored> = BTreeMap::new();
    let mut keys = Keys::default();
    for (file, input) in old.iter().enumerate() {
        for_each_object_of(input, &mut report, |_, _, object, _| {
            let old = Stored {
                name: object_name(object, namespace),
                json: object.json().to_owned(),
                file,
            };
            stored.insert(keys.of(object, namespace), old);
        });
    }
    // What is wrong with old objects, by their file and key.
    let mut wrong: BTreeMap<(usize, Key), Malformed> = BTreeMap::new();
    let mut keys = Keys::default();
    for input in &new {
        let file = input.iter().map(|input| Arc::clone(&input.name));
        report.files.extend(file);
        for_each_object_of(input, &mut report, |text, document, object, report| {
            let file = input.as_ref().map(|input| Arc::clone(&input.name));
            let at = At {
                file: &file.unwrap_or_else(|unjudged| Arc::clone(&unjudged.file)),
                text,
                document,
                object,
            };
            let key = keys.of(object, namespace);
            let judged = report.results.len();
            let before = stored.remove(&key);
            let Some(name) = at.known(&judge, namespace, report) else {
                return;
            };
            let Some(before) = before else {
                report.created.push(name.clone());
                at.add(&judge, &object.alone(namespace, &user), name, report);
                at.except(judged, report);
                return;
            };
            let documents = Document::all(&before.json);
            let objects = documents.iter().flatten().flat_map(manifest::objects);
            for old in objects.flatten() {
                // A change of the spec and the status is two requests, with a state between them that mixes both objects. What
                // is wrong with one of the two is found before, so that it is shown where it stands.
                let checked = (old.check(), object.check());
                if let Err(malformed) = &checked.0 {
                    wrong.insert((before.file, key.clone()), malformed.clone());
                }
                if let Err(malformed) = &checked.1 {
                    report.unjudged.push(at.unjudged(&name, malformed));
                }
                if checked.0.and(checked.1).is_err() {
                    continue;
                }
                for request in manifest::updates(&old, object, is_status, namespace, &user) {
                    at.add(&judge, &request, name.clone(), report);
                }
                // The first request is the one that changes the spec.
                if let Some(first) = report.results.get_mut(judged)
                    && !is_status
                {
                    first.unchecked = unchecked(&old, object);
                }
            }
            at.except(judged, report);
        });
    }
    tell_wrong(&old, &wrong, namespace, &mut report);
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
    input: &Result<Input, Unjudged>,
    report: &mut Report,
    each: impl FnMut(&str, &Document<'_>, &Object<'_>, &mut Report),
) {
    let read = input.as_ref().map_err(Clone::clone);
    match read.and_then(|input| Ok((input, input.bytes()?))) {
        Ok((input, bytes)) => for_each_object(&input.name, &bytes, report, each),
        Err(unjudged) => report.unjudged.push(unjudged),
    }
}

/// Tells what is wrong with old objects, where it stands.
fn tell_wrong(
    old: &[Result<Input, Unjudged>],
    wrong: &BTreeMap<(usize, Key), Malformed>,
    namespace: &str,
    report: &mut Report,
) {
    let mut keys = Keys::default();
    for (number, input) in old.iter().enumerate().filter(|_| !wrong.is_empty()) {
        // What else there is to say of the file was said.
        let mut again = Report::default();
        for_each_object_of(input, &mut again, |text, document, object, _| {
            let key = keys.of(object, namespace);
            if let (Some(malformed), Ok(input)) = (wrong.get(&(number, key)), input) {
                let at = At {
                    file: &input.name,
                    text,
                    document,
                    object,
                };
                let name = object_name(object, namespace);
                report.unjudged.push(at.unjudged(&name, malformed));
            }
        });
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
