//! The policy's settings, wherever people have them.

use std::borrow::Cow;
use std::rc::Rc;

use managed_by::{Enforcement, Problems, Release, Settings};
use serde_json::{Map, Value};

use crate::document::{Document, quoted};
use crate::json::Members;
use crate::malformed::MalformedText;
use crate::path::Path;
use crate::record::State;

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
    pub fn all(text: &'t str) -> Result<Vec<Self>, MalformedText> {
        Self::apart(text).map(|(all, _)| all)
    }

    /// As [`SettingsText::all`], with the settings of the policies that do not count.
    ///
    /// # Errors
    /// As [`SettingsText::all`].
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
        // One alone counts, whatever it is called.
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

    /// Adds the policies of a group: the object `policies`, by name.
    fn add_group(group: &Members<'j>, path: &str, policies: &mut Vec<Self>) {
        for (name, policy) in group.object("policies").iter() {
            if let Some(members) = Members::of(policy) {
                let path = format!("{path}.policies[{}]", quoted(&name));
                policies.push(Self::of(&members, &path));
            }
        }
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
    // PolicyServer's file: policies and groups of them, by name.
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

/// Settings as JSON, with a release and what rules do put over them.
pub fn overlaid(json: &str, release: Option<Release>, rules: &[(&str, Enforcement)]) -> String {
    let mut settings = match serde_json::from_str(json) {
        Ok(Value::Object(settings)) => settings,
        Ok(Value::Null) => Map::new(),
        // The library refuses settings that are not an object.
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
