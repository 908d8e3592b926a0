//! `make e2e`: kwctl judges the examples (`e2e/e2e.bats`), and does with the module what the README says.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use managed_by_testing::{PUBLISHED, answers};
use serde_json::{Value, json};

use crate::deploy::{self, MODULE, PODS_MODULE, POLICIES, root};
use crate::policy_server::review;
use crate::process::{Process, free_port, until};
use crate::report::Report;
use crate::{http, programs};

const ANNOTATED_BY: &str = "io.kubewarden.kwctl";
const USAGE: &str = "io.kubewarden.policy.usage";
const EXAMPLE: &str = "examples/field/10-field-changed-after-creation.json";

/// Everything that kwctl is used for.
pub(crate) fn run(report: &mut Report, folder: &Path) {
    if !programs::all_there(report, "kwctl", &["kwctl"]) {
        return;
    }
    report.section(&programs::version("kwctl"));
    if programs::all_there(report, "e2e/e2e.bats", &["bats", "jq"]) {
        report.check("e2e/e2e.bats: each example gets its answer", bats());
    }
    doors(report, folder, 20);
    report.section("what else the README says");
    for ([metadata, ..], module) in PUBLISHED.into_iter().zip([MODULE, PODS_MODULE]) {
        report.check(
            &format!("annotate: {metadata} comes back from inspect"),
            annotate(folder, metadata),
        );
        report.check(
            &format!("inspect: {module} carries it too"),
            inspect(&root(module), metadata),
        );
    }
    report.check("scaffold manifest: the rules and the settings", manifest());
    report.check(
        "scaffold artifacthub: what is committed",
        artifact_hub(folder),
    );
    for name in POLICIES {
        report.check(
            &format!("run: deploy/{name}.yml with the module of this folder"),
            manifest_runs(folder, name),
        );
    }
    report.check("bench", bench());
    if programs::all_there(report, "push to a registry", &["docker-registry"]) {
        report.check("push, and pull the same bytes", push(folder));
        if programs::all_there(report, "e2e/signatures.sh", &["cosign", "openssl", "jq"]) {
            let says = "verify: release.yml signs what SECURITY.md's commands accept, and no other";
            report.check(says, signatures(folder));
        }
    }
}

fn kwctl(arguments: &[&str]) -> Result<String> {
    let output = Command::new("kwctl")
        .args(arguments)
        .current_dir(root(""))
        .output()?;
    said(&output).with_context(|| format!("kwctl {}", arguments.join(" ")))
}

fn said(output: &Output) -> Result<String> {
    ensure!(
        output.status.success(),
        "{}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8(output.stdout.clone())?)
}

/// `make doors`: so many of the requests with the library's answers, from all of them. Each is a process that compiles the module.
pub(crate) fn doors(report: &mut Report, folder: &Path, requests: usize) {
    if programs::all_there(report, "kwctl", &["kwctl"]) {
        let asked = some_lines(report, folder, requests);
        report.check("run: the library's answers", asked);
    }
}

fn some_lines(report: &Report, folder: &Path, requests: usize) -> Result<()> {
    let start = Instant::now();
    let file = folder.join("request.json");
    let path = file.display().to_string();
    let step = (answers::lines()?.count() / requests).max(1);
    for line in answers::lines()?.step_by(step).take(requests) {
        let line = line?;
        let request = line.request()?;
        fs::write(&file, review(&request).to_string())?;
        let settings = line.settings.to_string();
        let text = kwctl(&["run", "-r", &path, "--settings-json", &settings, MODULE])?;
        let answer: Value = serde_json::from_str(&text)?;
        let expected = line.response(&request["uid"])?;
        let (name, request) = (&line.name, &line.request);
        ensure!(
            answer == expected,
            "{name}\nkwctl:    {answer}\nexpected: {expected}\nrequest:  {request}"
        );
    }
    let seconds = start.elapsed().as_secs_f64();
    report.note(&format!(
        "kwctl: {requests} requests, none differ, {seconds:.1} s"
    ));
    Ok(())
}

/// The examples, each with its answer.
fn bats() -> Result<()> {
    let output = Command::new("bats")
        .arg("e2e/e2e.bats")
        .current_dir(root(""))
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "{text}");
    Ok(())
}

/// Every key of the file is in the module as it was written.
fn inspect(module: &Path, metadata: &str) -> Result<()> {
    let inspected = kwctl(&["inspect", "-o", "yaml", &module.display().to_string()])?;
    let inspected: Value = serde_yaml_ng::from_str(&inspected)?;
    let written = &deploy::yaml(metadata)?[0];
    for (key, value) in written.as_object().context("no keys")? {
        let mut found = inspected[key].clone();
        if key == "annotations" {
            let found = found.as_object_mut().context("no annotations")?;
            ensure!(found.remove(USAGE).is_some(), "{USAGE} is missing");
            // kwctl names itself in what it annotates, `make` on a machine without kwctl does not.
            found.remove(ANNOTATED_BY);
        }
        // Kept as a version, not as text.
        ensure!(found == *value, "{key}: {found}, written {value}");
    }
    ensure!(inspected["protocolVersion"] == "v1", "{inspected}");
    Ok(())
}

fn annotate(folder: &Path, metadata: &str) -> Result<()> {
    let output = folder.join("annotated.wasm");
    let path = output.display().to_string();
    let arguments = ["annotate", "--metadata-path", metadata, "--usage-path"];
    let arguments = [&arguments[..], &["README.md", "--output-path", &path]].concat();
    kwctl(&[&arguments[..], &["policy.wasm"]].concat())?;
    inspect(&output, metadata)?;
    let inspected = kwctl(&["inspect", "-o", "yaml", &path])?;
    ensure!(
        inspected.contains(ANNOTATED_BY),
        "{ANNOTATED_BY} is missing"
    );
    Ok(())
}

fn manifest() -> Result<()> {
    let settings = "examples/settings/management.yml";
    let arguments = ["scaffold", "manifest", "-t", "ClusterAdmissionPolicy"];
    let text = kwctl(&[&arguments[..], &["-s", settings, MODULE]].concat())?;
    let manifest: Value = serde_yaml_ng::from_str(&text)?;
    let metadata = &deploy::yaml("policy-metadata.yml")?[0];
    ensure!(manifest["spec"]["rules"] == metadata["rules"], "{text}");
    ensure!(
        manifest["spec"]["settings"] == deploy::yaml(settings)?[0],
        "{text}"
    );
    Ok(())
}

/// What is committed was made without kwctl; it would have made the same, but for what is said there of installing the policy,
/// the module of the policy for pods, and the time, which a release adds.
fn artifact_hub(folder: &Path) -> Result<()> {
    for [metadata, questions, committed] in PUBLISHED {
        let made = folder.join("artifacthub-pkg.yml");
        let path = made.display().to_string();
        let arguments = ["scaffold", "artifacthub", "--metadata-path", metadata];
        let questions = ["--questions-path", questions, "--output", &path];
        kwctl(&[&arguments[..], &questions].concat())?;
        let made = deploy::documents(&fs::read_to_string(made)?)?.remove(0);
        let mut committed = deploy::yaml(committed)?.remove(0);
        for key in ["createdAt", "install"] {
            committed[key] = made[key].clone();
        }
        let module = committed["links"][0]["url"].take();
        let module = module.as_str().context("no module")?;
        committed["links"][0]["url"] = module.replace("/pods-policy.wasm", "/policy.wasm").into();
        for (key, value) in made.as_object().context("no keys")? {
            let committed = &committed[key];
            ensure!(value == committed, "{key}: {value}\ncommitted: {committed}");
        }
        let keys = |package: &Value| package.as_object().map(serde_json::Map::len);
        ensure!(keys(&made) == keys(&committed), "other keys: {committed}");
    }
    Ok(())
}

/// The manifest that people apply, judged by kwctl: its mode holds, and its settings are taken.
fn manifest_runs(folder: &Path, name: &str) -> Result<()> {
    let mut manifest = deploy::yaml(&format!("deploy/{name}.yml"))?.remove(0);
    manifest["spec"]["module"] = deploy::module(MODULE)?.into();
    let file = folder.join(format!("{name}.yml"));
    let path = file.display().to_string();
    for (mode, allowed) in [("monitor", true), ("protect", false)] {
        manifest["spec"]["mode"] = mode.into();
        fs::write(&file, serde_yaml_ng::to_string(&manifest)?)?;
        let text = kwctl(&["run", "-r", EXAMPLE, &path])?;
        let line = text.lines().find(|line| line.starts_with('{'));
        let answer: Value = serde_json::from_str(line.with_context(|| text.clone())?)?;
        ensure!(answer["allowed"] == allowed, "{mode}: {answer}");
    }
    Ok(())
}

fn bench() -> Result<()> {
    let short = ["--num-samples", "10", "--measurement-time", "1"];
    let rest = ["--warm-up-time", "1", "-r", EXAMPLE, MODULE];
    let text = kwctl(&[&["bench"][..], &short, &rest].concat())?;
    // It measures both operations, and says so in colours.
    for operation in ["validate_settings", "validate"] {
        let line = format!("{operation}\u{1b}[0m [");
        ensure!(text.contains(&line), "no {operation}: {text}");
    }
    Ok(())
}

/// A registry of this machine, with its address.
fn registry(folder: &Path) -> Result<(Process, String)> {
    let host = format!("127.0.0.1:{}", free_port()?);
    let config = json!({
        "version": 0.1,
        "storage": {"filesystem": {"rootdirectory": folder.join("registry")}},
        "http": {"addr": host},
    });
    let file = folder.join("registry.yml");
    fs::write(&file, serde_yaml_ng::to_string(&config)?)?;
    let mut registry = Process::start("docker-registry", "registry", folder, |command| {
        command.arg("serve").arg(&file)
    })?;
    let agent = http::agent(None)?;
    registry.wait_until("answer", Duration::from_secs(20), || {
        agent.get(format!("http://{host}/v2/")).call().is_ok()
    })?;
    Ok((registry, host))
}

/// Signatures of a registry of their own.
fn signatures(folder: &Path) -> Result<()> {
    let folder = folder.join("signatures");
    fs::create_dir(&folder)?;
    let (_registry, host) = registry(&folder)?;
    let mut command = Command::new("bash");
    command.arg(root("e2e/signatures.sh")).current_dir(&folder);
    let output = command.env("HOST", host).env("ROOT", root("")).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "{text}");
    Ok(())
}

/// A registry of this machine takes the module, with the metadata as annotations, and gives it back.
fn push(folder: &Path) -> Result<()> {
    let (_registry, host) = registry(folder)?;
    let agent = http::agent(None)?;
    let sources = folder.join("sources.yml");
    fs::write(
        &sources,
        serde_yaml_ng::to_string(&json!({"insecure_sources": [host]}))?,
    )?;
    let sources = sources.display().to_string();
    let target = format!("{host}/policies/managed-by-policy:v0.1.0");
    let pulled = folder.join("pulled.wasm");
    let text = kwctl(&[
        "push",
        "-o",
        "json",
        "--sources-path",
        &sources,
        MODULE,
        &target,
    ])?;
    let answer: Value = serde_json::from_str(&text)?;
    let reference = answer["immutable_ref"].as_str().unwrap_or_default();
    let prefix = format!("{host}/policies/managed-by-policy@sha256:");
    ensure!(reference.starts_with(&prefix), "{text}");
    let uri = format!("registry://{target}");
    let output = pulled.display().to_string();
    kwctl(&["pull", "--sources-path", &sources, "-o", &output, &uri])?;
    if fs::read(pulled)? != fs::read(root(MODULE))? {
        bail!("other bytes came back");
    }
    let manifest = until("manifest", Duration::from_secs(5), || {
        let accept = "application/vnd.oci.image.manifest.v1+json";
        let url = format!("http://{host}/v2/policies/managed-by-policy/manifests/v0.1.0");
        let request = ureq::http::Request::get(url).header("accept", accept);
        http::send(&agent, request.body(Vec::new())?).map(Some)
    })?;
    let title = &manifest.body["annotations"]["io.kubewarden.policy.title"];
    ensure!(title == "managed-by-policy", "{}", manifest.body);
    Ok(())
}
