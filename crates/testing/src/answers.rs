//! What the library answers to each request that tests ask about, a line each: every way to ask the library or the module, a door,
//! reads the lines and must say the same. `xtask answers` writes them.

use std::collections::BTreeSet;
use std::env;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Instant;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::judge::Answer;
use crate::root;

/// A request with its settings, and what the library says.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// Unique.
    pub name: String,
    /// The request as text: `1.0` is an integer to JavaScript, and not to kube-apiserver.
    pub request: String,
    /// The settings.
    pub settings: Value,
    /// The answer, as the module gives it to `validate`.
    pub answer: Value,
    /// What each release finds with all rules, as tools have them, by `docs/judgement.schema.json`; `null` if nobody can judge it.
    pub judgement: Value,
}

/// Release, rule, level, path and text of each finding.
pub type Told = BTreeSet<[String; 5]>;

impl Line {
    /// The request as JSON.
    ///
    /// # Errors
    /// If it is none.
    pub fn request(&self) -> Result<Value> {
        serde_json::from_str(&self.request).with_context(|| self.name.clone())
    }

    /// The answer as PolicyServer and kwctl give it to a request of that UID.
    ///
    /// # Errors
    /// If the line holds another answer than a module can give.
    pub fn response(&self, uid: &Value) -> Result<Value> {
        let answer = Answer::deserialize(&self.answer).with_context(|| self.name.clone())?;
        Ok(answer.response(uid))
    }
}

/// The file of the lines: `ANSWERS`, or the one that `make target/answers.ndjson` writes.
pub fn file() -> PathBuf {
    env::var_os("ANSWERS").map_or_else(|| root("target/answers.ndjson"), PathBuf::from)
}

/// The lines of that file, in order.
///
/// # Errors
/// If it cannot be read. A line may be an error too.
pub fn lines() -> Result<impl Iterator<Item = Result<Line>> + Send> {
    let path = file();
    let missing = || format!("{}: `make target/answers.ndjson` writes it", name(&path));
    let file = File::open(&path).with_context(missing)?;
    let lines = BufReader::new(file).lines();
    Ok(lines.map(move |line| serde_json::from_str(&line?).with_context(|| name(&path))))
}

fn name(path: &Path) -> String {
    path.display().to_string()
}

/// Asks a door about each line, on all cores, and prints and gives how many requests and findings were compared. `compare` fails where
/// they differ, and says how many findings there were, or nothing of a request that the door cannot be asked.
///
/// # Errors
/// As [`lines`].
#[expect(
    clippy::print_stdout,
    reason = "the report of `make differential-test`"
)]
pub fn every_line(
    door: &str,
    compare: impl Fn(&Line) -> Option<usize> + Sync,
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
            // What a comparison panics with is what the test is to say.
            worker.join().unwrap_or_else(|panic| resume_unwind(panic))?;
        }
        anyhow::Ok(())
    })?;
    let (requests, findings) = (requests.into_inner(), findings.into_inner());
    let seconds = start.elapsed().as_secs_f64();
    println!("{door}: {requests} requests, {findings} findings, none differ, {seconds:.1} s");
    Ok((requests, findings))
}

/// What the findings of a judgement say, in the form of `docs/judgement.schema.json`.
pub fn told(findings: &Value) -> Told {
    let mut told = Told::new();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    for finding in findings.as_array().into_iter().flatten() {
        let of_each = finding.get("texts").and_then(Value::as_array);
        let texts = of_each.map_or(std::slice::from_ref(finding), Vec::as_slice);
        for said in texts {
            let member = |of: &Value, key: &str| text(of.get(key).unwrap_or(&Value::Null));
            for release in said
                .get("releases")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
            {
                told.insert([
                    text(release),
                    member(finding, "rule"),
                    member(finding, "enforcement"),
                    member(finding, "path"),
                    member(said, "text"),
                ]);
            }
        }
    }
    told
}
