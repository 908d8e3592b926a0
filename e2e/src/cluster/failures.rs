//! What `failurePolicy` does while no PolicyServer answers.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::api_server::{ANA, ApiServer};
use super::hook::{Hook, job};
use super::people::{MULTIKUEUE, TEAM, expect};
use crate::kube::{done, jobs};
use crate::report::Report;

pub(super) fn run(report: &mut Report, cluster: &ApiServer, hook: &mut Hook, settings: &Value) {
    report.section("failures: no PolicyServer answers");
    let ana = cluster.client(ANA);
    let prepared = ["kept", "gone"].iter().try_for_each(|name| {
        let spec = json!({"managedBy": MULTIKUEUE, "suspend": true});
        ana.create(&jobs(TEAM), &job(TEAM, &format!("failure-{name}"), &spec))
            .map(drop)
    });
    if !report.check("two Jobs while it answers", prepared) {
        return;
    }
    hook.kill();
    let create = |name: &str| ana.post(&jobs(TEAM), &job(TEAM, name, &json!({})));
    report.check("Fail: nothing is created, and the client is told why", {
        create("refused").and_then(|answer| expect(&answer, 500, &["failed calling webhook"]))
    });
    report.check("Fail: what is there can be deleted", {
        ana.delete(&format!("{}/failure-gone", jobs(TEAM)))
            .and_then(|answer| expect(&answer, 200, &[]))
    });
    report.check("Ignore: Jobs are created unjudged", ignored(cluster, hook));
    report.check(
        "it answers again, and judges",
        back(cluster, hook, settings),
    );
    report.check("what was there is still there", {
        ana.get(&format!("{}/failure-kept", jobs(TEAM)))
            .and_then(|answer| done(answer).map(drop))
    });
}

fn ignored(cluster: &ApiServer, hook: &Hook) -> Result<()> {
    hook.apply(cluster, |webhook| {
        webhook["failurePolicy"] = "Ignore".into();
    })?;
    let ana = cluster.client(ANA);
    let typo = job(
        TEAM,
        "unjudged",
        &json!({"managedBy": "kubernetes.io/job-controler", "suspend": true}),
    );
    // The API server learns of the change a little later.
    crate::process::until("creation", std::time::Duration::from_secs(20), || {
        let answer = ana.post(&jobs(TEAM), &typo)?;
        expect(&answer, 201, &[])?;
        Ok(Some(()))
    })?;
    let audit = cluster.audit()?;
    let judged = audit
        .last("unjudged")
        .and_then(|e| super::api_server::annotation(e, "mode"));
    ensure!(judged.is_none(), "it was judged");
    Ok(())
}

fn back(cluster: &ApiServer, hook: &mut Hook, settings: &Value) -> Result<()> {
    hook.serve(settings)?;
    hook.apply(cluster, |_| ())?;
    Hook::in_force(cluster)?;
    let typo = job(
        TEAM,
        "judged",
        &json!({"managedBy": "kubernetes.io/job-controler"}),
    );
    let answer = cluster.client(ANA).post(&jobs(TEAM), &typo)?;
    expect(&answer, 422, &["reserved-domain"])
}
