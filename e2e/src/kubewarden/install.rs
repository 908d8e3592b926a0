//! A cluster without nodes, with Kubewarden as its charts install it.

use std::fs;
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};

use super::node::Node;
use crate::cluster::api_server::{
    ADMIN, ANA, AUDIT_SCANNER, ApiServer, KUBEWARDEN, Options, POLICY_SERVER, USUAL,
};
use crate::cluster::controllers;
use crate::commands::Shell;
use crate::kubelet::Kubelet;
use crate::process::Process;
use crate::tls::Authority;

pub(super) const NAMESPACE: &str = "kubewarden";

const OPTIONS: Options = Options {
    arguments: &[
        "--authorization-mode=RBAC",
        // It then finds the pods behind the Service of a webhook by itself, without kube-proxy.
        "--enable-aggregator-routing=true",
        "--advertise-address=10.244.0.1",
    ],
    ..USUAL
};

const CONTROLLERS: &str = "--controllers=deployment-controller,replicaset-controller,serviceaccount-controller,\
    endpointslice-controller,disruption-controller,clusterrole-aggregation-controller";

/// Where the certificates of the controller's webhooks are, in its `TMPDIR`.
const SERVING: &str = "controller/k8s-webhook-server/serving-certs";

/// What runs, and the shell whose commands reach it.
pub(super) struct World {
    pub(super) shell: Shell,
    // In this order, so that nothing asks what has ended.
    _kubelet: Kubelet,
    _controller: Process,
    _manager: Process,
    _api: ApiServer,
    _registry: Process,
}

impl World {
    pub(super) fn start(folder: &Path, charts: &Path) -> Result<Self> {
        let mut shell = Shell {
            folder: folder.to_owned(),
            environment: vec![("RUN", folder.display().to_string())],
        };
        shell.run("network")?;
        let authority = Authority::new()?;
        fs::write(folder.join("ca.crt"), authority.pem())?;
        fs::write(folder.join("ca.pkcs8"), authority.key_pem())?;
        authority.sign_for(&folder.join("scanner"), &["audit-scanner-client"])?;
        let service = "kubewarden-controller-webhook-service";
        let names = [format!("{service}.{NAMESPACE}.svc")];
        authority.sign_for(&folder.join(SERVING), &names.each_ref().map(String::as_str))?;
        // The registry has the modules under the names that the manifests give them.
        authority.sign_for(&folder.join("registry"), &["ghcr.io"])?;
        let tls = json!({"certificate": "registry/tls.crt", "key": "registry/tls.key"});
        let address = "127.0.0.1:443";
        let registry = registry(folder, &json!({"addr": address, "tls": tls}), address)?;
        shell.run("pushed")?;

        let api = ApiServer::start(&folder.join("cluster"), &authority, OPTIONS)?;
        let manager = controllers::manager(&api, &[CONTROLLERS])?;
        api.namespaces(&[NAMESPACE])?;
        for (name, user) in [
            ("KUBECONFIG", ADMIN),
            ("ANAS", ANA),
            ("SCANNER", AUDIT_SCANNER),
        ] {
            let file = api.kubeconfig_file(user)?;
            shell.environment.push((name, file.display().to_string()));
        }
        shell.environment.extend([
            ("API", api.url.clone()),
            ("ETCD", api.etcd.clone()),
            ("CHARTS", charts.display().to_string()),
        ]);
        let policy_server = api.kubeconfig_file(POLICY_SERVER)?;
        let kubelet = Node::start(folder.join("pods"), api.client(ADMIN), policy_server)?;
        shell.run("installed")?;
        let controller = controller(&api, folder, service)?;
        shell.run("ready_to_serve")?;
        Ok(Self {
            shell,
            _kubelet: kubelet,
            _controller: controller,
            _manager: manager,
            _api: api,
            _registry: registry,
        })
    }
}

/// Kubewarden's controller, which the charts would run in a pod.
fn controller(api: &ApiServer, folder: &Path, service: &str) -> Result<Process> {
    let kubeconfig = api.kubeconfig_file(KUBEWARDEN)?;
    let program = "kubewarden-controller";
    let mut controller = Process::start(program, program, folder, |command| {
        command
            .arg(format!("--kubeconfig={}", kubeconfig.display()))
            .arg(format!("--deployments-namespace={NAMESPACE}"))
            .arg(format!("--webhook-service-name={service}"))
            .args(["--webhook-server-port=9443", "--metrics-bind-address=0"])
            .arg("--health-probe-bind-address=127.0.0.1:8091")
            .env("TMPDIR", folder.join("controller"))
    })?;
    controller.answers("http://127.0.0.1:8091/readyz")?;
    Ok(controller)
}

/// A registry of this machine that answers at an address.
fn registry(folder: &Path, http: &Value, address: &str) -> Result<Process> {
    let config = json!({
        "version": 0.1,
        "log": {"level": "warn"},
        "storage": {"filesystem": {"rootdirectory": folder.join("registry")}},
        "http": http,
    });
    fs::write(folder.join("registry.json"), config.to_string())?;
    let mut registry = Process::start("docker-registry", "registry", folder, |command| {
        command.args(["serve", "registry.json"])
    })?;
    registry.wait_until("answer", Duration::from_secs(20), || {
        TcpStream::connect(address).is_ok()
    })?;
    Ok(registry)
}
