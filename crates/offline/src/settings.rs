//! The policy's settings, standalone or in a manifest.

use std::borrow::Cow;
use std::rc::Rc;

use managed_by::{Enforcement, Release, Settings, SettingsErrors};
use serde_json::{Map, Value};

use crate::document::Document;
use crate::json::{Members, elements, quoted};
use crate::path::Path;
use crate::record::State;
use crate::text::MalformedText;

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
    /// Finds the settings in a text: the settings of each policy in Kubewarden manifests or in a PolicyServer policies file, and
    /// each document that is not a manifest. Other manifests and an empty text have none. If there are several policies, the
    /// settings of policies whose module is not of this project are returned as the second list.
    pub fn find(text: &'t str) -> Result<(Vec<Self>, Vec<Self>), MalformedText> {
        let mut all = Vec::new();
        let mut others = Vec::new();
        for document in Document::parse_all(text) {
            let document = Rc::new(document?);
            for policy in policies(document.json()) {
                let list = if policy.is_known_module {
                    &mut all
                } else {
                    &mut others
                };
                list.push(Self {
                    document: Rc::clone(&document),
                    path: Path::parse(&policy.path),
                    json: policy.settings.into_owned(),
                });
            }
        }
        // A single policy is used whatever its module is called.
        if all.is_empty() && others.len() == 1 {
            return Ok((others, all));
        }
        Ok((all, others))
    }

    pub fn json(&self) -> &str {
        &self.json
    }

    /// Parses the settings.
    pub fn read(&self) -> Result<Settings<'_>, SettingsErrors> {
        Settings::from_json(self.json.as_bytes())
    }

    /// Returns the path in the document for the path of a problem.
    pub fn document_path(&self, problem: &str) -> Path {
        match problem {
            "settings" => self.path.clone(),
            path => self.path.join(&Path::parse(path)),
        }
    }
}

/// A policy in a document, or standalone settings.
struct Policy<'j> {
    /// True for standalone settings, for policies without a module, and if the module's name looks like this project's:
    /// `.../managed-by-policy:v1`, `annotated-policy.wasm`.
    is_known_module: bool,
    /// Path of the settings in the document.
    path: String,
    settings: Cow<'j, str>,
}

impl<'j> Policy<'j> {
    /// Creates a policy from its members and its path in the document.
    fn new(members: &Members<'j>, path: &str) -> Self {
        let dot = if path.is_empty() { "" } else { "." };
        let module = members.string("module").unwrap_or_default();
        let name = module.rsplit('/').next().unwrap_or_default();
        Self {
            is_known_module: name.contains("managed-by")
                || name.starts_with("annotated-")
                || name.is_empty(),
            path: format!("{path}{dot}settings"),
            settings: members.get("settings").unwrap_or("null").into(),
        }
    }

    /// Returns the policies of a group, from its `policies` object.
    fn group(group: &Members<'j>, path: &str) -> Vec<Self> {
        let policies = group.object("policies");
        let policies = policies.iter().filter_map(|(name, policy)| {
            let path = format!("{path}.policies[{}]", quoted(&name));
            Some(Self::new(&Members::parse(policy)?, &path))
        });
        policies.collect()
    }
}

/// Returns the policies that a document declares; standalone settings count as one.
fn policies(json: &str) -> Vec<Policy<'_>> {
    let standalone = |settings| {
        vec![Policy {
            is_known_module: true,
            path: String::new(),
            settings,
        }]
    };
    let Some(members) = Members::parse(json) else {
        return standalone(json.into());
    };
    let state = State::new(json, &members, None);
    if !state.version.is_empty() && !state.kind.is_empty() {
        if state.kind == "List" {
            let items = members.get("items").and_then(elements).unwrap_or_default();
            let policies = items.iter().enumerate().flat_map(|(index, item)| {
                let policies = policies(item).into_iter();
                // An item that is not a policy has no settings.
                policies
                    .filter(|policy| !policy.path.is_empty())
                    .map(move |policy| Policy {
                        path: format!("items[{index}].{}", policy.path),
                        ..policy
                    })
            });
            return policies.collect();
        }
        let spec = members.get("spec").and_then(Members::parse);
        return match spec.filter(|_| state.group == "policies.kubewarden.io") {
            Some(spec) if state.kind.ends_with("Group") => Policy::group(&spec, "spec"),
            Some(spec) => vec![Policy::new(&spec, "spec")],
            None => Vec::new(),
        };
    }
    if let Some(settings) = from_chart_values(json) {
        return standalone(settings.into());
    }
    // A PolicyServer policies file contains policies and policy groups by name.
    let mut policies = Vec::new();
    for (name, policy) in members.iter() {
        let path = format!("[{}]", quoted(&name));
        match Members::parse(policy) {
            Some(group) if group.get("policies").is_some() => {
                policies.extend(Policy::group(&group, &path));
            }
            Some(policy) if policy.get("module").is_some() => {
                policies.push(Policy::new(&policy, &path));
            }
            _ => return standalone(json.into()),
        }
    }
    if policies.is_empty() {
        return standalone(json.into());
    }
    policies
}

/// Values of the chart whose names are one word, like those of settings, and that no settings have.
const VALUES: [&str; 10] = [
    "mode",
    "module",
    "settings",
    "projects",
    "pods",
    "queues",
    "cel",
    "policy",
    "webhook",
    "dashboard",
];

/// Returns the settings in a values file of the chart, without those that the chart finds in a cluster. [`None`] for another file, such
/// as the policies of a `PolicyServer`, which have any name: their `module` is a text.
fn from_chart_values(json: &str) -> Option<String> {
    let values: Map<String, Value> = serde_json::from_str(json).ok()?;
    let is_policy = |object: &Map<_, _>| {
        object.contains_key("apiVersion")
            || object.contains_key("policies")
            || object.get("module").is_some_and(Value::is_string)
    };
    let mut objects = values.values().filter_map(Value::as_object);
    let is_values = VALUES.iter().any(|name| values.contains_key(*name));
    if !is_values || is_policy(&values) || objects.any(is_policy) {
        return None;
    }
    let mut settings = match values.get("settings") {
        Some(Value::Object(settings)) => settings.clone(),
        Some(Value::Null) | None => Map::new(),
        Some(_) => return None,
    };
    for (name, value) in &values {
        let name = match &**name {
            "kubernetesVersion" if *value != "auto" && *value != "" => "kubernetes_version",
            // The names of settings have no capitals.
            name if VALUES.contains(&name) || name.bytes().any(|b| b.is_ascii_uppercase()) => {
                continue;
            }
            name => name,
        };
        if !settings.contains_key(name) {
            settings.insert(name.to_owned(), value.clone());
        }
    }
    Some(Value::Object(settings).to_string())
}

/// Returns settings as JSON, overridden with a release and rule enforcements. `null` is the default settings. Other text than a JSON
/// object is returned unchanged, and the library rejects it.
pub fn with_overrides(
    json: &str,
    release: Option<Release>,
    rules: &[(&str, Enforcement)],
) -> String {
    let Ok(settings) = serde_json::from_str::<Option<Map<_, _>>>(json) else {
        return json.to_owned();
    };
    let mut settings = settings.unwrap_or_default();
    if let Some(release) = release {
        let version = "kubernetes_version".to_owned();
        settings.insert(version, release.as_str().into());
    }
    if !rules.is_empty() {
        let section = settings.entry("rules").or_insert(Value::Null);
        if section.is_null() {
            *section = Map::new().into();
        }
        if let Value::Object(section) = section {
            let rules = rules.iter();
            section.extend(rules.map(|(id, rule)| ((*id).to_owned(), rule.as_str().into())));
        }
    }
    Value::Object(settings).to_string()
}
