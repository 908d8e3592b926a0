//! Where the real programs are: on the PATH, and for envtest's in `KUBEBUILDER_ASSETS` too.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use crate::report::Report;

/// Those that envtest brings.
const OF_ENVTEST: [&str; 2] = ["etcd", "kube-apiserver"];

/// The program's path.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let assets = env::var_os("KUBEBUILDER_ASSETS").map(PathBuf::from);
    let assets = assets.filter(|_| OF_ENVTEST.contains(&name));
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = assets.into_iter().chain(env::split_paths(&path));
    folders
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

/// Whether all of them are there. If not, the report says which are missing, and where they come from.
pub(crate) fn all_there(report: &mut Report, what: &str, names: &[&str]) -> bool {
    let missing: Vec<_> = names.iter().filter(|name| find(name).is_none()).collect();
    for name in &missing {
        report.skip(
            what,
            &format!("{name} is not on the PATH; {}", source(name)),
        );
    }
    missing.is_empty()
}

fn source(name: &str) -> &'static str {
    match name {
        "kwctl" | "policy-server" | "kubewarden-controller" | "audit-scanner" => {
            "it comes with the releases of Kubewarden"
        }
        "etcd" => "Debian's package is etcd-server; KUBEBUILDER_ASSETS is looked into as well",
        "kube-apiserver" => {
            "it comes with the releases of Kubernetes; KUBEBUILDER_ASSETS is looked into as well"
        }
        "kube-controller-manager" | "kubectl" => "it comes with the releases of Kubernetes",
        "bats" | "docker-registry" | "jq" | "openssl" => "Debian has a package of that name",
        "cosign" => "it comes with the releases of Sigstore; SECURITY.md uses it",
        "go" => "it fetches the CRDs and webhooks of other projects",
        "kube-apiserver-1.30.14" | "kube-apiserver-1.37.1" => {
            "it is the kube-apiserver of that release of Kubernetes"
        }
        "etcd-3.6.8" => "it is the etcd of that release; Kueue needs 3.4.25 or newer",
        "jobset" | "kueue-0.18.4" | "mpi-operator" => {
            "it is the manager of that project, built with `go build`"
        }
        _ => "docs/testing.md says where it comes from",
    }
}

/// What the program says of its version, in a line.
pub(crate) fn version(name: &str) -> String {
    let Some(path) = find(name) else {
        return format!("{name} is missing");
    };
    let output = Command::new(path).arg("--version").output();
    let output = output.map(|o| String::from_utf8_lossy(&o.stdout).into_owned());
    let line = output.unwrap_or_default();
    let line = line.lines().next().unwrap_or_default();
    if line.to_lowercase().contains(&name.to_lowercase()) {
        line.to_owned()
    } else {
        format!("{name} {line}")
    }
}
