//! Manifests that Helm renders from the chart.

use std::io::{self, ErrorKind, Write as _};
use std::process::{Command, Stdio};
use std::{env, thread};

use anyhow::{Context as _, Result, anyhow, ensure};
use serde_json::Value;

use crate::{root, yaml_documents};

pub const CHART: &str = "charts/managed-by-policy";

/// Manifests for a cluster with all projects, each with its values in `ci/` and the arguments of `helm template`.
pub const ALL_PROJECTS: [(&str, &str, &str); 5] = [
    (
        "management",
        "management",
        "--show-only templates/policy.yaml",
    ),
    ("worker", "worker", "--show-only templates/policy.yaml"),
    ("hybrid", "hybrid", "--show-only templates/policy.yaml"),
    (
        "queues",
        "management",
        "--show-only templates/queues-policy.yaml --set queues.enabled=true",
    ),
    (
        "cel",
        "management",
        "--show-only templates/validating-admission-policy.yaml --set cel.enabled=true --set cel.warnings=true --set mode=protect",
    ),
];

/// Renders a manifest for a cluster with all projects, or returns `None` like [`template`].
pub fn for_all_projects(name: &str) -> Result<Option<String>> {
    let mut manifests = ALL_PROJECTS.iter();
    let (_, values, arguments) = manifests
        .find(|(n, ..)| *n == name)
        .context("no manifest")?;
    template(&format!("all-projects {values}"), arguments)
}

/// Returns the policy in a manifest for a cluster with all projects, or `None` like [`template`].
pub fn policy(name: &str) -> Result<Option<Value>> {
    for_all_projects(name)?
        .map(|text| policy_in(&text))
        .transpose()
}

pub fn policy_in(manifest: &str) -> Result<Value> {
    let is_policy =
        |document: &Value| document.get("kind") == Some(&"ClusterAdmissionPolicy".into());
    let policy = yaml_documents(manifest)?.into_iter().find(is_policy);
    policy.context("no policy")
}

pub fn settings_in(manifest: &str) -> Result<Vec<Value>> {
    let documents = yaml_documents(manifest)?;
    let specs = documents.iter().filter_map(|document| document.get("spec"));
    let policies = specs.filter(|spec| spec.get("module").is_some_and(Value::is_string));
    Ok(policies
        .filter_map(|spec| spec.get("settings").cloned())
        .collect())
}

/// Renders templates of the chart with values in `ci/` and arguments of Helm, both separated by spaces.
///
/// Returns `None` if Helm is not on the PATH, and writes the name of the test that is skipped to stderr. In CI (`CI`
/// is set), fails.
pub fn template(values: &str, arguments: &str) -> Result<Option<String>> {
    let rendered = render(values, arguments, &Value::Null)?;
    let rendered = rendered.map(|result| result.map_err(|error| anyhow!("{arguments}: {error}")));
    rendered.transpose()
}

/// Renders templates like [`template`], with more values. Returns Helm's error message if it rejects the values.
pub fn render(
    files: &str,
    arguments: &str,
    values: &Value,
) -> Result<Option<std::result::Result<String, String>>> {
    let mut helm = Command::new("helm");
    helm.args(["template", "managed-by", CHART, "--namespace", "team-a"]);
    helm.args(["--kube-version", "1.37.0"]);
    for file in files.split_whitespace() {
        helm.arg("--values");
        helm.arg(format!("{CHART}/ci/{file}-values.yaml"));
    }
    helm.args(["--values", "-"])
        .args(arguments.split_whitespace())
        .current_dir(root("."))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut helm = match helm.spawn() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            ensure!(env::var_os("CI").is_none(), "helm is not on the PATH");
            let name = thread::current().name().unwrap_or_default().to_owned();
            // Unlike `eprintln!`, this is visible if the test passes.
            writeln!(
                io::stderr(),
                "skipped: {name}, because helm is not on the PATH"
            )?;
            return Ok(None);
        }
        helm => helm.context("helm")?,
    };
    let mut stdin = helm.stdin.take().context("stdin")?;
    stdin.write_all(values.to_string().as_bytes())?;
    drop(stdin);
    let output = helm.wait_with_output()?;
    Ok(Some(if output.status.success() {
        Ok(String::from_utf8(output.stdout)?)
    } else {
        Err(String::from_utf8(output.stderr)?)
    }))
}
