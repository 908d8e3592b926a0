//! Runs the policy in the programs that its users run, on loopback: kwctl, PolicyServer, kube-apiserver with its own
//! controllers, and controllers that workloads are delegated to.
//!
//! `docs/testing.md` says what is checked, and where the programs come from.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a report is what this program is for"
)]
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "no input of a stranger reaches this program, and a panic of it is a failed run"
)]

mod cluster;
mod deploy;
mod http;
mod kube;
mod kubewarden;
mod kwctl;
mod load;
mod policy_server;
mod process;
mod programs;
mod report;
mod server;
mod tls;

use std::env;
use std::process::ExitCode;

use anyhow::Result;
use report::Report;
use tempfile::TempDir;

const USAGE: &str =
    "managed-by-e2e kwctl | server | doors | cluster [PART...] | kubewarden [PART...]";

fn main() -> ExitCode {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let words: Vec<_> = arguments.iter().map(String::as_str).collect();
    let mut report = Report::new();
    let folder = match folder() {
        Ok(folder) => folder,
        Err(error) => {
            eprintln!("no folder for the run: {error:#}");
            return ExitCode::FAILURE;
        }
    };
    // Interrupted, it still leaves nothing behind; the servers end with it.
    let path = folder.path().to_owned();
    let stopped = ctrlc::set_handler(move || {
        // What a server is writing may be in the way.
        let _ = std::fs::remove_dir_all(&path);
        std::process::exit(130);
    });
    if let Err(error) = stopped {
        eprintln!("signals are not handled: {error}");
    }
    match &words[..] {
        ["kwctl"] => kwctl::run(&mut report, folder.path()),
        ["server"] => server::run(&mut report, folder.path()),
        ["doors"] => {
            server::doors(&mut report, folder.path());
            kwctl::doors(&mut report, folder.path(), 200);
        }
        ["cluster", parts @ ..] => {
            if let Some(unknown) = parts.iter().find(|p| !cluster::is_part(p)) {
                eprintln!("no part {unknown}: {}", cluster::PARTS.join(", "));
                return ExitCode::from(2);
            }
            cluster::run(&mut report, folder.path(), parts);
        }
        ["kubewarden", parts @ ..] => kubewarden::run(&mut report, folder.path(), parts),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    }
    if env::var_os("KEEP").is_some() {
        println!("\nlogs are in {}", folder.keep().display());
    }
    report.finish()
}

/// Where the servers keep what they need and what they print. It goes with the run, unless `KEEP` is set.
fn folder() -> Result<TempDir> {
    Ok(tempfile::Builder::new()
        .prefix("managed-by-e2e-")
        .tempdir()?)
}
