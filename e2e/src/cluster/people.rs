//! What people do, with `deploy/hybrid.yml`'s settings behind `deploy/webhook.yml`. The checks are in `e2e/cluster/people.yml`.

use std::fs;
use std::process::Command;

use anyhow::{Result, bail, ensure};
use serde_json::{Value, json};

use super::api_server::{ANA, ApiServer, BREAK_GLASS};
use super::hook::job;
use super::{modules, steps};
use crate::kube::{jobs, path};
use crate::programs;
use crate::report::Report;

/// Where delegation is everybody's choice.
pub(super) const TEAM: &str = "team-a";

/// Where it is not.
const BATCH: &str = "team-example";

pub(super) const MULTIKUEUE: &str = "kueue.x-k8s.io/multikueue";

const TYPO: &str = "kubernetes.io/job-controler";

/// Jobs that were there before the policy, and break its rules.
pub(super) fn before(cluster: &ApiServer) -> Result<()> {
    cluster.namespaces(&[TEAM, BATCH])?;
    let ana = cluster.client(ANA);
    for (name, finalizers) in [("old", json!([])), ("old-held", json!(["acme.io/hold"]))] {
        let mut old = job(TEAM, name, &json!({"managedBy": TYPO, "suspend": true}));
        old["metadata"]["finalizers"] = finalizers;
        ana.create(&jobs(TEAM), &old)?;
    }
    modules::bare(cluster, &["AppWrapper", "PyTorchJob"])?;
    let mut scaled = json!({
        "apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "scaled"},
        "spec": {"replicas": 1},
    });
    scaled["spec"]["runPolicy"] = json!({"managedBy": TYPO});
    ana.create(&path("kubeflow.org/v1", TEAM, "pytorchjobs"), &scaled)?;
    Ok(())
}

pub(super) fn run(report: &mut Report, cluster: &ApiServer) {
    report.section("people: what they do to their workloads");
    let mut act = |name: &str, _: &mut Vec<String>| bail!("no act {name}");
    steps::run(report, cluster, "people", "people", &mut act);
    if programs::all_there(report, "kubectl", &["kubectl"]) {
        report.check("kubectl shows the denial and the warning", kubectl(cluster));
    }
}

/// A stand-in for an external controller.
pub(super) fn external(report: &mut Report, cluster: &ApiServer) {
    report.section("external: a stand-in for an external controller");
    let mut act = |name: &str, _: &mut Vec<String>| bail!("no act {name}");
    steps::run(report, cluster, "people", "external", &mut act);
}

/// The same through the client that people have.
fn kubectl(cluster: &ApiServer) -> Result<()> {
    let kubeconfig = cluster.kubeconfig_file(ANA)?;
    let run = |name: &str,
               namespace: &str,
               user: &std::path::Path,
               spec: &Value|
     -> Result<(bool, String)> {
        let file = cluster.folder.join(format!("{name}.json"));
        fs::write(&file, job(namespace, name, spec).to_string())?;
        let output = Command::new("kubectl")
            .arg(format!("--kubeconfig={}", user.display()))
            .args(["create", "--filename"])
            .arg(file)
            .output()?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        Ok((output.status.success(), said))
    };
    let (created, said) = run(
        "typo",
        TEAM,
        &kubeconfig,
        &json!({"managedBy": TYPO, "suspend": true}),
    )?;
    ensure!(
        !created && said.contains("did you mean \"kubernetes.io/job-controller\"?"),
        "{said}"
    );
    let glass = cluster.kubeconfig_file(BREAK_GLASS)?;
    let (created, said) = run("glass", BATCH, &glass, &json!({}))?;
    ensure!(
        created && said.contains("Warning: managed-by/delegation would have denied this"),
        "{said}"
    );
    Ok(())
}
