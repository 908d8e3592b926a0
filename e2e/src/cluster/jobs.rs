//! The built-in Job controller, with Jobs of every shape: it must never be denied. The Jobs are in `e2e/cluster/jobs.yml`.

use std::path::Path;

use anyhow::{Result, bail, ensure};
use serde_json::{Value, json};

use super::api_server::{ApiServer, JOB_CONTROLLER, USUAL};
use super::hook::Hook;
use super::{controllers, steps};
use crate::deploy;
use crate::http::Answer;
use crate::kube::list;
use crate::kubelet::Kubelet;
use crate::programs;
use crate::report;
use crate::tls::Authority;

pub(crate) fn run(folder: &Path, authority: &Authority) -> Option<()> {
    report::section("jobs: the built-in controller and Jobs of every shape");
    programs::all_there("jobs", &["kube-controller-manager"])?;
    report::note(&programs::version("kube-controller-manager"));
    let folder = folder.join("jobs");
    // Only the management cluster of MultiKueue may hand work on; here every Job of the tests may say what it wants.
    let started =
        Hook::in_front(&folder, "hybrid", authority, USUAL).and_then(|(cluster, hook)| {
            let manager = controllers::manager(&cluster, &[])?;
            let kubelet = Kubelet::scripted(&cluster);
            Ok((cluster, hook, manager, kubelet))
        });
    let (cluster, hook, _manager, _kubelet) =
        report::need("deploy/hybrid.yml is in force", started)?;
    let none = json!({});
    steps::run(&[&cluster], "jobs", "jobs", &none, &mut steps::no_act);
    let audit = report::need("the audit log", cluster.audit())?;
    audit.quiet("jobs", &[(JOB_CONTROLLER, 50)], "");
    for name in deploy::POLICIES {
        let mut act = |act: &str| match act {
            "its rules and conditions" => apply(&cluster, &hook, name),
            _ => bail!("no act {act}"),
        };
        let more = json!({"manifest": name});
        steps::run(&[&cluster], "jobs", "life", &more, &mut act);
        // A call for its creation and, if the manifest lists those who write the status of Jobs, one for each update of its status.
        let cost = || {
            let spec = deploy::spec(name, &[])?;
            let listed = !spec["settings"]["standard_status_writers"]["Job"].is_null();
            cluster.audit()?.cost(&format!("life-{name}"), listed)
        };
        let what = format!("deploy/{name}.yml: no more calls than it must");
        if let Some((calls, statuses)) = report::need(&what, cost()) {
            report::note(&format!(
                "{calls} calls of the webhook, with {statuses} status updates"
            ));
        }
    }
    Some(())
}

fn apply(cluster: &ApiServer, hook: &Hook, manifest: &str) -> Result<()> {
    let spec = deploy::spec(manifest, &[])?;
    hook.apply(cluster, |webhook| {
        webhook["rules"] = spec["rules"].clone();
        webhook["matchConditions"] = spec["matchConditions"].clone();
        // The API server learns of all this a little later; it has when it asks no more about one name.
        let passes = format!("object.metadata.name != 'probe-{manifest}'");
        if let Some(list) = webhook["matchConditions"].as_array_mut() {
            list.push(json!({"name": "in-force", "expression": passes}));
        }
    })
}

/// Whether a condition is true.
pub(crate) fn has(status: &Value, condition: &str) -> bool {
    let mut conditions = list(&status["conditions"]).iter();
    conditions.any(|c| c["type"] == condition && c["status"] == "True")
}

/// The conditions that say how a workload has ended. More than one contradict each other.
pub(crate) fn ends(status: &Value) -> impl Iterator<Item = &'static str> {
    let ends = ["Complete", "Completed", "Succeeded", "Failed"].into_iter();
    ends.filter(|end| has(status, end))
}

/// Whether a workload has ended so, or has not and is still there: `Gone`, `Never`, or a condition.
pub(super) fn ended(answer: &Answer, end: &str) -> Result<()> {
    let status = &answer.body["status"];
    let holds = match end {
        "Gone" => answer.code == 404,
        "Never" => answer.code == 200 && ends(status).next().is_none(),
        condition => has(status, condition),
    };
    ensure!(holds, "it is not {end}: {} {status}", answer.code);
    Ok(())
}
