//! Compares the working tree with a git commit, with the `git` program.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use managed_by_console::diagnostic::{Diagnostic, DiagnosticKind};
use managed_by_console::exit::CliError;
use managed_by_console::input::{Input, LFS_POINTER, is_lfs_pointer};

use crate::files::FileSelector;
use crate::git::{base, blobs, bytes_to_path, git, is_in_nested_repository};
use crate::kustomize::Patches;

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

const NESTED_REPOSITORY: &str = "submodule or nested repository";

/// A changed file.
struct Change<'o> {
    /// Path from the directory in which git runs.
    name: &'o Path,
    /// Path from the working directory.
    file: PathBuf,
    /// What the path is, if it is no file.
    other_type: Option<&'static str>,
    /// Hash of the old file.
    old: Option<&'o str>,
    has_new: bool,
    /// Hash of a new file that a sparse checkout does not write. Git compares it nevertheless.
    absent: Option<&'o str>,
}

impl<'o> Change<'o> {
    /// Parses a change of `git diff --raw`: `:100644 100644 <old hash> <new hash> M`, or nothing for an untracked file.
    fn new(name: &'o Path, meta: &'o str, directory: &Path) -> Self {
        let file = directory.join(name);
        let file = file.strip_prefix(".").unwrap_or(&file).to_owned();
        let mut fields = meta.trim_start_matches(':').split(' ');
        let [old_mode, new_mode, old, new] = [(); 4].map(|()| fields.next().unwrap_or_default());
        let is_untracked = meta.is_empty();
        let has_mode = |mode: &str| [old_mode, new_mode].contains(&mode);
        let is_file = |mode: &str| mode.starts_with("100");
        Self {
            name,
            other_type: if has_mode("120000") || is_untracked && file.is_symlink() {
                Some("symbolic link")
            } else if has_mode("160000") || is_untracked && file.is_dir() {
                Some(NESTED_REPOSITORY)
            } else {
                None
            },
            old: is_file(old_mode).then_some(old),
            has_new: is_untracked || is_file(new_mode),
            absent: (is_file(new_mode) && !file.is_file()).then_some(new),
            file,
        }
    }
}

/// Returns the files at paths that differ between a commit and the working tree: files, or the manifests in directories. Tracked
/// files are included even if `.gitignore` matches them, or if a sparse checkout does not write them.
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
    let of_path = |text: &str| Diagnostic::of_file(&Input::new(path).name, text);
    let here = env::current_dir()?.canonicalize()?;
    let mut followed = None;
    if path.is_symlink() && !path.is_dir() {
        // Git compares the link itself.
        let target = path.canonicalize();
        let unreadable = |e| of_path(&format!("symbolic link, cannot be followed: {e}"));
        followed = Some(target.map_err(unreadable)?);
    }
    let target = followed
        .as_ref()
        .map_or(path, |target| target.strip_prefix(&here).unwrap_or(target));
    // The directory may have been deleted.
    let is_directory = |path: &&Path| path.as_os_str().is_empty() || path.is_dir();
    let parent = target.ancestors().find(is_directory).unwrap_or(target);
    let directory = &*Path::new(".").join(parent);
    let rest = target.strip_prefix(parent).unwrap_or(target);
    let rest = Some(rest).filter(|rest| !rest.as_os_str().is_empty());
    let list = |args: &[&str]| git(directory, args, rest, b"");

    let mut skip = |file: &Path, text: &str| {
        let text = format!("{text}, not compared");
        let skipped = Diagnostic::of_file(&Input::new(file).name, text);
        sides
            .skipped
            .push(skipped.with_kind(DiagnosticKind::Skipped));
    };
    if list(&["rev-parse", "--is-bare-repository"])? == b"true\n" {
        let text =
            "--git compares the working tree, which a bare repository doesn't have; clone it";
        return Err(CliError::Error(text.to_owned()));
    }
    if is_in_nested_repository(directory)? {
        skip(path, NESTED_REPOSITORY);
        return Ok(());
    }
    let base = base(directory, commit)?;
    let options = ["--raw", "-z", "--no-renames", "--no-abbrev", "--relative"];
    let listed = list(&[&["diff"], &options[..], &[&base]].concat())?;
    let mut untracked = vec!["ls-files", "-z", "--others"];
    untracked.extend((!selector.includes_ignored).then_some("--exclude-standard"));
    let untracked = list(&untracked)?;

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
    let mut compared = Vec::new();
    for (name, meta) in changes {
        let change = Change::new(name, meta, directory);
        let is_selected = if Some(name) == rest {
            selector.includes_argument(&change.file)
        } else {
            let relative = name
                .strip_prefix(rest.unwrap_or(Path::new("")))
                .unwrap_or(name);
            let may_have_manifests =
                change.file.is_dir() || change.other_type == Some(NESTED_REPOSITORY);
            (may_have_manifests || FileSelector::is_manifest(relative, &change.file))
                && !selector.is_excluded(&change.file)
        };
        match change.other_type {
            _ if !is_selected => {}
            Some(other_type) => skip(&change.file, other_type),
            None => compared.push(change),
        }
    }
    if compared.is_empty() && !target.exists() && list(&["ls-files"])?.is_empty() {
        return Err(of_path("no such file, neither in the working tree nor in the commit").into());
    }
    add_contents(commit, directory, compared, sides)?;
    // Git compares the links in the directory themselves. A link that leaves the repository can't have changed with it.
    let directory_target = directory.canonicalize()?;
    let listed = list(&["ls-files", "-z", "--stage"])?;
    for entry in listed.split(|byte| *byte == 0) {
        let Some(at) = memchr::memchr(b'\t', entry).filter(|_| entry.starts_with(b"120000")) else {
            continue;
        };
        let name = bytes_to_path(entry.get(at..).unwrap_or_default().trim_ascii_start());
        let link = directory.join(name);
        let target = link.canonicalize().unwrap_or_default();
        if target.is_file()
            && !target.starts_with(&directory_target)
            && FileSelector::is_manifest(name, &link)
            && !selector.is_excluded(&link)
        {
            let _ = add_changes(commit, &link, selector, sides);
        }
    }
    Ok(())
}

/// Adds both sides of changed files.
fn add_contents(
    commit: &str,
    directory: &Path,
    changes: Vec<Change<'_>>,
    sides: &mut Sides,
) -> Result<(), CliError> {
    let patches = Patches::next_to(changes.iter().map(|change| &*change.file));
    let names = changes.iter().flat_map(|change| {
        let hashes = [change.old, change.absent].into_iter().flatten();
        hashes.map(|hash| (hash, change.name))
    });
    let mut blobs = blobs(directory, &names.collect::<Vec<_>>())?.into_iter();
    for change in changes {
        let name = Input::new(&change.file).name;
        let mut read = |name: Arc<str>| match blobs.next().flatten() {
            Some(bytes) if is_lfs_pointer(&bytes) => Err(Diagnostic::of_file(&name, LFS_POINTER)),
            Some(bytes) => Ok(Input::from_bytes(&name, bytes)),
            None => Err(Diagnostic::of_file(&name, "not in this clone")),
        };
        let old = change.old.map(|_| read(format!("{commit}:{name}").into()));
        let new = if change.absent.is_some() {
            Some(read(name))
        } else {
            let file = || Ok(Input::in_directory(&change.file));
            change.has_new.then(file)
        };
        match (patches.note(&change.file), old, new) {
            (Some(skipped), ..) | (_, Some(Err(skipped)), Some(_)) | (_, _, Some(Err(skipped))) => {
                sides.skipped.push(skipped);
            }
            (_, old, new) => {
                let old = old.map(|old| old.unwrap_or_else(Input::failed));
                sides.old.extend(old.map(|old| (change.file.clone(), old)));
                let new = new.and_then(Result::ok);
                sides.new.extend(new.map(|new| (change.file, new)));
            }
        }
    }
    Ok(())
}
