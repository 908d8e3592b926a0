//! The requests of `examples/` and of the recordings.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use managed_by_conformance::trace;
use serde_json::{Value, json};

/// A request, and the settings under which it is judged.
#[derive(Debug, Clone)]
pub(crate) struct Example {
    pub(crate) name: String,
    pub(crate) request: Value,
    pub(crate) settings: Value,
}

/// Those that people read.
pub(crate) fn examples() -> Result<Vec<Example>> {
    let mut examples = Vec::new();
    for topic in entries(&crate::deploy::root("examples"))? {
        for path in entries(&topic)? {
            if path.extension().is_some_and(|e| e == "json") {
                examples.push(read(&path).with_context(|| path.display().to_string())?);
            }
        }
    }
    Ok(examples)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        paths.push(entry?.path());
    }
    paths.sort();
    Ok(paths)
}

fn read(path: &Path) -> Result<Example> {
    let mut review: Value = serde_json::from_str(&fs::read_to_string(path)?)?;
    let settings = path.with_extension("settings.yml");
    let settings = if settings.exists() {
        serde_yaml_ng::from_str(&fs::read_to_string(settings)?)?
    } else {
        json!({})
    };
    let name = path.with_extension("");
    let parts: Vec<_> = name
        .iter()
        .rev()
        .take(2)
        .map(|p| p.to_string_lossy())
        .collect();
    Ok(Example {
        name: format!("{}/{}", parts[1], parts[0]),
        request: review["request"].take(),
        settings,
    })
}

/// Every request of every recording of real controllers, in order.
pub(crate) fn traces() -> Result<Vec<Example>> {
    let mut examples = Vec::new();
    for stream in trace::JOBS.iter().chain(&trace::CUSTOM) {
        for case in trace::requests(stream)? {
            examples.push(Example {
                request: case.request(),
                name: case.name,
                settings: json!({}),
            });
        }
    }
    Ok(examples)
}
