//! What happens while no PolicyServer answers: what `failurePolicy` does, and what the `matchConditions` of the manifests spare. The
//! checks are in `e2e/cluster/people.yml`.

use anyhow::{Result, bail, ensure};
use serde_json::Value;

use super::api_server::ApiServer;
use super::hook::Hook;
use super::steps;
use crate::deploy;
use crate::report::Report;

pub(super) fn run(report: &mut Report, cluster: &ApiServer, hook: &mut Hook, settings: &Value) {
    report.section("failures: no PolicyServer answers");
    checks(report, cluster, hook, settings, "failures");
}

pub(super) fn conditions(
    report: &mut Report,
    cluster: &ApiServer,
    hook: &mut Hook,
    settings: &Value,
) {
    report.section("conditions: what the API server does not ask about");
    // Those of hybrid.yml stay.
    for (name, what) in [
        ("management", "its conditions compile"),
        ("worker", "its conditions compile"),
        ("namespace", "its conditions compile"),
        ("pods", "its condition compiles"),
        ("hybrid", "its conditions compile"),
    ] {
        report.check(
            &format!("deploy/{name}.yml: {what}"),
            apply(cluster, hook, name),
        );
    }
    checks(report, cluster, hook, settings, "conditions");
}

fn checks(report: &mut Report, cluster: &ApiServer, hook: &mut Hook, settings: &Value, part: &str) {
    let mut act = |name: &str, _: &mut Vec<String>| match name {
        "no PolicyServer" => {
            hook.kill();
            Ok(())
        }
        "Ignore" => hook.apply(cluster, |webhook| {
            webhook["failurePolicy"] = "Ignore".into();
        }),
        "PolicyServer again" => {
            hook.serve(settings)?;
            hook.apply(cluster, |_| ())?;
            Hook::in_force(cluster)
        }
        _ => bail!("no act {name}"),
    };
    steps::run(report, cluster, "people", part, &mut act);
}

/// Applies the conditions of `deploy/NAME.yml`.
fn apply(cluster: &ApiServer, hook: &Hook, name: &str) -> Result<()> {
    let list = deploy::spec(name)?["matchConditions"].take();
    ensure!(list.is_array(), "no matchConditions");
    hook.apply(cluster, |webhook| webhook["matchConditions"] = list)
}
