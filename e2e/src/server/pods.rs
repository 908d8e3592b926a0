//! The policy that looks at pods: `deploy/pods.yml`, with a real API server to ask.

use std::path::Path;

use anyhow::{Result, ensure};
use managed_by::{Cluster, FoundJob, Unanswered};
use serde_json::{Value, json};

use super::{expected, same};
use crate::cluster::api_server::{ADMIN, ApiServer, POLICY_SERVER, USUAL};
use crate::cluster::hook::job;
use crate::deploy;
use crate::kube::{Client, jobs};
use crate::policy_server::{Launch, PolicyServer};
use crate::programs;
use crate::report::Report;
use crate::tls::Authority;

const TEAM: &str = "team-a";

pub(super) fn run(report: &mut Report, folder: &Path, authority: &Authority) {
    if !programs::all_there(report, "pods", &["etcd", "kube-apiserver"]) {
        return;
    }
    let Some((cluster, server)) = report.need(
        "deploy/pods.yml, and an API server to ask",
        start(folder, authority),
    ) else {
        return;
    };
    for owner in ["delegated", "standard", "missing", "nobody"] {
        report.check(
            &format!("a pod whose Job is {owner}: the library's verdict"),
            judged(&server, &cluster.client(ADMIN), owner),
        );
    }
    report.check(
        "without the host capability the look-up fails, and is told",
        ungranted(&server),
    );
    drop(cluster);
    for (policy, code) in [("pods", Value::Null), ("strict", json!(503))] {
        report.check(
            &format!("no API server answers: {policy} says {code}"),
            unanswered(&server, policy, &code),
        );
    }
}

/// The policy in mode `protect`; once more so that it denies what it cannot look up, and once without its capability.
fn start(folder: &Path, authority: &Authority) -> Result<(ApiServer, PolicyServer)> {
    let folder = folder.join("pods");
    let cluster = ApiServer::start(&folder, "management", authority, USUAL)?;
    cluster.namespaces(&[TEAM])?;
    let admin = cluster.client(ADMIN);
    let delegated = json!({"managedBy": "kueue.x-k8s.io/multikueue"});
    admin.create(&jobs(TEAM), &job(TEAM, "delegated", &delegated))?;
    admin.create(&jobs(TEAM), &job(TEAM, "standard", &json!({})))?;
    let mut pods = deploy::policy("pods")?;
    pods["policyMode"] = "protect".into();
    let (mut strict, mut ungranted) = (pods.clone(), pods.clone());
    strict["settings"]["on_lookup_failure"] = "deny".into();
    if let Some(keys) = ungranted.as_object_mut() {
        keys.remove("hostCapabilities");
    }
    let mut place = Launch::new(&folder, "policy-server", authority)?;
    place.kubeconfig = Some(cluster.kubeconfig_file(POLICY_SERVER)?);
    let server = place.start(&json!({"pods": pods, "strict": strict, "ungranted": ungranted}))?;
    Ok((cluster, server))
}

/// A new pod of a Job of that name; of nobody if it is `nobody`.
fn pod(owner: &str, uid: &Value) -> Value {
    let mut metadata = json!({"name": "pi-0", "namespace": TEAM});
    if owner != "nobody" {
        let reference = json!({"apiVersion": "batch/v1", "kind": "Job", "name": owner, "uid": uid, "controller": true});
        metadata["ownerReferences"] = json!([reference]);
    }
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

/// The library, with the same API server.
struct Asked<'c>(&'c Client);

impl Cluster for Asked<'_> {
    fn job(&self, namespace: &str, name: &str) -> Result<FoundJob, Unanswered> {
        let answer = self.0.get(&format!("{}/{name}", jobs(namespace)));
        match answer.map_err(|e| Unanswered::new(e.to_string()))? {
            answer if answer.code == 404 => Ok(FoundJob::NotFound),
            answer => Ok(FoundJob::Found(answer.body.to_string().into_bytes())),
        }
    }
}

fn judged(server: &PolicyServer, admin: &Client, owner: &str) -> Result<()> {
    let uid = &admin.get(&format!("{}/{owner}", jobs(TEAM)))?.body["metadata"]["uid"];
    let request = pod(owner, uid);
    let settings = &deploy::policy("pods")?["settings"];
    let expected = expected(&request, settings, &Asked(admin));
    // So that this does not compare two ways of looking away.
    ensure!(expected["allowed"] == (owner != "delegated"), "{expected}");
    let answer = server.review("/validate/pods", &request)?;
    same(owner, &answer, &expected)
}

fn ungranted(server: &PolicyServer) -> Result<()> {
    let answer = server.review("/validate/ungranted", &pod("delegated", &json!("1")))?;
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
    let request = pod("another", &json!("1"));
    let answer = server.review(&format!("/validate/{policy}"), &request)?;
    ensure!(answer["allowed"] == code.is_null(), "{answer}");
    ensure!(answer["status"]["code"] == *code, "{answer}");
    Ok(())
}
