//! Work that is handed on: `deploy/management.yml` on the hub, `deploy/worker.yml` on the worker. The checks are in
//! `e2e/cluster/multikueue.yml`.

use std::time::Duration;

use anyhow::{Result, bail};
use serde_json::json;

use super::api_server::{ANA, ApiServer, JOB_CONTROLLER, JOBSET, KUEUE, MULTIKUEUE};
use super::fleet::Fleet;
use super::steps;
use crate::process::until;
use crate::report;

pub(crate) fn run(fleet: &Fleet) {
    report::section("multikueue: deploy/management.yml and deploy/worker.yml");
    let [hub, worker] = fleet.members.each_ref().map(|member| &member.cluster);
    let mut act = |name: &str| match name {
        "the API server has refused a write of Kueue's" => refused(hub),
        _ => bail!("no act {name}"),
    };
    let (both, name) = ([hub, worker], "multikueue");
    steps::run(&both, name, name, &json!({}), &mut act);
    // On the worker, Kueue only lets workloads start, which the API server does not ask about.
    let worker_users = [(JOB_CONTROLLER, 1), (JOBSET, 1), (MULTIKUEUE, 1)];
    for (name, cluster, users) in [
        ("hub", hub, &[(KUEUE, 1)][..]),
        ("worker", worker, &worker_users),
    ] {
        let Some(audit) = report::need(&format!("{name}: the audit log"), cluster.audit()) else {
            continue;
        };
        audit.quiet(name, users, ANA);
        let what = "a call for the creation of a Job, and one for each update of its status";
        let cost = audit.cost("important", true);
        if let Some((calls, _)) = report::need(&format!("{name}: {what}"), cost) {
            report::note(&format!("{calls} calls of the webhook"));
        }
    }
}

fn refused(hub: &ApiServer) -> Result<()> {
    until("refusal by the API server", Duration::from_secs(90), || {
        let audit = hub.audit()?;
        let refused = audit.by(KUEUE).any(|event| {
            let message = event["responseStatus"]["message"].as_str();
            event["objectRef"]["name"] == "stopped"
                && event["responseStatus"]["code"] == 422
                && message.is_some_and(|m| m.contains("spec.template: Invalid value"))
        });
        Ok(refused.then_some(()))
    })
}
