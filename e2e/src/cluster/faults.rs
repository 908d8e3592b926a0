//! What may go wrong with the policy while work is under way. Whatever it was: nothing is lost.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::api_server::ANA;
use super::fleet::{Fleet, TEAM, Workload, all_end, queued_job, queued_set, settings};
use crate::kube::jobs;
use crate::process::until;
use crate::report::Report;

/// How long a fault lasts.
const OUTAGE: Duration = Duration::from_secs(30);

/// How long everything may take to end after it.
const RECOVERY: Duration = Duration::from_mins(2);

/// How many workloads are under way.
const WORKLOADS: usize = 30;

/// The names of the faults.
pub(crate) const NAMES: [&str; 5] = ["hub", BY_NAME_ONLY, "worker", "restart", "writers"];

/// A control, which shows what the conditions of the manifests spare.
pub(crate) const BY_NAME_ONLY: &str = "unconditional";

/// A fault: its name, what it is, how it begins and how it is mended.
type Fault = (
    &'static str,
    &'static str,
    fn(&mut Fleet) -> Result<()>,
    fn(&mut Fleet) -> Result<()>,
);

const FAULTS: [Fault; 5] = [
    (
        "hub",
        "PolicyServer of the hub is gone for 30 s",
        no_hub,
        mend,
    ),
    (
        BY_NAME_ONLY,
        "PolicyServer of the hub is gone for 30 s, and its webhook has no conditions",
        no_hub_nor_conditions,
        mend,
    ),
    (
        "worker",
        "PolicyServer of the worker is gone for 30 s",
        no_worker,
        mend,
    ),
    (
        "restart",
        "both are started once more, with other settings",
        other_settings,
        mend,
    ),
    (
        "writers",
        "settings with wrong writers for 30 s on both",
        wrong_writers,
        mend,
    ),
];

/// Runs the faults that are wanted by name.
pub(crate) fn run(report: &mut Report, fleet: &mut Fleet, wanted: &dyn Fn(&str) -> bool) {
    report.section("faults: 30 Jobs and JobSets each, and nothing is lost");
    for (name, what, begin, end) in FAULTS.into_iter().filter(|fault| wanted(fault.0)) {
        let (before, during) = (fleet.hub.cluster.audit(), fleet.worker.cluster.audit());
        let counts = (before.map(|a| a.len()), during.map(|a| a.len()));
        let outcome = fault(fleet, name, begin, end);
        let under_way = report.need(what, outcome);
        if let Some(count) = under_way {
            report.note(&format!(
                "{count} of {WORKLOADS} were running when it began"
            ));
        }
        if let (Ok(hub), Ok(worker)) = counts {
            for (name, member, count) in
                [("hub", &fleet.hub, hub), ("worker", &fleet.worker, worker)]
            {
                let denied = member
                    .cluster
                    .audit()
                    .map(|a| a.after(count).denied().count());
                report.note(&format!(
                    "{} requests were refused on the {name}",
                    denied.unwrap_or_default()
                ));
            }
        }
        if under_way.is_none() {
            report.note("what was lost stays as it is; the next fault has workloads of its own");
        }
    }
}

/// A third is under way when the fault begins, a third is handed in during it, a third after it. This gives the number of
/// those that were running when it began.
fn fault(
    fleet: &mut Fleet,
    name: &str,
    begin: fn(&mut Fleet) -> Result<()>,
    repair: fn(&mut Fleet) -> Result<()>,
) -> Result<usize> {
    let workloads: Vec<_> = (0..WORKLOADS)
        .map(|number| workload(name, number))
        .collect();
    let third = WORKLOADS / 3;
    for workload in &workloads[..third] {
        workload.submit(&fleet.hub.cluster)?;
    }
    // The one that runs longest.
    workloads[third - 1].runs(&fleet.worker.cluster)?;
    let (hub, worker) = (
        fleet.hub.cluster.client(ANA),
        fleet.worker.cluster.client(ANA),
    );
    let mut running = 0;
    for workload in &workloads[..third] {
        // There may be no copy yet.
        let runs = workload.has_begun(&worker).is_ok_and(|runs| runs);
        running += usize::from(runs && !workload.is_over(&hub)?);
    }
    begin(fleet).context("the fault")?;
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
    repair(fleet).context("mending")?;
    for workload in next.into_iter().chain(later) {
        workload.submit(&fleet.hub.cluster)?;
    }
    all_end(&fleet.hub.cluster, &workloads, RECOVERY)?;
    Ok(running)
}

/// Every third one is a JobSet. They run for a second to ten, so that many of them end while the fault lasts.
fn workload(fault: &str, number: usize) -> Workload {
    let run = json!({"e2e/run": (1000 + number % 10 * 1000).to_string()});
    let name = format!("{fault}-{number}");
    match number % 3 {
        2 => queued_set(&name, &run, "Completed"),
        _ => queued_job(&name, &json!({}), &run, "Complete"),
    }
}

#[expect(clippy::unnecessary_wraps, reason = "as the other faults")]
fn no_hub(fleet: &mut Fleet) -> Result<()> {
    fleet.hub.hook.kill();
    Ok(())
}

/// Then every update of every Job waits for it.
fn no_hub_nor_conditions(fleet: &mut Fleet) -> Result<()> {
    let hub = &mut fleet.hub;
    hub.hook.apply(&hub.cluster, |webhook| {
        webhook["matchConditions"] = json!([]);
    })?;
    hub.hook.kill();
    let any = format!("{}/unconditional-0?dryRun=All", jobs(TEAM));
    let label = json!({"metadata": {"labels": {"a": "b"}}});
    until("refused label", Duration::from_secs(20), || {
        let answer = hub.cluster.client(ANA).patch(&any, &label)?;
        Ok((answer.code == 500).then_some(()))
    })
}

#[expect(clippy::unnecessary_wraps, reason = "as the other faults")]
fn no_worker(fleet: &mut Fleet) -> Result<()> {
    fleet.worker.hook.kill();
    Ok(())
}

/// The settings of `deploy/` once more, and its webhook.
fn mend(fleet: &mut Fleet) -> Result<()> {
    fleet.hub.hook.apply(&fleet.hub.cluster, |_| ())?;
    fleet.hub.hook.serve(&settings("management")?)?;
    fleet.worker.hook.serve(&settings("worker")?)
}

fn both(fleet: &mut Fleet, change: impl Fn(&mut Value)) -> Result<()> {
    let (mut hub, mut worker) = (settings("management")?, settings("worker")?);
    change(&mut hub);
    change(&mut worker);
    fleet.hub.hook.serve(&hub)?;
    fleet.worker.hook.serve(&worker)
}

fn other_settings(fleet: &mut Fleet) -> Result<()> {
    both(fleet, |settings| {
        settings["rules"] =
            json!({"managed-by/reserved-domain": "deny", "managed-by/nested": "deny"});
    })
}

fn wrong_writers(fleet: &mut Fleet) -> Result<()> {
    const NOBODY: &str = "system:serviceaccount:kueue-system:nobody";
    both(fleet, |settings| {
        settings["standard_status_writers"] = json!({"Job": [NOBODY]});
        for controller in settings["controllers"]
            .as_object_mut()
            .into_iter()
            .flatten()
        {
            controller.1["status_writers"] = json!([NOBODY]);
        }
    })
}
