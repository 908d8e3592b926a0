//! The policy that looks at pods, `deploy/pods.yml`, when it cannot look. Where it can, `e2e/cluster/tenant.yml` asks it.

use std::path::Path;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::cluster::api_server::{ApiServer, POLICY_SERVER, USUAL};
use crate::deploy;
use crate::policy_server::PolicyServer;
use crate::programs;
use crate::report;
use crate::tls::Authority;

const TEAM: &str = "team-a";

pub(super) fn run(folder: &Path, authority: &Authority) -> Option<()> {
    programs::all_there("pods", &["etcd", "kube-apiserver"])?;
    let (cluster, server) = report::need(
        "deploy/pods.yml, and an API server to ask",
        start(folder, authority),
    )?;
    report::check(
        "without the host capability the look-up fails, and is told",
        ungranted(&server),
    );
    drop(cluster);
    for (policy, code) in [("pods", Value::Null), ("strict", json!(503))] {
        report::check(
            &format!("no API server answers: {policy} says {code}"),
            unanswered(&server, policy, &code),
        );
    }
    Some(())
}

/// The policy in mode `protect`; once more so that it denies what it cannot look up, and once without its capability.
fn start(folder: &Path, authority: &Authority) -> Result<(ApiServer, PolicyServer)> {
    let folder = folder.join("pods");
    let cluster = ApiServer::start(&folder, authority, USUAL)?;
    let mut pods = deploy::policy("pods")?;
    pods["policyMode"] = "protect".into();
    let (mut strict, mut ungranted) = (pods.clone(), pods.clone());
    strict["settings"]["on_lookup_failure"] = "deny".into();
    let keys = ungranted.as_object_mut();
    keys.map(|keys| keys.remove("hostCapabilities"));
    let mut server = PolicyServer::new(&folder.join("policy-server"), authority)?;
    server.kubeconfig = Some(cluster.kubeconfig_file(POLICY_SERVER)?);
    server.start(&json!({"pods": pods, "strict": strict, "ungranted": ungranted}))?;
    Ok((cluster, server))
}

/// A new pod of a Job of that name.
fn pod(owner: &str) -> Value {
    let reference = json!({"apiVersion": "batch/v1", "kind": "Job", "name": owner, "uid": "1", "controller": true});
    let metadata = json!({"name": "pi-0", "namespace": TEAM, "ownerReferences": [reference]});
    json!({
        "uid": "00000000-0000-4000-8000-000000000000",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "operation": "CREATE",
        "userInfo": {"username": "system:serviceaccount:kube-system:job-controller"},
        "name": "pi-0",
        "namespace": TEAM,
        "object": {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": []}},
    })
}

fn ungranted(server: &PolicyServer) -> Result<()> {
    let answer = server.review("/validate/ungranted", &pod("one"))?;
    ensure!(answer["allowed"] == true, "{answer}");
    let words = "has not been granted access to the 'kubernetes/get_resource' host capability";
    let told = answer["auditAnnotations"]["lookup-failed"].as_str();
    ensure!(told.is_some_and(|told| told.contains(words)), "{answer}");
    let warning = answer["warnings"][0].as_str().unwrap_or_default();
    ensure!(warning.starts_with("could not look up Job"), "{answer}");
    Ok(())
}

fn unanswered(server: &PolicyServer, policy: &str, code: &Value) -> Result<()> {
    // A name that no cache holds.
    let request = pod("another");
    let answer = server.review(&format!("/validate/{policy}"), &request)?;
    ensure!(answer["allowed"] == code.is_null(), "{answer}");
    ensure!(answer["status"]["code"] == *code, "{answer}");
    Ok(())
}
