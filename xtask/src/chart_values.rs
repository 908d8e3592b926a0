//! Generates what lists all projects in `files/projects.yaml`: the chart's values for clusters with all projects and with Kueue alone,
//! and the schema of the value `projects`.

use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde_json::{Value, json, to_string};

use managed_by_testing::read;

use crate::generated::Generated;

/// A project in `files/projects.yaml`, without the keys that only the chart reads.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Project {
    name: String,
    #[serde(default)]
    accounts: Vec<String>,
    account_in_any_namespace: Option<String>,
}

impl Project {
    /// Returns its first account, or [`None`] if its kinds only have templates.
    fn account(&self) -> Option<String> {
        match (&self.accounts[..], &self.account_in_any_namespace) {
            ([account, ..], _) => Some(account.replace('/', ":")),
            ([], Some(name)) => Some(format!("any-namespace:{name}")),
            ([], None) => None,
        }
    }

    /// Returns the project's values: enabled, with its first account.
    fn enabled(&self) -> Result<String> {
        // Kubernetes is always enabled.
        let enabled = match &*self.name {
            KUBERNETES => "",
            _ => "    enabled: true\n",
        };
        let writers = match self.account() {
            Some(account) => {
                let account = to_string(&format!("system:serviceaccount:{account}"))?;
                format!("    statusWriters: [{account}]\n")
            }
            None => String::new(),
        };
        let name = &self.name;
        Ok(format!("  {name}:\n{enabled}{writers}"))
    }
}

const PROJECTS: &str = "charts/managed-by-policy/files/projects.yaml";
const KUBERNETES: &str = "kubernetes";
const KUEUE: &str = "kueue";

pub(crate) fn generated() -> Result<Vec<Generated>> {
    let projects = projects()?;
    let mut all = "\
# Generated (make generate), for tests: a cluster with all projects, each with its first account in files/projects.yaml. A cluster can't have both projects
# with the kind MPIJob, but tests need the rules for both.
kubernetesVersion: \"\"
projects:
"
    .to_owned();
    let mut offline = "\
# Generated (make generate), for deploy/: a cluster with Kueue and no other project. The admin sets the release of the API server.
kubernetesVersion: \"\"
projects:
"
    .to_owned();
    for project in &projects {
        let enabled = project.enabled()?;
        all.push_str(&enabled);
        if [KUBERNETES, KUEUE].contains(&&*project.name) {
            offline.push_str(&enabled);
        } else {
            writeln!(offline, "  {}: {{enabled: false}}", project.name)?;
        }
    }
    offline.push_str(
        "networkPolicy:\n  # This example address matches no host.\n  apiServers: [\"192.0.2.0/32\"]\n",
    );
    let file = |name: &str, text| {
        let path = format!("charts/managed-by-policy/ci/{name}-values.yaml");
        Generated::new(path, text)
    };
    Ok(vec![file("all-projects", all), file("offline", offline)])
}

fn projects() -> Result<Vec<Project>> {
    serde_yaml_ng::from_str(&read(PROJECTS)?).context(PROJECTS)
}

/// Returns the schema of each project's values.
pub(crate) fn schemas() -> Result<Value> {
    let schema = |project: Project| {
        let mut properties = json!({});
        if project.account().is_some() {
            properties["statusWriters"] =
                json!({"type": "array", "maxItems": 256, "items": {"$ref": "#/$defs/userOrGroup"}});
        }
        if project.name != KUBERNETES {
            properties["enabled"] = json!({"enum": ["auto", true, false]});
        }
        let schema =
            json!({"type": "object", "additionalProperties": false, "properties": properties});
        (project.name, schema)
    };
    Ok(projects()?.into_iter().map(schema).collect())
}
