//! Watch streams recorded from real controllers (`traces/`), as the requests that made them, and audit logs
//! (`traces/audit/`), which also say who wrote.
//!
//! A line is a watch event, in order; two consecutive events of one object are one update: of its status where the
//! status differs, else of the main resource.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::oracle;
use crate::vector::{Answer, Case, Vector, read_lines, write_lines};

/// The streams that hold Jobs: the Job controller's, those of Jobs that other controllers made, and MultiKueue's, of the hub
/// and of its worker. MultiKueue's hold JobSets too.
pub const JOBS: [&str; 5] = [
    "jobs-1.36",
    "child-jobs",
    MULTIKUEUE[0],
    MULTIKUEUE[1],
    MULTIKUEUE[2],
];

/// The streams of MultiKueue.
pub const MULTIKUEUE: [&str; 3] = [
    "multikueue-0.14-hub",
    "multikueue-0.18-hub",
    "multikueue-0.18-worker",
];

/// The streams of custom resources, which upstream's code has no say in: each project's own controllers.
pub const CUSTOM: [&str; 9] = [
    "jobset-0.12",
    "trainer-2.3",
    "mpi-operator-0.8",
    "appwrapper-1.2",
    "kuberay-1.7",
    "tekton-1.15",
    "tekton-1.12-races",
    "training-operator-1.9",
    "multikueue-0.14-training-operator-hub",
];

/// What upstream says to the requests of Jobs. The requests themselves are made from the streams.
const VERDICTS: &str = "verdicts.ndjson";

#[derive(Deserialize)]
struct Event {
    #[serde(rename = "type")]
    event_type: String,
    object: Value,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Answered {
    name: String,
    answers: Vec<Answer>,
}

fn path(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("traces")
        .join(file)
}

/// The requests behind an audit log (`traces/audit/`) that holds the objects and shows each from its creation on: the updates of
/// a status, with their users, in order, named after their line, each with the HTTP status of the answer that was recorded.
///
/// # Errors
/// If there is no such log, or a line of it is no event with an object that is known.
pub fn status_updates(log: &str) -> Result<Vec<(String, Value, u64)>> {
    let file = format!("audit/{log}.ndjson");
    let mut stored: BTreeMap<String, Value> = BTreeMap::new();
    let mut updates = Vec::new();
    for (event, line) in read_lines::<Value>(&path(&file))?.into_iter().zip(1..) {
        let part = |pointer: &str| event.pointer(pointer).cloned().unwrap_or_default();
        let text = |pointer: &str| part(pointer).as_str().unwrap_or_default().to_owned();
        let code = part("/responseStatus/code").as_u64().unwrap_or_default();
        let uid = text("/objectRef/uid");
        if text("/objectRef/subresource") == "status" {
            let name = format!("{log}:{line} {}", text("/objectRef/name"));
            let fault = || format!("{name}: nothing shows the object before");
            let old = stored.get(&uid).with_context(fault)?;
            // The API server keeps all but the status.
            let mut object = old.clone();
            if let Some(members) = object.as_object_mut() {
                members.insert("status".to_owned(), part("/requestObject/status"));
            }
            let case = Case {
                name,
                operation: "UPDATE".to_owned(),
                sub_resource: "status".to_owned(),
                object,
                old_object: Some(old.clone()),
            };
            let mut request = case.request();
            if let Some(members) = request.as_object_mut() {
                members.insert("userInfo".to_owned(), part("/user"));
            }
            updates.push((case.name, request, code));
        }
        let answer = part("/responseObject");
        if code < 400 {
            let uid = answer.pointer("/metadata/uid").and_then(Value::as_str);
            stored.insert(uid.unwrap_or_default().to_owned(), answer);
        }
    }
    Ok(updates)
}

/// The requests behind a stream: creates, updates and deletions, in order, named after the line that shows their result.
///
/// # Errors
/// If there is no such stream, or a line of it is no event.
pub fn requests(stream: &str) -> Result<Vec<Case>> {
    let mut stored: BTreeMap<String, Value> = BTreeMap::new();
    let mut requests = Vec::new();
    for (index, event) in read_lines::<Event>(&path(&format!("{stream}.ndjson")))?
        .into_iter()
        .enumerate()
    {
        let object = event.object;
        let text = |pointer: &str| {
            let text = object.pointer(pointer).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        let uid = text("/metadata/uid");
        let (kind, name) = (text("/kind"), text("/metadata/name"));
        let old = stored.insert(uid, object.clone());
        let (operation, sub_resource) = match (&*event.event_type, &old) {
            ("DELETED", _) => ("DELETE", ""),
            (_, None) => ("CREATE", ""),
            // A deletion that finalizers hold up: the API server sets the time.
            (_, Some(old)) if deleted(&object) && !deleted(old) => ("DELETE", ""),
            (_, Some(old)) if old.get("status") != object.get("status") => ("UPDATE", "status"),
            _ => ("UPDATE", ""),
        };
        let line = index.saturating_add(1);
        requests.push(Case {
            name: format!("{stream}:{line} {operation} {kind} {name} {sub_resource}")
                .trim_end()
                .to_owned(),
            operation: operation.to_owned(),
            sub_resource: sub_resource.to_owned(),
            object,
            old_object: old,
        });
    }
    Ok(requests)
}

fn deleted(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some()
}

/// The requests on Jobs that upstream's strategies judge: no deletions.
fn judged() -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for stream in JOBS {
        let requests = requests(stream)?.into_iter();
        cases.extend(requests.filter(|case| {
            case.object.get("kind").and_then(Value::as_str) == Some("Job")
                && case.operation != "DELETE"
        }));
    }
    Ok(cases)
}

/// The requests on Jobs with what upstream says to each.
///
/// # Errors
/// If a file is missing or does not fit the others.
pub fn vectors() -> Result<Vec<Vector>> {
    let verdicts = read_lines::<Answered>(&path(VERDICTS))?;
    let cases = judged()?;
    let asked = cases.iter().map(|case| &case.name);
    ensure!(
        asked.eq(verdicts.iter().map(|verdict| &verdict.name)),
        "{VERDICTS} is not of these streams: make conformance"
    );
    let pairs = cases.into_iter().zip(verdicts);
    Ok(pairs
        .map(|(case, Answered { answers, .. })| Vector { case, answers })
        .collect())
}

/// Asks upstream about the requests on Jobs.
///
/// # Errors
/// As [`oracle::ask`].
pub fn ask() -> Result<Vec<Vector>> {
    oracle::vectors(judged()?)
}

/// Writes what upstream says, for [`vectors`] to read.
///
/// # Errors
/// If the file cannot be written.
pub fn write(vectors: Vec<Vector>) -> Result<()> {
    let verdict = |Vector { case, answers }| Answered {
        name: case.name,
        answers,
    };
    let verdicts: Vec<_> = vectors.into_iter().map(verdict).collect();
    write_lines(&path(VERDICTS), &verdicts)
}
