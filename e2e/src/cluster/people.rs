//! What people do, with `deploy/hybrid.yml`'s settings behind `deploy/webhook.yml`.

use std::fs;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::api_server::{ADMIN, ANA, ApiServer, BREAK_GLASS, annotation};
use super::hook::job;
use super::modules;
use crate::http::Answer;
use crate::kube::{Client, done, jobs, path};
use crate::programs;
use crate::report::Report;

/// Where delegation is everybody's choice.
pub(super) const TEAM: &str = "team-a";

/// Where it is not.
const BATCH: &str = "team-batch";

pub(super) const MULTIKUEUE: &str = "kueue.x-k8s.io/multikueue";

const TYPO: &str = "kubernetes.io/job-controler";

pub(super) const WRAPPERS: &str = "workload.codeflare.dev/v1beta2";

/// Jobs that were there before the policy, and break its rules.
pub(super) fn before(cluster: &ApiServer) -> Result<()> {
    cluster.namespaces(&[TEAM, BATCH])?;
    let ana = cluster.client(ANA);
    for (name, finalizers) in [("old", json!([])), ("old-held", json!(["acme.io/hold"]))] {
        let mut old = job(TEAM, name, &json!({"managedBy": TYPO, "suspend": true}));
        old["metadata"]["finalizers"] = finalizers;
        ana.create(&jobs(TEAM), &old)?;
    }
    modules::crd(cluster, &wrappers())?;
    modules::crd(cluster, &scalable())?;
    let mut scaled = json!({
        "apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "scaled"},
        "spec": {"replicas": 1},
    });
    scaled["spec"]["runPolicy"] = json!({"managedBy": TYPO});
    ana.create(&path("kubeflow.org/v1", TEAM, "pytorchjobs"), &scaled)?;
    Ok(())
}

/// A CRD as bare as it may be. Its second version is one that `deploy/webhook.yml` does not name.
pub(super) fn wrappers() -> Value {
    crd(
        "workload.codeflare.dev",
        "appwrappers",
        "AppWrapper",
        &json!([bare("v1beta2", true), bare("v1beta3", false)]),
    )
}

/// A version of a CRD that takes everything.
pub(super) fn bare(name: &str, storage: bool) -> Value {
    json!({
        "name": name, "served": true, "storage": storage, "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
    })
}

/// One with the subresource that `kubectl scale` writes.
pub(super) fn scalable() -> Value {
    let scale =
        json!({"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"});
    let spec = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"replicas": {"type": "integer"}}});
    let status = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"replicas": {"type": "integer"}}});
    let schema = json!({"type": "object", "properties": {"spec": spec, "status": status}});
    let version = json!({
        "name": "v1", "served": true, "storage": true, "subresources": {"status": {}, "scale": scale},
        "schema": {"openAPIV3Schema": schema},
    });
    crd(
        "kubeflow.org",
        "pytorchjobs",
        "PyTorchJob",
        &json!([version]),
    )
}

pub(super) fn crd(group: &str, plural: &str, kind: &str, versions: &Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": format!("{plural}.{group}"),
            // The group of AppWrapper is protected as Kubernetes' own are; this says that it is meant.
            "annotations": {"api-approved.kubernetes.io": "unapproved, of a test"},
        },
        "spec": {
            "group": group, "scope": "Namespaced", "versions": versions,
            "names": {"plural": plural, "kind": kind, "singular": kind.to_lowercase()},
        },
    })
}

pub(super) fn run(report: &mut Report, cluster: &ApiServer) {
    report.section("people: what they do to their workloads");
    let ana = cluster.client(ANA);
    for (what, check) in [
        (
            "create: a Job that is not delegated",
            plain as fn(&ApiServer, &Client) -> Result<()>,
        ),
        (
            "create: a delegated Job, and the audit log says to whom",
            delegated,
        ),
        (
            "create: a typo is denied, and the nearest name is told",
            typo,
        ),
        (
            "create: a controller of another namespace is denied",
            elsewhere,
        ),
        (
            "create: a Job that must be delegated and is not is denied",
            required,
        ),
        (
            "create: a CronJob with a typo in its template is denied",
            nested,
        ),
        (
            "update: the field of a Job may not be changed, removed or added",
            immutable,
        ),
        (
            "update: the field of an AppWrapper may not either, which no API server says",
            immutable_wrapper,
        ),
        ("update: what broke a rule before may be labelled", labelled),
        (
            "update: its finalizer may be removed, and it is gone then",
            finalized,
        ),
        ("delete: in every state", deleted),
        (
            "break-glass: allowed, with a warning and a word in the audit log",
            exempt,
        ),
        ("dry run: judged, and nothing is stored", dry_run),
        (
            "server-side apply: judged, and the same once more is no change",
            applied,
        ),
        ("scale: passes, whatever the object holds", scaled),
        (
            "another served version of the kind is judged too (matchPolicy Equivalent)",
            equivalent,
        ),
        ("kube-system is left out by the selector", left_out),
    ] {
        report.check(what, check(cluster, &ana));
    }
    if programs::all_there(report, "kubectl", &["kubectl"]) {
        report.check("kubectl shows the denial and the warning", kubectl(cluster));
    }
}

/// The answer is that code, and its message and warnings hold the words.
pub(super) fn expect(answer: &Answer, code: u16, words: &[&str]) -> Result<()> {
    let said = format!("{} {:?}", answer.message(), answer.warnings);
    ensure!(answer.code == code, "{} {said}", answer.code);
    for word in words {
        ensure!(said.contains(word), "not said: {word}: {said}");
    }
    Ok(())
}

fn delegate(to: &str) -> Value {
    json!({"managedBy": to, "suspend": true})
}

/// What the policy put into the audit log at the last request on an object.
pub(super) fn audited(cluster: &ApiServer, name: &str, key: &str) -> Result<String> {
    let audit = cluster.audit()?;
    let event = audit.last(name).context("not in the audit log")?;
    let value = annotation(event, key);
    Ok(value
        .with_context(|| format!("no {key}: {event}"))?
        .to_owned())
}

fn plain(cluster: &ApiServer, ana: &Client) -> Result<()> {
    let answer = ana.post(&jobs(TEAM), &job(TEAM, "plain", &json!({})))?;
    expect(&answer, 201, &[])?;
    ensure!(answer.warnings.is_empty(), "{:?}", answer.warnings);
    ensure!(audited(cluster, "plain", "mode")? == "Standard");
    Ok(())
}

fn delegated(cluster: &ApiServer, ana: &Client) -> Result<()> {
    let answer = ana.post(&jobs(TEAM), &job(TEAM, "delegated", &delegate(MULTIKUEUE)))?;
    expect(&answer, 201, &[])?;
    ensure!(answer.warnings.is_empty(), "{:?}", answer.warnings);
    ensure!(audited(cluster, "delegated", "mode")? == "Delegated");
    let controller = audited(cluster, "delegated", "controller")?;
    ensure!(controller == format!("{MULTIKUEUE:?}"), "{controller}");
    Ok(())
}

fn typo(cluster: &ApiServer, ana: &Client) -> Result<()> {
    let answer = ana.post(&jobs(TEAM), &job(TEAM, "typo", &delegate(TYPO)))?;
    let words = [
        "admission webhook \"managed-by.policies.example.com\" denied the request: Job.batch \"typo\" is invalid: ",
        "did you mean \"kubernetes.io/job-controller\"?",
    ];
    expect(&answer, 422, &words)?;
    let denied = audited(cluster, "typo", "denied")?;
    ensure!(
        denied.contains("managed-by/reserved-domain spec.managedBy"),
        "{denied}"
    );
    Ok(())
}

fn elsewhere(_: &ApiServer, ana: &Client) -> Result<()> {
    let answer = ana.post(
        &jobs(TEAM),
        &job(TEAM, "elsewhere", &delegate("acme.io/runner")),
    )?;
    expect(&answer, 422, &["[managed-by/allowed]"])
}

fn required(_: &ApiServer, ana: &Client) -> Result<()> {
    let answer = ana.post(&jobs(BATCH), &job(BATCH, "required", &json!({})))?;
    expect(
        &answer,
        403,
        &[
            "jobs.batch \"required\" is forbidden: ",
            "[managed-by/delegation]",
        ],
    )?;
    let answer = ana.post(&jobs(BATCH), &job(BATCH, "required", &delegate(MULTIKUEUE)))?;
    expect(&answer, 201, &[])
}

fn nested(_: &ApiServer, ana: &Client) -> Result<()> {
    let spec = job(TEAM, "x", &delegate(TYPO))["spec"].take();
    let cron = json!({
        "apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "cron"},
        "spec": {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": spec}},
    });
    let answer = ana.post(&path("batch/v1", TEAM, "cronjobs"), &cron)?;
    let words = [
        "spec.jobTemplate.spec.managedBy",
        "[managed-by/reserved-domain]",
    ];
    expect(&answer, 422, &words)
}

fn immutable(_: &ApiServer, ana: &Client) -> Result<()> {
    for (name, value) in [
        ("delegated", json!("acme.io/runner")),
        ("delegated", Value::Null),
        ("plain", json!(MULTIKUEUE)),
    ] {
        let patch = json!({"spec": {"managedBy": value}});
        let answer = ana.patch(&format!("{}/{name}", jobs(TEAM)), &patch)?;
        expect(
            &answer,
            422,
            &["spec.managedBy: Invalid value: ", "field is immutable"],
        )?;
    }
    Ok(())
}

pub(super) fn wrapper(name: &str, managed_by: &Value) -> Value {
    let mut wrapper = json!({"apiVersion": WRAPPERS, "kind": "AppWrapper", "metadata": {"name": name}, "spec": {"components": []}});
    if !managed_by.is_null() {
        wrapper["spec"]["managedBy"] = managed_by.clone();
    }
    wrapper
}

fn immutable_wrapper(_: &ApiServer, ana: &Client) -> Result<()> {
    let wrappers = path(WRAPPERS, TEAM, "appwrappers");
    ana.create(&wrappers, &wrapper("wrapped", &json!(MULTIKUEUE)))?;
    ana.create(&wrappers, &wrapper("bare", &Value::Null))?;
    for (name, value) in [
        ("wrapped", json!("workload.codeflare.dev/appwrapper")),
        ("wrapped", Value::Null),
        ("bare", json!(MULTIKUEUE)),
    ] {
        let patch = json!({"spec": {"managedBy": value}});
        let answer = ana.patch(&format!("{wrappers}/{name}"), &patch)?;
        expect(&answer, 422, &["denied the request", "field is immutable"])?;
    }
    Ok(())
}

fn labelled(_: &ApiServer, ana: &Client) -> Result<()> {
    let patch = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"parallelism": 2}});
    expect(
        &ana.patch(&format!("{}/old", jobs(TEAM)), &patch)?,
        200,
        &[],
    )
}

fn finalized(_: &ApiServer, ana: &Client) -> Result<()> {
    let path = format!("{}/old-held", jobs(TEAM));
    expect(&ana.delete(&path)?, 200, &[])?;
    let old = done(ana.get(&path)?)?;
    ensure!(!old["metadata"]["deletionTimestamp"].is_null(), "{old}");
    let freed = json!({"metadata": {"finalizers": null}});
    expect(&ana.patch(&path, &freed)?, 200, &[])?;
    ensure!(ana.get(&path)?.code == 404);
    Ok(())
}

/// The states are written as the API server itself takes them.
fn deleted(cluster: &ApiServer, ana: &Client) -> Result<()> {
    let admin = cluster.client(ADMIN);
    let time = super::kubelet::now();
    let condition = |name: &str| json!({"type": name, "status": "True", "lastProbeTime": time, "lastTransitionTime": time});
    let complete = json!([condition("SuccessCriteriaMet"), condition("Complete")]);
    let failed = json!([condition("FailureTarget"), condition("Failed")]);
    for (name, spec, status) in [
        ("new", json!({}), json!({})),
        (
            "suspended",
            json!({"suspend": true}),
            json!({"conditions": [condition("Suspended")]}),
        ),
        (
            "active",
            json!({}),
            json!({"startTime": time, "active": 1, "ready": 1}),
        ),
        (
            "complete",
            json!({}),
            json!({"startTime": time, "completionTime": time, "succeeded": 1, "conditions": complete}),
        ),
        (
            "failed",
            json!({}),
            json!({"startTime": time, "failed": 1, "conditions": failed}),
        ),
        ("handed-over", delegate(MULTIKUEUE), json!({})),
    ] {
        let name = format!("deleted-{name}");
        ana.create(&jobs(TEAM), &job(TEAM, &name, &spec))?;
        let path = format!("{}/{name}", jobs(TEAM));
        if status != json!({}) {
            // `system:masters` is not exempt in these settings: this is judged.
            done(admin.patch(&format!("{path}/status"), &json!({"status": status}))?)
                .with_context(|| name.clone())?;
        }
        expect(&ana.delete(&path)?, 200, &[]).with_context(|| name.clone())?;
        ensure!(ana.get(&path)?.code == 404, "{name} is still there");
    }
    expect(&ana.delete(&format!("{}/old", jobs(TEAM)))?, 200, &[])
}

fn exempt(cluster: &ApiServer, _: &Client) -> Result<()> {
    let glass = cluster.client(BREAK_GLASS);
    let answer = glass.post(&jobs(BATCH), &job(BATCH, "exempt", &json!({})))?;
    expect(&answer, 201, &["managed-by/delegation", "is exempt"])?;
    let exempted = audited(cluster, "exempt", "exempted")?;
    ensure!(
        exempted == "managed-by/delegation spec.managedBy",
        "{exempted}"
    );
    Ok(())
}

fn dry_run(_: &ApiServer, ana: &Client) -> Result<()> {
    let path = format!("{}?dryRun=All", jobs(TEAM));
    expect(
        &ana.post(&path, &job(TEAM, "dry", &delegate(TYPO)))?,
        422,
        &["reserved-domain"],
    )?;
    expect(
        &ana.post(&path, &job(TEAM, "dry", &delegate(MULTIKUEUE)))?,
        201,
        &[],
    )?;
    ensure!(ana.get(&format!("{}/dry", jobs(TEAM)))?.code == 404);
    Ok(())
}

fn applied(_: &ApiServer, ana: &Client) -> Result<()> {
    let path = format!("{}/applied", jobs(TEAM));
    let apply = |to: &str| ana.apply(&path, &job(TEAM, "applied", &delegate(to)));
    expect(&apply(TYPO)?, 422, &["reserved-domain"])?;
    expect(&apply(MULTIKUEUE)?, 201, &[])?;
    expect(&apply(MULTIKUEUE)?, 200, &[])?;
    expect(&apply("acme.io/runner")?, 422, &["field is immutable"])
}

fn scaled(_: &ApiServer, ana: &Client) -> Result<()> {
    let path = format!(
        "{}/scaled/scale",
        path("kubeflow.org/v1", TEAM, "pytorchjobs")
    );
    let answer = ana.patch(&path, &json!({"spec": {"replicas": 3}}))?;
    expect(&answer, 200, &[])?;
    ensure!(answer.body["spec"]["replicas"] == 3, "{}", answer.body);
    Ok(())
}

fn equivalent(_: &ApiServer, ana: &Client) -> Result<()> {
    let other = "workload.codeflare.dev/v1beta3";
    let mut typo = wrapper("equivalent", &json!(TYPO));
    typo["apiVersion"] = other.into();
    let answer = ana.post(&path(other, TEAM, "appwrappers"), &typo)?;
    // In the words of the version that the policy knows.
    expect(
        &answer,
        422,
        &["AppWrapper.workload.codeflare.dev \"equivalent\" is invalid"],
    )
}

fn left_out(cluster: &ApiServer, ana: &Client) -> Result<()> {
    let system = "kube-system";
    let answer = ana.post(&jobs(system), &job(system, "left-out", &delegate(TYPO)))?;
    expect(&answer, 201, &[])?;
    ensure!(answer.warnings.is_empty(), "{:?}", answer.warnings);
    ensure!(
        audited(cluster, "left-out", "mode").is_err(),
        "it was judged"
    );
    Ok(())
}

/// The same through the client that people have.
fn kubectl(cluster: &ApiServer) -> Result<()> {
    let kubeconfig = cluster.kubeconfig_file(ANA)?;
    let run = |name: &str,
               namespace: &str,
               user: &std::path::Path,
               spec: &Value|
     -> Result<(bool, String)> {
        let file = cluster.folder.join(format!("{name}.json"));
        fs::write(&file, job(namespace, name, spec).to_string())?;
        let output = Command::new("kubectl")
            .arg(format!("--kubeconfig={}", user.display()))
            .args(["create", "--filename"])
            .arg(file)
            .output()?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        Ok((output.status.success(), said))
    };
    let (created, said) = run("typo", TEAM, &kubeconfig, &delegate(TYPO))?;
    ensure!(
        !created && said.contains("did you mean \"kubernetes.io/job-controller\"?"),
        "{said}"
    );
    let glass = cluster.kubeconfig_file(BREAK_GLASS)?;
    let (created, said) = run("glass", BATCH, &glass, &json!({}))?;
    ensure!(
        created && said.contains("Warning: managed-by/delegation would have denied this"),
        "{said}"
    );
    Ok(())
}
