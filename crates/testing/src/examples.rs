//! Reader for `examples/`: one directory per topic, one `AdmissionReview` per file `NAME.json`.
//!
//! Each review contains the policy's response as `kwctl run` prints it. Its settings, if any, are in `NAME.settings.yml`.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::{admission, root};

/// One example request with its settings and expected response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Example {
    /// Directory and file name without extension: `field/01-created`.
    pub name: String,
    /// Request in the form in which PolicyServer passes it on.
    pub request: Value,
    /// Settings of the policy; `{}` if there is no settings file.
    pub settings: Value,
    /// Name of settings that several examples share: the target of the symbolic link `NAME.settings.yml`.
    pub settings_name: Option<String>,
    /// Response in the form of [`ValidationResponse::response`](crate::library::ValidationResponse::response); `null` if the file has none.
    pub response: Value,
}

impl Example {
    /// Returns the name without directory and number, with spaces.
    pub fn title(&self) -> String {
        let file = self.name.rsplit('/').next().unwrap_or_default();
        let title = file.split_once('-').map_or(file, |(_, title)| title);
        title.replace('-', " ")
    }

    /// Returns the directory name.
    pub fn topic(&self) -> &str {
        self.name.split('/').next().unwrap_or_default()
    }
}

/// Reads the examples of this repository.
///
/// # Errors
/// If [`read`] fails.
pub fn all() -> Result<Vec<Example>> {
    read(&root("examples"))
}

/// Reads the examples of all topics, sorted by name.
///
/// # Errors
/// If a file cannot be read or parsed.
pub fn read(directory: &Path) -> Result<Vec<Example>> {
    let mut examples = Vec::new();
    // `manifests` contains input for the CLI, not requests.
    let is_topic = |path: &&PathBuf| path.is_dir() && !path.ends_with("manifests");
    for topic in paths(directory)?.iter().filter(is_topic) {
        for path in paths(topic)? {
            if path.extension().is_some_and(|ending| ending == "json") {
                examples.push(read_one(topic, &path)?);
            }
        }
    }
    Ok(examples)
}

fn paths(directory: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(directory).with_context(|| directory.display().to_string())?;
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths)
}

fn read_one(topic: &Path, path: &Path) -> Result<Example> {
    let at = |path: &Path| path.display().to_string();
    let text = fs::read_to_string(path).with_context(|| at(path))?;
    let review: Value = serde_json::from_str(&text).with_context(|| at(path))?;
    let settings_path = path.with_extension("settings.yml");
    let settings = match fs::read_to_string(&settings_path) {
        Ok(yaml) => serde_yaml_ng::from_str(&yaml).with_context(|| at(&settings_path))?,
        Err(e) if e.kind() == ErrorKind::NotFound => json!({}),
        Err(e) => return Err(e).with_context(|| at(&settings_path)),
    };
    let word = |name: Option<&OsStr>| name.unwrap_or_default().to_string_lossy().into_owned();
    let link = fs::read_link(&settings_path).ok();
    Ok(Example {
        settings_name: link.map(|target| word(target.file_stem())),
        name: format!("{}/{}", word(topic.file_name()), word(path.file_stem())),
        response: review.get("response").cloned().unwrap_or_default(),
        request: admission::request(&review).with_context(|| at(path))?,
        settings,
    })
}
