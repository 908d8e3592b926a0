//! CRDs and webhooks of other projects, out of the Go modules in which they publish them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::api_server::{ADMIN, ApiServer};
use crate::deploy::{answer_at, yaml};
use crate::kube::{self, done};
use crate::process::until;

/// The versions that are tested.
pub(crate) const JOBSET: &str = "sigs.k8s.io/jobset@v0.12.0";
pub(crate) const KUEUE: &str = "sigs.k8s.io/kueue@v0.18.4";
pub(crate) const MPI_OPERATOR: &str = "github.com/kubeflow/mpi-operator@v0.8.2";

/// The programs of a version that another one is tested beside, or that no other one can replace, as they are called on the PATH.
pub(crate) const OLDEST: &str = "kube-apiserver-1.30.14";
pub(crate) const NEWEST: &str = "kube-apiserver-1.37.1";
pub(crate) const ETCD_FOR_KUEUE: &str = "etcd-3.6.8";
/// The manager of [`KUEUE`].
pub(crate) const KUEUE_PROGRAM: &str = "kueue-0.18.4";

/// Where Go keeps a module. It is fetched if it is not there yet.
pub(crate) fn folder(module: &str) -> Result<PathBuf> {
    // Away from any go.mod.
    let output = Command::new("go")
        .args(["mod", "download", "-json", module])
        .current_dir(std::env::temp_dir())
        .output()?;
    let answer: Value = serde_json::from_slice(&output.stdout).with_context(|| {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        format!("go mod download {module}: {said}")
    })?;
    let folder = answer["Dir"]
        .as_str()
        .with_context(|| format!("{module}: {answer}"))?;
    Ok(PathBuf::from(folder))
}

/// The CRDs in a folder.
pub(crate) fn crds_of(folder: &Path) -> Result<Vec<Value>> {
    let mut crds = Vec::new();
    for entry in fs::read_dir(folder)? {
        crds.extend(yaml(entry?.path())?);
    }
    ensure!(!crds.is_empty(), "no CRD in {}", folder.display());
    Ok(crds)
}

/// Applies the CRDs of these kinds in `e2e/cluster/crds.yml`.
pub(crate) fn bare(cluster: &ApiServer, kinds: &[&str]) -> Result<()> {
    let mut all: Vec<Value> = serde_json::from_value(yaml("e2e/cluster/crds.yml")?[0].take())?;
    all.retain(|crd| kinds.iter().any(|k| crd["spec"]["names"]["kind"] == *k));
    ensure!(all.len() == kinds.len(), "no such kind in {kinds:?}");
    crds(cluster, &all)
}

/// Applies CRDs and waits until they are served.
pub(crate) fn crds(cluster: &ApiServer, crds: &[Value]) -> Result<()> {
    let admin = cluster.client(ADMIN);
    for crd in crds {
        admin.apply(crd)?;
    }
    crds.iter().try_for_each(|crd| {
        let path = kube::place(crd);
        until(&path, Duration::from_secs(20), || {
            let crd = done(admin.get(&path)?)?;
            Ok(super::jobs::has(&crd["status"], "Established").then_some(()))
        })
    })
}

/// Applies a project's own webhooks, those whose path holds one of the words, at an address on loopback.
pub(crate) fn webhooks(
    cluster: &ApiServer,
    module: &Path,
    project: &str,
    url: &str,
    words: &[&str],
) -> Result<()> {
    let file = module.join("config/components/webhook/manifests.yaml");
    for mut configuration in yaml(file)? {
        if let Some(webhooks) = configuration["webhooks"].as_array_mut() {
            webhooks.retain(|webhook| {
                let path = webhook["clientConfig"]["service"]["path"].as_str();
                path.is_some_and(|path| words.iter().any(|word| path.contains(word)))
            });
        }
        answer_at(url, &cluster.authority, &mut configuration)?;
        configuration["metadata"]["name"] = project.into();
        cluster.client(ADMIN).apply(&configuration)?;
    }
    Ok(())
}
