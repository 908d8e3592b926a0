//! PolicyServer, with policies of ours.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::Value;
use ureq::Agent;

use crate::http;
use crate::process::{Process, free_port};
use crate::tls::Authority;

/// A PolicyServer, which may be stopped and started again at the same place.
pub(crate) struct PolicyServer {
    folder: PathBuf,
    port: u16,
    probe: u16,
    /// Who has signed its certificate.
    pub(crate) authority: Authority,
    agent: Agent,
    /// What else stands in its command.
    pub(crate) arguments: &'static [&'static str],
    /// Where it finds Kubernetes.
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Variables of its environment.
    pub(crate) environment: Vec<(&'static str, String)>,
    /// While it runs.
    process: Option<Process>,
}

impl PolicyServer {
    pub(crate) fn new(folder: &Path, authority: &Authority) -> Result<Self> {
        authority.sign(folder)?;
        Ok(Self {
            folder: folder.to_owned(),
            port: free_port()?,
            probe: free_port()?,
            authority: authority.clone(),
            agent: http::agent(Some(&authority.pem()))?,
            arguments: &[],
            kubeconfig: None,
            environment: Vec::new(),
            process: None,
        })
    }

    /// Takes a certificate of an authority, in place of the one that is there.
    pub(crate) fn sign(&mut self, authority: &Authority) -> Result<()> {
        self.authority = authority.clone();
        self.agent = http::agent(Some(&authority.pem()))?;
        authority.sign(&self.folder)
    }

    /// The address of a path.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("https://127.0.0.1:{}{path}", self.port)
    }

    /// The address of a path on the port of its readiness probe.
    pub(crate) fn probe(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.probe)
    }

    fn spawn(&self, policies: &Value) -> Result<Process> {
        let file = self.folder.join("policies.yml");
        fs::write(&file, serde_yaml_ng::to_string(policies)?)?;
        let name = "policy-server";
        Process::start(name, name, &self.folder, |command| {
            command.args(["--policies", "policies.yml"]);
            command.args(["--addr", "127.0.0.1", "--workers", "2", "--log-no-color"]);
            command.args(["--policies-download-dir", "modules"]);
            command.args(["--sigstore-cache-dir", "sigstore"]);
            command.arg(format!("--port={}", self.port));
            command.arg(format!("--readiness-probe-port={}", self.probe));
            command.args(["--cert-file", "tls.crt", "--key-file", "tls.key"]);
            // A cluster that happens to be configured on this machine is none of its business.
            let nowhere = self.folder.join("no-kubeconfig");
            command.env("KUBECONFIG", self.kubeconfig.as_ref().unwrap_or(&nowhere));
            command.env_remove("KUBERNETES_SERVICE_HOST");
            if self.kubeconfig.is_none() {
                command.arg("--ignore-kubernetes-connection-failure");
            }
            command.args(self.arguments);
            command.envs(self.environment.iter().map(|(k, v)| (k, v)))
        })
    }

    /// Starts it, be it once more, and waits until it is ready.
    pub(crate) fn start(&mut self, policies: &Value) -> Result<()> {
        self.kill();
        let mut process = self.spawn(policies)?;
        process.answers(&self.probe("/readiness"))?;
        self.process = Some(process);
        Ok(())
    }

    /// Ends it as a failing node would.
    pub(crate) fn kill(&mut self) {
        self.process = None;
    }

    pub(crate) fn process(&self) -> Result<&Process> {
        self.process.as_ref().context("no PolicyServer")
    }
}
