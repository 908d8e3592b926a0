//! What the built policy answers in an engine, for the tests of the package.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result};
use managed_by_conformance::{cases, trace, vector};
use managed_by_engine::{Engine, Policy, admission};
use serde_json::{Value, json};
use xtask::{examples, root};

/// Asks about every example with its settings, and about every vector and every recorded request with the default settings.
///
/// # Errors
/// If a file cannot be read or written, or the policy fails.
pub(crate) fn write(policy: &Path, file: &Path) -> Result<()> {
    let module = std::fs::read(policy).with_context(|| policy.display().to_string())?;
    let policy = Policy::load(Engine::Wasmi, &module)?;
    let out = File::create(file).with_context(|| file.display().to_string())?;
    let mut out = BufWriter::new(out);
    let mut ask = |name: &str, request: &Value, settings: &Value| -> Result<()> {
        let payload = admission::payload(request, settings);
        let answer: Value = serde_json::from_slice(&policy.call("validate", &payload)?)?;
        let line =
            json!({"name": name, "request": request, "settings": settings, "answer": answer});
        Ok(writeln!(out, "{line}")?)
    };
    for example in examples::read(&root("examples"))? {
        ask(&example.name, &example.request, &example.settings)?;
    }
    for (file, _) in cases::files() {
        for vector in vector::read(file)? {
            ask(&vector.case.name, &vector.case.request(), &json!({}))?;
        }
    }
    for stream in trace::JOBS.iter().chain(&trace::CUSTOM) {
        for case in trace::requests(stream)? {
            ask(&case.name, &case.request(), &json!({}))?;
        }
    }
    Ok(out.flush()?)
}
