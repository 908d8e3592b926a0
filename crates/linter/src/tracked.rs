//! Files that git tracks although `.gitignore` matches them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns these files in a directory, relative to it. Without git, there are none.
pub(crate) fn tracked_but_ignored(directory: &Path) -> Vec<PathBuf> {
    let mut git = Command::new("git");
    git.arg("-C").arg(directory);
    git.args([
        "ls-files",
        "-z",
        "--cached",
        "--ignored",
        "--exclude-standard",
    ]);
    let output = git.output().ok().filter(|output| output.status.success());
    let listed = output.map(|output| output.stdout).unwrap_or_default();
    let names = listed
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty());
    names.map(|name| bytes_to_path(name).to_owned()).collect()
}

/// Converts a name to a path; names need not be UTF-8.
#[cfg(unix)]
pub(crate) fn bytes_to_path(name: &[u8]) -> &Path {
    use std::os::unix::ffi::OsStrExt as _;
    Path::new(OsStr::from_bytes(name))
}

#[cfg(not(unix))]
pub(crate) fn bytes_to_path(name: &[u8]) -> &Path {
    Path::new(OsStr::new(std::str::from_utf8(name).unwrap_or_default()))
}
