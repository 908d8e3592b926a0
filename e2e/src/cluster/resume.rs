//! JobSets and MPIJobs that are suspended while they run, and resumed: their controllers then write the status of Jobs that
//! they do not run themselves, and the shipped lists of writers must say so.
//!
//! `JobSet` and the mpi-operator take `startTime` away from a suspended Job before they let it run again. The Job controller
//! does that itself from 1.36 on, when it suspends the Job (`MutableSchedulingDirectivesForSuspendedJobs`); then the two
//! race. Before 1.36, or with that gate off, nobody else does it. The checks are in `e2e/cluster/resume.yml`.

use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::api_server::{ApiServer, JOB_CONTROLLER, JOBSET, MPI_OPERATOR, OLDEST, Options, USUAL};
use super::hook::{Hook, TEAM};
use super::steps::{self, Act};
use super::{controllers, modules};
use crate::deploy;
use crate::kubelet::Kubelet;
use crate::programs;
use crate::report;
use crate::tls::Authority;

/// A namespace in which the settings of a management cluster forbid delegation.
///
/// Elsewhere such a cluster runs nothing itself: a workload is delegated, and its own controller makes no Jobs of it, so that there is
/// nothing to resume. What the cluster needs for itself runs in these namespaces, with its own controllers, and their writes are judged
/// by the same lists of writers.
const UNDELEGATED: &str = "kueue-system";

/// How long the control waits for the end of what has been resumed: more than the pods need.
const STUCK: Duration = Duration::from_secs(10);

/// An API server with its built-in controllers.
struct Release {
    title: &'static str,
    /// The folder of its cluster.
    name: &'static str,
    options: Options,
    /// What else stands in the command of kube-controller-manager.
    manager: &'static [&'static str],
    /// What must be changed in JobSet's CRD.
    crd: fn(&mut Value),
    /// Whether the Job controller leaves `startTime` to those who resume a Job.
    keeps_start: bool,
}

const GATE_OFF: &str = "--feature-gates=MutableSchedulingDirectivesForSuspendedJobs=false";

const RELEASES: [Release; 3] = [
    Release {
        title: "kube-apiserver as it is by default",
        name: "resume-default",
        options: USUAL,
        manager: &[],
        crd: |_| (),
        keeps_start: false,
    },
    Release {
        title: "kube-apiserver and kube-controller-manager with MutableSchedulingDirectivesForSuspendedJobs=false",
        name: "resume-gate-off",
        options: Options {
            arguments: &["--authorization-mode=AlwaysAllow", GATE_OFF],
            ..USUAL
        },
        manager: &[GATE_OFF],
        crd: |_| (),
        keeps_start: true,
    },
    Release {
        title: "kube-apiserver-1.30.14 with JobManagedBy=true",
        name: "resume-1.30",
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

/// A kind in `resume.yml`, and the controller that makes Jobs of it.
type Kind = (&'static str, &'static str);

pub(super) fn run(folder: &Path, authority: &Authority) -> Option<()> {
    report::section("resume: JobSets and MPIJobs that are suspended while they run");
    programs::all_there("resume", &["kube-controller-manager", "jobset", "go"])?;
    report::note(&programs::version("kube-controller-manager"));
    report::note(modules::JOBSET);
    let mut kinds: Vec<Kind> = vec![("JobSet", JOBSET)];
    if programs::all_there("resume: MPIJobs", &["mpi-operator"]).is_some() {
        report::note(modules::MPI_OPERATOR);
        kinds.push(("MPIJob", MPI_OPERATOR));
    }
    for release in &RELEASES {
        report::section(&format!("resume: {}", release.title));
        on(folder, authority, release, &kinds);
    }
    Some(())
}

/// Both manifests on one release, and the control where the status write is certain to happen.
fn on(folder: &Path, authority: &Authority, release: &Release, kinds: &[Kind]) -> Option<()> {
    programs::all_there("resume", &[release.options.program])?;
    let projects: &[&str] = &["jobset", "mpi-operator"];
    let settings = |name: &str| deploy::settings(name, release.options.release, projects);
    let started = settings("worker").and_then(|settings| {
        let cluster = ApiServer::start(&folder.join(release.name), authority, release.options)?;
        cluster.namespaces(&[TEAM, UNDELEGATED])?;
        let mut controllers = vec![
            controllers::manager(&cluster, release.manager)?,
            controllers::jobset(&cluster, release.crd)?,
        ];
        if kinds.len() > 1 {
            controllers.push(controllers::mpi_operator(&cluster)?);
        }
        let hook = Hook::start(&cluster, &settings, projects)?;
        let kubelet = Kubelet::scripted(&cluster);
        Ok((settings, cluster, hook, controllers, kubelet))
    });
    let (worker, cluster, mut hook, _controllers, _kubelet) =
        report::need("deploy/worker.yml is in force", started)?;
    good(&cluster, release, kinds, "worker", TEAM);
    if release.keeps_start && release.options.release == USUAL.release {
        control(&cluster, &mut hook, worker);
    }
    let management = settings("management").and_then(|settings| hook.serve(&settings));
    if report::check("deploy/management.yml is in force", management) {
        good(&cluster, release, kinds, "management", UNDELEGATED);
    }
    Some(())
}

/// All end as they should, and nobody is denied.
fn good(
    cluster: &ApiServer,
    release: &Release,
    kinds: &[Kind],
    manifest: &str,
    namespace: &str,
) -> Option<()> {
    let before = cluster.audit().map_or(0, |audit| audit.len());
    for (kind, _) in kinds {
        flip(cluster, kind, manifest, namespace, &mut steps::no_act);
    }
    let audit = report::need(&format!("{manifest}: the audit log"), cluster.audit())?;
    let audit = audit.after(before);
    audit.quiet(manifest, &[(JOB_CONTROLLER, 1)], "");
    for (_, controller) in kinds {
        let is_status = |event: &&Value| {
            let object = &event["objectRef"];
            object["resource"] == "jobs" && object["subresource"] == "status"
        };
        let count = audit.judged(controller).filter(is_status).count();
        let what = format!("{count} of them were writes of {controller} to the status of Jobs");
        if release.keeps_start {
            report::check(&format!("{manifest}: {what}"), enough(count));
        } else {
            // The two race, and the audit log says who came first this time.
            report::note(&what);
        }
    }
    Some(())
}

/// Runs a part of `resume.yml`.
fn flip(cluster: &ApiServer, part: &str, manifest: &str, namespace: &str, act: Act<'_>) {
    let more = json!({"manifest": manifest, "namespace": namespace});
    steps::run(&[cluster], "resume", part, &more, act);
}

fn enough(count: usize) -> Result<()> {
    ensure!(count > 0, "then this run shows nothing");
    Ok(())
}

/// The same as in [`good`] with one account less in the list of writers.
fn control(cluster: &ApiServer, hook: &mut Hook, mut settings: Value) -> Option<()> {
    let mut serve = || {
        let writers = settings["standard_status_writers"]["Job"].as_array_mut();
        let writers = writers.context("no writers of Jobs")?;
        ensure!(
            writers.contains(&json!(JOBSET)),
            "{JOBSET} is not listed: {writers:?}"
        );
        writers.retain(|writer| *writer != JOBSET);
        hook.serve(&settings)?;
        Ok(cluster.audit()?.len())
    };
    let before = report::need("control: one writer less is in force", serve())?;
    let mut act = |name: &str| {
        ensure!(name == "10 s in which JobSet is denied", "no act {name}");
        thread::sleep(STUCK);
        let audit = cluster.audit()?.after(before);
        let denied = audit.denied();
        enough(denied.filter(|e| e["user"]["username"] == JOBSET).count())
    };
    flip(cluster, "control", "control", TEAM, &mut act);
    Some(())
}
