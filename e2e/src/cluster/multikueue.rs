//! Work that is handed on: `deploy/management.yml` on the hub, `deploy/worker.yml` on the worker.

use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::api_server::{
    ADMIN, ANA, ApiServer, Audit, JOB_CONTROLLER, JOBSET, KUEUE, MULTIKUEUE, line,
};
use super::fleet::{
    self, Fleet, IMPORTANT, Member, TEAM, Workload, all_end, queued_job, queued_set,
};
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
    let mut workloads = workloads();
    let slow = json!({"e2e/run": "5000"});
    report.check(
        &format!(
            "{} Jobs and JobSets are handed to the queue",
            workloads.len()
        ),
        workloads.iter().try_for_each(|w| w.submit(hub)),
    );
    report.check("a Job is deleted while it runs", deleted(fleet));
    let job = |name| queued_job(name, &json!({}), &slow, "Complete");
    let set = queued_set("set-stopped", &slow, "Completed");
    report.check(
        "a JobSet is deactivated while it runs, and activated again",
        deactivated(fleet, &set).and_then(|workload| activate(hub, &workload, true)),
    );
    let (less, more) = (job("preempted"), job("important"));
    let narrow = |job: Workload| job.label("queue-name", "narrow");
    let pair = [
        narrow(less),
        narrow(more).label("priority-class", IMPORTANT),
    ];
    report.check(
        "a Job that runs is stopped for one that is more important",
        preempted(fleet, &pair),
    );
    workloads.extend(pair);
    workloads.push(set);
    report.check(
        "all end on the hub as they should",
        all_end(hub, &workloads, LIMIT),
    );
    report.check(
        "a Job is deactivated while it runs: the API server refuses what Kueue then writes, and not for the policy",
        stuck(fleet, &job("stopped")),
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
    let cost = report.need(
        &format!("{name}: a call for the creation of a Job, and one for each update of its status"),
        audit.cost("important", true),
    );
    if let Some((calls, _)) = cost {
        report.note(&format!("{calls} calls of the webhook"));
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

/// The path of the Workload that Kueue has made of a workload.
pub(super) fn workload_of(cluster: &ApiServer, name: &str) -> Result<String> {
    let client = cluster.client(ADMIN);
    let all = path(fleet::KUEUE, TEAM, "workloads");
    let owned = |w: &Value| w["metadata"]["ownerReferences"][0]["name"] == *name;
    let mine = until("workload", LIMIT, || {
        Ok(client.list(&all)?.into_iter().find(owned))
    })?;
    let mine = mine["metadata"]["name"].as_str().unwrap_or_default();
    Ok(format!("{all}/{mine}"))
}

fn activate(cluster: &ApiServer, workload: &str, active: bool) -> Result<()> {
    let change = json!({"spec": {"active": active}});
    done(cluster.client(ADMIN).patch(workload, &change)?).map(drop)
}

/// An admin stops a workload through Kueue while it runs: its copy goes. This gives the path of its Workload.
fn deactivated(fleet: &Fleet, stopped: &Workload) -> Result<String> {
    let hub = &fleet.hub.cluster;
    stopped.submit(hub)?;
    stopped.runs(&fleet.worker.cluster)?;
    let mine = workload_of(hub, &stopped.name)?;
    activate(hub, &mine, false)?;
    noted(hub, &mine, "Evicted")?;
    let worker = fleet.worker.cluster.client(ANA);
    until(
        &format!("end of the copy of {}", stopped.name),
        LIMIT,
        || Ok((worker.get(&stopped.own())?.code == 404).then_some(())),
    )?;
    Ok(mine)
}

/// Waits until a Workload has a condition, be it true or no more.
fn noted(cluster: &ApiServer, workload: &str, condition: &str) -> Result<()> {
    until(&format!("{condition} of {workload}"), LIMIT, || {
        let workload = done(cluster.client(ADMIN).get(workload)?)?;
        let mut conditions = workload["status"]["conditions"]
            .as_array()
            .into_iter()
            .flatten();
        Ok(conditions.any(|c| c["type"] == condition).then_some(()))
    })
}

/// Kueue stops the first one, which runs, for the second one.
fn preempted(fleet: &Fleet, [less, more]: &[Workload; 2]) -> Result<()> {
    let hub = &fleet.hub.cluster;
    less.submit(hub)?;
    less.runs(&fleet.worker.cluster)?;
    more.submit(hub)?;
    noted(hub, &workload_of(hub, &less.name)?, "Preempted")
}

/// Kueue wants to suspend the Job and to restore its template at once. The API server refuses that while the copied status
/// says that pods are active, and so it does without the policy.
fn stuck(fleet: &Fleet, stopped: &Workload) -> Result<()> {
    let hub = &fleet.hub.cluster;
    stopped.submit(hub)?;
    until("copied status", LIMIT, || {
        let status = &done(hub.client(ANA).get(&stopped.own())?)?["status"];
        Ok((status["ready"] == 1).then_some(()))
    })?;
    deactivated(fleet, stopped)?;
    until("refusal by the API server", LIMIT, || {
        let audit = hub.audit()?;
        let mut writes = audit.by(KUEUE);
        let refused = writes.any(|event| {
            let message = event["responseStatus"]["message"].as_str();
            event["objectRef"]["name"] == *stopped.name
                && event["responseStatus"]["code"] == 422
                && message.is_some_and(|m| m.contains("spec.template: Invalid value"))
        });
        Ok(refused.then_some(()))
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
