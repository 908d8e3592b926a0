//! Controllers as separate programs.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::api_server::{ApiServer, JOBSET, KUEUE, MANAGER, MPI_OPERATOR};
use super::modules;
use crate::deploy::yaml;
use crate::process::{Process, START, free_port};
use crate::programs;

/// What the Jobs of a cluster need of kube-controller-manager.
const BUILT_IN: &str = "--controllers=job-controller,cronjob-controller,namespace-controller,\
    garbage-collector-controller,ttl-after-finished-controller";

/// What makes kube-controller-manager of 1.36 write what kube-apiserver 1.30 understands: otherwise it would end each Job with
/// `SuccessCriteriaMet`. As 1.33, and without these gates, it ends Jobs and keeps `startTime` as that of 1.30 does.
pub(crate) const AS_OLD: [&str; 2] = [
    "--emulated-version=kube=1.33",
    "--feature-gates=JobManagedBy=false,JobPodReplacementPolicy=false",
];

/// kube-controller-manager, with a service account for each of its controllers, as a cluster has it, and more in its command.
pub(crate) fn manager(cluster: &ApiServer, arguments: &[&str]) -> Result<Process> {
    let kubeconfig = cluster.kubeconfig_file(MANAGER)?;
    let folder = &cluster.folder;
    let name = "kube-controller-manager";
    Process::start(name, name, folder, |command| {
        command
            .args(arguments)
            .arg(format!("--kubeconfig={}", kubeconfig.display()))
            .args([
                "--service-account-private-key-file=service-accounts.key",
                "--use-service-account-credentials",
                "--leader-elect=false",
                // Its default of 20 requests in a second would be most of the waiting.
                "--kube-api-qps=300",
                "--kube-api-burst=600",
                "--secure-port=0",
                BUILT_IN,
            ])
    })
}

/// JobSet's manager with its webhooks, and its CRD with a change.
pub(crate) fn jobset(cluster: &ApiServer, change: impl Fn(&mut Value)) -> Result<Process> {
    let kubeconfig = cluster.kubeconfig_file(JOBSET)?;
    let config = json!({
        "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
        "clientConnection": {"qps": 300, "burst": 600},
    });
    let words = ["jobset", "pod"];
    managed(cluster, modules::JOBSET, change, config, &words, |config| {
        Process::start("jobset", "jobset", &cluster.folder, |command| {
            command
                .arg(format!("--config={}", config.display()))
                .arg(format!("--kubeconfig={}", kubeconfig.display()))
                .arg("--zap-devel=false")
        })
    })
}

/// The mpi-operator with its CRD. Only one can run on a machine: it listens on a fixed port.
pub(crate) fn mpi_operator(cluster: &ApiServer) -> Result<Process> {
    let module = modules::folder(modules::MPI_OPERATOR)?;
    let crds = yaml(module.join("manifests/base/kubeflow.org_mpijobs.yaml"))?;
    modules::crds(cluster, &crds)?;
    // Where it keeps its lease.
    cluster.namespaces(&["mpi-operator"])?;
    let kubeconfig = cluster.kubeconfig_file(MPI_OPERATOR)?;
    let name = "mpi-operator";
    let mut process = Process::start(name, name, &cluster.folder, |command| {
        command
            .args(["-kube-api-qps=300", "-kube-api-burst=600"])
            .env("KUBECONFIG", kubeconfig)
    })?;
    let log = cluster.folder.join("mpi-operator.log");
    process.wait_until("leadership", START, || {
        fs::read_to_string(&log).is_ok_and(|log| log.contains("Leading started"))
    })?;
    Ok(process)
}

/// Kueue's manager with its CRDs and its webhooks, for Jobs and JobSets.
pub(crate) fn kueue(cluster: &ApiServer) -> Result<Process> {
    let kubeconfig = cluster.kubeconfig_file(KUEUE)?;
    let config = json!({
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "clientConnection": {"qps": 300, "burst": 600},
        "integrations": {"frameworks": ["batch/job", "jobset.x-k8s.io/jobset"]},
        "featureGates": {"VisibilityOnDemand": false},
    });
    // It reads this certificate from a fixed place, which only it gets to see: its /etc is a folder of the run.
    let etc = cluster.folder.join("kueue/etc");
    cluster.authority.sign(&etc.join("kueue/metrics/certs"))?;
    let mount = r#"mount --bind "$0" /etc && exec setpriv --pdeathsig KILL -- "$@""#;
    let kueue = programs::find(modules::KUEUE_PROGRAM).unwrap_or_default();
    let words = ["batch-v1-job", "jobset", "kueue-x-k8s-io"];
    managed(cluster, modules::KUEUE, alone, config, &words, |config| {
        Process::start("unshare", "kueue", &cluster.folder, |command| {
            // Root may mount; others may within a namespace of their own.
            if !fs::metadata("/proc/self").is_ok_and(|m| m.uid() == 0) {
                command.args(["--user", "--map-root-user"]);
            }
            command
                .args(["--mount", "--", "sh", "-c", mount])
                .arg(etc)
                .arg(kueue)
                .arg(format!("--config={}", config.display()))
                .env("KUBECONFIG", kubeconfig)
        })
    })
}

/// A CRD in the version in which it is stored, so that nobody need convert the others.
fn alone(crd: &mut Value) {
    let spec = &mut crd["spec"];
    spec.as_object_mut().map(|spec| spec.remove("conversion"));
    if let Some(versions) = spec["versions"].as_array_mut() {
        versions.retain(|version| version["storage"] == true);
    }
}

/// A manager on controller-runtime with what its module holds: CRDs, with a change, and webhooks, those whose path holds one of the
/// words. Its configuration says more than this: on loopback, alone, with certificates that are there.
fn managed(
    cluster: &ApiServer,
    module: &str,
    change: impl Fn(&mut Value),
    mut config: Value,
    words: &[&str],
    start: impl FnOnce(&Path) -> Result<Process>,
) -> Result<Process> {
    let (project, _) = module.split_once('@').context("no version")?;
    let project = project.rsplit('/').next().unwrap_or_default();
    let module = modules::folder(module)?;
    let mut crds = modules::crds_of(&module.join("config/components/crd/bases"))?;
    crds.iter_mut().for_each(change);
    modules::crds(cluster, &crds)?;
    let folder = cluster.folder.join(project);
    cluster.authority.sign(&folder)?;
    let (webhook, probe) = (free_port()?, free_port()?);
    let usual = json!({
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": format!("127.0.0.1:{probe}")},
        "metrics": {"bindAddress": "0"},
        "webhook": {"host": "127.0.0.1", "port": webhook, "certDir": folder},
        "leaderElection": {"leaderElect": false},
        "internalCertManagement": {"enable": false},
    });
    super::hook::merge(&mut config, &usual);
    let file = folder.join("config.yml");
    fs::write(&file, serde_yaml_ng::to_string(&config)?)?;
    let mut process = start(&file)?;
    process.answers(&format!("http://127.0.0.1:{probe}/readyz"))?;
    let url = format!("https://127.0.0.1:{webhook}");
    modules::webhooks(cluster, &module, project, &url, words)?;
    Ok(process)
}
