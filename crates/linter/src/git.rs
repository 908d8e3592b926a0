//! Compares the working tree with a git commit, with the `git` program.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;

use managed_by_console::diagnostic::{Diagnostic, DiagnosticKind};
use managed_by_console::exit::CliError;
use managed_by_console::format::single_line;
use managed_by_console::input::{Input, LFS_POINTER, is_lfs_pointer};

use crate::files::FileSelector;
use crate::kustomize::Patches;
use crate::tracked::bytes_to_path;

/// Two sides of a comparison.
#[derive(Default)]
pub(crate) struct Sides {
    pub(crate) old: Side,
    pub(crate) new: Side,
    /// Paths that are not compared, such as submodules.
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
        let text = single_line(text.trim_start_matches("fatal: "));
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

    /// Returns true if the directory is in a submodule, or in another repository inside the one of the working directory.
    fn is_in_nested_repository(&self) -> Result<bool, CliError> {
        let top_level = |mut git: Command| -> Result<PathBuf, CliError> {
            git.args(["rev-parse", "--show-toplevel"]);
            let printed = Self::run(git)?;
            Ok(bytes_to_path(printed.trim_ascii_end()).to_owned())
        };
        let own = top_level(self.command(&[]))?;
        let here = top_level(Command::new("git"));
        Ok(here.is_ok_and(|here| own != here && own.starts_with(here)))
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

    /// Returns the paths whose blobs differ from files in the working tree, because a filter (such as Git LFS) or an encoding applies.
    fn filtered(&self, paths: &[&Path]) -> Result<BTreeSet<PathBuf>, CliError> {
        let mut git = self.command(&["check-attr", "-z", "--stdin"]);
        git.args(["filter", "working-tree-encoding"]);
        let mut names = Vec::new();
        for path in paths {
            names.extend_from_slice(path.as_os_str().as_encoded_bytes());
            names.push(0);
        }
        // Each attribute is "<name>\0<attribute>\0<value>\0".
        let listed = Self::run_with_input(git, &names)?;
        let fields: Vec<_> = listed.split(|byte| *byte == 0).collect();
        let attributes = fields.chunks_exact(3).filter_map(|field| match *field {
            [_, _, b"unspecified" | b"unset"] | [] => None,
            [name, ..] => Some(bytes_to_path(name).to_owned()),
        });
        Ok(attributes.collect())
    }

    /// Returns a blob as a checkout writes it to a path.
    fn smudged(&self, hash: &str, path: &Path) -> Result<Vec<u8>, CliError> {
        let mut git = self.command(&["cat-file", "--filters"]);
        let prefix = Self::run(self.command(&["rev-parse", "--show-prefix"]))?;
        let prefix = bytes_to_path(prefix.trim_ascii_end()).join(path);
        let mut option = OsString::from("--path=");
        option.push(prefix);
        git.arg(option).arg(hash);
        Self::run(git)
    }

    /// Runs a git command with standard input.
    fn run_with_input(mut git: Command, input: &[u8]) -> Result<Vec<u8>, CliError> {
        git.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut git = git.spawn()?;
        let stdin = git.stdin.take();
        let output = thread::scope(|scope| {
            scope.spawn(move || {
                let mut stdin = stdin.into_iter();
                stdin.try_for_each(|mut stdin| stdin.write_all(input))
            });
            git.wait_with_output()
        })?;
        Ok(output.stdout)
    }

    /// Returns the contents of blobs, in order; [`None`] if git does not have a blob.
    fn contents(&self, hashes: &[&str]) -> Result<Vec<Option<Vec<u8>>>, CliError> {
        let git = self.command(&["cat-file", "--batch"]);
        let output = Self::run_with_input(git, hashes.join("\n").as_bytes())?;
        let mut rest = &*output;
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

const NESTED_REPOSITORY: &str = "submodule or nested repository";

/// A changed file.
struct Change<'o> {
    /// Path from the directory in which git runs.
    name: &'o Path,
    /// Path from the working directory.
    file: PathBuf,
    old_mode: &'o str,
    new_mode: &'o str,
    /// Hash of the old blob.
    old: &'o str,
    /// Hash of the new blob, or zeros if git has not read the file.
    new: &'o str,
}

impl<'o> Change<'o> {
    /// Parses a change of `git diff --raw`: `:100644 100644 <old hash> <new hash> M`. Links and submodules have other modes. Untracked
    /// files have no change.
    fn new(name: &'o Path, meta: &'o str, directory: &Path) -> Self {
        let file = directory.join(name);
        let mut fields = meta.trim_start_matches(':').split(' ');
        let [old_mode, new_mode, old, new] = [(); 4].map(|()| fields.next().unwrap_or_default());
        Self {
            name,
            file: file.strip_prefix(".").unwrap_or(&file).to_owned(),
            old_mode,
            new_mode: if meta.is_empty() { "100644" } else { new_mode },
            old,
            new,
        }
    }

    /// Returns what the path is, if it is no file.
    fn other_type(&self) -> Option<&'static str> {
        let has_mode = |mode: &str| [self.old_mode, self.new_mode].contains(&mode);
        let is_untracked = self.new.is_empty();
        if has_mode("120000") || is_untracked && self.file.is_symlink() {
            Some("symbolic link")
        } else if has_mode("160000") || is_untracked && self.file.is_dir() {
            Some(NESTED_REPOSITORY)
        } else {
            None
        }
    }

    fn has_old(&self) -> bool {
        self.old_mode.starts_with("100")
    }

    fn has_new(&self) -> bool {
        self.new_mode.starts_with("100")
    }
}

/// Returns the files at paths that differ between a commit and the working tree: files, or the manifests in directories. Tracked
/// files are included even if `.gitignore` matches them, or if a sparse checkout does not write them.
///
/// # Errors
/// Returns an error if git does not have the commit, if git is not installed, or if neither side has a path.
pub(crate) fn changes(
    commit: &str,
    paths: &[PathBuf],
    selector: &FileSelector,
) -> Result<Sides, CliError> {
    let mut sides = Sides::default();
    for path in paths {
        add_changes(commit, path, selector, &mut sides)?;
    }
    Ok(sides)
}

fn add_changes(
    commit: &str,
    path: &Path,
    selector: &FileSelector,
    sides: &mut Sides,
) -> Result<(), CliError> {
    let target = if path.is_symlink() && !path.is_dir() {
        // Git compares the link itself.
        let unreadable = |e| {
            let text = format!("symbolic link, cannot be followed: {e}");
            CliError::from(Diagnostic::of_file(&Input::new(path).name, text))
        };
        let target = path.canonicalize().map_err(unreadable)?;
        let here = env::current_dir()?.canonicalize()?;
        target.strip_prefix(here).unwrap_or(&target).to_owned()
    } else {
        path.to_owned()
    };
    let location = Location::new(&target);
    let mut skip = |file: &Path, text: &str| {
        let text = format!("{text}, not compared");
        let skipped = Diagnostic::of_file(&Input::new(file).name, text);
        sides
            .skipped
            .push(skipped.with_kind(DiagnosticKind::Skipped));
    };
    if location.is_in_nested_repository()? {
        skip(path, NESTED_REPOSITORY);
        return Ok(());
    }
    let hash = location.base(commit)?;
    let options = ["--raw", "-z", "--no-renames", "--no-abbrev", "--relative"];
    let listed = location.list(&[&["diff"], &options[..], &[&hash]].concat())?;
    let mut untracked = vec!["ls-files", "-z", "--others"];
    if !selector.includes_ignored {
        untracked.push("--exclude-standard");
    }
    let untracked = location.list(&untracked)?;

    let mut changes: BTreeMap<&Path, &str> = BTreeMap::new();
    let mut fields = listed.split(|byte| *byte == 0);
    while let (Some(meta), Some(name)) = (fields.next(), fields.next()) {
        let meta = std::str::from_utf8(meta).unwrap_or_default();
        changes.insert(bytes_to_path(name), meta);
    }
    let untracked = untracked.split(|byte| *byte == 0);
    for name in untracked.filter(|name| !name.is_empty()) {
        changes.entry(bytes_to_path(name)).or_default();
    }
    let changes = changes.into_iter();
    let changes = changes.map(|(name, meta)| Change::new(name, meta, &location.directory));
    let mut compared = Vec::new();
    for change in changes {
        let relative = change.name.strip_prefix(&location.path);
        let relative = relative.unwrap_or(change.name);
        let other_type = change.other_type();
        let is_selected = if relative.as_os_str().is_empty() {
            selector.includes_argument(&change.file)
        } else {
            let is_manifest = FileSelector::is_manifest(relative, &change.file);
            let may_have_manifests = change.file.is_dir() || other_type == Some(NESTED_REPOSITORY);
            (is_manifest || may_have_manifests) && !selector.is_excluded(&change.file)
        };
        match other_type {
            _ if !is_selected => {}
            Some(other_type) => skip(&change.file, other_type),
            None => compared.push(change),
        }
    }
    if compared.is_empty() && !target.exists() && location.list(&["ls-files"])?.is_empty() {
        let text = "no such file, neither in the working tree nor in the commit";
        return Err(Diagnostic::of_file(&Input::new(path).name, text).into());
    }
    add_contents(commit, &location, compared, sides)
}

/// Adds both sides of changed files.
fn add_contents(
    commit: &str,
    location: &Location,
    changes: Vec<Change<'_>>,
    sides: &mut Sides,
) -> Result<(), CliError> {
    let names: Vec<&Path> = changes.iter().map(|change| change.name).collect();
    let filtered = location.filtered(&names)?;
    let patches = Patches::next_to(changes.iter().map(|change| &*change.file));
    // A sparse checkout lacks files, which git compares nevertheless.
    let is_absent = |change: &Change<'_>| change.has_new() && !change.file.is_file();
    let old = changes.iter().filter(|change| change.has_old());
    let absent = changes.iter().filter(|change| is_absent(change));
    let old = old.map(|change| change.old);
    let hashes: Vec<&str> = old.chain(absent.map(|change| change.new)).collect();
    let contents = location.contents(&hashes)?;
    let blobs: BTreeMap<&str, _> = hashes.iter().copied().zip(contents).collect();
    let read = |hash: &str, change: &Change<'_>| -> Result<Vec<u8>, &'static str> {
        let blob = blobs
            .get(hash)
            .cloned()
            .flatten()
            .ok_or("not in this clone")?;
        let bytes = if filtered.contains(change.name) {
            let smudged = location.smudged(hash, change.name);
            smudged.map_err(|_| "git cannot apply the filter of this file")?
        } else {
            blob
        };
        if is_lfs_pointer(&bytes) {
            return Err(LFS_POINTER);
        }
        Ok(bytes)
    };
    for change in changes {
        if let Some(note) = patches.note(&change.file) {
            sides.skipped.push(note);
            continue;
        }
        let name = Input::new(&change.file).name;
        let new = change.has_new().then(|| {
            if is_absent(&change) {
                let bytes = read(change.new, &change);
                bytes.map(|bytes| Input::from_bytes(&name, bytes))
            } else {
                Ok(Input::in_directory(&change.file))
            }
        });
        let old_name = Arc::from(format!("{commit}:{name}"));
        let old = change.has_old().then(|| {
            let bytes = read(change.old, &change);
            bytes.map(|bytes| Input::from_bytes(&old_name, bytes))
        });
        match (old, new) {
            (Some(Err(error)), Some(_)) => {
                sides.skipped.push(Diagnostic::of_file(&old_name, error));
            }
            (_, Some(Err(error))) => sides.skipped.push(Diagnostic::of_file(&name, error)),
            (old, new) => {
                let failed = |error| Input::failed(Diagnostic::of_file(&old_name, error));
                let old = old.map(|old| old.unwrap_or_else(failed));
                sides.old.extend(old.map(|old| (change.file.clone(), old)));
                let new = new.and_then(Result::ok);
                sides.new.extend(new.map(|new| (change.file, new)));
            }
        }
    }
    Ok(())
}
