//! What may go wrong while work is under way. Whatever it was: nothing is lost.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use serde_json::json;

use super::api_server::ANA;
use super::fleet::{Fleet, Member, Workload, all_end, job_set, one_job, settings};
use super::hook::TEAM;
use crate::kube::jobs;
use crate::process::{Process, until};
use crate::report;

/// How long a fault lasts.
const OUTAGE: Duration = Duration::from_secs(30);

/// How long everything may take to end after it.
const RECOVERY: Duration = Duration::from_mins(2);

/// How many workloads are under way.
const WORKLOADS: usize = 30;

pub(super) const POLICY_SERVER: &str = "policy-server";

/// What is done to a process of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    Killed,
    Restarted,
    Paused,
    /// It answers every 10 s. The API server waits for 5 s.
    Slow,
    /// It gets a certificate of another authority.
    Certificate,
    /// It is started with other settings.
    Settings,
    /// It is started with settings that list nobody who writes a status.
    Writers,
    /// It is killed, and the webhook has no conditions.
    Unconditional,
}

impl Fault {
    pub(super) fn begin(self, member: &mut Member, name: &str) -> Result<()> {
        match self {
            Self::Killed => signal(member, name, "KILL"),
            Self::Restarted => member.cluster.restart(),
            Self::Paused => signal(member, name, "STOP"),
            Self::Slow => (0..3).try_for_each(|_| {
                signal(member, name, "STOP")?;
                thread::sleep(Duration::from_secs(10));
                signal(member, name, "CONT")?;
                thread::sleep(Duration::from_secs(1));
                Ok(())
            }),
            Self::Certificate => member.hook.change_certificate(&member.cluster),
            Self::Settings => {
                let mut settings = settings(member.policy)?;
                settings["rules"] =
                    json!({"managed-by/reserved-domain": "deny", "managed-by/nested": "deny"});
                member.hook.serve(&settings)
            }
            Self::Writers => wrong_writers(member),
            Self::Unconditional => unconditional(member),
        }
    }

    pub(super) fn mend(self, member: &mut Member, name: &str) -> Result<()> {
        match self {
            Self::Killed if name != POLICY_SERVER => process(member, name).restart(),
            Self::Paused => signal(member, name, "CONT"),
            Self::Restarted | Self::Slow | Self::Certificate => Ok(()),
            Self::Killed | Self::Settings | Self::Writers | Self::Unconditional => {
                member.hook.apply(&member.cluster, |_| ())?;
                member.hook.serve(&settings(member.policy)?)
            }
        }
    }
}

fn process<'m>(member: &'m mut Member, name: &str) -> &'m mut Process {
    match name {
        "kube-apiserver" => &mut member.cluster.server,
        "etcd" => &mut member.cluster.store,
        "kube-controller-manager" => &mut member.controllers[0],
        "jobset" => &mut member.controllers[1],
        _ => &mut member.controllers[2],
    }
}

fn signal(member: &mut Member, name: &str, signal: &str) -> Result<()> {
    match name {
        POLICY_SERVER => member.hook.server.process()?.signal(signal),
        _ => process(member, name).signal(signal),
    }
}

fn wrong_writers(member: &mut Member) -> Result<()> {
    let nobody = json!(["system:serviceaccount:kueue-system:nobody"]);
    let mut settings = settings(member.policy)?;
    settings["standard_status_writers"] = json!({"Job": nobody});
    let controllers = settings["controllers"].as_object_mut();
    for (_, controller) in controllers.into_iter().flatten() {
        controller["status_writers"] = nobody.clone();
    }
    member.hook.serve(&settings)
}

/// Then every update of every Job waits for it.
fn unconditional(member: &mut Member) -> Result<()> {
    member.hook.apply(&member.cluster, |webhook| {
        webhook["matchConditions"] = json!([]);
    })?;
    member.hook.server.kill();
    let any = format!("{}/unconditional-0?dryRun=All", jobs(TEAM));
    let label = json!({"metadata": {"labels": {"a": "b"}}});
    until("refused label", Duration::from_secs(20), || {
        let answer = member.cluster.client(ANA).patch(&any, &label)?;
        Ok((answer.code == 500).then_some(()))
    })
}

/// A control, which shows what the conditions of the manifests spare.
const BY_NAME_ONLY: &str = "unconditional";

/// The faults of PolicyServer that run here, by name, each with the clusters that it comes to.
pub(super) const FAULTS: [(&str, &str, Fault, &[usize]); 5] = [
    (
        "hub",
        "PolicyServer of the hub is gone for 30 s",
        Fault::Killed,
        &[0],
    ),
    (
        BY_NAME_ONLY,
        "PolicyServer of the hub is gone for 30 s, and its webhook has no conditions",
        Fault::Unconditional,
        &[0],
    ),
    (
        "worker",
        "PolicyServer of the worker is gone for 30 s",
        Fault::Killed,
        &[1],
    ),
    (
        "restart",
        "both are started once more, with other settings",
        Fault::Settings,
        &[0, 1],
    ),
    (
        "writers",
        "settings with wrong writers for 30 s on both",
        Fault::Writers,
        &[0, 1],
    ),
];

/// Runs those that are named as `faults:hub`, or all of them where the part itself is wanted.
pub(super) fn run(fleet: &mut Fleet, only: &[&str]) {
    report::section("faults: 30 Jobs and JobSets each, and nothing is lost");
    let all = only.is_empty() || only.contains(&"faults");
    for (name, what, fault, clusters) in FAULTS {
        let is_named = only.contains(&&*format!("faults:{name}"));
        let is_wanted = is_named || all && name != BY_NAME_ONLY;
        if !is_wanted {
            continue;
        }
        let audits = fleet.members.each_ref().map(|m| m.cluster.audit());
        let counts = audits.map(|audit| audit.map_or(0, |audit| audit.len()));
        let outcome = under_way(fleet, name, fault, clusters);
        if let Some(count) = report::need(what, outcome) {
            report::note(&format!(
                "{count} of {WORKLOADS} were running when it began"
            ));
        }
        for (member, count) in fleet.members.iter().zip(counts) {
            let (audit, policy) = (member.cluster.audit(), member.policy);
            let denied = audit.map_or(0, |audit| audit.after(count).denied().count());
            report::note(&format!("{denied} requests were refused by {policy}.yml"));
        }
    }
}

/// A third is under way when the fault begins, a third is handed in during it, a third after it. This gives the number of
/// those that were running when it began.
fn under_way(fleet: &mut Fleet, name: &str, fault: Fault, clusters: &[usize]) -> Result<usize> {
    let numbers = 0..WORKLOADS;
    let workloads: Vec<_> = numbers.map(|number| workload(name, number)).collect();
    let third = WORKLOADS / 3;
    let [hub, worker] = fleet.members.each_ref().map(|m| m.cluster.client(ANA));
    for workload in &workloads[..third] {
        workload.submit(&hub)?;
    }
    // The one that runs longest.
    workloads[third - 1].runs(&worker)?;
    let mut running = 0;
    for workload in &workloads[..third] {
        // There may be no copy yet.
        let runs = workload.has_begun(&worker).is_ok_and(|runs| runs);
        running += usize::from(runs && !workload.is_over(&hub)?);
    }
    for cluster in clusters {
        fault.begin(&mut fleet.members[*cluster], POLICY_SERVER)?;
    }
    let start = Instant::now();
    let mut later = workloads[third..].iter();
    let mut next = later.next();
    while start.elapsed() < OUTAGE {
        // Whoever is refused tries again.
        if let Some(workload) = next
            && later.len() >= third
            && workload.try_submit(&hub)?
        {
            next = later.next();
        }
        thread::sleep(Duration::from_secs(1));
    }
    for cluster in clusters {
        let member = &mut fleet.members[*cluster];
        fault.mend(member, POLICY_SERVER).context("mending")?;
    }
    for workload in next.into_iter().chain(later) {
        workload.submit(&hub)?;
    }
    all_end(&hub, &workloads, RECOVERY)?;
    Ok(running)
}

/// Every third one is a JobSet. They run for a second to ten, so that many of them end while the fault lasts.
fn workload(fault: &str, number: usize) -> Workload {
    let run = json!({"e2e/run": (1000 + number % 10 * 1000).to_string()});
    let name = format!("{fault}-{number}");
    match number % 3 {
        2 => job_set(&name, &run, "Completed").queued(),
        _ => one_job(&name, &json!({}), &run, "Complete").queued(),
    }
}
