//! What the built policy answers in an engine, and what the library says for tools, for the tests of the npm package and of Go.

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use managed_by::{AdmissionRequest, ReleaseSet, Settings, judge};
use managed_by_conformance::{cases, trace, vector};
use managed_by_testing::judge::Answer;
use managed_by_testing::{Engine, Policy, admission, examples};
use serde_json::{Value, json};

/// Asks about every example with its settings, and about every vector and every recorded request with the default settings.
///
/// # Errors
/// If a file cannot be read or written, or the policy fails.
pub(crate) fn write(policy: &Path, file: &Path) -> Result<()> {
    let module = fs::read(policy).with_context(|| policy.display().to_string())?;
    let policy = Policy::load(Engine::Wasmi, &module)?;
    let out = File::create(file).with_context(|| file.display().to_string())?;
    let mut out = BufWriter::new(out);
    let mut ask = |name: &str, request: &Value, settings: &Value| -> Result<()> {
        let payload = admission::payload(request, settings);
        let answer: Value = serde_json::from_slice(&policy.call("validate", &payload)?)?;
        let judgement = judgement(request, settings)?;
        let line = json!({
            "name": name, "request": request, "settings": settings, "answer": answer, "judgement": judgement,
        });
        Ok(writeln!(out, "{line}")?)
    };
    for example in examples::all()? {
        let answer = Answer::from(policy.validate(&example.request, &example.settings)?);
        let uid = example.request.get("uid").unwrap_or_default();
        let is_its_own = answer.response(uid) == example.answer;
        ensure!(
            is_its_own,
            "{}: another answer than its file says",
            example.name
        );
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

/// What the releases say to a request with all rules, as tools have them, by `docs/judgement.schema.json`; `null` if nobody can
/// judge it.
fn judgement(request: &Value, settings: &Value) -> Result<Value> {
    let (request, settings) = (request.to_string(), settings.to_string());
    let settings = Settings::from_json(settings.as_bytes()).map(Settings::for_tools);
    let request = AdmissionRequest::from_json(request.as_bytes());
    let (Ok(settings), Ok(request)) = (settings, request) else {
        return Ok(Value::Null);
    };
    let judgement = judge(&request, &settings, Some(ReleaseSet::all()));
    Ok(serde_json::to_value(&judgement)?)
}
