//! The built-in Job controller, with Jobs of every shape: it must never be denied.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::api_server::{ANA, ApiServer, JOB_CONTROLLER, USUAL, line};
use super::hook::{self, Hook};
use super::kubelet::Kubelet;
use super::people::TEAM;
use super::{controllers, hook::job};
use crate::deploy;
use crate::kube::{Client, done, jobs};
use crate::process::until;
use crate::programs;
use crate::report::Report;
use crate::tls::Authority;

/// How long one change may take.
const LIMIT: Duration = Duration::from_secs(30);

/// How a Job ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Complete,
    Failed,
    /// It is still running, or suspended, at the end.
    Never,
    /// It is gone.
    Gone,
}

/// A Job: its name, its spec, the annotations of its pods, and how it ends.
type Shape = (&'static str, Value, Value, End);

#[expect(clippy::too_many_lines, reason = "a table")]
fn shapes() -> Vec<Shape> {
    let indexed = |completions: u32, more: Value| {
        let mut spec = json!({"completions": completions, "parallelism": completions, "completionMode": "Indexed"});
        hook::merge(&mut spec, &more);
        spec
    };
    let none = || json!({});
    let fails = || json!({"e2e/exit": "1"});
    let forever = || json!({"e2e/run": "forever"});
    let policy = json!({"rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}]});
    let success = json!({"rules": [{"succeededIndexes": "0", "succeededCount": 1}]});
    vec![
        ("plain", none(), none(), End::Complete),
        (
            "three",
            json!({"completions": 3, "parallelism": 2}),
            none(),
            End::Complete,
        ),
        (
            "work-queue",
            json!({"parallelism": 3}),
            none(),
            End::Complete,
        ),
        (
            "no-completions",
            json!({"completions": 0}),
            none(),
            End::Complete,
        ),
        (
            "indexed",
            indexed(5, json!({"parallelism": 3})),
            none(),
            End::Complete,
        ),
        ("fails", json!({"backoffLimit": 0}), fails(), End::Failed),
        (
            "replaced-when-failed",
            json!({"backoffLimit": 0, "podReplacementPolicy": "Failed"}),
            fails(),
            End::Failed,
        ),
        (
            "per-index",
            indexed(4, json!({"backoffLimitPerIndex": 0})),
            json!({"e2e/fail-index": "1,3"}),
            End::Failed,
        ),
        (
            "max-failed-indexes",
            indexed(4, json!({"backoffLimitPerIndex": 0, "maxFailedIndexes": 1})),
            json!({"e2e/fail-index": "0,1,2"}),
            End::Failed,
        ),
        (
            "success-policy",
            indexed(4, json!({"successPolicy": success})),
            none(),
            End::Complete,
        ),
        (
            "pod-failure-policy",
            json!({"completions": 3, "parallelism": 3, "podFailurePolicy": policy}),
            json!({"e2e/exit": "42"}),
            End::Failed,
        ),
        (
            "deadline",
            json!({"activeDeadlineSeconds": 2}),
            forever(),
            End::Failed,
        ),
        (
            "time-to-live",
            json!({"ttlSecondsAfterFinished": 1}),
            none(),
            End::Gone,
        ),
        (
            "suspended",
            json!({"suspend": true, "completions": 2}),
            none(),
            End::Complete,
        ),
        (
            "suspended-for-good",
            json!({"suspend": true}),
            none(),
            End::Never,
        ),
        (
            "suspended-midway",
            json!({"completions": 2, "parallelism": 2}),
            json!({"e2e/run": "4000"}),
            End::Complete,
        ),
        (
            "elastic",
            indexed(4, none()),
            json!({"e2e/run": "2000"}),
            End::Complete,
        ),
        (
            "deleted",
            json!({"completions": 2, "parallelism": 2}),
            forever(),
            End::Gone,
        ),
        (
            "reserved",
            json!({"managedBy": "kubernetes.io/job-controller"}),
            none(),
            End::Complete,
        ),
        (
            "delegated",
            json!({"managedBy": "kueue.x-k8s.io/multikueue"}),
            none(),
            End::Never,
        ),
    ]
}

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
            let kubelet = Kubelet::start(&cluster);
            Ok((cluster, hook, manager, kubelet))
        });
    let Some((cluster, hook, _manager, _kubelet)) =
        report.need("deploy/hybrid.yml is in force", started)
    else {
        return;
    };
    let ana = cluster.client(ANA);
    report.check("Jobs of 20 shapes are created", create(&ana));
    report.check("a CronJob is created", cron_job(&ana));
    report.check(
        "suspended, resumed, scaled and deleted midway",
        midway(&ana),
    );
    for (name, _, _, end) in shapes() {
        report.check(&format!("{name}: {end:?}"), ended(&ana, name, end));
    }
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
    ended(&ana, &name, End::Complete)?;
    done(ana.delete(&path)?)?;
    ended(&ana, &name, End::Gone)?;
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

fn create(ana: &Client) -> Result<()> {
    for (name, spec, annotations, _) in shapes() {
        let mut job = job(TEAM, name, &spec);
        job["spec"]["template"]["metadata"]["annotations"] = annotations;
        let answer = ana.post(&jobs(TEAM), &job)?;
        let warnings = answer.warnings.clone();
        done(answer)?;
        ensure!(warnings.is_empty(), "{name}: {warnings:?}");
    }
    Ok(())
}

fn cron_job(ana: &Client) -> Result<()> {
    let spec = job(TEAM, "x", &json!({}))["spec"].take();
    let cron = json!({
        "apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "cron"},
        "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": spec}},
    });
    done(ana.post("/apis/batch/v1/namespaces/team-a/cronjobs", &cron)?)?;
    Ok(())
}

/// What people do to Jobs that run.
fn midway(ana: &Client) -> Result<()> {
    let patch = |name: &str, spec: Value| {
        let path = format!("{}/{name}", jobs(TEAM));
        done(ana.patch(&path, &json!({"spec": spec}))?)
    };
    until_status(ana, "suspended-midway", |status| status["ready"] == 2)?;
    patch("suspended-midway", json!({"suspend": true}))?;
    patch("suspended", json!({"suspend": false}))?;
    patch("elastic", json!({"completions": 2, "parallelism": 2}))?;
    until_status(ana, "deleted", |status| status["ready"] == 2)?;
    done(ana.delete(&format!("{}/deleted", jobs(TEAM)))?)?;
    until_status(ana, "suspended-midway", |status| {
        has(status, "Suspended") && status["active"].is_null()
    })?;
    patch("suspended-midway", json!({"suspend": false}))?;
    Ok(())
}

fn until_status(ana: &Client, name: &str, holds: impl Fn(&Value) -> bool) -> Result<()> {
    let path = format!("{}/{name}", jobs(TEAM));
    until(&format!("such status of {name}"), LIMIT, || {
        let status = done(ana.get(&path)?)?["status"].take();
        ensure!(holds(&status), "{status}");
        Ok(Some(()))
    })
}

/// Whether a condition is true.
pub(crate) fn has(status: &Value, condition: &str) -> bool {
    let conditions = status["conditions"].as_array().into_iter().flatten();
    conditions
        .into_iter()
        .any(|c| c["type"] == condition && c["status"] == "True")
}

fn ended(ana: &Client, name: &str, end: End) -> Result<()> {
    let path = format!("{}/{name}", jobs(TEAM));
    until(&format!("{end:?}"), LIMIT, || {
        let answer = ana.get(&path)?;
        let status = &answer.body["status"];
        let holds = match end {
            End::Gone => answer.code == 404,
            End::Complete => has(status, "Complete"),
            End::Failed => has(status, "Failed"),
            End::Never => {
                let over = has(status, "Complete") || has(status, "Failed");
                ensure!(!over, "{status}");
                answer.code == 200
            }
        };
        Ok(holds.then_some(()))
    })
}
