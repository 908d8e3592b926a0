//! The parts that need no controllers, with `deploy/hybrid.yml`'s settings behind `deploy/webhook.yml`. The checks are in
//! `e2e/cluster/people.yml`.

use std::path::Path;

use anyhow::{Result, bail, ensure};
use serde_json::json;

use super::api_server::{ApiServer, OLDEST, Options, USUAL};
use super::hook::{Hook, TEAM};
use super::{controllers, modules, steps};
use crate::deploy;
use crate::programs;
use crate::report;
use crate::tls::Authority;

/// Each with its title.
pub(super) const PARTS: [(&str, &str); 4] = [
    ("people", "what they do to their workloads"),
    ("external", "a stand-in for an external controller"),
    // What `failurePolicy` does, and what the `matchConditions` of the manifests spare.
    ("failures", "no PolicyServer answers"),
    ("conditions", "what the API server does not ask about"),
];

/// Runs those that are wanted.
pub(super) fn run(
    folder: &Path,
    authority: &Authority,
    options: Options,
    wanted: &dyn Fn(&str) -> bool,
) -> Option<()> {
    programs::all_there("ends", &[options.program])?;
    report::section(&format!(
        "deploy/hybrid.yml behind deploy/webhook.yml, in {}",
        programs::version(options.program)
    ));
    let folder = folder.join(options.program);
    let projects = ["appwrapper", "training-operator"];
    let started = deploy::settings("hybrid", options.release, &projects).and_then(|settings| {
        let cluster = ApiServer::start(&folder, authority, options)?;
        // Everybody delegates as they like in the first one, and must in the second one.
        cluster.namespaces(&[TEAM, "team-example"])?;
        modules::bare(&cluster, &["AppWrapper", "PyTorchJob"])?;
        let none = json!({});
        steps::run(&[&cluster], "people", "before", &none, &mut steps::no_act);
        let hook = Hook::start(&cluster, &settings, &projects)?;
        Ok((cluster, hook, settings))
    });
    let (cluster, mut hook, settings) = report::need("they are in force", started)?;
    for (part, title) in PARTS.into_iter().filter(|(part, _)| wanted(part)) {
        report::section(&format!("{part}: {title}"));
        if part == "conditions" {
            // Those of hybrid.yml stay.
            for name in ["management", "worker", "namespace", "pods", "hybrid"] {
                report::check(
                    &format!("deploy/{name}.yml: its conditions compile"),
                    conditions(&cluster, &hook, name),
                );
            }
        }
        let mut act = |name: &str| match name {
            "no PolicyServer" => {
                hook.server.kill();
                Ok(())
            }
            "Ignore" => hook.apply(&cluster, |webhook| {
                webhook["failurePolicy"] = "Ignore".into();
            }),
            "PolicyServer again" => {
                hook.serve(&settings)?;
                hook.apply(&cluster, |_| ())?;
                Hook::in_force(&cluster)
            }
            _ => bail!("no act {name}"),
        };
        steps::run(&[&cluster], "people", part, &json!({}), &mut act);
    }
    Some(())
}

/// Applies the conditions of `deploy/NAME.yml`.
fn conditions(cluster: &ApiServer, hook: &Hook, name: &str) -> Result<()> {
    let list = deploy::spec(name, &[])?["matchConditions"].take();
    ensure!(list.is_array(), "no matchConditions");
    hook.apply(cluster, |webhook| webhook["matchConditions"] = list)
}

const AS_SHIPPED: Options = Options {
    arguments: USUAL.arguments,
    ..OLDEST
};

/// kube-apiserver 1.30 as it is by default: without the feature `JobManagedBy` it drops the field of a Job before it asks anybody.
pub(super) fn dropped(folder: &Path, authority: &Authority) -> Option<()> {
    report::section(&format!(
        "ends: {} without JobManagedBy",
        AS_SHIPPED.program
    ));
    let needed = [AS_SHIPPED.program, "kube-controller-manager"];
    programs::all_there("ends", &needed)?;
    let folder = folder.join("dropped");
    let started =
        Hook::in_front(&folder, "management", authority, AS_SHIPPED).and_then(|(cluster, hook)| {
            let manager = controllers::manager(&cluster, &controllers::AS_OLD)?;
            Ok((cluster, hook, manager))
        });
    let (cluster, mut hook, _manager) = report::need("deploy/management.yml is in force", started)?;
    let mut act = |name: &str| match name {
        "hybrid" => hook.serve(&deploy::settings("hybrid", AS_SHIPPED.release, &[])?),
        _ => bail!("no act {name}"),
    };
    steps::run(&[&cluster], "people", "dropped", &json!({}), &mut act);
    Some(())
}
