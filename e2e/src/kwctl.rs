//! `make e2e`: kwctl judges what the library has judged, and does with the module what the README says (`e2e/kwctl.yml`).

use std::fs;
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};
use managed_by_testing::answers::{self, Line};
use serde_json::{Value, json};

use crate::commands::{self, Shell};
use crate::deploy::{MODULE, POLICIES, root};
use crate::policy_server::review;
use crate::process::{Process, free_port};
use crate::report;
use crate::{load, programs};

const CHECKS: &str = "e2e/kwctl.yml";

/// Everything that kwctl is used for.
pub(crate) fn run(folder: &Path) -> Option<()> {
    programs::all_there("kwctl", &["kwctl", "jq"])?;
    report::section(&programs::version("kwctl"));
    doors(folder, 20);
    let mut shell = Shell {
        folder: folder.to_owned(),
        environment: vec![("POLICIES", POLICIES.join(" "))],
    };
    // The checks that need it say so.
    let mut _registry = None;
    if programs::find("docker-registry").is_some() {
        let started = free_port().and_then(|port| {
            let host = format!("127.0.0.1:{port}");
            Ok((registry(folder, &json!({"addr": host}), &host)?, host))
        });
        let (process, host) = report::need("a registry answers", started)?;
        _registry = Some(process);
        shell.environment.push(("HOST", host));
    }
    let parts = report::need(CHECKS, commands::parts(CHECKS, &[]))?;
    for part in parts {
        report::section(&part.title);
        shell.checks(part);
    }
    Some(())
}

/// `make doors`: so many of the requests with the library's answers, from all of them. Each is a process that compiles the module.
pub(crate) fn doors(folder: &Path, requests: usize) -> Option<()> {
    programs::all_there("kwctl", &["kwctl"])?;
    report::need("run: the library's answers", some_lines(folder, requests))
}

fn some_lines(folder: &Path, requests: usize) -> Result<()> {
    let step = (answers::lines()?.count() / requests).max(1);
    let lines = answers::lines()?.step_by(step).take(requests);
    let lines = lines.collect::<Result<Vec<_>>>()?;
    // Each looks in vain for Sigstore's roots before it begins.
    load::none_differ("kwctl", 8, &lines, |number, line| {
        judged(&folder.join(format!("request-{number}.json")), line)
    })
}

fn judged(file: &Path, line: &Line) -> Result<()> {
    let request = line.request()?;
    fs::write(file, review(&request).to_string())?;
    let output = Command::new("kwctl")
        .args(["run", "--settings-json", &line.settings.to_string(), "-r"])
        .args([file, &root(MODULE)])
        .output()?;
    let expected = line.response(&request["uid"])?;
    let answer: Option<Value> = serde_json::from_slice(&output.stdout).ok();
    ensure!(
        answer.as_ref() == Some(&expected),
        "{}\nkwctl:    {answer:?} {}\nexpected: {expected}\nrequest:  {}",
        line.name,
        String::from_utf8_lossy(&output.stderr),
        line.request
    );
    Ok(())
}

/// A registry of this machine that answers at an address.
pub(crate) fn registry(folder: &Path, http: &Value, address: &str) -> Result<Process> {
    let config = json!({
        "version": 0.1,
        "log": {"level": "warn"},
        "storage": {"filesystem": {"rootdirectory": folder.join("registry")}},
        "http": http,
    });
    fs::write(folder.join("registry.json"), config.to_string())?;
    let mut registry = Process::start("docker-registry", "registry", folder, |command| {
        command.args(["serve", "registry.json"])
    })?;
    registry.wait_until("answer", Duration::from_secs(20), || {
        TcpStream::connect(address).is_ok()
    })?;
    Ok(registry)
}
