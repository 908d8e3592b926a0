//! What the built policy answers in an engine, and what the library says for tools, for the tests of the npm package and of Go.

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use managed_by::{AdmissionRequest, ReleaseSet, Settings, judge};
use managed_by_conformance::{cases, trace, vector};
use managed_by_engine::{Engine, Policy, admission};
use managed_by_requests::SettingsText;
use serde_json::{Value, json};

use crate::root;

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
    for path in examples()? {
        let (name, request, settings) = example(&path)?;
        ask(&name, &request, &settings)?;
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

/// The files of `examples/` that hold a request, in the order of their names.
fn examples() -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for topic in fs::read_dir(root("examples"))? {
        let topic = topic?.path();
        if topic.is_dir() {
            let entries = fs::read_dir(topic)?.collect::<Result<Vec<_>, _>>()?;
            files.extend(entries.into_iter().map(|entry| entry.path()));
        }
    }
    files.retain(|path| path.extension().is_some_and(|e| e == "json"));
    files.sort();
    Ok(files)
}

/// An example: its name, such as `field/01-created`, its request and its settings.
fn example(path: &Path) -> Result<(String, Value, Value)> {
    let review: Value = serde_json::from_slice(&fs::read(path)?)?;
    let word =
        |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    let topic = word(path.parent().and_then(Path::file_name));
    let name = format!("{topic}/{}", word(path.file_stem()));
    let settings = path.with_extension("settings.yml");
    let settings = if settings.exists() {
        let text = fs::read_to_string(settings)?;
        let found = SettingsText::all(&text).with_context(|| name.clone())?;
        let found = found.first().context("no settings")?;
        serde_json::from_str(found.json())?
    } else {
        json!({})
    };
    Ok((name, admission::request(&review)?, settings))
}
