//! PolicyServer behind `deploy/webhook.yml`.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail};
use serde_json::{Value, json};

use super::api_server::{ADMIN, ApiServer, Options, POLICY_SERVER};
use crate::deploy;
use crate::kube::{self, done, jobs};
use crate::policy_server::PolicyServer;
use crate::process::until;
use crate::tls::Authority;

/// Where the workloads are.
pub(crate) const TEAM: &str = "team-a";

/// A namespace in which [`Hook::in_force`] asks.
pub(super) const PROBE: &str = "e2e-probe";

/// A PolicyServer, and the webhook that makes a cluster ask it.
pub(crate) struct Hook {
    pub(crate) server: PolicyServer,
    projects: Vec<&'static str>,
}

impl Hook {
    /// Starts PolicyServer with settings for the policy `managed-by`, in mode `protect`, and applies `deploy/webhook.yml`
    /// for a cluster with some more projects.
    pub(crate) fn start(
        cluster: &ApiServer,
        settings: &Value,
        projects: &[&'static str],
    ) -> Result<Self> {
        let policies = json!({"managed-by": deploy::protect(settings)?});
        let hook = Self::prepare(cluster, &policies, projects)?;
        hook.apply(cluster, |_| ())?;
        Self::in_force(cluster)?;
        Ok(hook)
    }

    /// A cluster with the settings of `deploy/NAME.yml`.
    pub(crate) fn in_front(
        folder: &Path,
        name: &str,
        authority: &Authority,
        options: Options,
    ) -> Result<(ApiServer, Self)> {
        let cluster = ApiServer::start(folder, authority, options)?;
        cluster.namespaces(&[TEAM])?;
        let settings = deploy::settings(name, options.release, &[])?;
        let hook = Self::start(&cluster, &settings, &[])?;
        Ok((cluster, hook))
    }

    /// PolicyServer with whatever policies, and no webhook yet.
    pub(crate) fn prepare(
        cluster: &ApiServer,
        policies: &Value,
        projects: &[&'static str],
    ) -> Result<Self> {
        let folder = cluster.folder.join("policy-server");
        let mut server = PolicyServer::new(&folder, &cluster.authority)?;
        server.kubeconfig = Some(cluster.kubeconfig_file(POLICY_SERVER)?);
        server.start(policies)?;
        let projects = projects.to_vec();
        Ok(Self { server, projects })
    }

    /// Starts PolicyServer once more, with these settings.
    pub(crate) fn serve(&mut self, settings: &Value) -> Result<()> {
        let policies = json!({"managed-by": deploy::protect(settings)?});
        self.server.start(&policies)
    }

    /// Applies `deploy/webhook.yml`, with a change.
    pub(crate) fn apply(&self, cluster: &ApiServer, change: impl FnOnce(&mut Value)) -> Result<()> {
        let mut configuration = deploy::webhook(&self.server, &self.projects)?;
        change(&mut configuration["webhooks"][0]);
        cluster.client(ADMIN).apply(&configuration).map(drop)
    }

    /// Applies what `deploy/pods.yml` says. The policy is the one with the name `pods`.
    pub(crate) fn apply_pods(&self, cluster: &ApiServer) -> Result<()> {
        let configuration = deploy::pods_webhook(&self.server)?;
        cluster.client(ADMIN).apply(&configuration).map(drop)
    }

    /// Gives PolicyServer a certificate of another authority, which the API server is told to trust.
    pub(crate) fn change_certificate(&mut self, cluster: &ApiServer) -> Result<()> {
        self.server.sign(&Authority::new()?)?;
        self.apply(cluster, |_| ())
    }

    /// Ends PolicyServer for good: no webhook asks for it any more.
    pub(crate) fn withdraw(&mut self, cluster: &ApiServer) -> Result<()> {
        let configuration = deploy::webhook(&self.server, &[])?;
        done(cluster.client(ADMIN).delete(&kube::place(&configuration))?)?;
        self.server.kill();
        Ok(())
    }

    /// Waits until the API server asks: it learns of a new configuration a little later.
    pub(crate) fn in_force(cluster: &ApiServer) -> Result<()> {
        cluster.namespaces(&[PROBE])?;
        let typo = json!({"managedBy": "kubernetes.io/job-controler"});
        let typo = job(PROBE, "probe", &typo);
        until("webhook in force", Duration::from_secs(20), || {
            let path = format!("{}?dryRun=All", jobs(PROBE));
            let answer = cluster.client(ADMIN).post(&path, &typo)?;
            let asked = answer.code > 299 || !answer.warnings.is_empty();
            if answer.code == 500 && !answer.message().contains("webhook") {
                bail!("{}", answer.message());
            }
            Ok(asked.then_some(()))
        })
    }
}

/// A Job with more in its spec.
pub(crate) fn job(namespace: &str, name: &str, spec: &Value) -> Value {
    let pod = json!({"restartPolicy": "Never", "containers": [{"name": "main", "image": "e2e", "resources": {"requests": {"cpu": "1"}}}]});
    let mut job = json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"template": {"metadata": {"annotations": {}}, "spec": pod}},
    });
    merge(&mut job["spec"], spec);
    job
}

/// Puts the members of one object into another.
pub(crate) fn merge(into: &mut Value, from: &Value) {
    for (key, value) in from.as_object().into_iter().flatten() {
        into[key] = value.clone();
    }
}
