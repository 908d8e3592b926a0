//! PolicyServer, with policies of ours.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use ureq::Agent;
use ureq::http::Request;

use crate::http::{self, Answer};
use crate::process::{Process, free_port};
use crate::tls::{Authority, Files};

/// How long it may take to compile the modules.
const START: Duration = Duration::from_mins(1);

/// Where a PolicyServer listens, and what it is given. It may be stopped and started again at the same place.
pub(crate) struct Launch {
    folder: PathBuf,
    name: String,
    port: u16,
    probe: u16,
    authority: String,
    files: Files,
    /// What else stands in its command.
    pub(crate) arguments: Vec<String>,
    /// Where it finds Kubernetes.
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Variables of its environment.
    pub(crate) environment: Vec<(&'static str, String)>,
}

impl Launch {
    pub(crate) fn new(parent: &Path, name: &str, authority: &Authority) -> Result<Self> {
        let folder = parent.join(name);
        Ok(Self {
            files: authority.sign(&folder)?,
            folder,
            name: name.to_owned(),
            port: free_port()?,
            probe: free_port()?,
            authority: authority.pem(),
            arguments: Vec::new(),
            kubeconfig: None,
            environment: Vec::new(),
        })
    }

    /// Takes a certificate of an authority, in place of the one that is there.
    pub(crate) fn sign(&mut self, authority: &Authority) -> Result<()> {
        self.files = authority.sign(&self.folder)?;
        self.authority = authority.pem();
        Ok(())
    }

    /// The address, without a path.
    pub(crate) fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    fn spawn(&self, policies: &Value) -> Result<Process> {
        let file = self.folder.join("policies.yml");
        fs::write(&file, serde_yaml_ng::to_string(policies)?)?;
        Process::start("policy-server", &self.name, &self.folder, |command| {
            command.arg("--policies").arg(file);
            command.args(["--addr", "127.0.0.1", "--workers", "2", "--log-no-color"]);
            command.args(["--policies-download-dir", "modules"]);
            command.args(["--sigstore-cache-dir", "sigstore"]);
            command.arg("--port").arg(self.port.to_string());
            command
                .arg("--readiness-probe-port")
                .arg(self.probe.to_string());
            command.arg("--cert-file").arg(&self.files.certificate);
            command.arg("--key-file").arg(&self.files.key);
            // A cluster that happens to be configured on this machine is none of its business.
            let nowhere = self.folder.join("no-kubeconfig");
            command.env("KUBECONFIG", self.kubeconfig.as_ref().unwrap_or(&nowhere));
            command.env_remove("KUBERNETES_SERVICE_HOST");
            if self.kubeconfig.is_none() {
                command.arg("--ignore-kubernetes-connection-failure");
            }
            command.args(&self.arguments);
            command.envs(self.environment.iter().map(|(k, v)| (k, v)))
        })
    }

    /// Starts it and waits until it is ready.
    pub(crate) fn start(&self, policies: &Value) -> Result<PolicyServer> {
        let mut process = self.spawn(policies)?;
        let agent = http::agent(Some(&self.authority))?;
        let probe = format!("http://127.0.0.1:{}/readiness", self.probe);
        process.wait_until("readiness", START, || {
            agent.get(&probe).call().is_ok_and(|a| a.status() == 200)
        })?;
        Ok(PolicyServer {
            process,
            agent,
            url: self.url(),
            probe,
        })
    }

    /// Starts it with policies that it refuses, and gives its log.
    pub(crate) fn refused(&self, policies: &Value) -> Result<String> {
        let mut process = self.spawn(policies)?;
        let code = process.ended(START)?;
        ensure!(code == Some(1), "exit code {code:?}");
        process.log()
    }
}

/// A PolicyServer that is ready.
pub(crate) struct PolicyServer {
    pub(crate) process: Process,
    agent: Agent,
    pub(crate) url: String,
    pub(crate) probe: String,
}

impl PolicyServer {
    /// Posts bytes.
    pub(crate) fn post(&self, path: &str, content_type: &str, body: Vec<u8>) -> Result<Answer> {
        let request = Request::post(format!("{}{path}", self.url));
        let request = request.header("content-type", content_type).body(body)?;
        http::send(&self.agent, request)
    }

    /// Asks for a path.
    pub(crate) fn get(&self, url: &str) -> Result<Answer> {
        http::send(&self.agent, Request::get(url).body(Vec::new())?)
    }

    /// Posts an admission request, and gives the `response` in the answer.
    pub(crate) fn review(&self, path: &str, request: &Value) -> Result<Value> {
        let review = review(request);
        let answer = self.post(path, "application/json", serde_json::to_vec(&review)?)?;
        ensure!(
            answer.code == 200,
            "{path}: {} {}",
            answer.code,
            answer.body
        );
        let mut body = answer.body;
        ensure!(
            body["kind"] == "AdmissionReview" && body["apiVersion"] == "admission.k8s.io/v1",
            "{path}: {body}"
        );
        Ok(body["response"].take())
    }
}

/// A request in the envelope that the API server sends.
pub(crate) fn review(request: &Value) -> Value {
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
}
