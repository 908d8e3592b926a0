//! `make e2e-cluster`: the policy behind a real kube-apiserver, with the controllers that write there.

mod api_server;
mod controllers;
mod hook;
mod jobs;
mod kubelet;

use std::path::Path;

use crate::programs;
use crate::report::Report;
use crate::tls::Authority;

/// The parts, in the order in which they run.
pub(crate) const PARTS: [&str; 6] = [
    "people",
    "external",
    "failures",
    "jobs",
    "multikueue",
    "faults",
];

/// Runs the parts that are named, all of them if none is.
pub(crate) fn run(report: &mut Report, folder: &Path, only: &[&str]) {
    let wanted = |part: &str| only.is_empty() || only.contains(&part);
    let needed = ["etcd", "kube-apiserver", "policy-server"];
    if !programs::all_there(report, "cluster", &needed) {
        return;
    }
    report.section("versions");
    for name in needed {
        report.note(&programs::version(name));
    }
    let Some(authority) = report.need("a certificate for the run", Authority::new()) else {
        return;
    };
    if wanted("jobs") {
        jobs::run(report, folder, &authority);
    }
}
