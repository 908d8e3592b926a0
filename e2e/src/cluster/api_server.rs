//! etcd and kube-apiserver on loopback.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use ureq::Agent;

use super::audit::Audit;
use super::modules;
use crate::deploy::base64;
use crate::http;
use crate::kube::{Client, done};
use crate::process::{Process, START, free_port};
use crate::tls::{self, Authority};

/// Those who ask. Each controller has a name of its own, so that the rules about writers have something to judge.
pub(crate) const ADMIN: &str = "admin";
/// kube-controller-manager, which makes itself a service account for each controller.
pub(crate) const MANAGER: &str = "system:kube-controller-manager";
/// What it makes for the Job controller.
pub(crate) const JOB_CONTROLLER: &str = "system:serviceaccount:kube-system:job-controller";
/// Kueue.
pub(crate) const KUEUE: &str = "system:serviceaccount:kueue-system:kueue-controller-manager";
/// The hub's Kueue where it works on the worker.
pub(crate) const MULTIKUEUE: &str = "system:serviceaccount:kueue-system:multikueue-sa";
/// JobSet.
pub(crate) const JOBSET: &str = "system:serviceaccount:jobset-system:jobset-controller-manager";
/// PolicyServer, which looks Jobs up.
pub(crate) const POLICY_SERVER: &str = "system:serviceaccount:kubewarden:policy-server";
/// Kubewarden's controller.
pub(crate) const KUBEWARDEN: &str = "system:serviceaccount:kubewarden:kubewarden-controller";
/// Kubewarden's audit scanner.
pub(crate) const AUDIT_SCANNER: &str = "system:serviceaccount:kubewarden:audit-scanner";
/// The mpi-operator.
pub(crate) const MPI_OPERATOR: &str = "system:serviceaccount:mpi-operator:mpi-operator";
/// What kube-controller-manager makes for the controller of CronJobs.
pub(crate) const CRON_JOBS: &str = "system:serviceaccount:kube-system:cronjob-controller";
/// The scripted kubelet.
pub(crate) const KUBELET: &str = "system:node:e2e";
/// A person.
pub(crate) const ANA: &str = "ana";

/// Users with their groups. A user's token is the user's name.
pub(crate) const USERS: [(&str, &str); 15] = [
    (ADMIN, "system:masters"),
    (MANAGER, ""),
    (JOB_CONTROLLER, "system:serviceaccounts"),
    (KUEUE, "system:serviceaccounts"),
    (MULTIKUEUE, "system:serviceaccounts"),
    (JOBSET, "system:serviceaccounts"),
    (MPI_OPERATOR, "system:serviceaccounts"),
    (CRON_JOBS, "system:serviceaccounts"),
    (POLICY_SERVER, "system:serviceaccounts"),
    (KUBEWARDEN, "system:serviceaccounts"),
    (AUDIT_SCANNER, "system:serviceaccounts"),
    (KUBELET, "system:nodes"),
    (ANA, "developers"),
    // Who may do in one namespace what the role `edit` grants, and nothing elsewhere.
    ("tenant", "developers"),
    // Who breaks the glass in `deploy/hybrid.yml`.
    ("example-break-glass", "developers"),
];

/// What is written, by whom, with the answer and the annotations of webhooks; of what is read only what PolicyServer looks up.
const AUDIT_POLICY: &str = r#"{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [
    {"level": "Metadata", "verbs": ["create", "update", "patch", "delete"], "resources": [
        {"group": "batch"}, {"group": "jobset.x-k8s.io"}, {"group": "workload.codeflare.dev"}, {"group": "kubeflow.org"},
        {"group": "ray.io"}, {"group": "argoproj.io"}]},
    {"level": "Metadata", "verbs": ["get"], "users": ["system:serviceaccount:kubewarden:policy-server"], "resources": [{"group": "batch"}]},
    {"level": "None"}]}"#;

/// How a kube-apiserver is started.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Options {
    /// The program on the PATH.
    pub(crate) program: &'static str,
    /// Its release, for `kubernetes_version`.
    pub(crate) release: &'static str,
    /// The program of its store.
    pub(crate) etcd: &'static str,
    /// What else stands in its command.
    pub(crate) arguments: &'static [&'static str],
}

/// As most parts want it: what is tested is admission alone.
pub(crate) const USUAL: Options = Options {
    program: "kube-apiserver",
    release: "1.36",
    etcd: "etcd",
    arguments: &["--authorization-mode=AlwaysAllow"],
};

/// The first release that the policy knows, with the feature without which it has no `managedBy` in Jobs.
pub(crate) const OLDEST: Options = Options {
    program: modules::OLDEST,
    release: "1.30",
    arguments: &[
        "--authorization-mode=AlwaysAllow",
        "--feature-gates=JobManagedBy=true",
    ],
    ..USUAL
};

/// The last one.
pub(crate) const NEWEST: Options = Options {
    program: modules::NEWEST,
    release: "1.37",
    ..USUAL
};

/// A cluster without nodes.
pub(crate) struct ApiServer {
    pub(crate) folder: PathBuf,
    pub(crate) url: String,
    /// Where its store answers.
    pub(crate) etcd: String,
    pub(crate) authority: Authority,
    agent: Agent,
    // In this order, so that kube-apiserver ends before its store.
    pub(crate) server: Process,
    pub(crate) store: Process,
}

impl ApiServer {
    /// Starts both and waits until they are ready.
    pub(crate) fn start(folder: &Path, authority: &Authority, options: Options) -> Result<Self> {
        authority.sign(folder)?;
        tls::signing_key(folder)?;
        let (store, etcd) = Self::etcd(options.etcd, folder)?;
        let port = free_port()?;
        fs::write(folder.join("audit-policy.json"), AUDIT_POLICY)?;
        let line = |(user, groups): &(&str, &str)| format!("{user},{user},{user},\"{groups}\"\n");
        let users: String = USERS.iter().map(line).collect();
        fs::write(folder.join("tokens.csv"), users)?;
        let server = Process::start(options.program, "kube-apiserver", folder, |command| {
            command
                .arg(format!("--etcd-servers={etcd}"))
                .arg(format!("--secure-port={port}"))
                .args([
                    "--tls-cert-file=tls.crt",
                    "--tls-private-key-file=tls.key",
                    "--bind-address=127.0.0.1",
                    "--endpoint-reconciler-type=none",
                    "--service-cluster-ip-range=10.0.0.0/24",
                    "--token-auth-file=tokens.csv",
                    "--service-account-issuer=https://e2e",
                    "--service-account-key-file=service-accounts.pub",
                    "--service-account-signing-key-file=service-accounts.key",
                    // It waits for a service account in each namespace, which nobody makes here.
                    "--disable-admission-plugins=ServiceAccount",
                    "--audit-policy-file=audit-policy.json",
                    "--audit-log-path=audit.log",
                ])
                .args(options.arguments)
        })?;
        let mut cluster = Self {
            folder: folder.to_owned(),
            url: format!("https://127.0.0.1:{port}"),
            etcd,
            agent: http::agent(Some(&authority.pem()))?,
            authority: authority.clone(),
            server,
            store,
        };
        cluster.ready()?;
        Ok(cluster)
    }

    /// Waits until it answers.
    fn ready(&mut self) -> Result<()> {
        let admin = self.client(ADMIN);
        self.server.wait_until("readiness", START, || {
            admin.get("/readyz").is_ok_and(|answer| answer.code == 200)
        })
    }

    /// Ends kube-apiserver, not its store, and starts it again.
    pub(crate) fn restart(&mut self) -> Result<()> {
        self.server.restart()?;
        self.ready()
    }

    fn etcd(program: &str, folder: &Path) -> Result<(Process, String)> {
        let url = format!("http://127.0.0.1:{}", free_port()?);
        let peers = format!("http://127.0.0.1:{}", free_port()?);
        let mut etcd = Process::start(program, "etcd", folder, |command| {
            command
                .args(["--name=e2e", "--data-dir=etcd"])
                .arg(format!("--listen-client-urls={url}"))
                .arg(format!("--advertise-client-urls={url}"))
                .arg(format!("--listen-peer-urls={peers}"))
                .arg(format!("--initial-advertise-peer-urls={peers}"))
                .arg(format!("--initial-cluster=e2e={peers}"))
        })?;
        etcd.answers(&format!("{url}/health"))?;
        Ok((etcd, url))
    }

    /// One of [`USERS`].
    pub(crate) fn client(&self, user: &str) -> Client {
        Client {
            agent: self.agent.clone(),
            url: self.url.clone(),
            token: user.to_owned(),
            headers: BTreeMap::new(),
        }
    }

    /// The same as text, for programs and for Secrets.
    pub(crate) fn kubeconfig(&self, user: &str) -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "e2e", "cluster": {
                "server": self.url,
                "certificate-authority-data": base64(self.authority.pem().as_bytes()),
            }}],
            "users": [{"name": user, "user": {"token": user}}],
            "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": user}}],
            "current-context": "e2e",
        })
    }

    /// The same as a file.
    pub(crate) fn kubeconfig_file(&self, user: &str) -> Result<PathBuf> {
        // KUBECONFIG is a list with colons.
        let name = user.replace(':', "-");
        let file = self.folder.join(format!("{name}.kubeconfig"));
        fs::write(&file, self.kubeconfig(user).to_string())?;
        Ok(file)
    }

    /// Makes namespaces.
    pub(crate) fn namespaces(&self, names: &[&str]) -> Result<()> {
        for name in names {
            let answer = self
                .client(ADMIN)
                .post("/api/v1/namespaces", &json!({"metadata": {"name": name}}))?;
            if answer.code != 409 {
                done(answer).with_context(|| format!("namespace {name}"))?;
            }
        }
        Ok(())
    }

    /// What its audit log holds.
    pub(crate) fn audit(&self) -> Result<Audit> {
        Audit::read(&self.folder)
    }
}
