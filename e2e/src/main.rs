//! Runs the policy behind kube-apiserver, on loopback, with its own
//! controllers, and controllers that workloads are delegated to.
//!
//! `docs/testing.md` says what is checked, and where the programs come from.

#![expect(clippy::print_stdout, reason = "a report is what this program is for")]
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "no input of a stranger reaches this program, and a panic of it is a failed run"
)]

mod cluster;
mod commands;
mod deploy;
mod http;
mod kube;
mod kubelet;
mod kubewarden;
mod load;
mod policy_server;
mod process;
mod programs;
mod report;
mod tls;

use std::env;
use std::fs;
use std::process::ExitCode;
use std::sync::LazyLock;

use anyhow::{Result, bail};

fn main() -> Result<ExitCode> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let words: Vec<_> = arguments.iter().map(String::as_str).collect();
    LazyLock::force(&report::STARTED);
    // Where the servers keep what they need and what they print. It goes with the run, unless `KEEP` is set.
    let folder = tempfile::Builder::new()
        .prefix("managed-by-e2e-")
        .tempdir()?;
    // Interrupted, it still leaves nothing behind; the servers end with it.
    let path = folder.path().to_owned();
    ctrlc::set_handler(move || {
        // What a server is writing may be in the way.
        let _ = fs::remove_dir_all(&path);
        std::process::exit(130);
    })?;
    match &words[..] {
        ["cluster", parts @ ..] => {
            if let Some(unknown) = parts.iter().find(|p| !cluster::is_part(p)) {
                bail!("no part {unknown}: {}", cluster::PARTS.join(", "));
            }
            cluster::run(folder.path(), parts)
        }
        ["kubewarden", parts @ ..] => kubewarden::run(folder.path(), parts),
        _ => bail!("managed-by-e2e cluster [PART...] | kubewarden [PART...]"),
    };
    if env::var_os("KEEP").is_some() {
        println!("\nlogs are in {}", folder.keep().display());
    }
    Ok(report::finish())
}
