//! Ways around the policy that were open once. Each check says what happens now that they are closed.

use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::{
    Check, How, JOBSETS, RAY, Stage, WORKFLOWS, WRAPPERS, answered, delegated, refused, workload,
};
use crate::cluster::api_server::{ADMIN, JOBSET, KUEUE, POLICY_SERVER};
use crate::cluster::hook::job;
use crate::cluster::kubelet::now;
use crate::cluster::modules;
use crate::cluster::people::{MULTIKUEUE, TEAM, audited, scalable};
use crate::deploy;
use crate::http::Answer;
use crate::kube::{Client, jobs, path};

pub(super) const CHECKS: [Check; 22] = [
    (
        "B.1 a Job that is not delegated, with the forged owner of a kind that is not installed: denied, and the list to fill is named",
        forged_kind,
    ),
    (
        "B.1 the same, where the kind is installed and the owner is missing",
        forged_owner,
    ),
    (
        "B.1 the same, with the real UID of an own delegated JobSet",
        own_owner,
    ),
    (
        "B.1 the same, by a service account with the name of JobSet's in the tenant's namespace",
        alike,
    ),
    (
        "B.1 a Job that JobSet's own account makes for that JobSet: accepted",
        child,
    ),
    (
        "B.2 a label on a delegated RayCluster through ray.io/v1alpha1, which would drop managedBy: denied",
        pruned_label,
    ),
    (
        "B.2 the status of a delegated RayCluster through ray.io/v1alpha1: denied",
        pruned_status,
    ),
    (
        "B.3 the manifests exclude no namespaces but kube-system and kubewarden",
        excluded,
    ),
    (
        "B.4 an AppWrapper of 900 KB with 12,000 components: judged, and the answer says that not all was looked at",
        components,
    ),
    (
        "B.4 deploy/network-policy.yml: the API server accepts it",
        network_policy,
    ),
    (
        "B.5 a Job of 1.1 MB: denied, because PolicyServer would take none of its updates",
        large,
    ),
    (
        "B.5 a Job with 190 KB of `<`, each of which JSON writes in six bytes: denied",
        escaped,
    ),
    (
        "B.5 a Job of 400 KB: created, and its status can be updated",
        small,
    ),
    (
        "B.6 control: a pod of a delegated Job is denied, after a look-up",
        owned_pod,
    ),
    (
        "B.6 a pod of a Job `b1?x=1`: no such name, so no look-up and no warning",
        |stage| named_pod(stage, "b1?x=1"),
    ),
    (
        "B.6 a pod of a Job `b1/status`: no such name, so no look-up and no warning",
        |stage| named_pod(stage, "b1/status"),
    ),
    (
        "B.6 a pod of a Job `b 1`: no such name, so no look-up and no warning",
        |stage| named_pod(stage, "b 1"),
    ),
    (
        "B.7 a label on an AppWrapper whose components are a text: goes on",
        odd_label,
    ),
    (
        "B.7 the finalizer of an AppWrapper whose components are a text is removed: it is gone",
        odd_finalizer,
    ),
    (
        "B.7 control: the kind that the settings declare is judged",
        declared,
    ),
    (
        "B.7 a label on a declared kind that uses the paths of other kinds for something else: goes on",
        declared_label,
    ),
    (
        "B.7 control: the status of such a declared kind: goes on",
        declared_status,
    ),
];

/// A Job that is not delegated and says who owns it.
fn forged(name: &str, api_version: &str, kind: &str, owner: &str, uid: &Value) -> Value {
    let mut forged = job(TEAM, name, &json!({"suspend": true}));
    forged["metadata"]["ownerReferences"] = json!([
        {"apiVersion": api_version, "kind": kind, "name": owner, "uid": uid, "controller": true}
    ]);
    forged
}

fn denied_child(stage: &Stage, who: &Client, child: &Value, kind: &str) -> Result<()> {
    let answer = stage.ask(who, How::Create, &jobs(TEAM), child)?;
    let words = ["[managed-by/delegation]", "standard_status_writers", kind];
    refused(&answer, &words)?;
    answered(&answer, 403)
}

fn forged_kind(stage: &Stage) -> Result<()> {
    let uid = json!("0e6f1f6d-5d5c-4f0e-9a3b-2c3d4e5f6a7c");
    let child = forged("forged-kind", "kubeflow.org/v1", "PyTorchJob", "x", &uid);
    denied_child(stage, &stage.tenant, &child, "PyTorchJob")
}

fn forged_owner(stage: &Stage) -> Result<()> {
    modules::crd(&stage.cluster, &scalable())?;
    let uid = json!("0e6f1f6d-5d5c-4f0e-9a3b-2c3d4e5f6a7c");
    let child = forged("forged-owner", "kubeflow.org/v1", "PyTorchJob", "x", &uid);
    denied_child(stage, &stage.tenant, &child, "PyTorchJob")
}

/// The UID of a delegated JobSet of the tenant's, which is made where it is not there yet.
fn own_set(stage: &Stage) -> Result<Value> {
    let sets = path(JOBSETS, TEAM, "jobsets");
    if stage.absent(&format!("{sets}/own")).is_ok() {
        let spec = json!({"managedBy": MULTIKUEUE, "suspend": true, "replicatedJobs": []});
        stage.given(&sets, &workload(JOBSETS, "JobSet", "own", &spec))?;
    }
    Ok(stage.stored(&format!("{sets}/own"))?["metadata"]["uid"].take())
}

fn own_owner(stage: &Stage) -> Result<()> {
    let uid = own_set(stage)?;
    let child = forged("own-owner", JOBSETS, "JobSet", "own", &uid);
    denied_child(stage, &stage.tenant, &child, "JobSet")
}

fn alike(stage: &Stage) -> Result<()> {
    let uid = own_set(stage)?;
    let name = format!("system:serviceaccount:{TEAM}:jobset-controller-manager");
    let alike = stage.tenant.impersonating(&[("impersonate-user", &name)]);
    let child = forged("alike", JOBSETS, "JobSet", "own", &uid);
    denied_child(stage, &alike, &child, "JobSet")
}

fn child(stage: &Stage) -> Result<()> {
    let uid = own_set(stage)?;
    let jobset = stage.cluster.client(JOBSET);
    let child = forged("own-a-0", JOBSETS, "JobSet", "own", &uid);
    let answer = stage.ask(&jobset, How::Create, &jobs(TEAM), &child)?;
    answered(&answer, 201)
}

/// A delegated RayCluster through the version that has the field: its path in the version that has not.
fn pruned(stage: &Stage, name: &str) -> Result<(String, String)> {
    let spec = json!({"managedBy": MULTIKUEUE, "rayVersion": "2.9"});
    let clusters = path(RAY, TEAM, "rayclusters");
    stage.given(&clusters, &workload(RAY, "RayCluster", name, &spec))?;
    let older = path("ray.io/v1alpha1", TEAM, "rayclusters");
    Ok((format!("{clusters}/{name}"), format!("{older}/{name}")))
}

/// It was refused for its version, and the field is there. Who may not write the status is told nothing else, so the audit log says it.
fn kept(stage: &Stage, path: &str, answer: &Answer) -> Result<()> {
    let kept = stage.stored(path)?["spec"]["managedBy"].take();
    stage.note(format!("  stored: managedBy {kept}"));
    refused(answer, &[])?;
    let name = path.rsplit('/').next().unwrap_or_default();
    let denied = audited(&stage.cluster, name, "denied")?;
    stage.note(format!("  audit annotation denied: {denied}"));
    ensure!(denied.contains("managed-by/pruned-version"), "{denied}");
    ensure!(kept == MULTIKUEUE, "managedBy is {kept}");
    Ok(())
}

fn pruned_label(stage: &Stage) -> Result<()> {
    let (path, older) = pruned(stage, "pruned-label")?;
    let label = json!({"metadata": {"labels": {"a": "b"}}});
    let answer = stage.tries(How::MergePatch, &older, &label)?;
    kept(stage, &path, &answer)
}

fn pruned_status(stage: &Stage) -> Result<()> {
    let (path, older) = pruned(stage, "pruned-status")?;
    let change = json!({"status": {"state": "ready"}});
    let answer = stage.tries(How::MergePatch, &format!("{older}/status"), &change)?;
    kept(stage, &path, &answer)
}

fn excluded(stage: &Stage) -> Result<()> {
    for name in ["management", "worker", "hybrid", "pods", "webhook"] {
        let manifest = deploy::yaml(&format!("deploy/{name}.yml"))?;
        let manifest = manifest.first().context("empty")?;
        let places = ["/spec/namespaceSelector", "/webhooks/0/namespaceSelector"];
        let selector = places.iter().find_map(|place| manifest.pointer(place));
        let selector = selector.with_context(|| format!("{name}: no selector"))?;
        let expression = json!({
            "key": "kubernetes.io/metadata.name",
            "operator": "NotIn",
            "values": ["kube-system", "kubewarden"],
        });
        stage.note(format!("deploy/{name}.yml: {selector}"));
        ensure!(
            *selector == json!({"matchExpressions": [expression]}),
            "{name}"
        );
    }
    Ok(())
}

fn components(stage: &Stage) -> Result<()> {
    let component =
        json!({"template": {"apiVersion": "batch/v1", "kind": "Job", "spec": {"managedBy": ""}}});
    let components = vec![component; 12_000];
    let spec = json!({"managedBy": MULTIKUEUE, "components": components});
    let wrapper = workload(WRAPPERS, "AppWrapper", "many", &spec);
    let wrappers = path(WRAPPERS, TEAM, "appwrappers");
    let (before, started) = (stage.hook.process()?.processor()?, Instant::now());
    let answer = stage.tries(How::Create, &wrappers, &wrapper)?;
    let took = started.elapsed();
    let processor = stage.hook.process()?.processor()?.saturating_sub(before);
    stage.note(format!(
        "  PolicyServer took {processor:?} of processor time, the whole request {took:?}"
    ));
    // It is judged, whatever the verdict: no PolicyServer that gave up, and no limit of the API server.
    let judged = answer.code == 201 || answer.message().contains("[managed-by/");
    ensure!(judged, "{} {}", answer.code, answer.message());
    let said = format!("{} {:?}", answer.message(), answer.warnings);
    ensure!(said.contains("not looked at"), "not said: not looked at");
    Ok(())
}

/// Nothing here enforces it: there is no network plugin.
fn network_policy(stage: &Stage) -> Result<()> {
    stage.cluster.namespaces(&["kubewarden"])?;
    let manifest = deploy::yaml("deploy/network-policy.yml")?;
    let policies = path("networking.k8s.io/v1", "kubewarden", "networkpolicies");
    let admin = stage.cluster.client(ADMIN);
    let answer = stage.ask(
        &admin,
        How::Create,
        &policies,
        manifest.first().context("empty")?,
    )?;
    answered(&answer, 201)
}

/// A delegated Job with so much in its arguments.
fn of_bytes(name: &str, bytes: usize) -> Value {
    let mut job = job(TEAM, name, &delegated());
    job["spec"]["template"]["spec"]["containers"][0]["args"] = json!(["a".repeat(bytes)]);
    job
}

fn too_large(stage: &Stage, job: &Value) -> Result<()> {
    let answer = stage.tries(How::Create, &jobs(TEAM), job)?;
    if answer.code == 201 {
        // What becomes of such a Job.
        status(stage, job)?;
    }
    refused(&answer, &["[managed-by/updates-too-large]", "2 MiB"])
}

/// Its controller writes its status.
fn status(stage: &Stage, job: &Value) -> Result<Answer> {
    let name = job["metadata"]["name"].as_str().unwrap_or_default();
    let status = json!({"status": {"startTime": now(), "active": 1}});
    let kueue = stage.cluster.client(KUEUE);
    stage.ask(
        &kueue,
        How::MergePatch,
        &format!("{}/{name}/status", jobs(TEAM)),
        &status,
    )
}

fn large(stage: &Stage) -> Result<()> {
    too_large(stage, &of_bytes("large", 1_100_000))
}

fn escaped(stage: &Stage) -> Result<()> {
    let mut escaped = job(TEAM, "escaped", &delegated());
    escaped["metadata"]["annotations"] = json!({"a": "<".repeat(190_000)});
    too_large(stage, &escaped)
}

fn small(stage: &Stage) -> Result<()> {
    let small = of_bytes("small", 400_000);
    stage.given(&jobs(TEAM), &small)?;
    answered(&status(stage, &small)?, 200)
}

/// A pod whose owner has that name, and the UID of the delegated Job `b1`; its name does not matter.
fn pod(stage: &Stage, owner: &str) -> Result<Value> {
    let b1 = format!("{}/b1", jobs(TEAM));
    if stage.absent(&b1).is_ok() {
        stage.given(&jobs(TEAM), &job(TEAM, "b1", &delegated()))?;
    }
    let uid = stage.stored(&b1)?["metadata"]["uid"].take();
    let reference = json!({"apiVersion": "batch/v1", "kind": "Job", "name": owner, "uid": uid, "controller": true});
    Ok(json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"generateName": "b1-", "ownerReferences": [reference]},
        "spec": {"containers": [{"name": "main", "image": "e2e"}]},
    }))
}

/// How often PolicyServer has asked for a Job.
fn looked_up(stage: &Stage) -> Result<usize> {
    let audit = stage.cluster.audit()?;
    let asked = audit.by(POLICY_SERVER);
    Ok(asked.filter(|event| event["verb"] == "get").count())
}

fn owned_pod(stage: &Stage) -> Result<()> {
    let pod = pod(stage, "b1")?;
    let before = looked_up(stage)?;
    let answer = stage.tries(How::Create, &path("v1", TEAM, "pods"), &pod)?;
    refused(&answer, &["[pods/delegated-owner]"])?;
    ensure!(looked_up(stage)? > before, "PolicyServer asked nothing");
    Ok(())
}

fn named_pod(stage: &Stage, owner: &str) -> Result<()> {
    let pod = pod(stage, owner)?;
    let before = looked_up(stage)?;
    let answer = stage.tries(How::Create, &path("v1", TEAM, "pods"), &pod)?;
    let looked_up = looked_up(stage)? - before;
    stage.note(format!("  PolicyServer asked for {looked_up} Jobs"));
    answered(&answer, 201)?;
    ensure!(answer.warnings.is_empty(), "{:?}", answer.warnings);
    ensure!(looked_up == 0, "{looked_up} look-ups");
    Ok(())
}

/// A delegated AppWrapper that the schema of a real one would not take; no webhook says anything about its components.
fn odd(stage: &Stage, name: &str) -> Result<String> {
    let spec = json!({"managedBy": MULTIKUEUE, "components": "x"});
    let mut odd = workload(WRAPPERS, "AppWrapper", name, &spec);
    odd["metadata"]["finalizers"] = json!(["acme.io/hold"]);
    let wrappers = path(WRAPPERS, TEAM, "appwrappers");
    stage.given(&wrappers, &odd)?;
    Ok(format!("{wrappers}/{name}"))
}

fn odd_label(stage: &Stage) -> Result<()> {
    let path = odd(stage, "odd-label")?;
    let label = json!({"metadata": {"labels": {"a": "b"}}});
    answered(&stage.tries(How::MergePatch, &path, &label)?, 200)
}

fn odd_finalizer(stage: &Stage) -> Result<()> {
    let path = odd(stage, "odd-finalizer")?;
    answered(&stage.tries(How::Delete, &path, &Value::Null)?, 200)?;
    let freed = json!({"metadata": {"finalizers": null}});
    answered(&stage.tries(How::MergePatch, &path, &freed)?, 200)?;
    stage.absent(&path)
}

fn declared(stage: &Stage) -> Result<()> {
    let plain = workload(WORKFLOWS, "Workflow", "plain", &json!({}));
    let workflows = path(WORKFLOWS, TEAM, "workflows");
    let answer = stage.tries(How::Create, &workflows, &plain)?;
    refused(&answer, &["[managed-by/delegation]"])
}

/// One whose spec has members that are lists and objects in other kinds.
fn odd_declared(stage: &Stage, name: &str) -> Result<String> {
    let spec =
        json!({"managedBy": MULTIKUEUE, "components": "x", "replicatedJobs": 5, "runPolicy": "x"});
    let workflows = path(WORKFLOWS, TEAM, "workflows");
    stage.given(&workflows, &workload(WORKFLOWS, "Workflow", name, &spec))?;
    Ok(format!("{workflows}/{name}"))
}

fn declared_label(stage: &Stage) -> Result<()> {
    let path = odd_declared(stage, "odd-label")?;
    let label = json!({"metadata": {"labels": {"a": "b"}}});
    answered(&stage.tries(How::MergePatch, &path, &label)?, 200)
}

fn declared_status(stage: &Stage) -> Result<()> {
    let path = format!("{}/status", odd_declared(stage, "odd-status")?);
    let change = json!({"status": {"phase": "Running"}});
    let kueue = stage.cluster.client(KUEUE);
    let answer = stage.ask(&kueue, How::MergePatch, &path, &change)?;
    answered(&answer, 200)
}
