//! Compares the working tree with a git commit, with the `git` program.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;

use crate::diagnostic::{Diagnostic, DiagnosticKind};
use crate::exit::CliError;
use crate::files::FileSelector;
use crate::input::Input;

/// Two sides of a comparison.
#[derive(Default)]
pub(crate) struct Sides {
    pub(crate) old: Side,
    pub(crate) new: Side,
    /// Submodules.
    pub(crate) skipped: Vec<Diagnostic>,
}

/// Files, each with its path, which is the same on both sides.
pub(crate) type Side = BTreeMap<PathBuf, Input>;

/// The directory to run git in, and the path to pass, unless it is the whole directory.
struct Location {
    directory: PathBuf,
    path: PathBuf,
}

impl Location {
    fn new(path: &Path) -> Self {
        let here = Path::new(".");
        let or_here = |path: &'_ Path| -> PathBuf {
            if path.as_os_str().is_empty() {
                here
            } else {
                path
            }
            .to_owned()
        };
        // The directory may have been deleted.
        let mut directories = path.ancestors().filter(|path| or_here(path).is_dir());
        let directory = directories.next().unwrap_or(path);
        Self {
            directory: or_here(directory),
            path: path.strip_prefix(directory).unwrap_or(path).to_owned(),
        }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut git = Command::new("git");
        git.arg("-C")
            .arg(&self.directory)
            .arg("--literal-pathspecs")
            .args(args);
        git
    }

    fn run(mut git: Command) -> Result<Vec<u8>, CliError> {
        let output = git.output();
        let output = output.map_err(|e| CliError::Error(format!("git cannot be run: {e}")))?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let text = String::from_utf8_lossy(&output.stderr);
        let text = text.trim().trim_start_matches("fatal: ");
        Err(CliError::Error(format!("git: {text}")))
    }

    /// Runs a git command that lists files at the path.
    fn list(&self, args: &[&str]) -> Result<Vec<u8>, CliError> {
        let mut git = self.command(args);
        git.arg("--");
        if !self.path.as_os_str().is_empty() {
            git.arg(&self.path);
        }
        Self::run(git)
    }

    /// Returns the hash of a commit.
    fn commit(&self, name: &str) -> Result<String, CliError> {
        let commit = format!("{name}^{{commit}}");
        let git = self.command(&["rev-parse", "--verify", "--quiet", &commit]);
        self.hash(git, || {
            format!("git: {name} is not a commit of this repository")
        })
    }

    /// Returns the hash of the commit to compare with; for `main...HEAD`, the merge base.
    fn base(&self, commit: &str) -> Result<String, CliError> {
        let error = |text: &str| CliError::Error(format!("--git {commit}: {text}"));
        if commit.starts_with('-') || commit.contains(':') {
            return Err(error("expected a commit"));
        }
        let Some((old, new)) = commit.split_once("..") else {
            return self.commit(commit);
        };
        let (new, is_base) = match new.strip_prefix('.') {
            Some(new) => (new, true),
            None => (new, false),
        };
        let or_head = |name: &str| self.commit(if name.is_empty() { "HEAD" } else { name });
        let (old, new) = (or_head(old)?, or_head(new)?);
        if new != self.commit("HEAD")? {
            return Err(error(
                "the new side is the working tree, expected HEAD after the dots",
            ));
        }
        if !is_base {
            return Ok(old);
        }
        let git = self.command(&["merge-base", &old, &new]);
        self.hash(git, || format!("git: {commit}: no common ancestor"))
    }

    /// Returns the hash that git prints, or the error if it prints nothing. CI systems fetch a single commit by default.
    fn hash(&self, git: Command, error: impl Fn() -> String) -> Result<String, CliError> {
        let printed = match Self::run(git) {
            Err(CliError::Error(text)) if text == "git: " => Vec::new(),
            printed => printed?,
        };
        let hash = String::from_utf8_lossy(&printed).trim().to_owned();
        if !hash.is_empty() {
            return Ok(hash);
        }
        let shallow = Self::run(self.command(&["rev-parse", "--is-shallow-repository"]))?;
        let hint = if shallow.starts_with(b"true") {
            "; this clone is shallow: fetch the history, with `fetch-depth: 0` of actions/checkout, `GIT_DEPTH: 0` of GitLab or \
             `git fetch --unshallow`"
        } else {
            ""
        };
        Err(CliError::Error(error() + hint))
    }

    /// Returns the contents of blobs, in order; [`None`] if git does not have a blob.
    fn contents(&self, hashes: &[&str]) -> Result<Vec<Option<Vec<u8>>>, CliError> {
        let mut git = self.command(&["cat-file", "--batch"]);
        git.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut git = git.spawn()?;
        let stdin = git.stdin.take();
        let output = thread::scope(|scope| {
            scope.spawn(move || {
                let mut stdin = stdin.into_iter();
                stdin.try_for_each(|mut stdin| stdin.write_all(hashes.join("\n").as_bytes()))
            });
            git.wait_with_output()
        })?;
        let mut rest = &*output.stdout;
        Ok(hashes.iter().map(|_| next_blob(&mut rest)).collect())
    }
}

/// Returns the next blob in the output of `git cat-file --batch`: `HASH blob SIZE`, the bytes and a line end; or
/// `HASH missing`.
fn next_blob(rest: &mut &[u8]) -> Option<Vec<u8>> {
    let (header, after) = rest.split_at_checked(rest.iter().position(|byte| *byte == b'\n')?)?;
    *rest = after.get(1..)?;
    let size = std::str::from_utf8(header).ok()?.split(" blob ").nth(1)?;
    let (blob, after) = rest.split_at_checked(size.parse().ok()?)?;
    *rest = after.get(1..).unwrap_or_default();
    Some(blob.to_owned())
}

/// Returns the files at a path that differ between a commit and the working tree: a file, or the manifests in a directory,
/// without links. Tracked files are included even if `.gitignore` matches them.
///
/// # Errors
/// Returns an error if git does not have the commit, if git is not installed, or if neither side has the path.
pub(crate) fn changes(
    commit: &str,
    path: &Path,
    selector: &FileSelector,
) -> Result<Sides, CliError> {
    let location = Location::new(path);
    let hash = location.base(commit)?;
    let options = ["--raw", "-z", "--no-renames", "--no-abbrev", "--relative"];
    let changed = location.list(&[&["diff"], &options[..], &[&hash]].concat())?;
    let mut untracked = vec!["ls-files", "-z", "--others"];
    if !selector.includes_ignored {
        untracked.push("--exclude-standard");
    }
    let untracked = location.list(&untracked)?;

    // Each change is ":100644 100644 <old hash> <new hash> M\0<name>\0"; links and submodules have other modes.
    let mut names: BTreeMap<&Path, &str> = BTreeMap::new();
    let mut fields = changed.split(|byte| *byte == 0);
    while let (Some(meta), Some(name)) = (fields.next(), fields.next()) {
        names.insert(
            bytes_to_path(name),
            std::str::from_utf8(meta).unwrap_or_default(),
        );
    }
    for name in untracked
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
    {
        names.entry(bytes_to_path(name)).or_default();
    }

    let mut sides = Sides::default();
    let mut hashes = Vec::new();
    for (name, meta) in names {
        let file = location.directory.join(name);
        let file = file.strip_prefix(".").unwrap_or(&file).to_owned();
        let mut fields = meta.trim_start_matches(':').splitn(4, ' ');
        let [old_mode, new_mode, old_hash] = [(); 3].map(|()| fields.next().unwrap_or_default());
        if [old_mode, new_mode].contains(&"160000") || meta.is_empty() && file.is_dir() {
            let submodule = Diagnostic::of_file(&Input::new(&file).name, "submodule, not compared");
            sides
                .skipped
                .push(submodule.with_kind(DiagnosticKind::Skipped));
            continue;
        }
        let relative = name.strip_prefix(&location.path).unwrap_or(name);
        let is_selected = if relative.as_os_str().is_empty() {
            selector.includes_argument(&file)
        } else {
            FileSelector::is_manifest(relative) && !selector.is_excluded(&file)
        };
        if !is_selected {
            continue;
        }
        if old_mode.starts_with("100") {
            hashes.push(old_hash);
            sides.old.insert(file.clone(), Input::new(&file));
        }
        if file.is_file() && !file.is_symlink() {
            let input = Input::in_directory(&file);
            sides.new.insert(file, input);
        }
    }
    if sides.old.is_empty() && !path.exists() {
        let text = "no such file, neither in the working tree nor in the commit";
        return Err(Diagnostic::of_file(&Input::new(path).name, text).into());
    }
    for (input, bytes) in sides.old.values_mut().zip(location.contents(&hashes)?) {
        let name = Arc::from(format!("{commit}:{}", input.name));
        *input = match bytes {
            Some(bytes) => Input::from_bytes(&name, bytes),
            None => Input::failed(Diagnostic::of_file(&name, "not in this clone")),
        };
    }
    Ok(sides)
}

/// Converts a name to a path; names need not be UTF-8.
#[cfg(unix)]
fn bytes_to_path(name: &[u8]) -> &Path {
    use std::os::unix::ffi::OsStrExt as _;
    Path::new(OsStr::from_bytes(name))
}

#[cfg(not(unix))]
fn bytes_to_path(name: &[u8]) -> &Path {
    Path::new(OsStr::new(std::str::from_utf8(name).unwrap_or_default()))
}
