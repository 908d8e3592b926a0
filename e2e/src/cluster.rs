//! `make e2e-cluster`: the policy behind a real kube-apiserver, with the controllers that write there.

mod alone;
pub(crate) mod api_server;
mod audit;
pub(crate) mod controllers;
mod faults;
mod fleet;
pub(crate) mod hook;
mod jobs;
pub(crate) mod modules;
mod multikueue;
mod resume;
mod soak;
mod steps;
mod tenant;

use std::path::Path;

use api_server::{NEWEST, OLDEST, USUAL};
use fleet::Fleet;

use crate::programs;
use crate::report;
use crate::tls::Authority;

/// The parts, in the order in which they run.
pub(crate) const PARTS: [&str; 11] = [
    "people",
    "external",
    "failures",
    "conditions",
    "ends",
    "tenant",
    "jobs",
    "resume",
    "multikueue",
    "faults",
    "soak",
];

/// Whether a word names a part, or one of the faults as `faults:hub`.
pub(crate) fn is_part(word: &str) -> bool {
    match word.split_once(':') {
        Some((part, fault)) => {
            part == "faults" && faults::FAULTS.iter().any(|known| known.0 == fault)
        }
        None => PARTS.contains(&word),
    }
}

/// Runs the parts that are named, all of them if none is.
pub(crate) fn run(folder: &Path, only: &[&str]) -> Option<()> {
    let wanted = |part: &str| {
        let names = |word: &&str| word.split(':').next() == Some(part);
        only.is_empty() || only.iter().any(names)
    };
    let needed = ["etcd", "kube-apiserver", "policy-server"];
    programs::all_there("cluster", &needed)?;
    report::section("versions");
    for name in needed {
        report::note(&programs::version(name));
    }
    let authority = &report::need("a certificate for the run", Authority::new())?;
    if alone::PARTS.iter().any(|(part, _)| wanted(part)) {
        alone::run(folder, authority, USUAL, &wanted);
    }
    if wanted("ends") {
        let parts = |part: &str| ["failures", "conditions"].contains(&part);
        for end in [OLDEST, NEWEST] {
            alone::run(folder, authority, end, &parts);
        }
        alone::dropped(folder, authority);
    }
    if wanted("tenant") {
        tenant::run(folder, authority);
    }
    if wanted("jobs") {
        jobs::run(folder, authority);
    }
    if wanted("resume") {
        resume::run(folder, authority);
    }
    if wanted("multikueue") || wanted("faults") {
        report::section("two clusters");
        if let Some(mut fleet) =
            Fleet::needed("multikueue and faults", &folder.join("fleet"), authority)
        {
            if wanted("multikueue") {
                multikueue::run(&fleet);
            }
            if wanted("faults") {
                faults::run(&mut fleet, only);
            }
        }
    }
    if wanted("soak") {
        soak::run(folder, authority);
    }
    Some(())
}
