//! Renders the manifests in `deploy/` from the chart with Helm.
//!
//! They are for clusters with Kueue and no other project, except `audit-scanner.yml` and `flow-schema.yml`, which list the kinds of
//! all projects. The files in `charts/managed-by-policy/tests/rendered/` have all projects; tests read them.

use std::io::ErrorKind;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use managed_by_testing::root;

use crate::generated::Generated;

const CHART: &str = "charts/managed-by-policy";

/// Rendered files, each with the values and the arguments of `helm template`.
pub(crate) const FILES: [(&str, &str, &str); 17] = [
    ("deploy/management.yml", "offline management", POLICY),
    ("deploy/worker.yml", "offline worker", POLICY),
    ("deploy/hybrid.yml", "offline hybrid", POLICY),
    ("deploy/namespace.yml", "offline namespace", POLICY),
    (
        "deploy/namespace-admins.yml",
        "offline",
        "--show-only templates/namespace-admins.yaml --set namespaceAdmins.groups={team-a-admins}",
    ),
    ("deploy/cel.yml", "offline management", CEL),
    (
        "deploy/pods.yml",
        "offline management",
        "--show-only templates/pods-policy.yaml --set pods.enabled=true",
    ),
    (
        "deploy/queues.yml",
        "offline management",
        "--show-only templates/queues-policy.yaml --set queues.enabled=true",
    ),
    (
        "deploy/network-policy.yml",
        "offline",
        "--show-only templates/network-policy.yaml --set networkPolicy.enabled=true",
    ),
    ("deploy/webhook.yml", "offline management", WEBHOOK),
    (
        "deploy/audit-scanner.yml",
        "all-projects",
        "--show-only templates/audit-scanner.yaml",
    ),
    (
        "deploy/flow-schema.yml",
        "all-projects",
        "--show-only templates/flow-schema.yaml --set flowSchema.enabled=true --set flowSchema.groups={tenants}",
    ),
    (
        "charts/managed-by-policy/tests/rendered/management.yml",
        "all-projects management",
        POLICY,
    ),
    (
        "charts/managed-by-policy/tests/rendered/worker.yml",
        "all-projects worker",
        POLICY,
    ),
    (
        "charts/managed-by-policy/tests/rendered/hybrid.yml",
        "all-projects hybrid",
        POLICY,
    ),
    (
        "charts/managed-by-policy/tests/rendered/queues.yml",
        "all-projects management",
        "--show-only templates/queues-policy.yaml --set queues.enabled=true",
    ),
    (
        "charts/managed-by-policy/tests/rendered/cel.yml",
        "all-projects management",
        "--show-only templates/validating-admission-policy.yaml --set cel.enabled=true --set cel.warnings=true --set mode=protect",
    ),
];

const CEL: &str = "--show-only templates/validating-admission-policy.yaml --set cel.enabled=true --set mode=protect";
const POLICY: &str = "--show-only templates/policy.yaml";
const WEBHOOK: &str = "--show-only templates/webhook.yaml --set webhook.enabled=true --set webhook.caBundle=REPLACE_ME";

/// Prefixes of the lines to remove: Helm's comments, and labels of objects that Helm manages.
const HELM_LINES: [&str; 4] = [
    "# Source: ",
    "helm.sh/chart: ",
    "app.kubernetes.io/managed-by: ",
    "app.kubernetes.io/instance: ",
];

/// Renders all files, or returns `None` if Helm is not on the PATH.
///
/// # Errors
/// If Helm fails.
pub(crate) fn generated() -> Result<Option<Vec<Generated>>> {
    let mut files = Vec::new();
    for (path, values, arguments) in FILES {
        let mut helm = Command::new("helm");
        helm.args(["template", "managed-by", CHART, "--namespace", "team-a"]);
        helm.args(["--kube-version", "1.37.0"]);
        for values in values.split(' ') {
            helm.arg("--values");
            helm.arg(format!("{CHART}/ci/{values}-values.yaml"));
        }
        helm.args(arguments.split(' ')).current_dir(root("."));
        let output = match helm.output() {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            output => output.context("helm")?,
        };
        let error = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{path}: {error}");
        let text = String::from_utf8(output.stdout)?;
        files.push(Generated::new(path, strip_helm_metadata(&text)));
    }
    Ok(Some(files))
}

/// Removes what only Helm needs, and adds a header.
fn strip_helm_metadata(rendered: &str) -> String {
    let is_kept = |line: &&str| {
        !HELM_LINES
            .iter()
            .any(|start| line.trim().starts_with(start))
    };
    let lines = rendered.lines().filter(is_kept);
    let text: String = lines.flat_map(|line| [line, "\n"]).collect();
    let text = text.strip_prefix("---\n").unwrap_or(&text);
    format!("# Generated from {CHART} (make generate): see docs/tasks/install.md.\n{text}")
}
