//! Controllers as separate programs.

use std::path::Path;

use anyhow::Result;

use super::api_server::{ApiServer, MANAGER};
use crate::process::Process;

/// What the Jobs of a cluster need of kube-controller-manager.
const BUILT_IN: &str = "--controllers=job-controller,cronjob-controller,namespace-controller,\
    garbage-collector-controller,ttl-after-finished-controller";

/// kube-controller-manager, with a service account for each of its controllers, as a cluster has it.
pub(crate) fn manager(folder: &Path, cluster: &ApiServer) -> Result<Process> {
    let kubeconfig = cluster.kubeconfig_file(MANAGER)?;
    let key = cluster.folder.join("service-accounts.key");
    Process::start(
        "kube-controller-manager",
        "kube-controller-manager",
        folder,
        |command| {
            command
                .arg(format!("--kubeconfig={}", kubeconfig.display()))
                .arg(format!(
                    "--service-account-private-key-file={}",
                    key.display()
                ))
                .args([
                    "--use-service-account-credentials",
                    "--leader-elect=false",
                    // Its default of 20 requests in a second would be most of the waiting.
                    "--kube-api-qps=300",
                    "--kube-api-burst=600",
                    "--secure-port=0",
                    BUILT_IN,
                ])
        },
    )
}
