//! The policy's settings, wherever people have them.

use managed_by::{Enforcement, Problems, Release, Settings};
use serde_json::{Map, Value};

use crate::document::Document;
use crate::json::Members;
use crate::path::Path;
use crate::record::State;
use crate::trouble::Trouble;

/// Settings as they stand in a text: alone, or as the `settings` of a policy's manifest.
#[derive(Debug)]
pub struct SettingsText<'t> {
    /// The document that holds them.
    pub document: Document<'t>,
    /// Where in the document they are.
    pub path: Path,
    json: String,
}

impl<'t> SettingsText<'t> {
    /// Finds the settings in a text: the `spec.settings` of each manifest of a Kubewarden policy, or else the one document
    /// that the text holds. A text that holds nothing has no settings.
    ///
    /// # Errors
    /// What cannot be read, and where.
    pub fn all(text: &'t str) -> Result<Vec<Self>, Trouble> {
        let mut all = Vec::new();
        for document in Document::all(text) {
            let document = document?;
            let (json, path) = match of_manifest(document.json()) {
                OfManifest::NoManifest => (document.json().to_owned(), Path::default()),
                OfManifest::Settings(json) => (json, Path::parse("spec.settings")),
                OfManifest::NoSettings => continue,
            };
            all.push(Self {
                document,
                path,
                json,
            });
        }
        Ok(all)
    }

    /// The settings, as JSON.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// Reads them.
    ///
    /// # Errors
    /// All problems.
    pub fn read(&self) -> Result<Settings<'_>, Problems> {
        Settings::from_json(self.json.as_bytes())
    }

    /// Where in the document the value that a problem is about is.
    pub fn path_of(&self, problem: &str) -> Path {
        match problem {
            "settings" => self.path.clone(),
            path => self.path.join(&Path::parse(path)),
        }
    }
}

/// What a document says as the manifest of a policy.
enum OfManifest {
    NoManifest,
    /// It is the manifest of something else, or of a policy without a spec.
    NoSettings,
    Settings(String),
}

fn of_manifest(json: &str) -> OfManifest {
    let Some(members) = Members::of(json) else {
        return OfManifest::NoManifest;
    };
    let state = State::of(json, &members);
    if state.version.is_empty() || state.kind.is_empty() {
        return OfManifest::NoManifest;
    }
    let spec = members.get("spec").and_then(Members::of);
    match spec {
        Some(spec) if state.group == "policies.kubewarden.io" => {
            OfManifest::Settings(spec.get("settings").unwrap_or("null").to_owned())
        }
        _ => OfManifest::NoSettings,
    }
}

/// Settings as JSON, with a release and what rules do put over them.
pub fn overlaid(json: &str, release: Option<Release>, rules: &[(&str, Enforcement)]) -> String {
    let mut settings = match serde_json::from_str(json) {
        Ok(Value::Object(settings)) => settings,
        Ok(Value::Null) => Map::new(),
        // What is no object is for the library to refuse.
        _ => return json.to_owned(),
    };
    if let Some(release) = release {
        settings.insert("kubernetes_version".to_owned(), release.as_str().into());
    }
    if !rules.is_empty() {
        let chosen = settings.entry("rules").or_insert(Value::Null);
        if chosen.is_null() {
            *chosen = Value::Object(Map::new());
        }
        if let Value::Object(chosen) = chosen {
            for (id, enforcement) in rules {
                chosen.insert((*id).to_owned(), enforcement.as_str().into());
            }
        }
    }
    Value::Object(settings).to_string()
}
