//! The policy's settings, wherever people have them.

use std::borrow::Cow;
use std::rc::Rc;

use managed_by::{Enforcement, Problems, Release, Settings};
use serde_json::{Map, Value};

use crate::document::{Document, quoted};
use crate::json::Members;
use crate::path::Path;
use crate::record::State;
use crate::trouble::Trouble;

/// Settings as they stand in a text: alone, or as the `settings` of a policy's manifest.
#[derive(Debug)]
pub struct SettingsText<'t> {
    /// The document that holds them.
    pub document: Rc<Document<'t>>,
    /// Where in the document they are.
    pub path: Path,
    json: String,
}

impl<'t> SettingsText<'t> {
    /// Finds the settings in a text: those of each policy in the manifests of Kubewarden and in a file of policies for
    /// PolicyServer, or else the one document that the text holds. A text that holds nothing has no settings. Of several
    /// policies only those count whose module is of this project.
    ///
    /// # Errors
    /// What cannot be read, and where.
    pub fn all(text: &'t str) -> Result<Vec<Self>, Trouble> {
        let mut all = Vec::new();
        for document in Document::all(text) {
            let document = Rc::new(document?);
            for policy in policies(document.json()) {
                all.push((policy.is_ours(), Self::of(&document, &policy)));
            }
        }
        let is_one = all.len() == 1;
        all.retain(|(is_ours, _)| *is_ours || is_one);
        Ok(all.into_iter().map(|(_, settings)| settings).collect())
    }

    fn of(document: &Rc<Document<'t>>, policy: &Policy<'_>) -> Self {
        Self {
            document: Rc::clone(document),
            path: Path::parse(&policy.path),
            json: policy.settings.to_owned(),
        }
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

/// A policy in a document, or settings that stand alone.
struct Policy<'j> {
    /// Where the module is; nothing where settings stand alone.
    module: Option<Cow<'j, str>>,
    /// Where in the document the settings are.
    path: String,
    settings: &'j str,
}

impl<'j> Policy<'j> {
    /// The policy whose members these are, at a path of the document.
    fn of(members: &Members<'j>, path: &str) -> Self {
        let dot = if path.is_empty() { "" } else { "." };
        Self {
            module: Some(members.string("module").unwrap_or_default()),
            path: format!("{path}{dot}settings"),
            settings: members.get("settings").unwrap_or("null"),
        }
    }

    /// The policies of a group: the object `policies`, by name.
    fn of_group(group: &Members<'j>, path: &str) -> Vec<Self> {
        let members = group.object("policies");
        let policies = members.iter().filter_map(|(name, policy)| {
            let path = format!("{path}.policies[{}]", quoted(&name));
            Some(Self::of(&Members::of(policy)?, &path))
        });
        policies.collect()
    }

    /// Whether the module is one of this project, as far as its name tells: `.../managed-by-policy:v1`, `annotated-policy.wasm`.
    fn is_ours(&self) -> bool {
        let Some(module) = &self.module else {
            return true;
        };
        let name = module.rsplit('/').next().unwrap_or_default();
        name.contains("managed-by") || name.starts_with("annotated-") || name.is_empty()
    }
}

/// The policies that a document declares; settings alone are one.
fn policies(json: &str) -> Vec<Policy<'_>> {
    let alone = Policy {
        module: None,
        path: String::new(),
        settings: json,
    };
    let Some(members) = Members::of(json) else {
        return vec![alone];
    };
    let state = State::of(json, &members);
    if !state.version.is_empty() && !state.kind.is_empty() {
        let Some(spec) = members.get("spec").and_then(Members::of) else {
            return Vec::new();
        };
        return match (&*state.group, &*state.kind) {
            ("policies.kubewarden.io", kind) if kind.ends_with("Group") => {
                Policy::of_group(&spec, "spec")
            }
            ("policies.kubewarden.io", _) => vec![Policy::of(&spec, "spec")],
            _ => Vec::new(),
        };
    }
    // PolicyServer's file: policies and groups of them, by name.
    let of_server: Option<Vec<_>> = members
        .iter()
        .map(|(name, policy)| {
            let policy = Members::of(policy)?;
            let path = format!("[{}]", quoted(&name));
            if policy.get("policies").is_some() {
                return Some(Policy::of_group(&policy, &path));
            }
            policy.get("module")?;
            Some(vec![Policy::of(&policy, &path)])
        })
        .collect();
    match of_server {
        Some(policies) if !policies.is_empty() => policies.into_iter().flatten().collect(),
        _ => vec![alone],
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
