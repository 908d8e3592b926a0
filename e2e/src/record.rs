//! `make record`: the Job of the README in a real cluster, without the policy and with it, as a person sees it in kubectl.
//!
//! It writes what was typed and what came back to [`TRANSCRIPT`]. The README shows parts of it, and `make docs` draws it.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::cluster::api_server::{ADMIN, ANA, ApiServer};
use crate::cluster::controllers;
use crate::cluster::hook::{Hook, RELEASE, job};
use crate::deploy::{self, root};
use crate::kube::{done, jobs};
use crate::process::until;
use crate::programs;
use crate::report::Report;
use crate::tls::Authority;

const TRANSCRIPT: &str = "docs/pictures/first-screen.json";

const TEAM: &str = "team-a";

/// How long the Job waits for a controller before the cluster is asked what became of it.
const WAIT: Duration = Duration::from_secs(15);

/// What Kubewarden's controller calls the webhook of a `ClusterAdmissionPolicy` with the name `managed-by`.
const WEBHOOK: &str = "clusterwide-managed-by.kubewarden.admission";

const APPLY: &str = "kubectl apply -f pi.yaml";

/// What the README tells an admin to do, to be denied like another user.
const DELETE: &str = "kubectl delete job pi -n team-a";
const BIND: &str = "kubectl create rolebinding ana --clusterrole=edit --user=ana -n team-a";
const APPLY_AS_ANA: &str = "kubectl apply -f pi.yaml --as=ana";

pub(crate) fn run(report: &mut Report, folder: &Path) {
    let needed = [
        "etcd",
        "kube-apiserver",
        "kube-controller-manager",
        "policy-server",
        "kubectl",
    ];
    if !programs::all_there(report, "record", &needed) {
        return;
    }
    report.section("the Job of the README");
    let scenes = report.need("without the policy and with it", scenes(folder));
    if let Some(scenes) = scenes {
        report.check(&format!("{TRANSCRIPT} is written"), write(&scenes));
    }
}

fn write(scenes: &[Value]) -> Result<()> {
    let today = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let date = today.split('T').next().unwrap_or_default();
    let versions: Vec<_> = ["kube-apiserver", "policy-server"]
        .map(programs::version)
        .into();
    let transcript = json!({"date": date, "versions": versions, "scenes": scenes});
    let text = serde_json::to_string_pretty(&transcript)?;
    Ok(fs::write(root(TRANSCRIPT), text + "\n")?)
}

fn scenes(folder: &Path) -> Result<Vec<Value>> {
    let authority = Authority::new()?;
    let cluster = ApiServer::start(folder, "cluster", &authority)?;
    let _manager = controllers::manager(&cluster)?;
    cluster.namespaces(&[TEAM])?;
    fs::write(cluster.folder.join("pi.yaml"), manifest()?)?;

    let mut without = vec![kubectl(&cluster, ANA, APPLY)?];
    never_runs(&cluster)?;
    without.push(kubectl(&cluster, ANA, "kubectl get jobs -n team-a")?);
    without.push(kubectl(&cluster, ANA, "kubectl get events,pods -n team-a")?);
    delete(&cluster)?;

    let settings = deploy::settings("management", RELEASE, &[])?;
    let mut hook = Hook::start(
        folder,
        "policy-server",
        &cluster,
        &authority,
        &settings,
        &[],
    )?;
    hook.apply(&cluster, |webhook| webhook["name"] = WEBHOOK.into())?;
    let with = denied(&cluster)?;

    let mut policy = json!({"module": deploy::module(deploy::MODULE)?, "policyMode": "monitor", "settings": settings});
    hook.serve_policy(&policy)?;
    let monitored = kubectl(&cluster, ADMIN, APPLY)?;
    ensure!(output(&monitored).contains("created"), "{monitored}");

    policy["policyMode"] = "protect".into();
    hook.serve_policy(&policy)?;
    let protected = [DELETE, BIND, APPLY_AS_ANA].map(|command| kubectl(&cluster, ADMIN, command));
    let protected: Vec<Value> = protected.into_iter().collect::<Result<_>>()?;
    for (command, expected) in protected
        .iter()
        .zip(["deleted", "created", "denied the request"])
    {
        ensure!(output(command).contains(expected), "{command}");
    }

    Ok(vec![
        json!({"title": "Without the policy", "commands": without}),
        json!({"title": "With the policy", "commands": [with]}),
        json!({"title": "In mode monitor, as an admin", "commands": [monitored]}),
        json!({"title": "In mode protect, as another user", "commands": protected}),
    ])
}

/// The manifest that the README tells people to write.
fn manifest() -> Result<String> {
    let readme = deploy::text("README.md")?;
    let parts = readme
        .split_once("cat > pi.yaml <<EOF\n")
        .and_then(|(_, rest)| rest.split_once("EOF\n"));
    let (manifest, _) = parts.context("the README has no pi.yaml")?;
    Ok(manifest.to_owned())
}

/// A command of kubectl with what it printed.
fn kubectl(cluster: &ApiServer, user: &str, command: &str) -> Result<Value> {
    let mut words = command.split(' ');
    let program = words.next().unwrap_or_default();
    let output = Command::new(program)
        .args(words)
        .current_dir(&cluster.folder)
        .env("KUBECONFIG", cluster.kubeconfig_file(user)?)
        .output()?;
    let printed = [output.stderr, output.stdout].concat();
    let printed = String::from_utf8(printed)?;
    Ok(json!({"command": command, "output": printed.trim_end()}))
}

fn output(command: &Value) -> &str {
    command["output"].as_str().unwrap_or_default()
}

/// The Job controller runs, takes up a Job beside it, and leaves this one alone.
fn never_runs(cluster: &ApiServer) -> Result<()> {
    let admin = cluster.client(ADMIN);
    let path = jobs(TEAM);
    admin.create(&path, &job(TEAM, "other", &json!({})))?;
    let status = |name: &str| -> Result<Value> {
        Ok(done(admin.get(&format!("{path}/{name}"))?)?["status"].take())
    };
    until("another Job is taken up", WAIT, || {
        Ok((status("other")?["active"] == 1).then_some(()))
    })?;
    done(admin.delete_now(&format!("{path}/other"))?)?;
    std::thread::sleep(WAIT);
    let status = status("pi")?;
    ensure!(status == json!({}), "the Job has a status: {status}");
    until("the other Job is gone", WAIT, || {
        let pods = admin.list(&format!("/api/v1/namespaces/{TEAM}/pods"))?;
        let events = admin.list(&format!("/api/v1/namespaces/{TEAM}/events"))?;
        for pod in &pods {
            let name = pod["metadata"]["name"].as_str().unwrap_or_default();
            admin.delete_now(&format!("/api/v1/namespaces/{TEAM}/pods/{name}"))?;
        }
        for event in &events {
            let of = &event["involvedObject"]["name"];
            ensure!(*of != "pi", "an event: {event}");
            let name = event["metadata"]["name"].as_str().unwrap_or_default();
            admin.delete_now(&format!("/api/v1/namespaces/{TEAM}/events/{name}"))?;
        }
        Ok((pods.is_empty() && events.is_empty()).then_some(()))
    })
}

fn delete(cluster: &ApiServer) -> Result<()> {
    let path = format!("{}/pi", jobs(TEAM));
    done(cluster.client(ADMIN).delete_now(&path)?)?;
    Ok(())
}

/// The API server learns of the webhook's name a little later.
fn denied(cluster: &ApiServer) -> Result<Value> {
    until("the policy denies", Duration::from_secs(20), || {
        let applied = kubectl(cluster, ANA, APPLY)?;
        let text = output(&applied);
        ensure!(text.contains("denied the request"), "{text}");
        Ok(text.contains(WEBHOOK).then_some(applied.clone()))
    })
}
