//! A hostile tenant: somebody who has the role `edit` in one namespace, and may write the custom kinds there, in front
//! of `deploy/webhook.yml` with the settings of `deploy/management.yml`. Authorization is RBAC, as in a real cluster.
//!
//! The checks are in `e2e/cluster/tenant.yml`. The lines below a check are the requests and their answers: below each of the holes,
//! which are the ways around the policy that were open once, and below what failed.

use std::path::Path;

use anyhow::{Result, bail};
use serde_json::{Value, json};

use super::api_server::{ADMIN, ApiServer, Options, USUAL};
use super::hook::{Hook, TEAM};
use super::{modules, steps};
use crate::deploy;
use crate::kube::list;
use crate::report;
use crate::tls::Authority;

/// The projects of the cluster.
const PROJECTS: [&str; 3] = ["jobset", "kuberay", "appwrapper"];

pub(super) fn run(folder: &Path, authority: &Authority) -> Option<()> {
    report::section("tenant: ClusterRole edit behind deploy/management.yml and deploy/pods.yml");
    let started = start(&folder.join("tenant"), authority);
    let (_hook, cluster) = report::need("they are in force", started)?;
    report::section("tenant: what was a way around");
    let mut act = |name: &str| match name {
        "PyTorchJobs are installed" => modules::bare(&cluster, &["PyTorchJob"]),
        _ => bail!("no act {name}"),
    };
    steps::run(&[&cluster], "tenant", "holes", &json!({}), &mut act);
    report::section("tenant: what held");
    steps::run(&[&cluster], "tenant", "held", &json!({}), &mut act);
    Some(())
}

// In this order, so that PolicyServer ends before its API server.
fn start(folder: &Path, authority: &Authority) -> Result<(Hook, ApiServer)> {
    let rbac = Options {
        arguments: &["--authorization-mode=RBAC"],
        ..USUAL
    };
    let cluster = ApiServer::start(folder, authority, rbac)?;
    cluster.namespaces(&[TEAM])?;
    modules::bare(
        &cluster,
        &["AppWrapper", "JobSet", "Workflow", "RayCluster"],
    )?;
    // PolicyServer has what the manifest for pods grants.
    let roles = &deploy::yaml("e2e/cluster/tenant-roles.yml")?[0];
    for role in list(roles)
        .iter()
        .chain(&deploy::yaml("deploy/pods.yml")?[1..])
    {
        cluster.client(ADMIN).apply(role)?;
    }
    let policies = policies()?;
    let hook = Hook::prepare(&cluster, &policies, &PROJECTS)?;
    hook.apply(&cluster, declared)?;
    hook.apply_pods(&cluster)?;
    Hook::in_force(&cluster)?;
    Ok((hook, cluster))
}

/// Both policies in mode `protect`. The first one knows a kind more.
fn policies() -> Result<Value> {
    let mut settings = deploy::settings("management", USUAL.release, &PROJECTS)?;
    settings["custom_kinds"] =
        json!([{"group": "argoproj.io", "kind": "Workflow", "plural": "workflows"}]);
    let mut pods = deploy::policy("pods")?;
    pods["policyMode"] = "protect".into();
    Ok(json!({"managed-by": deploy::protect(&settings)?, "pods": pods}))
}

/// The rules for the kind that the settings declare, as the manifest has them in a comment.
fn declared(webhook: &mut Value) {
    let rule = |resource: &str, operations: &[&str]| json!({"apiGroups": ["argoproj.io"], "apiVersions": ["v1alpha1"], "resources": [resource], "operations": operations, "scope": "Namespaced"});
    if let Some(rules) = webhook["rules"].as_array_mut() {
        rules.push(rule("workflows", &["CREATE", "UPDATE"]));
        rules.push(rule("workflows/status", &["UPDATE"]));
    }
}
