//! A cluster without nodes, with Kubewarden as its charts install it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use super::kubelet::Kubelet;
use crate::cluster::api_server::{
    ADMIN, ANA, AUDIT_SCANNER, ApiServer, KUBEWARDEN, Options, POLICY_SERVER, USUAL,
};
use crate::cluster::controllers;
use crate::deploy::{self, base64};
use crate::http;
use crate::process::{Process, until};
use crate::tls::{Authority, Files};

pub(super) const NAMESPACE: &str = "kubewarden";
pub(super) const NODE: &str = "e2e";

/// How long a part of it may take to start.
const LIMIT: Duration = Duration::from_mins(1);

/// Where the manifests say that the modules are.
const REGISTRY: &str = "ghcr.io";
const WEBHOOK: &str = "kubewarden-controller-webhook-service";

const OPTIONS: Options = Options {
    authorization_mode: "RBAC",
    // It then finds the pods behind the Service of a webhook by itself, without kube-proxy.
    arguments: &[
        "--enable-aggregator-routing=true",
        "--advertise-address=10.244.0.1",
    ],
    ..USUAL
};

const CONTROLLERS: &str = "--controllers=deployment-controller,replicaset-controller,serviceaccount-controller,\
    endpointslice-controller,disruption-controller,clusterrole-aggregation-controller";

/// What runs, and the environment in which commands reach it.
pub(super) struct World {
    pub(super) folder: PathBuf,
    pub(super) environment: Vec<(&'static str, String)>,
    // In this order, so that nothing asks what has ended.
    _kubelet: Kubelet,
    servers: Vec<Process>,
    api: ApiServer,
}

impl World {
    pub(super) fn start(folder: &Path, charts: &Path) -> Result<Self> {
        shell(
            folder,
            "ip link set lo up && ip address add 10.244.0.1/16 dev lo",
        )?;
        fs::write(
            folder.join("hosts"),
            format!("127.0.0.1 localhost {REGISTRY}\n"),
        )?;
        shell(folder, "mount --bind hosts /etc/hosts")?;
        let authority = Authority::new()?;
        fs::write(folder.join("ca.crt"), authority.pem())?;
        let registry = registry(folder, &authority)?;
        let api = ApiServer::start(folder, "cluster", &authority, OPTIONS)?;
        let manager = controllers::manager_with(&api, &[CONTROLLERS])?;
        api.namespaces(&[NAMESPACE])?;
        let file =
            |user: &str| Ok::<_, anyhow::Error>(api.kubeconfig_file(user)?.display().to_string());
        let environment = vec![
            ("KUBECONFIG", file(ADMIN)?),
            ("ANAS", file(ANA)?),
            ("SCANNER", file(AUDIT_SCANNER)?),
            ("API", api.url.clone()),
            ("ETCD", api.etcd.clone()),
            ("RUN", folder.display().to_string()),
            ("ROOT", deploy::root("").display().to_string()),
        ];
        let policy_server = api.kubeconfig_file(POLICY_SERVER)?;
        let kubelet = Kubelet::start(folder.join("pods"), api.client(ADMIN), policy_server)?;
        let mut world = Self {
            folder: folder.to_owned(),
            environment,
            _kubelet: kubelet,
            servers: vec![registry, manager],
            api,
        };
        let controller = world.controller(charts, &authority)?;
        world.servers.push(controller);
        Ok(world)
    }

    /// Applies what the charts make, but for the Deployment of Kubewarden's controller, which runs here.
    fn controller(&self, charts: &Path, authority: &Authority) -> Result<Process> {
        let read =
            |file: &Path| fs::read_to_string(file).with_context(|| file.display().to_string());
        let service = format!("{WEBHOOK}.{NAMESPACE}.svc");
        let serving = self
            .folder
            .join("controller/k8s-webhook-server/serving-certs");
        let webhook = authority.sign_for(&serving, &[&service])?;
        let scanner =
            authority.sign_for(&self.folder.join("scanner"), &["audit-scanner-client"])?;
        let mut install = deploy::text("e2e/kubewarden/install.yml")?;
        let in_base64 = |name: &str, files: &Files| -> Result<[(String, String); 2]> {
            let [certificate, key] = [&files.certificate, &files.key].map(|file| read(file));
            Ok([
                (format!("{name}_CRT"), certificate?),
                (format!("{name}_KEY"), key?),
            ])
        };
        let own = [
            ("CA_CRT".to_owned(), authority.pem()),
            ("CA_KEY".to_owned(), authority.key_pem()?),
        ];
        for (name, text) in [
            own,
            in_base64("WEBHOOK", &webhook)?,
            in_base64("SCANNER", &scanner)?,
        ]
        .concat()
        {
            install = install.replace(&name, &base64(text.as_bytes()));
        }
        fs::write(self.folder.join("install.yml"), install)?;
        let ca = format!("caBundle: {}\n", base64(authority.pem().as_bytes()));
        let made = read(&charts.join("controller.yaml"))?.replace("caBundle: CA\n", &ca);
        fs::write(self.folder.join("controller.yml"), made)?;
        let trust = json!({"spec": {"sourceAuthorities": {REGISTRY: [authority.pem()]}}});
        fs::write(self.folder.join("trust.json"), trust.to_string())?;
        self.run(&format!(
            "kubectl apply --server-side -f {}/crds.yaml && kubectl wait --for=condition=Established --timeout=1m crd --all
            kubectl apply --server-side -f install.yml && kubectl apply --server-side -f controller.yml",
            charts.display()
        ))?;
        let kubeconfig = self.api.kubeconfig_file(KUBEWARDEN)?;
        let program = "kubewarden-controller";
        let mut controller = Process::start(program, program, &self.folder, |command| {
            command
                .arg(format!("--kubeconfig={}", kubeconfig.display()))
                .arg(format!("--deployments-namespace={NAMESPACE}"))
                .arg(format!("--webhook-service-name={WEBHOOK}"))
                .args(["--webhook-server-port=9443", "--metrics-bind-address=0"])
                .arg("--health-probe-bind-address=127.0.0.1:8091")
                .env("TMPDIR", self.folder.join("controller"))
        })?;
        let agent = http::agent(None)?;
        controller.wait_until("readiness", LIMIT, || {
            let ready = agent.get("http://127.0.0.1:8091/readyz").call();
            ready.is_ok_and(|answer| answer.status() == 200)
        })?;
        self.run(&format!(
            "kubectl apply --server-side -f {}/defaults.yaml
            kubectl patch policyserver default --type=merge --patch-file=trust.json
            soon kubectl get deployment/policy-server-default -n {NAMESPACE}
            settled",
            charts.display()
        ))?;
        Ok(controller)
    }

    /// Runs commands of a shell, with the words of `prelude.sh`.
    pub(super) fn run(&self, commands: &str) -> Result<()> {
        let prelude = deploy::text("e2e/kubewarden/prelude.sh")?;
        let mut shell = Command::new("bash");
        shell.args(["-euo", "pipefail", "-c", &format!("{prelude}\n{commands}")]);
        let environment = self.environment.iter().map(|(name, value)| (name, value));
        let output = shell.envs(environment).current_dir(&self.folder).output()?;
        let printed =
            String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        ensure!(output.status.success(), "{printed}");
        Ok(())
    }
}

/// The registry, which has the modules under the names that the manifests give them.
fn registry(folder: &Path, authority: &Authority) -> Result<Process> {
    let files = authority.sign_for(&folder.join("registry"), &[REGISTRY])?;
    let config = json!({
        "version": 0.1, "log": {"level": "warn"},
        "storage": {"filesystem": {"rootdirectory": folder.join("registry")}},
        "http": {"addr": "127.0.0.1:443", "tls": {"certificate": files.certificate, "key": files.key}},
    });
    fs::write(folder.join("registry.json"), config.to_string())?;
    let registry = Process::start("docker-registry", "registry", folder, |command| {
        command.args(["serve", "registry.json"])
    })?;
    let authorities = json!({REGISTRY: [{"type": "Data", "data": authority.pem()}]});
    let sources = json!({"insecure_sources": [], "source_authorities": authorities});
    fs::write(folder.join("sources.yml"), sources.to_string())?;
    for (manifest, module) in [
        ("management", deploy::MODULE),
        ("pods", deploy::PODS_MODULE),
    ] {
        let manifest = deploy::yaml(&format!("deploy/{manifest}.yml"))?;
        let address = manifest[0]["spec"]["module"]
            .as_str()
            .context("no module")?;
        let module = deploy::root(module);
        let push = format!(
            "kwctl push --sources-path sources.yml {} {address}",
            module.display()
        );
        // The registry may not listen yet.
        until("registry", LIMIT, || shell(folder, &push).map(Some))?;
    }
    Ok(registry)
}

fn shell(folder: &Path, commands: &str) -> Result<()> {
    let output = Command::new("sh")
        .args(["-c", commands])
        .current_dir(folder)
        .output()?;
    let printed = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    ensure!(output.status.success(), "{commands}: {printed}");
    Ok(())
}
