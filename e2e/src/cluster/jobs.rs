//! The built-in Job controller, with Jobs of every shape: it must never be denied. The Jobs are in `e2e/cluster/jobs.yml`.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use serde_json::{Value, json};

use super::api_server::{ANA, ApiServer, JOB_CONTROLLER, USUAL, line};
use super::hook::Hook;
use super::people::TEAM;
use super::{controllers, hook::job, steps};
use crate::deploy;
use crate::http::Answer;
use crate::kube::{done, jobs};
use crate::kubelet::Kubelet;
use crate::process::until;
use crate::programs;
use crate::report::Report;
use crate::tls::Authority;

/// How long one change may take.
const LIMIT: Duration = Duration::from_secs(30);

pub(crate) fn run(report: &mut Report, folder: &Path, authority: &Authority) {
    report.section("jobs: the built-in controller and Jobs of every shape");
    if !programs::all_there(report, "jobs", &["kube-controller-manager"]) {
        return;
    }
    report.note(&programs::version("kube-controller-manager"));
    let folder = folder.join("jobs");
    // Only the management cluster of MultiKueue may hand work on; here every Job of the tests may say what it wants.
    let started =
        Hook::in_front(&folder, "hybrid", authority, USUAL).and_then(|(cluster, hook)| {
            let manager = controllers::manager(&cluster)?;
            let kubelet = Kubelet::scripted(&cluster);
            Ok((cluster, hook, manager, kubelet))
        });
    let Some((cluster, hook, _manager, _kubelet)) =
        report.need("deploy/hybrid.yml is in force", started)
    else {
        return;
    };
    let mut act = |name: &str, _: &mut Vec<String>| bail!("no act {name}");
    steps::run(report, &cluster, "jobs", "jobs", &mut act);
    let judged = cluster.audit().map(|audit| {
        let count = audit.judged(JOB_CONTROLLER).count();
        let denied: Vec<_> = audit.denied().map(line).collect();
        let warned: Vec<_> = audit.warned().map(line).collect();
        (count, denied, warned)
    });
    let Some((count, denied, warned)) = report.need("the audit log is read", judged) else {
        return;
    };
    // The probe that waits for the webhook is a typo on purpose.
    let own = |line: &&String| !line.contains("e2e-probe");
    report.check(
        &format!("none of {count} writes of the Job controller was denied, nor anybody's"),
        nothing(count >= 50, denied.iter().filter(own)),
    );
    report.check("nor warned of", nothing(true, warned.iter().filter(own)));
    for name in deploy::POLICIES {
        let cost = life(&cluster, &hook, name);
        let what = format!("the rules and conditions of deploy/{name}.yml: a Job lives");
        if let Some((calls, statuses)) = report.need(&what, cost) {
            report.note(&format!(
                "{calls} calls of the webhook, with {statuses} status updates"
            ));
        }
    }
}

/// What it costs that a Job is created, labelled, run and deleted, under a manifest: a call for its creation and, if the
/// manifest lists those who write the status of Jobs, one for each update of its status.
fn life(cluster: &ApiServer, hook: &Hook, manifest: &str) -> Result<(usize, usize)> {
    let spec = deploy::spec(manifest)?;
    let (probe, name) = (format!("probe-{manifest}"), format!("life-{manifest}"));
    hook.apply(cluster, |webhook| {
        webhook["rules"] = spec["rules"].clone();
        webhook["matchConditions"] = spec["matchConditions"].clone();
        // The API server learns of all this a little later; it has when it asks no more about one name.
        let passes = format!("object.metadata.name != '{probe}'");
        if let Some(list) = webhook["matchConditions"].as_array_mut() {
            list.push(json!({"name": "in-force", "expression": passes}));
        }
    })?;
    let ana = cluster.client(ANA);
    let typo = job(
        TEAM,
        &probe,
        &json!({"managedBy": "kubernetes.io/job-controler"}),
    );
    until("the conditions are in force", LIMIT, || {
        let answer = ana.post(&format!("{}?dryRun=All", jobs(TEAM)), &typo)?;
        Ok((answer.code == 201).then_some(()))
    })?;
    let path = format!("{}/{name}", jobs(TEAM));
    let mut long = job(TEAM, &name, &json!({}));
    // So that each state of its pod is written.
    long["spec"]["template"]["metadata"]["annotations"] = json!({"e2e/run": "4000"});
    ana.create(&jobs(TEAM), &long)?;
    done(ana.patch(&path, &json!({"metadata": {"labels": {"a": "b"}}}))?)?;
    until("end", LIMIT, || {
        ended(&ana.get(&path)?, "Complete").map(Some)
    })?;
    done(ana.delete(&path)?)?;
    until("end", LIMIT, || ended(&ana.get(&path)?, "Gone").map(Some))?;
    let listed = !spec["settings"]["standard_status_writers"]["Job"].is_null();
    cluster.audit()?.cost(&name, listed)
}

/// Nothing was said, of enough.
pub(crate) fn nothing<'s>(enough: bool, said: impl Iterator<Item = &'s String>) -> Result<()> {
    let said: Vec<_> = said.map(String::as_str).collect();
    ensure!(enough, "too few writes were judged");
    ensure!(said.is_empty(), "{} times: {}", said.len(), said.join("\n"));
    Ok(())
}

/// Whether a condition is true.
pub(crate) fn has(status: &Value, condition: &str) -> bool {
    let conditions = status["conditions"].as_array().into_iter().flatten();
    conditions
        .into_iter()
        .any(|c| c["type"] == condition && c["status"] == "True")
}

/// Whether a Job has ended so, or has not and is still there: `Gone`, `Never`, or a condition.
pub(super) fn ended(answer: &Answer, end: &str) -> Result<()> {
    let status = &answer.body["status"];
    let over = has(status, "Complete") || has(status, "Failed");
    let holds = match end {
        "Gone" => answer.code == 404,
        "Never" => answer.code == 200 && !over,
        condition => has(status, condition),
    };
    ensure!(holds, "it is not {end}: {} {status}", answer.code);
    Ok(())
}
