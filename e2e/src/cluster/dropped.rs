//! kube-apiserver 1.30 as it is by default: without the feature `JobManagedBy` it drops the field of a Job before it asks
//! anybody.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::api_server::{ANA, ApiServer, OLDEST, Options, annotation};
use super::controllers;
use super::hook::{Hook, job};
use super::people::{MULTIKUEUE, TEAM, expect};
use crate::deploy;
use crate::kube::{done, jobs, path};
use crate::process::until;
use crate::programs;
use crate::report::Report;
use crate::tls::Authority;

const AS_SHIPPED: Options = Options {
    feature_gates: None,
    ..OLDEST
};

pub(super) fn run(report: &mut Report, folder: &Path, authority: &Authority) {
    report.section("ends: kube-apiserver-1.30.14 without JobManagedBy");
    let needed = [AS_SHIPPED.program, "kube-controller-manager"];
    if !programs::all_there(report, "ends", &needed) {
        return;
    }
    let settings = |name: &str| deploy::settings(name, AS_SHIPPED.release, &[]);
    let folder = folder.join("dropped");
    let started = settings("management").and_then(|settings| {
        let cluster = ApiServer::start_with(&folder, "as-shipped", authority, AS_SHIPPED)?;
        cluster.namespaces(&[TEAM])?;
        let manager = controllers::manager_with(&cluster, &controllers::AS_OLD)?;
        let hook = Hook::start(
            &folder,
            "policy-server",
            &cluster,
            authority,
            &settings,
            &[],
        )?;
        Ok((cluster, hook, manager))
    });
    let Some((cluster, mut hook, _manager)) =
        report.need("deploy/management.yml is in force", started)
    else {
        return;
    };
    let ana = cluster.client(ANA);
    let delegated = job(TEAM, "delegated", &json!({"managedBy": MULTIKUEUE}));
    report.check(
        "deploy/management.yml: a Job that its manifest delegates is denied, because it arrives without the field",
        ana.post(&jobs(TEAM), &delegated)
            .and_then(|answer| expect(&answer, 403, &["[managed-by/delegation]"])),
    );
    let hybrid = settings("hybrid").and_then(|settings| hook.serve(&settings));
    report.check("deploy/hybrid.yml is in force", hybrid);
    report.check(
        "deploy/hybrid.yml: a typo is stored without the field and without a warning, judged as a Job that is not delegated, and runs here",
        typo(&cluster),
    );
    report.check(
        "deploy/hybrid.yml: a CronJob keeps the field in its template, so that the typo is denied",
        cron_job(&cluster),
    );
}

fn misspelt() -> Value {
    job(
        TEAM,
        "typo",
        &json!({"managedBy": "kueue.x-k8s.io/multikeue"}),
    )
}

fn cron_job(cluster: &ApiServer) -> Result<()> {
    let template = json!({"spec": misspelt()["spec"]});
    let cron = json!({
        "apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "typo"},
        "spec": {"schedule": "* * * * *", "jobTemplate": template},
    });
    let answer = cluster
        .client(ANA)
        .post(&path("batch/v1", TEAM, "cronjobs"), &cron)?;
    expect(&answer, 422, &["[managed-by/reserved-domain]"])
}

fn typo(cluster: &ApiServer) -> Result<()> {
    let ana = cluster.client(ANA);
    let answer = ana.post(&jobs(TEAM), &misspelt())?;
    ensure!(answer.warnings.is_empty(), "{:?}", answer.warnings);
    let stored = done(answer)?;
    ensure!(stored["spec"]["managedBy"].is_null(), "{}", stored["spec"]);
    let audit = cluster.audit()?;
    let mode = audit
        .last("typo")
        .and_then(|event| annotation(event, "mode"));
    ensure!(mode == Some("Standard"), "{mode:?}");
    until(
        "pod of the built-in controller",
        Duration::from_mins(1),
        || {
            let job = done(ana.get(&format!("{}/typo", jobs(TEAM)))?)?;
            Ok((job["status"]["active"] == 1).then_some(()))
        },
    )
}
