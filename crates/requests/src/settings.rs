//! The policy's settings, wherever people have them.

use managed_by::{Enforcement, Problems, Release, Settings};
use serde_json::{Map, Value};

use crate::document::Document;
use crate::path::Path;
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
            let value: Value = serde_json::from_str(document.json())
                .map_err(|e| Trouble::whole(format!("not JSON: {e}")))?;
            let api = value.get("apiVersion").and_then(Value::as_str);
            let is_manifest = api.is_some() && value.get("kind").is_some();
            if !is_manifest {
                all.push(Self {
                    json: document.json().to_owned(),
                    document,
                    path: Path::default(),
                });
                continue;
            }
            if !api.is_some_and(|api| api.starts_with("policies.kubewarden.io/")) {
                continue;
            }
            if let Some(spec) = value.get("spec") {
                let settings = spec.get("settings").unwrap_or(&Value::Null);
                all.push(Self {
                    json: settings.to_string(),
                    document,
                    path: Path::parse("spec.settings"),
                });
            }
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
