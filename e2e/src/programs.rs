//! Where the real programs are: on the PATH, and for envtest's in `KUBEBUILDER_ASSETS` too.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use crate::report;

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

/// Nothing unless all of them are there: the report then says which are missing, and where they come from.
pub(crate) fn all_there(what: &str, names: &[&str]) -> Option<()> {
    let missing: Vec<_> = names.iter().filter(|name| find(name).is_none()).collect();
    for name in &missing {
        let why = format!("{name} is not on the PATH; docs/testing.md says where it comes from");
        report::skip(what, &why);
    }
    missing.is_empty().then_some(())
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
