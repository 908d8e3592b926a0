//! Reads recordings of real controllers as admission requests: watch streams (`traces/`) and audit logs (`traces/audit/`).
//!
//! Each line of a stream is a watch event. The first event of an object becomes a create, and its deletion a delete. Two other
//! consecutive events become one update: of its status if the status differs, else of the main resource. Audit logs also contain
//! the user of each request.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::oracle;
use crate::vector::{Case, ValidationResult, Vector, read_lines, to_lines};

/// Streams with Jobs: of the Job controller, of other controllers' child Jobs, and of MultiKueue's hub and worker.
///
/// MultiKueue's streams also contain JobSets.
pub const JOBS: [&str; 5] = [
    "jobs-1.36",
    "child-jobs",
    MULTIKUEUE[0],
    MULTIKUEUE[1],
    MULTIKUEUE[2],
];

pub const MULTIKUEUE: [&str; 3] = [
    "multikueue-0.14-hub",
    "multikueue-0.18-hub",
    "multikueue-0.18-worker",
];

/// Streams of custom resources, written by each project's controllers. Upstream's code does not validate them.
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

/// File with upstream's results for the requests on Jobs. The requests come from the streams.
const VERDICTS: &str = "verdicts.ndjson";

#[derive(Deserialize)]
struct Event {
    #[serde(rename = "type")]
    event_type: String,
    object: Value,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordedResults {
    name: String,
    results: Vec<ValidationResult>,
}

fn path(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("traces")
        .join(file)
}

/// Reads the status updates in an audit log, in order: name with line number, request with user, and recorded HTTP status.
///
/// The log must contain request and response objects, and each object from its creation.
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
            let fault = || format!("{name}: no earlier event contains the object");
            let old = stored.get(&uid).with_context(fault)?;
            // kube-apiserver ignores changes outside the status.
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
        let result = part("/responseObject");
        if code < 400 {
            let uid = result.pointer("/metadata/uid").and_then(Value::as_str);
            stored.insert(uid.unwrap_or_default().to_owned(), result);
        }
    }
    Ok(updates)
}

/// Reads the creates, updates and deletes in a watch stream, in order. Each name contains the line number of the event.
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
            // Finalizers delay the deletion, so kube-apiserver only sets `deletionTimestamp`.
            (_, Some(old)) if is_being_deleted(&object) && !is_being_deleted(old) => ("DELETE", ""),
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

fn is_being_deleted(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some()
}

/// Reads the creates and updates of Jobs, which upstream's strategies validate.
fn job_requests() -> Result<Vec<Case>> {
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

/// Reads the requests on Jobs with upstream's committed results.
pub fn vectors() -> Result<Vec<Vector>> {
    let verdicts = read_lines::<RecordedResults>(&path(VERDICTS))?;
    let cases = job_requests()?;
    let names = cases.iter().map(|case| &case.name);
    ensure!(
        names.eq(verdicts.iter().map(|verdict| &verdict.name)),
        "{VERDICTS} is out of date: run `make update-parity`"
    );
    let pairs = cases.into_iter().zip(verdicts);
    Ok(pairs
        .map(|(case, RecordedResults { results, .. })| Vector { case, results })
        .collect())
}

/// Returns the path and the text of the file that [`vectors`] reads, with upstream's code.
pub fn upstream_verdicts() -> Result<(PathBuf, String)> {
    let verdict = |Vector { case, results }| RecordedResults {
        name: case.name,
        results,
    };
    let vectors = oracle::vectors(job_requests()?)?.into_iter();
    let verdicts: Vec<_> = vectors.map(verdict).collect();
    Ok((path(VERDICTS), to_lines(&verdicts)?))
}
