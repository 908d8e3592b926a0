//! kube-apiserver 1.30 as it is by default: without the feature `JobManagedBy` it drops the field of a Job before it asks
//! anybody. The checks are in `e2e/cluster/people.yml`.

use std::path::Path;

use anyhow::bail;

use super::api_server::{OLDEST, Options};
use super::hook::Hook;
use super::{controllers, steps};
use crate::deploy;
use crate::programs;
use crate::report::Report;
use crate::tls::Authority;

const AS_SHIPPED: Options = Options {
    feature_gates: None,
    ..OLDEST
};

pub(super) fn run(report: &mut Report, folder: &Path, authority: &Authority) {
    report.section("ends: kube-apiserver-1.30.14 without JobManagedBy");
    let needed = [AS_SHIPPED.program, "kube-controller-manager"];
    if !programs::all_there(report, "ends", &needed) {
        return;
    }
    let folder = folder.join("dropped");
    let started =
        Hook::in_front(&folder, "management", authority, AS_SHIPPED).and_then(|(cluster, hook)| {
            let manager = controllers::manager_with(&cluster, &controllers::AS_OLD)?;
            Ok((cluster, hook, manager))
        });
    let Some((cluster, mut hook, _manager)) =
        report.need("deploy/management.yml is in force", started)
    else {
        return;
    };
    let mut act = |name: &str, _: &mut Vec<String>| match name {
        "hybrid" => hook.serve(&deploy::settings("hybrid", AS_SHIPPED.release, &[])?),
        _ => bail!("no act {name}"),
    };
    steps::run(report, &cluster, "people", "dropped", &mut act);
}
