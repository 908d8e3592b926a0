//! The policy's settings, standalone or in a manifest.

use std::borrow::Cow;
use std::rc::Rc;

use managed_by::{Enforcement, Problems, Release, Settings};
use serde_json::{Map, Value};

use crate::document::{Document, quoted};
use crate::json::Members;
use crate::malformed::MalformedText;
use crate::path::Path;
use crate::record::State;

/// Settings in a text: standalone, or the `settings` of a policy manifest.
#[derive(Debug)]
pub struct SettingsText<'t> {
    /// The document with the settings.
    pub document: Rc<Document<'t>>,
    /// Path of the settings in the document.
    pub path: Path,
    json: String,
}

impl<'t> SettingsText<'t> {
    /// Finds the settings in a text: the settings of each policy in Kubewarden manifests or in a PolicyServer policies
    /// file, or else the only document in the text. An empty text has no settings. If there are several policies, only
    /// policies with a module of this project are returned.
    ///
    /// # Errors
    /// Returns what cannot be parsed, with its position.
    pub fn all(text: &'t str) -> Result<Vec<Self>, MalformedText> {
        Self::apart(text).map(|(all, _)| all)
    }

    /// Finds the settings like [`SettingsText::all`], and returns the settings of other policies separately.
    ///
    /// # Errors
    /// Returns the same errors as [`SettingsText::all`].
    pub fn apart(text: &'t str) -> Result<(Vec<Self>, Vec<Self>), MalformedText> {
        let mut all = Vec::new();
        let mut others = Vec::new();
        for document in Document::all(text) {
            let document = Rc::new(document?);
            for policy in policies(document.json()) {
                let settings = Self::of(&document, &policy);
                if policy.is_ours() {
                    all.push(settings);
                } else {
                    others.push(settings);
                }
            }
        }
        // A single policy is used whatever its module is called.
        if all.is_empty() && others.len() == 1 {
            return Ok((others, all));
        }
        Ok((all, others))
    }

    fn of(document: &Rc<Document<'t>>, policy: &Policy<'_>) -> Self {
        Self {
            document: Rc::clone(document),
            path: Path::parse(&policy.path),
            json: policy.settings.to_owned(),
        }
    }

    /// Returns the settings as JSON.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// Parses the settings.
    ///
    /// # Errors
    /// Returns all problems.
    pub fn read(&self) -> Result<Settings<'_>, Problems> {
        Settings::from_json(self.json.as_bytes())
    }

    /// Returns the path in the document for the path of a problem.
    pub fn path_of(&self, problem: &str) -> Path {
        match problem {
            "settings" => self.path.clone(),
            path => self.path.join(&Path::parse(path)),
        }
    }
}

/// A policy in a document, or standalone settings.
struct Policy<'j> {
    /// The module; [`None`] for standalone settings.
    module: Option<Cow<'j, str>>,
    /// Path of the settings in the document.
    path: String,
    settings: &'j str,
}

impl<'j> Policy<'j> {
    /// Creates a policy from its members and its path in the document.
    fn of(members: &Members<'j>, path: &str) -> Self {
        let dot = if path.is_empty() { "" } else { "." };
        Self {
            module: Some(members.string("module").unwrap_or_default()),
            path: format!("{path}{dot}settings"),
            settings: members.get("settings").unwrap_or("null"),
        }
    }

    /// Adds the policies of a group, from its `policies` object.
    fn add_group(group: &Members<'j>, path: &str, policies: &mut Vec<Self>) {
        for (name, policy) in group.object("policies").iter() {
            if let Some(members) = Members::of(policy) {
                let path = format!("{path}.policies[{}]", quoted(&name));
                policies.push(Self::of(&members, &path));
            }
        }
    }

    /// Returns true if the module's name looks like a module of this project: `.../managed-by-policy:v1`,
    /// `annotated-policy.wasm`.
    fn is_ours(&self) -> bool {
        let Some(module) = &self.module else {
            return true;
        };
        let name = module.rsplit('/').next().unwrap_or_default();
        name.contains("managed-by") || name.starts_with("annotated-") || name.is_empty()
    }
}

/// Returns the policies that a document declares; standalone settings count as one.
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
    let mut policies = Vec::new();
    if !state.version.is_empty() && !state.kind.is_empty() {
        let spec = members.get("spec").and_then(Members::of);
        if let Some(spec) = spec.filter(|_| state.group == "policies.kubewarden.io") {
            if state.kind.ends_with("Group") {
                Policy::add_group(&spec, "spec", &mut policies);
            } else {
                policies.push(Policy::of(&spec, "spec"));
            }
        }
        return policies;
    }
    // A PolicyServer policies file contains policies and policy groups by name.
    for (name, policy) in members.iter() {
        let path = format!("[{}]", quoted(&name));
        match Members::of(policy) {
            Some(group) if group.get("policies").is_some() => {
                Policy::add_group(&group, &path, &mut policies);
            }
            Some(policy) if policy.get("module").is_some() => {
                policies.push(Policy::of(&policy, &path));
            }
            _ => return vec![alone],
        }
    }
    if policies.is_empty() {
        policies.push(alone);
    }
    policies
}

/// Returns settings as JSON, overridden with a release and rule enforcements.
pub fn overlaid(json: &str, release: Option<Release>, rules: &[(&str, Enforcement)]) -> String {
    let mut settings = match serde_json::from_str(json) {
        Ok(Value::Object(settings)) => settings,
        Ok(Value::Null) => Map::new(),
        // The library rejects settings that are not an object.
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
