//! The file `target/expected.ndjson`: requests with the library's responses, one per line.
//!
//! `xtask expected` writes the file. The differential test of each entry point (module, CLI, npm, Go, PolicyServer) reads it and must
//! produce the same responses.

use std::collections::BTreeSet;
use std::env;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Instant;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::library::ValidationResponse;
use crate::root;

/// A request, its settings and the library's response.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedResult {
    /// Unique name of the request.
    pub name: String,
    /// Admission request as JSON text, because JavaScript would read `1.0` as an integer and kube-apiserver does not.
    pub request: String,
    pub settings: Value,
    /// Response of the module's operation `validate`.
    pub response: Value,
    /// Findings of every release, including rules that are off by default, in the format of `docs/evaluation.schema.json`; `null`
    /// if the request or its settings are invalid.
    pub evaluation: Value,
}

/// Findings as sortable rows: release, rule, enforcement, path and message.
pub type FindingRows = BTreeSet<[String; 5]>;

impl ExpectedResult {
    pub fn request(&self) -> Result<Value> {
        serde_json::from_str(&self.request).with_context(|| self.name.clone())
    }

    /// Returns the response as the `response` that PolicyServer and kwctl send for a request with the given UID.
    pub fn response(&self, uid: &Value) -> Result<Value> {
        let response =
            ValidationResponse::deserialize(&self.response).with_context(|| self.name.clone())?;
        Ok(response.response(uid))
    }
}

/// Returns the path of the file: the variable `EXPECTED_RESULTS`, or `target/expected.ndjson`.
pub fn path() -> PathBuf {
    env::var_os("EXPECTED_RESULTS").map_or_else(|| root("target/expected.ndjson"), PathBuf::from)
}

/// Reads the lines of the file in order.
pub fn lines() -> Result<impl Iterator<Item = Result<ExpectedResult>> + Send> {
    let path = path();
    let name = path.display().to_string();
    let missing = || format!("{name}: run `make target/expected.ndjson` to create it");
    let file = File::open(&path).with_context(missing)?;
    let lines = BufReader::new(file).lines();
    Ok(lines.map(move |line| serde_json::from_str(&line?).with_context(|| name.clone())))
}

/// Calls `compare` with each line, on all cores, and returns the number of compared requests and findings.
///
/// `compare` sends the request to an entry point and panics if the responses differ. It returns the number of compared findings, or
/// `None` if the entry point does not support the request.
#[expect(
    clippy::print_stdout,
    reason = "the report of `make differential-test`"
)]
pub fn compare_all(
    entry_point: &str,
    compare: impl Fn(&ExpectedResult) -> Option<usize> + Sync,
) -> Result<(usize, usize)> {
    let start = Instant::now();
    let lines = Mutex::new(lines()?);
    let (requests, findings) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let next = || lines.lock().ok()?.next();
    let worker = || -> Result<()> {
        while let Some(line) = next() {
            if let Some(compared) = compare(&line?) {
                requests.fetch_add(1, Relaxed);
                findings.fetch_add(compared, Relaxed);
            }
        }
        Ok(())
    };
    let cores = thread::available_parallelism()?.get();
    thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(worker)).collect();
        for worker in workers {
            // The test fails with the panic message of the comparison.
            worker.join().unwrap_or_else(|panic| resume_unwind(panic))?;
        }
        anyhow::Ok(())
    })?;
    let (requests, findings) = (requests.into_inner(), findings.into_inner());
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{entry_point}: {requests} requests, {findings} findings, none differ, {seconds:.1} s"
    );
    Ok((requests, findings))
}

/// Expands JSON findings (`docs/evaluation.schema.json`) into a row for each release.
pub fn finding_rows(findings: &Value) -> FindingRows {
    let mut rows = FindingRows::new();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    for finding in findings.as_array().into_iter().flatten() {
        let messages = finding.get("messages").and_then(Value::as_array);
        let messages = messages.map_or(std::slice::from_ref(finding), Vec::as_slice);
        for message in messages {
            let member = |object: &Value, key: &str| text(object.get(key).unwrap_or(&Value::Null));
            for release in message
                .get("releases")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
            {
                rows.insert([
                    text(release),
                    member(finding, "rule"),
                    member(finding, "enforcement"),
                    member(finding, "path"),
                    member(message, "message"),
                ]);
            }
        }
    }
    rows
}
