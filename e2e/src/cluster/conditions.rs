//! `matchConditions` of the manifests in the API server itself, while no PolicyServer answers: what it does not ask about
//! goes on, and what it asks about is refused.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::api_server::{ADMIN, ANA, ApiServer};
use super::hook::{Hook, job};
use super::people::{MULTIKUEUE, TEAM, WRAPPERS, expect, wrapper};
use crate::deploy;
use crate::kube::{Client, jobs, path};
use crate::process::until;
use crate::report::Report;

/// What kube-apiserver calls AppWrapper's own controller.
const OWN: &str = "workload.codeflare.dev/appwrapper-controller";

const TRAINING: &str = "kubeflow.org/v1";

/// A write: what it is, where, the change, and whether it waits for PolicyServer.
type Write = (&'static str, String, Value, bool);

pub(super) fn run(report: &mut Report, cluster: &ApiServer, hook: &mut Hook, settings: &Value) {
    report.section("conditions: what the API server does not ask about");
    for name in deploy::POLICIES {
        let applied = conditions(name).and_then(|list| apply(cluster, hook, list));
        report.check(
            &format!("deploy/{name}.yml: its conditions compile"),
            applied,
        );
    }
    let pods = conditions("pods").and_then(|list| apply(cluster, hook, list));
    report.check("deploy/pods.yml: its condition compiles", pods);
    // Those of hybrid.yml, which names no writers of what is not delegated.
    let hybrid = conditions("hybrid").and_then(|list| apply(cluster, hook, list));
    let ready = hybrid.and_then(|()| prepare(cluster)).and_then(|()| {
        hook.kill();
        refusing(cluster)
    });
    if report.check("workloads of all shapes, and then no PolicyServer", ready) {
        let ana = cluster.client(ANA);
        for (what, path, change, waits) in writes() {
            report.check(what, write(&ana, &path, &change, waits));
        }
    }
    let back = hook.serve(settings).and_then(|()| {
        hook.apply(cluster, |_| ())?;
        Hook::in_force(cluster)
    });
    report.check("it answers again, and deploy/webhook.yml is back", back);
}

/// Those of `deploy/NAME.yml`.
fn conditions(name: &str) -> Result<Value> {
    let list = deploy::spec(name)?["matchConditions"].take();
    ensure!(list.is_array(), "no matchConditions");
    Ok(list)
}

fn apply(cluster: &ApiServer, hook: &Hook, conditions: Value) -> Result<()> {
    hook.apply(cluster, |webhook| webhook["matchConditions"] = conditions)
}

fn prepare(cluster: &ApiServer) -> Result<()> {
    let ana = cluster.client(ANA);
    let nested = |value: &Value| {
        let spec = if value.is_null() {
            json!({})
        } else {
            json!({"managedBy": value})
        };
        json!([{"template": {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": spec}}])
    };
    for (name, spec) in [
        ("own", json!({"suspend": true})),
        (
            "delegated",
            json!({"managedBy": MULTIKUEUE, "suspend": true}),
        ),
        (
            "reserved",
            json!({"managedBy": "kubernetes.io/job-controller", "suspend": true}),
        ),
    ] {
        ana.create(&jobs(TEAM), &job(TEAM, &format!("kept-{name}"), &spec))?;
    }
    let wrappers = path(WRAPPERS, TEAM, "appwrappers");
    for (name, value) in [
        ("delegated", json!(MULTIKUEUE)),
        ("reserved", json!(OWN)),
        ("own", Value::Null),
    ] {
        let mut wrapper = wrapper(&format!("kept-{name}"), &value);
        wrapper["spec"]["components"] = nested(&Value::Null);
        ana.create(&wrappers, &wrapper)?;
    }
    // Nothing in the schema says that there is a spec.
    let mut bare = wrapper("kept-bare", &Value::Null);
    bare.as_object_mut().context("an object")?.remove("spec");
    ana.create(&wrappers, &bare)?;
    let training = path(TRAINING, TEAM, "pytorchjobs");
    for (name, policy) in [
        ("own", json!({})),
        ("delegated", json!({"managedBy": MULTIKUEUE})),
    ] {
        let job = json!({"apiVersion": TRAINING, "kind": "PyTorchJob", "metadata": {"name": format!("kept-{name}")}, "spec": {"runPolicy": policy}});
        ana.create(&training, &job)?;
    }
    Ok(())
}

fn writes() -> Vec<Write> {
    [of_jobs(), of_wrappers(), of_training()].concat()
}

fn goes_on(what: &'static str, path: &str, change: Value) -> Write {
    (what, path.to_owned(), change, false)
}

fn waits(what: &'static str, path: &str, change: Value) -> Write {
    (what, path.to_owned(), change, true)
}

fn label() -> Value {
    json!({"metadata": {"labels": {"a": "b"}}})
}

fn of_jobs() -> Vec<Write> {
    let job = |name: &str| format!("{}/kept-{name}", jobs(TEAM));
    let status = |name: &str| format!("{}/status", job(name));
    let counts = || json!({"status": {"active": 0, "ready": 0, "terminating": 0}});
    let start = json!({"spec": {"suspend": false}});
    vec![
        goes_on("goes on: a label on a Job", &job("own"), label()),
        goes_on(
            "goes on: a delegated Job is let start, as Kueue does",
            &job("delegated"),
            start,
        ),
        goes_on("goes on: the status of a Job", &status("own"), counts()),
        goes_on(
            "goes on: the status of a Job with the reserved value",
            &status("reserved"),
            counts(),
        ),
        waits(
            "waits: the status of a delegated Job",
            &status("delegated"),
            counts(),
        ),
    ]
}

fn of_wrappers() -> Vec<Write> {
    let wrapper = |name: &str| format!("{}/kept-{name}", path(WRAPPERS, TEAM, "appwrappers"));
    let status = |name: &str| format!("{}/status", wrapper(name));
    let phase = || json!({"status": {"phase": "Running"}});
    let given = |value: Value| json!({"spec": {"managedBy": value}});
    let template =
        json!({"apiVersion": "batch/v1", "kind": "Job", "spec": {"managedBy": "acme.io/x"}});
    let template = json!({"spec": {"components": [{"template": template}]}});
    vec![
        goes_on(
            "goes on: a label on an AppWrapper",
            &wrapper("delegated"),
            label(),
        ),
        goes_on(
            "goes on: a label on an AppWrapper without a spec",
            &wrapper("bare"),
            label(),
        ),
        goes_on(
            "goes on: the status of an AppWrapper without a spec",
            &status("bare"),
            phase(),
        ),
        goes_on(
            "goes on: the status of an AppWrapper",
            &status("own"),
            phase(),
        ),
        goes_on(
            "goes on: the status of an AppWrapper with the reserved value",
            &status("reserved"),
            phase(),
        ),
        waits(
            "waits: the status of a delegated AppWrapper",
            &status("delegated"),
            phase(),
        ),
        waits(
            "waits: an AppWrapper is delegated",
            &wrapper("own"),
            given(json!(MULTIKUEUE)),
        ),
        waits(
            "waits: an AppWrapper is taken back",
            &wrapper("delegated"),
            given(Value::Null),
        ),
        waits(
            "waits: a template in an AppWrapper changes",
            &wrapper("own"),
            template,
        ),
    ]
}

fn of_training() -> Vec<Write> {
    let job = |name: &str| format!("{}/kept-{name}", path(TRAINING, TEAM, "pytorchjobs"));
    let status = |name: &str| format!("{}/status", job(name));
    let counts = || json!({"status": {"replicas": 1}});
    let given = json!({"spec": {"runPolicy": {"managedBy": MULTIKUEUE}}});
    vec![
        goes_on(
            "goes on: the status of a PyTorchJob",
            &status("own"),
            counts(),
        ),
        waits(
            "waits: the status of a delegated PyTorchJob",
            &status("delegated"),
            counts(),
        ),
        waits("waits: a PyTorchJob is delegated", &job("own"), given),
    ]
}

/// The API server learns of new conditions a little later: until then it asks about everything, or nothing.
fn refusing(cluster: &ApiServer) -> Result<()> {
    let admin = cluster.client(ADMIN);
    let (label, create) = (
        json!({"metadata": {"labels": {"b": "c"}}}),
        job(TEAM, "refused", &json!({})),
    );
    until(
        "conditions in force",
        std::time::Duration::from_secs(20),
        || {
            let passes = admin
                .patch(&format!("{}/kept-own?dryRun=All", jobs(TEAM)), &label)?
                .code
                == 200;
            let refused = admin
                .post(&format!("{}?dryRun=All", jobs(TEAM)), &create)?
                .code
                == 500;
            Ok((passes && refused).then_some(()))
        },
    )
}

fn write(client: &Client, path: &str, change: &Value, waits: bool) -> Result<()> {
    let answer = client.patch(path, change)?;
    if waits {
        return expect(&answer, 500, &["failed calling webhook"]);
    }
    expect(&answer, 200, &[])?;
    ensure!(answer.warnings.is_empty(), "{:?}", answer.warnings);
    Ok(())
}
