//! Renders the manifests in `deploy/` from the chart with Helm.
//!
//! They are for clusters with Kueue and no other project, except `audit-scanner.yml` and `flow-schema.yml`, which list the kinds of
//! all projects.

use anyhow::Result;
use managed_by_testing::chart::{self, CHART};

use crate::generated::Generated;

/// Rendered files, each with the values and the arguments of `helm template`.
pub(crate) const FILES: [(&str, &str, &str); 12] = [
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
];

const CEL: &str = "--show-only templates/validating-admission-policy.yaml --set cel.enabled=true --set mode=protect";
const POLICY: &str = "--show-only templates/policy.yaml";
const WEBHOOK: &str = "--show-only templates/webhook.yaml --set webhook.enabled=true";

/// Prefixes of the lines to remove: Helm's comments, and labels of objects that Helm manages.
const HELM_LINES: [&str; 4] = [
    "# Source: ",
    "helm.sh/chart: ",
    "app.kubernetes.io/managed-by: ",
    "app.kubernetes.io/instance: ",
];

/// Renders all files from the chart on disk. Without Helm, skips them, or fails in CI.
pub(crate) fn generated() -> Result<Vec<Generated>> {
    let mut files = Vec::new();
    for (path, values, arguments) in FILES {
        let Some(text) = chart::template(values, arguments)? else {
            break;
        };
        files.push(Generated::new(path, strip_helm_metadata(&text)));
    }
    Ok(files)
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
    let text = text.replace("caBundle: \"\"", "caBundle: REPLACE_ME");
    format!("# Generated from {CHART} (make generate): see docs/tasks/install.md.\n{text}")
}
