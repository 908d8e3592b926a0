//! Calls of the `git` program.

use std::ffi::OsStr;
use std::hash::{BuildHasher as _, RandomState};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use managed_by_console::exit::CliError;
use managed_by_console::format::single_line;
use memchr::memmem;

/// Runs git in a directory, for a path in it, with standard input. Returns its output.
pub(crate) fn git(
    directory: &Path,
    args: &[&str],
    path: Option<&Path>,
    input: &[u8],
) -> Result<Vec<u8>, CliError> {
    let mut git = Command::new("git");
    git.arg("-C").arg(directory).arg("--literal-pathspecs");
    git.args(args).args(path.map(|_| "--")).args(path);
    git.stdin(Stdio::piped()).stdout(Stdio::piped());
    let spawned = git.stderr(Stdio::piped()).spawn();
    let mut git = spawned.map_err(|e| CliError::Error(format!("git cannot be run: {e}")))?;
    let stdin = git.stdin.take();
    let output = thread::scope(|scope| {
        scope.spawn(move || stdin.map(|mut stdin| stdin.write_all(input)));
        git.wait_with_output()
    })?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let text = single_line(text.trim_start_matches("fatal: "));
    Err(CliError::Error(format!("git: {text}")))
}

/// Returns the files in a directory that git tracks, relative to it. Without git, there are none.
pub(crate) fn tracked(directory: &Path) -> Vec<PathBuf> {
    let listed = git(directory, &["ls-files", "-z"], None, b"").unwrap_or_default();
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

/// Returns true if a directory is in a submodule, or in another repository inside the one of the working directory.
pub(crate) fn is_in_nested_repository(directory: &Path) -> Result<bool, CliError> {
    let top_level = |directory| git(directory, &["rev-parse", "--show-toplevel"], None, b"");
    let own = top_level(directory)?;
    let here = top_level(Path::new(".")).unwrap_or_else(|_| own.clone());
    let [own, here] = [&own, &here].map(|printed| bytes_to_path(printed.trim_ascii_end()));
    Ok(own != here && own.starts_with(here))
}

/// Returns the hash of the commit to compare with; for `main...HEAD`, the merge base.
pub(crate) fn base(directory: &Path, commit: &str) -> Result<String, CliError> {
    let error = |text: &str| CliError::Error(format!("--git {commit}: {text}"));
    if commit.starts_with('-') || commit.contains(':') {
        return Err(error("expected a commit"));
    }
    let parsed = |args: &[&str]| {
        let printed = git(directory, &[&["rev-parse"], args].concat(), None, b"")?;
        Ok::<_, CliError>(String::from_utf8_lossy(&printed).into_owned())
    };
    // Of a range, git prints the hash of the new commit, and then `^` and the hash of the old one or of the merge base.
    let printed = parsed(&["--revs-only", commit])?;
    let mut hashes = printed.lines();
    let mut base = hashes.next();
    if commit.contains("..") && base.is_some() {
        if base != parsed(&["HEAD"])?.lines().next() {
            return Err(error(
                "the new side is the working tree, expected HEAD after the dots",
            ));
        }
        base = hashes.find_map(|hash| hash.strip_prefix('^'));
    }
    if let Some(base) = base {
        return Ok(base.to_owned());
    }
    // CI systems fetch a single commit by default.
    let hint = if parsed(&["--is-shallow-repository"])? == "true\n" {
        "; this clone is shallow: fetch the history, with `fetch-depth: 0` of actions/checkout, `GIT_DEPTH: 0` of GitLab or \
         `git fetch --unshallow`"
    } else {
        ""
    };
    let text = if printed.is_empty() {
        "not in this repository"
    } else {
        "no common ancestor"
    };
    Err(error(&format!("{text}{hint}")))
}

/// Returns blobs as a checkout writes them to a path, with the filters and encodings of `.gitattributes`; [`None`] if git does not have
/// a blob.
pub(crate) fn blobs(
    directory: &Path,
    blobs: &[(&str, &Path)],
) -> Result<Vec<Option<Vec<u8>>>, CliError> {
    let prefix = git(directory, &["rev-parse", "--show-prefix"], None, b"")?;
    // Git prints the size before the filters. So a random name, which git does not find either, separates the blobs.
    let end = format!("end_{:016x}", RandomState::new().hash_one(()));
    let mut names = Vec::new();
    for (hash, path) in blobs {
        let path = bytes_to_path(prefix.trim_ascii_end()).join(path);
        let path = path.as_os_str().as_encoded_bytes();
        // A line end would begin another name.
        let path = path
            .iter()
            .map(|byte| if *byte == b'\n' { b' ' } else { *byte });
        names.extend(hash.bytes().chain([b' ']).chain(path));
        names.extend_from_slice(format!("\n{end}\n").as_bytes());
    }
    let batch = format!("--batch=%(objectname) {end}");
    let printed = git(directory, &["cat-file", "--filters", &batch], None, &names)?;
    let mut rest = &*printed;
    let separator = format!("{end} missing\n");
    let read = |(hash, _): &(&str, &Path)| {
        let (blob, after) = rest.split_at_checked(memmem::find(rest, separator.as_bytes())?)?;
        rest = after.get(separator.len()..)?;
        let blob = blob.strip_prefix(format!("{hash} {end}\n").as_bytes())?;
        Some(blob.strip_suffix(b"\n")?.to_owned())
    };
    Ok(blobs.iter().map(read).collect())
}
