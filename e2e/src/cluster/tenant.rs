//! A hostile tenant: somebody who has the role `edit` in one namespace, and may write the custom kinds there, in front
//! of `deploy/webhook.yml` with the settings of `deploy/management.yml`. Authorization is RBAC, as in a real cluster.
//!
//! The checks are in `e2e/cluster/tenant.yml`. The lines below a check are the requests and their answers: below each of the holes,
//! which are the ways around the policy that were open once, and below what failed.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

use super::api_server::{ADMIN, ApiServer, Options, TENANT, USUAL};
use super::hook::{Hook, RELEASE, job};
use super::people::{MULTIKUEUE, TEAM};
use super::{modules, steps};
use crate::deploy;
use crate::kube::{done, jobs, path};
use crate::process::until;
use crate::report::Report;
use crate::tls::Authority;

/// The projects of the cluster.
const PROJECTS: [&str; 3] = ["jobset", "kuberay", "appwrapper"];

const WRAPPERS: &str = "workload.codeflare.dev/v1beta2";

/// A kind that the settings declare.
const WORKFLOWS: &str = "argoproj.io/v1alpha1";

pub(super) fn run(report: &mut Report, folder: &Path, authority: &Authority) {
    report.section("tenant: ClusterRole edit behind deploy/management.yml and deploy/pods.yml");
    let started = start(&folder.join("tenant"), authority);
    let Some((hook, cluster)) = report.need("they are in force", started) else {
        return;
    };
    report.section("tenant: what was a way around");
    let mut act = |name: &str, said: &mut Vec<String>| match name {
        "PyTorchJobs are installed" => modules::bare(&cluster, &["PyTorchJob"]),
        "no other namespaces are excluded" => excluded(said),
        "12,000 components" => components(&hook, &cluster, said),
        _ => bail!("no act {name}"),
    };
    steps::run(report, &cluster, "tenant", "holes", &mut act);
    report.section("tenant: what held");
    steps::run(report, &cluster, "tenant", "held", &mut act);
}

// In this order, so that PolicyServer ends before its API server.
fn start(folder: &Path, authority: &Authority) -> Result<(Hook, ApiServer)> {
    let rbac = Options {
        authorization_mode: "RBAC",
        ..USUAL
    };
    let cluster = ApiServer::start(folder, "management", authority, rbac)?;
    cluster.namespaces(&[TEAM])?;
    modules::bare(
        &cluster,
        &["AppWrapper", "JobSet", "Workflow", "RayCluster"],
    )?;
    // PolicyServer has what the manifest for pods grants.
    let roles = deploy::yaml("e2e/cluster/tenant-roles.yml")?[0].take();
    let roles = roles.as_array().into_iter().flatten().cloned();
    for role in roles.chain(deploy::yaml("deploy/pods.yml")?.into_iter().skip(1)) {
        let kind = role["kind"].as_str().unwrap_or_default().to_lowercase();
        let place = match role["metadata"]["namespace"].as_str() {
            Some(namespace) => path("rbac.authorization.k8s.io/v1", namespace, &kind),
            None => format!("/apis/rbac.authorization.k8s.io/v1/{kind}"),
        };
        cluster.client(ADMIN).create(&format!("{place}s"), &role)?;
    }
    let policies = policies()?;
    let hook = Hook::prepare(
        folder,
        "policy-server",
        &cluster,
        authority,
        &policies,
        &PROJECTS,
    )?;
    hook.apply(&cluster, declared)?;
    hook.apply_pods(&cluster)?;
    in_force(&cluster)?;
    Ok((hook, cluster))
}

/// Both policies in mode `protect`. The first one knows a kind more.
fn policies() -> Result<Value> {
    let mut settings = deploy::settings("management", RELEASE, &PROJECTS)?;
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

/// Waits until the tenant has the roles, and until the webhook is asked, also about the kind that the settings declare.
fn in_force(cluster: &ApiServer) -> Result<()> {
    Hook::in_force(cluster)?;
    let (tenant, limit) = (cluster.client(TENANT), Duration::from_secs(20));
    until("roles in force", limit, || {
        let spec = json!({"managedBy": MULTIKUEUE, "suspend": true});
        let path = format!("{}?dryRun=All", jobs(TEAM));
        done(tenant.post(&path, &job(TEAM, "probe", &spec))?).map(|_| Some(()))
    })?;
    until("rule for Workflows in force", limit, || {
        let path = format!("{}?dryRun=All", path(WORKFLOWS, TEAM, "workflows"));
        let probe = json!({"apiVersion": WORKFLOWS, "kind": "Workflow", "metadata": {"name": "probe"}, "spec": {}});
        Ok((tenant.post(&path, &probe)?.code == 403).then_some(()))
    })
}

fn excluded(said: &mut Vec<String>) -> Result<()> {
    for name in ["management", "worker", "hybrid", "pods", "webhook"] {
        let manifest = deploy::yaml(&format!("deploy/{name}.yml"))?;
        let manifest = manifest.first().context("empty")?;
        let places = ["/spec/namespaceSelector", "/webhooks/0/namespaceSelector"];
        let selector = places.iter().find_map(|place| manifest.pointer(place));
        let selector = selector.with_context(|| format!("{name}: no selector"))?;
        said.push(format!("deploy/{name}.yml: {selector}"));
        let expression = json!({
            "key": "kubernetes.io/metadata.name",
            "operator": "NotIn",
            "values": ["kube-system", "kubewarden"],
        });
        let wanted = json!({"matchExpressions": [expression]});
        ensure!(*selector == wanted, "{name}");
    }
    Ok(())
}

/// It is judged, whatever the verdict: no PolicyServer that gave up, and no limit of the API server.
fn components(hook: &Hook, cluster: &ApiServer, said: &mut Vec<String>) -> Result<()> {
    let component =
        json!({"template": {"apiVersion": "batch/v1", "kind": "Job", "spec": {"managedBy": ""}}});
    let spec = json!({"managedBy": MULTIKUEUE, "components": vec![component; 12_000]});
    let wrapper = json!({"apiVersion": WRAPPERS, "kind": "AppWrapper", "metadata": {"name": "many"}, "spec": spec});
    let (before, started) = (hook.process()?.processor()?, Instant::now());
    let wrappers = path(WRAPPERS, TEAM, "appwrappers");
    let answer = cluster.client(TENANT).post(&wrappers, &wrapper)?;
    let took = started.elapsed();
    let processor = hook.process()?.processor()?.saturating_sub(before);
    let answered: String = answer.message().chars().take(320).collect();
    said.push(format!("{}: {answered}", answer.code));
    said.push(format!(
        "PolicyServer took {processor:?} of processor time, the whole request {took:?}"
    ));
    let judged = answer.code == 201 || answer.message().contains("[managed-by/");
    ensure!(judged, "{} {}", answer.code, answer.message());
    let told = format!("{} {:?}", answer.message(), answer.warnings);
    ensure!(told.contains("not looked at"), "not said: not looked at");
    Ok(())
}
