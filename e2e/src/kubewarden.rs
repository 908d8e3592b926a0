//! `make e2e-kubewarden`: Kubewarden's own controller applies `deploy/`, and its audit scanner reports.
//!
//! All of it runs in a network namespace with nothing but loopback, where a registry of this machine answers as `ghcr.io`. The
//! checks are commands in `e2e/kubewarden/checks.yml`, and most of them hold a sentence of the docs against what happens.

mod install;
mod node;

use std::env;
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Error;
use install::World;

use crate::report;
use crate::{commands, programs};

const CHECKS: &str = "e2e/kubewarden/checks.yml";

const PROGRAMS: [&str; 16] = [
    "kubewarden-controller",
    "audit-scanner",
    "policy-server",
    "kwctl",
    "kube-apiserver",
    "kube-controller-manager",
    "kubectl",
    "etcd",
    "docker-registry",
    "unshare",
    "mount",
    "ip",
    "bash",
    "curl",
    "jq",
    "openssl",
];

/// Where the manifests of Kubewarden's charts are.
const MANIFESTS: &str = "KUBEWARDEN_MANIFESTS";

/// How it gets a network and an `/etc/hosts` of its own.
const NAMESPACES: [&str; 5] = ["--net", "--mount", "--propagation", "private", "--"];

/// Set in the network namespace.
const INSIDE: &str = "MANAGED_BY_E2E_INSIDE";

/// Runs the parts that are named, all of them if none is.
pub(crate) fn run(folder: &Path, only: &[&str]) -> Option<()> {
    programs::all_there("kubewarden", &PROGRAMS)?;
    let Some(charts) = env::var_os(MANIFESTS).map(PathBuf::from) else {
        report::skip("kubewarden", &format!("{MANIFESTS} names no folder"));
        return None;
    };
    if env::var_os(INSIDE).is_none() {
        let mut allowed = Command::new("unshare");
        allowed.args(NAMESPACES).arg("true").stderr(Stdio::null());
        if !allowed.status().is_ok_and(|status| status.success()) {
            report::skip("kubewarden", "`unshare --net --mount` needs root");
            return None;
        }
        return report::need("a network namespace", Err(enter(folder, only)));
    }
    let parts = report::need(CHECKS, commands::parts(CHECKS, only))?;
    for name in ["policy-server", "kube-apiserver"] {
        report::note(&programs::version(name));
    }
    let started = World::start(folder, &charts);
    let world = report::need(
        "Kubewarden is installed, and its PolicyServer is ready",
        started,
    )?;
    for part in parts {
        report::section(&part.title);
        if report::check("no policy is left", world.shell.run("clean")) {
            world.shell.checks(part);
        }
    }
    Some(())
}

/// Runs this program again where nothing but loopback is. It comes back only if that fails.
fn enter(folder: &Path, only: &[&str]) -> Error {
    // Inside, it makes one of its own.
    let _ = fs::remove_dir(folder);
    let own = env::current_exe().unwrap_or_default();
    let mut command = Command::new("unshare");
    for proxy in ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"] {
        command.env_remove(proxy);
    }
    command.args(NAMESPACES);
    command.arg(own).arg("kubewarden").args(only);
    command.env(INSIDE, "1").exec().into()
}
