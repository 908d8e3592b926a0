//! Work that is handed on: `deploy/management.yml` on the hub, `deploy/worker.yml` on the worker.

use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::api_server::{ADMIN, ANA, Audit, JOB_CONTROLLER, JOBSET, KUEUE, MULTIKUEUE, line};
use super::fleet::{Fleet, Member, TEAM, Workload, all_end, queued_job, queued_set};
use super::jobs::nothing;
use crate::kube::{done, jobs, path};
use crate::process::until;
use crate::report::Report;

const LIMIT: Duration = Duration::from_secs(90);

fn workloads() -> Vec<Workload> {
    let (none, fails) = (json!({}), json!({"e2e/exit": "1"}));
    let indexed = json!({"completions": 4, "parallelism": 2, "completionMode": "Indexed"});
    vec![
        queued_job("plain", &none, &none, "Complete"),
        queued_job(
            "parallel",
            &json!({"completions": 3, "parallelism": 2}),
            &none,
            "Complete",
        ),
        queued_job("fails", &json!({"backoffLimit": 0}), &fails, "Failed"),
        queued_job("indexed", &indexed, &none, "Complete"),
        queued_set("set", &none, "Completed"),
        queued_set("set-fails", &fails, "Failed"),
    ]
}

pub(crate) fn run(report: &mut Report, fleet: &Fleet) {
    report.section("multikueue: deploy/management.yml and deploy/worker.yml");
    let hub = &fleet.hub.cluster;
    let workloads = workloads();
    let slow = json!({"e2e/run": "5000"});
    report.check(
        &format!(
            "{} Jobs and JobSets are handed to the queue",
            workloads.len()
        ),
        workloads.iter().try_for_each(|w| w.submit(hub)),
    );
    report.check("a Job is deleted while it runs", deleted(fleet));
    for stopped in [
        queued_job("stopped", &json!({}), &slow, "Complete"),
        queued_set("set-stopped", &slow, "Completed"),
    ] {
        report.check(
            &format!("{}: Kueue is told to stop it while it runs", stopped.name),
            evicted(fleet, &stopped),
        );
    }
    report.check(
        "all end on the hub as they should",
        all_end(hub, &workloads, LIMIT),
    );
    report.check(
        "a person who does not delegate is denied",
        undelegated(fleet),
    );
    report.check("a person who writes a status is denied", status(fleet));
    judged(report, "hub", &fleet.hub, &[KUEUE]);
    // Kueue only lets workloads start there, which the API server does not ask about.
    judged(
        report,
        "worker",
        &fleet.worker,
        &[JOB_CONTROLLER, JOBSET, MULTIKUEUE],
    );
}

/// Nobody but the person who tried was denied, and nobody was warned.
fn judged(report: &mut Report, name: &str, member: &Member, users: &[&str]) {
    let Some(audit) = report.need(
        &format!("the audit log of the {name}"),
        member.cluster.audit(),
    ) else {
        return;
    };
    for user in users {
        let count = audit.judged(user).count();
        let short = user.rsplit(':').next().unwrap_or_default();
        let of_user: Vec<_> = denials(&audit)
            .filter(|e| e["user"]["username"] == *user)
            .map(line)
            .collect();
        report.check(
            &format!("{name}: none of {count} judged writes of {short} was denied"),
            nothing(count > 0, of_user.iter()),
        );
    }
    let others: Vec<_> = denials(&audit)
        .filter(|e| e["user"]["username"] != ANA)
        .map(line)
        .collect();
    report.check(
        &format!("{name}: no controller was denied"),
        nothing(true, others.iter()),
    );
    let warned: Vec<_> = audit
        .warned()
        .map(line)
        .filter(|l| !l.contains("e2e-probe"))
        .collect();
    report.check(
        &format!("{name}: nobody was warned"),
        nothing(true, warned.iter()),
    );
}

/// The denials but for those that are meant.
fn denials(audit: &Audit) -> impl Iterator<Item = &Value> {
    audit
        .denied()
        .filter(|e| e["objectRef"]["namespace"] != "e2e-probe")
}

fn deleted(fleet: &Fleet) -> Result<()> {
    let forever = json!({"e2e/run": "forever"});
    let workload = queued_job("deleted", &json!({}), &forever, "Complete");
    workload.submit(&fleet.hub.cluster)?;
    let path = format!("{}/deleted", jobs(TEAM));
    let worker = fleet.worker.cluster.client(ANA);
    until("copy that runs", LIMIT, || {
        let copy = done(worker.get(&path)?)?;
        Ok((copy["status"]["ready"] == 1).then_some(()))
    })?;
    let hub = fleet.hub.cluster.client(ANA);
    done(hub.delete(&path)?)?;
    for (name, client) in [("hub", &hub), ("worker", &worker)] {
        until(&format!("end on the {name}"), LIMIT, || {
            Ok((client.get(&path)?.code == 404).then_some(()))
        })?;
    }
    Ok(())
}

/// An admin stops a workload through Kueue. That Kueue's writes are not denied is looked at in the audit log; whether it
/// gets it stopped is not asked, because Kueue 0.14 then restores the template, which the API server of 1.36 refuses while
/// the copied status says that pods are active.
fn evicted(fleet: &Fleet, stopped: &Workload) -> Result<()> {
    let hub = &fleet.hub.cluster;
    stopped.submit(hub)?;
    stopped.runs(&fleet.worker.cluster)?;
    let client = hub.client(ADMIN);
    let all = path("kueue.x-k8s.io/v1beta1", TEAM, "workloads");
    let name = &stopped.name;
    let owned = |w: &Value| w["metadata"]["ownerReferences"][0]["name"] == *name;
    let mine = until("workload", LIMIT, || {
        Ok(client.list(&all)?.into_iter().find(owned))
    })?;
    let mine = format!(
        "{all}/{}",
        mine["metadata"]["name"].as_str().unwrap_or_default()
    );
    done(client.patch(&mine, &json!({"spec": {"active": false}}))?)?;
    until(&format!("eviction of {name}"), LIMIT, || {
        let workload = done(client.get(&mine)?)?;
        Ok(super::jobs::has(&workload["status"], "Evicted").then_some(()))
    })?;
    // Until its copy is gone, Kueue has work with it.
    let worker = fleet.worker.cluster.client(ANA);
    let copy = format!("{}/{name}", stopped.path);
    until(&format!("end of the copy of {name}"), LIMIT, || {
        Ok((worker.get(&copy)?.code == 404).then_some(()))
    })
}

fn undelegated(fleet: &Fleet) -> Result<()> {
    let ana = fleet.hub.cluster.client(ANA);
    let answer = ana.post(
        &jobs(TEAM),
        &super::hook::job(TEAM, "undelegated", &json!({})),
    )?;
    ensure!(answer.code == 403, "{} {}", answer.code, answer.body);
    ensure!(
        answer.message().contains("[managed-by/delegation]"),
        "{}",
        answer.message()
    );
    Ok(())
}

fn status(fleet: &Fleet) -> Result<()> {
    let ana = fleet.hub.cluster.client(ANA);
    let idle = json!({"suspend": true, "managedBy": "kueue.x-k8s.io/multikueue"});
    let idle = super::hook::job(TEAM, "idle", &idle);
    done(ana.post(&jobs(TEAM), &idle)?)?;
    let path = format!("{}/idle/status", jobs(TEAM));
    let answer = ana.patch(
        &path,
        &json!({"status": {"conditions": [{"type": "Mine", "status": "True"}]}}),
    )?;
    ensure!(answer.code == 403, "{} {}", answer.code, answer.body);
    ensure!(
        answer.message().contains("status-writer/delegated"),
        "{}",
        answer.message()
    );
    Ok(())
}
