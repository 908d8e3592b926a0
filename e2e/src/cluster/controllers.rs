//! Controllers as separate programs.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};

use super::api_server::{ApiServer, JOBSET, KUEUE, MANAGER, MPI_OPERATOR};
use super::modules;
use crate::deploy::documents;
use crate::http;
use crate::process::{Process, free_port};
use crate::tls::Authority;

/// What the Jobs of a cluster need of kube-controller-manager.
const BUILT_IN: &str = "--controllers=job-controller,cronjob-controller,namespace-controller,\
    garbage-collector-controller,ttl-after-finished-controller";

/// What makes kube-controller-manager of 1.36 write what kube-apiserver 1.30 understands: otherwise it would end each Job with
/// `SuccessCriteriaMet`. As 1.33, and without these gates, it ends Jobs and keeps `startTime` as that of 1.30 does.
pub(crate) const AS_OLD: [&str; 2] = [
    "--emulated-version=kube=1.33",
    "--feature-gates=JobManagedBy=false,JobPodReplacementPolicy=false",
];

const START: Duration = Duration::from_mins(1);

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
pub(crate) fn jobset(
    cluster: &ApiServer,
    authority: &Authority,
    change: impl Fn(&mut Value),
) -> Result<Process> {
    let module = modules::folder(modules::JOBSET)?;
    modules::crds(cluster, &module.join("config/components/crd/bases"), change)?;
    let place = Listening::new(cluster, "jobset", authority)?;
    let kind = "config.jobset.x-k8s.io/v1alpha1";
    place.configure(
        kind,
        &json!({"clientConnection": {"qps": 300, "burst": 600}}),
    )?;
    let kubeconfig = cluster.kubeconfig_file(JOBSET)?;
    let process = Process::start("jobset", "jobset", &cluster.folder, |command| {
        command
            .arg(format!("--config={}", place.config().display()))
            .arg(format!("--kubeconfig={}", kubeconfig.display()))
            .arg("--zap-devel=false")
    })?;
    let process = place.ready(process)?;
    let words = ["jobset", "pod"];
    modules::webhooks(cluster, &module, "jobset", &place.url(), authority, &words)?;
    Ok(process)
}

/// The mpi-operator with its CRD. Only one can run on a machine: it listens on a fixed port.
pub(crate) fn mpi_operator(cluster: &ApiServer) -> Result<Process> {
    let module = modules::folder(modules::MPI_OPERATOR)?;
    let file = module.join("manifests/base/kubeflow.org_mpijobs.yaml");
    for crd in documents(&fs::read_to_string(file)?)? {
        modules::crd(cluster, &crd)?;
    }
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
pub(crate) fn kueue(cluster: &ApiServer, authority: &Authority) -> Result<Process> {
    let module = modules::folder(modules::KUEUE)?;
    modules::crds(cluster, &module.join("config/components/crd/bases"), alone)?;
    let place = Listening::new(cluster, "kueue", authority)?;
    place.configure(
        "config.kueue.x-k8s.io/v1beta2",
        &json!({
            "clientConnection": {"qps": 300, "burst": 600},
            "integrations": {"frameworks": ["batch/job", "jobset.x-k8s.io/jobset"]},
            "featureGates": {"VisibilityOnDemand": false},
        }),
    )?;
    // It reads this certificate from a fixed place, which only it gets to see: its /etc is a folder of the run.
    let etc = place.folder.join("etc");
    authority.sign(&etc.join("kueue/metrics/certs"))?;
    let mount = r#"mount --bind "$0" /etc && exec setpriv --pdeathsig KILL -- "$@""#;
    let kubeconfig = cluster.kubeconfig_file(KUEUE)?;
    let kueue = crate::programs::find(modules::KUEUE_PROGRAM).unwrap_or_default();
    let process = Process::start("unshare", "kueue", &cluster.folder, |command| {
        // Root may mount; others may within a namespace of their own.
        let is_root =
            fs::metadata("/proc/self").is_ok_and(|m| std::os::unix::fs::MetadataExt::uid(&m) == 0);
        if !is_root {
            command.args(["--user", "--map-root-user"]);
        }
        command
            .args(["--mount", "--", "sh", "-c", mount])
            .arg(etc)
            .arg(kueue)
            .arg(format!("--config={}", place.config().display()))
            .env("KUBECONFIG", kubeconfig)
    })?;
    let process = place.ready(process)?;
    let words = ["batch-v1-job", "jobset", "kueue-x-k8s-io"];
    modules::webhooks(cluster, &module, "kueue", &place.url(), authority, &words)?;
    Ok(process)
}

/// A CRD in the version in which it is stored, so that nobody need convert the others.
fn alone(crd: &mut Value) {
    let spec = &mut crd["spec"];
    spec.as_object_mut().map(|spec| spec.remove("conversion"));
    if let Some(versions) = spec["versions"].as_array_mut() {
        versions.retain(|version| version["storage"] == true);
    }
}

/// Where a manager on controller-runtime listens.
struct Listening {
    folder: PathBuf,
    webhook: u16,
    probe: u16,
}

impl Listening {
    fn new(cluster: &ApiServer, name: &str, authority: &Authority) -> Result<Self> {
        let folder = cluster.folder.join(name);
        authority.sign(&folder)?;
        Ok(Self {
            folder,
            webhook: free_port()?,
            probe: free_port()?,
        })
    }

    fn config(&self) -> PathBuf {
        self.folder.join("config.yml")
    }

    fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.webhook)
    }

    /// Writes its configuration: on loopback, alone, with certificates that are there.
    fn configure(&self, api_version: &str, more: &Value) -> Result<()> {
        let mut config = json!({
            "apiVersion": api_version,
            "kind": "Configuration",
            "health": {"healthProbeBindAddress": format!("127.0.0.1:{}", self.probe)},
            "metrics": {"bindAddress": "0"},
            "webhook": {"host": "127.0.0.1", "port": self.webhook, "certDir": self.folder},
            "leaderElection": {"leaderElect": false},
            "internalCertManagement": {"enable": false},
        });
        super::hook::merge(&mut config, more);
        Ok(fs::write(
            self.config(),
            serde_yaml_ng::to_string(&config)?,
        )?)
    }

    fn ready(&self, mut process: Process) -> Result<Process> {
        let agent = http::agent(None)?;
        let url = format!("http://127.0.0.1:{}/readyz", self.probe);
        process.wait_until("readiness", START, || {
            agent.get(&url).call().is_ok_and(|a| a.status() == 200)
        })?;
        Ok(process)
    }
}
