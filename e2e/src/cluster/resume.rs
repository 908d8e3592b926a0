//! JobSets and MPIJobs that are suspended while they run, and resumed: their controllers then write the status of Jobs that
//! they do not run themselves, and the shipped lists of writers must say so.
//!
//! `JobSet` and the mpi-operator take `startTime` away from a suspended Job before they let it run again. The Job controller
//! does that itself from 1.36 on, when it suspends the Job (`MutableSchedulingDirectivesForSuspendedJobs`); then the two
//! race. Before 1.36, or with that gate off, nobody else does it.

use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::api_server::{
    ANA, ApiServer, Audit, JOBSET, MPI_OPERATOR, OLDEST, Options, USUAL, line,
};
use super::fleet::{self, JOBSETS, TEAM, Workload, all_end};
use super::hook::{Hook, RELEASE};
use super::jobs::has;
use super::{controllers, modules};
use crate::deploy;
use crate::kube::{done, jobs, path};
use crate::kubelet::Kubelet;
use crate::process::{Process, until};
use crate::programs;
use crate::report::Report;
use crate::tls::Authority;

/// How many JobSets and how many MPIJobs are under way.
const SETS: usize = 4;

/// How long a pod runs: longer than it takes to suspend all of them on a slow machine.
const RUN: &str = "5000";

/// How long one step may take, or all that is left of a run.
const LIMIT: Duration = Duration::from_mins(1);

/// How long the control waits for the end of what has been resumed: more than the pods need.
const STUCK: Duration = Duration::from_secs(10);

/// How many denials are printed.
const SHOWN: usize = 3;

/// An API server with its built-in controllers.
struct Release {
    title: &'static str,
    name: &'static str,
    options: Options,
    /// What else stands in the command of kube-controller-manager.
    manager: &'static [&'static str],
    /// What must be changed in JobSet's CRD.
    crd: fn(&mut Value),
    /// Whether the Job controller leaves `startTime` to those who resume a Job.
    keeps_start: bool,
}

const RELEASES: [Release; 3] = [
    Release {
        title: "kube-apiserver as it is by default",
        name: "default",
        options: USUAL,
        manager: &[],
        crd: |_| (),
        keeps_start: false,
    },
    Release {
        title: "kube-apiserver and kube-controller-manager with MutableSchedulingDirectivesForSuspendedJobs=false",
        name: "gate-off",
        options: Options {
            feature_gates: Some("MutableSchedulingDirectivesForSuspendedJobs=false"),
            ..USUAL
        },
        manager: &["--feature-gates=MutableSchedulingDirectivesForSuspendedJobs=false"],
        crd: |_| (),
        keeps_start: true,
    },
    Release {
        title: "kube-apiserver-1.30.14 with JobManagedBy=true",
        name: "1.30",
        options: OLDEST,
        manager: &controllers::AS_OLD,
        crd: old_rules,
        keeps_start: true,
    },
];

/// A rule of JobSet's CRD reads `metadata.namespace`, which the rules of 1.30 cannot.
fn old_rules(crd: &mut Value) {
    for version in crd["spec"]["versions"].as_array_mut().into_iter().flatten() {
        let policies =
            "/schema/openAPIV3Schema/properties/spec/properties/volumeClaimPolicies/items";
        let policies = version.pointer_mut(policies).and_then(Value::as_object_mut);
        policies.map(|policies| policies.remove("x-kubernetes-validations"));
    }
}

/// A kind whose controller makes Jobs.
struct Kind {
    name: &'static str,
    resource: &'static str,
    api_version: &'static str,
    controller: &'static str,
    make: fn(namespace: &str, name: &str) -> Value,
    /// How many Jobs its controller makes of one.
    jobs: usize,
    /// The condition that tells a good end.
    end: &'static str,
    suspended: fn(bool) -> Value,
}

impl Kind {
    /// Some of it. Each name is of one kind alone: both controllers make a Service of the workload's name.
    fn workloads(&self, namespace: &str, prefix: &str) -> Vec<Workload> {
        let path = path(self.api_version, namespace, self.resource);
        let workload = |index| {
            let name = format!("{prefix}-{}-{index}", self.resource);
            Workload::new(&path, (self.make)(namespace, &name), self.end)
        };
        (0..SETS).map(workload).collect()
    }
}

const JOB_SETS: Kind = Kind {
    name: "JobSets",
    resource: "jobsets",
    api_version: JOBSETS,
    controller: JOBSET,
    make: |namespace, name| fleet::set(namespace, name, &json!({"e2e/run": RUN})),
    jobs: 2,
    end: "Completed",
    suspended: |suspend| json!({"spec": {"suspend": suspend}}),
};

const MPI_JOBS: Kind = Kind {
    name: "MPIJobs",
    resource: "mpijobs",
    api_version: "kubeflow.org/v2beta1",
    controller: MPI_OPERATOR,
    make: mpi_job,
    jobs: 1,
    end: "Succeeded",
    suspended: |suspend| json!({"spec": {"runPolicy": {"suspend": suspend}}}),
};

/// One whose workers run until the mpi-operator takes them away, which it does when the launcher ends.
fn mpi_job(namespace: &str, name: &str) -> Value {
    let replicas = |run: &str| {
        let job = super::hook::job(namespace, name, &json!({}));
        let mut template = job["spec"]["template"].clone();
        template["metadata"]["annotations"] = json!({"e2e/run": run});
        json!({"replicas": 1, "restartPolicy": "Never", "template": template})
    };
    json!({
        "apiVersion": "kubeflow.org/v2beta1",
        "kind": "MPIJob",
        "metadata": {"name": name},
        "spec": {
            "slotsPerWorker": 1,
            "runPolicy": {"cleanPodPolicy": "Running"},
            "mpiReplicaSpecs": {"Launcher": replicas(RUN), "Worker": replicas("forever")},
        },
    })
}

pub(super) fn run(report: &mut Report, folder: &Path, authority: &Authority) {
    report.section("resume: JobSets and MPIJobs that are suspended while they run");
    if !programs::all_there(
        report,
        "resume",
        &["kube-controller-manager", "jobset", "go"],
    ) {
        return;
    }
    report.note(&programs::version("kube-controller-manager"));
    report.note(modules::JOBSET);
    let mut kinds = vec![&JOB_SETS];
    if programs::all_there(report, "resume: MPIJobs", &["mpi-operator"]) {
        report.note(modules::MPI_OPERATOR);
        kinds.push(&MPI_JOBS);
    }
    for release in &RELEASES {
        report.section(&format!("resume: {}", release.title));
        if programs::all_there(report, "resume", &[release.options.program]) {
            on(report, folder, authority, release, &kinds);
        }
    }
}

/// What runs for one release.
struct Stage {
    // In this order, so that what writes ends before what it writes to.
    _kubelet: Kubelet,
    _controllers: Vec<Process>,
    hook: Hook,
    cluster: ApiServer,
}

/// Both manifests on one release, and the control where the status write is certain to happen.
fn on(
    report: &mut Report,
    folder: &Path,
    authority: &Authority,
    release: &Release,
    kinds: &[&Kind],
) {
    let projects: &[&str] = &["jobset", "mpi-operator"];
    let settings = |name: &str| deploy::settings(name, release.options.release, projects);
    let started = settings("worker").and_then(|settings| {
        let folder = folder.join("resume");
        let cluster = ApiServer::start(&folder, release.name, authority, release.options)?;
        cluster.namespaces(&[TEAM])?;
        let mut controllers = vec![
            controllers::manager_with(&cluster, release.manager)?,
            controllers::jobset_with(&cluster, authority, release.crd)?,
        ];
        if kinds.len() > 1 {
            controllers.push(controllers::mpi_operator(&cluster)?);
        }
        let name = format!("policy-server-{}", release.name);
        let hook = Hook::start(&folder, &name, &cluster, authority, &settings, projects)?;
        Ok((
            settings,
            Stage {
                _kubelet: Kubelet::scripted(&cluster),
                _controllers: controllers,
                hook,
                cluster,
            },
        ))
    });
    let Some((worker, mut stage)) = report.need("deploy/worker.yml is in force", started) else {
        return;
    };
    good(report, &stage, release, kinds, "worker", TEAM);
    if release.keeps_start && release.options.release == RELEASE {
        control(report, &mut stage, worker);
    }
    let management = settings("management").and_then(|settings| {
        let namespace = undelegated(&settings)?;
        stage.cluster.namespaces(&[&namespace])?;
        stage.hook.serve(&settings)?;
        Ok(namespace)
    });
    if let Some(namespace) = report.need("deploy/management.yml is in force", management) {
        good(report, &stage, release, kinds, "management", &namespace);
    }
}

/// A namespace in which the settings of a management cluster forbid delegation.
///
/// Elsewhere such a cluster runs nothing itself: a workload is delegated, and its own controller makes no Jobs of it, so
/// that there is nothing to resume. What the cluster needs for itself runs in the namespaces with `delegation: forbidden`,
/// with its own controllers, and their writes are judged by the same lists of writers.
fn undelegated(settings: &Value) -> Result<String> {
    let entries = settings["namespaces"].as_array().into_iter().flatten();
    let mut forbidden = entries.filter(|entry| entry["delegation"] == "forbidden");
    let entry = forbidden
        .next()
        .context("no entry that forbids delegation")?;
    let name = entry["match"][0].as_str().context("no name")?;
    ensure!(!name.contains('*'), "{name} is a pattern");
    Ok(name.to_owned())
}

/// All end as they should, and nobody is denied.
fn good(
    report: &mut Report,
    stage: &Stage,
    release: &Release,
    kinds: &[&Kind],
    manifest: &str,
    namespace: &str,
) {
    let cluster = &stage.cluster;
    let before = cluster.audit().map(|audit| audit.len()).unwrap_or_default();
    for kind in kinds {
        let workloads = kind.workloads(namespace, manifest);
        let ended = flip(cluster, kind, namespace, &workloads)
            .and_then(|()| all_end(cluster, &workloads, LIMIT));
        report.check(
            &format!(
                "{manifest}: {SETS} {} in {namespace} run, are suspended, are resumed, and all end",
                kind.name
            ),
            ended,
        );
    }
    let Some(audit) = report.need(&format!("{manifest}: the audit log"), cluster.audit()) else {
        return;
    };
    let audit = audit.after(before);
    let all = audit.all_judged().count();
    report.check(
        &format!("{manifest}: none of {all} judged writes was denied"),
        undenied(&audit),
    );
    for kind in kinds {
        let count = resumed(&audit, kind).count();
        let what = format!(
            "{count} of them were writes of {} to the status of Jobs",
            kind.controller
        );
        if release.keeps_start {
            report.check(&format!("{manifest}: {what}"), enough(count));
        } else {
            // The two race, and the audit log says who came first this time.
            report.note(&what);
        }
    }
}

fn undenied(audit: &Audit) -> Result<()> {
    enough(audit.all_judged().count())?;
    let denied: Vec<_> = audit.denied().map(line).collect();
    let shown: Vec<_> = denied.iter().take(SHOWN).map(String::as_str).collect();
    ensure!(
        denied.is_empty(),
        "{} were denied, such as\n{}",
        denied.len(),
        shown.join("\n")
    );
    Ok(())
}

fn enough(count: usize) -> Result<()> {
    ensure!(count > 0, "then this run shows nothing");
    Ok(())
}

/// Judged writes of a kind's controller to the status of Jobs.
fn resumed<'a>(audit: &'a Audit, kind: &Kind) -> impl Iterator<Item = &'a Value> {
    let is_status = |event: &&Value| {
        event["objectRef"]["resource"] == "jobs" && event["objectRef"]["subresource"] == "status"
    };
    audit.judged(kind.controller).filter(is_status)
}

/// Hands them in, and when all of their Jobs run, suspends each and resumes it as soon as its Jobs are suspended: so that
/// where the Job controller takes `startTime` away too, it has just begun with that.
fn flip(cluster: &ApiServer, kind: &Kind, namespace: &str, workloads: &[Workload]) -> Result<()> {
    workloads.iter().try_for_each(|w| w.submit(cluster))?;
    let ana = cluster.client(ANA);
    let children = |workload: &Workload, what: &str, holds: &dyn Fn(&Value) -> bool| {
        until(&format!("{what} of {}", workload.name), LIMIT, || {
            let mut children = ana.list(&jobs(namespace))?;
            children.retain(|job| job["metadata"]["ownerReferences"][0]["name"] == *workload.name);
            let all = children.len() == kind.jobs && children.iter().all(holds);
            Ok(all.then_some(()))
        })
    };
    for workload in workloads {
        children(workload, "running Jobs", &|job| job["status"]["ready"] == 1)?;
    }
    for workload in workloads {
        let path = format!("{}/{}", workload.path, workload.name);
        let set = |suspend| done(ana.patch(&path, &(kind.suspended)(suspend))?);
        set(true)?;
        children(workload, "suspended Jobs", &|job| {
            job["spec"]["suspend"] == true
        })?;
        set(false)?;
    }
    Ok(())
}

/// The same as in [`good`] with one account less in the list of writers: without it the checks above would be in vain.
fn control(report: &mut Report, stage: &mut Stage, mut settings: Value) {
    let outcome = without(&mut settings, JOBSET).and_then(|()| {
        stage.hook.serve(&settings)?;
        stuck(&stage.cluster)
    });
    if let Some((denied, completed)) = report.need(
        &format!("control: the same without JobSet's account in standard_status_writers.Job: after {STUCK:?} not one has ended"),
        outcome,
    ) {
        report.note(&format!("{denied} writes of JobSet to the status of Jobs were denied, {completed} of {SETS} JobSets ended"));
    }
}

/// Takes an account out of the list of those who may write the status of Jobs.
fn without(settings: &mut Value, account: &str) -> Result<()> {
    let writers = settings["standard_status_writers"]["Job"].as_array_mut();
    let writers = writers.context("no writers of Jobs")?;
    let before = writers.len();
    writers.retain(|writer| *writer != account);
    ensure!(
        writers.len() < before,
        "{account} is not listed: {writers:?}"
    );
    Ok(())
}

/// How many writes were denied and how many JobSets have ended, which must be some and none.
fn stuck(cluster: &ApiServer) -> Result<(usize, usize)> {
    let before = cluster.audit()?.len();
    let workloads = JOB_SETS.workloads(TEAM, "control");
    flip(cluster, &JOB_SETS, TEAM, &workloads)?;
    thread::sleep(STUCK);
    let ana = cluster.client(ANA);
    let mut completed = 0;
    for workload in &workloads {
        let set = done(ana.get(&format!("{}/{}", workload.path, workload.name))?)?;
        completed += usize::from(has(&set["status"], JOB_SETS.end));
    }
    let audit = cluster.audit()?.after(before);
    let denied = audit
        .denied()
        .filter(|event| event["user"]["username"] == JOBSET);
    let denied = denied.count();
    ensure!(
        denied > 0 && completed == 0,
        "{denied} were denied, and {completed} have ended"
    );
    for workload in &workloads {
        done(ana.delete(&format!("{}/{}", workload.path, workload.name))?)?;
    }
    Ok((denied, completed))
}
