//! The files of `examples/`: an `AdmissionReview` each, `NAME.json`, with settings in `NAME.settings.yml` if it needs any.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::{Error, admission};

/// One request to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Example {
    /// The file's name, without its ending.
    pub name: String,
    /// The request, as PolicyServer passes it on.
    pub request: Value,
    /// The settings; `{}` if it has no file of them.
    pub settings: Value,
}

/// Reads all examples of a folder, in the order of their names.
///
/// # Errors
/// If a file cannot be read, or does not hold what its name says.
pub fn read(folder: &Path) -> Result<Vec<Example>, Error> {
    let trouble =
        |path: &Path, e: &dyn std::fmt::Display| Error::Request(format!("{}: {e}", path.display()));
    let entries = fs::read_dir(folder).map_err(|e| trouble(folder, &e))?;
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "json"));
    paths.sort();
    let read = |path: &std::path::PathBuf| {
        let text = fs::read_to_string(path).map_err(|e| trouble(path, &e))?;
        let review = serde_json::from_str(&text).map_err(|e| trouble(path, &e))?;
        let settings_path = path.with_extension("settings.yml");
        let settings = match fs::read_to_string(&settings_path) {
            Ok(yaml) => serde_yaml_ng::from_str(&yaml).map_err(|e| trouble(&settings_path, &e))?,
            Err(_) => json!({}),
        };
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        Ok(Example {
            name: name.into_owned(),
            request: admission::request(&review)?,
            settings,
        })
    };
    paths.iter().map(read).collect()
}
