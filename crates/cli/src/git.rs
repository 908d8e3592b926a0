//! Files as they are in a commit of git. The program `git` reads them.

use std::path::Path;
use std::process::Command;

use crate::error::CliError;
use crate::input::{Input, is_manifest};

/// The file or the manifests of a folder in a commit, but for links and for those that are to be left out. None, if the commit
/// does not have the path.
///
/// # Errors
/// If git does not know the commit, or is not there.
pub(crate) fn files(
    commit: &str,
    path: &Path,
    is_left_out: impl Fn(&Path) -> bool,
) -> Result<Vec<Input>, CliError> {
    if commit.starts_with('-') {
        return Err(CliError::Error(format!(
            "--git {commit}: expected a commit"
        )));
    }
    let path_name = path.display().to_string();
    let listed = git(&["ls-tree", "-r", "-z", commit, "--", &path_name])?;
    let listed = String::from_utf8_lossy(&listed).into_owned();
    // Each is "100644 blob <hash>\t<name>"; a link has another mode, and so has a submodule.
    let files = listed.split_terminator('\0').filter_map(|entry| {
        let (mode, name) = entry.split_once('\t')?;
        mode.starts_with("100").then_some(name)
    });
    let files: Vec<&str> = files.collect();
    let mut inputs = Vec::new();
    for name in &files {
        let file = Path::new(name);
        // A file that was named counts whatever it is called.
        let is_named = !path.is_dir() && files.len() == 1;
        if is_named || is_manifest(file) && !is_left_out(file) {
            let named = format!("{commit}:./{name}");
            let bytes = git(&["show", &named])?;
            inputs.push(Input::of_bytes(&format!("{commit}:{name}"), bytes));
        }
    }
    Ok(inputs)
}

fn git(args: &[&str]) -> Result<Vec<u8>, CliError> {
    let output = Command::new("git").args(args).output();
    let output = output.map_err(|e| CliError::Error(format!("git cannot be run: {e}")))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.trim().trim_start_matches("fatal: ");
    Err(CliError::Error(format!("git: {said}")))
}
