//! Finds manifests in directories.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use managed_by_console::diagnostic::{Diagnostic, DiagnosticKind};
use managed_by_console::exit::CliError;
use managed_by_console::input::Input;

use crate::args::DirectoryArgs;
use crate::git::tracked;
use crate::kustomize::Patches;

/// File name extensions of manifests.
const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];

#[derive(Clone)]
pub(crate) struct FileSelector {
    excluded: Gitignore,
    pub(crate) includes_ignored: bool,
    excludes_arguments: bool,
}

impl FileSelector {
    /// Creates a selector. Patterns of `--exclude` are relative to the working directory, patterns of `managed-by.toml` to
    /// its directory.
    pub(crate) fn new(args: &DirectoryArgs) -> Result<Self, CliError> {
        let here = env::current_dir()?;
        let root = here.join(args.root.as_deref().unwrap_or(Path::new("")));
        let mut patterns = GitignoreBuilder::new(root.canonicalize()?);
        patterns.allow_unclosed_class(false);
        for pattern in &args.exclude {
            // Shells accept a leading `./` too.
            let anchored = pattern.strip_prefix("./").map(|rest| format!("/{rest}"));
            let added = patterns.add_line(None, anchored.as_deref().unwrap_or(pattern));
            added.map_err(|e| CliError::Error(format!("--exclude {pattern}: {e}")))?;
        }
        let excluded = patterns.build();
        Ok(Self {
            excluded: excluded.map_err(|e| CliError::Error(format!("--exclude: {e}")))?,
            includes_ignored: args.no_ignore,
            excludes_arguments: args.force_exclude,
        })
    }

    /// Returns true if a pattern excludes the path or a parent directory.
    pub(crate) fn is_excluded(&self, path: &Path) -> bool {
        if self.excluded.is_empty() {
            return false;
        }
        let parent = path.parent().filter(|path| !path.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new(".")).canonicalize();
        let (Ok(parent), Some(name)) = (parent, path.file_name()) else {
            return false;
        };
        let path = parent.join(name);
        let is_directory = path.is_dir();
        // Outside the directory, match patterns against the absolute path.
        let inside = path.strip_prefix(self.excluded.path());
        let inside = inside.unwrap_or_else(|_| path.strip_prefix("/").unwrap_or(&path));
        let matched = |path| {
            self.excluded
                .matched_path_or_any_parents(path, is_directory)
        };
        inside.is_relative() && matched(inside).is_ignore()
    }

    /// Returns true unless `--force-exclude` applies a pattern to a file that is given as an argument.
    pub(crate) fn includes_argument(&self, path: &Path) -> bool {
        !(self.excludes_arguments && self.is_excluded(path))
    }

    /// Returns true if a relative path in a directory names a manifest. A hidden one, such as in `.tekton`, must look like one, because
    /// editors and other tools keep files in YAML and JSON there.
    pub(crate) fn is_manifest(relative: &Path, file: &Path) -> bool {
        let names = || relative.iter().map(OsStr::as_encoded_bytes);
        let is_skipped = names().any(|name| name == b".git" || name == b"node_modules");
        let is_hidden = names().any(|name| name.starts_with(b"."));
        let extension = relative.extension().and_then(OsStr::to_str);
        let has_object = || {
            let text = fs::read(file).unwrap_or_default();
            !file.is_file() || memchr::memmem::find(&text, b"apiVersion").is_some()
        };
        !is_skipped
            && extension.is_some_and(|extension| EXTENSIONS.contains(&extension))
            && (!is_hidden || has_object())
    }

    /// Returns the files at paths. Directories are read recursively, sorted by name, without `node_modules`, and without matches of
    /// `.gitignore` and `.ignore` that git does not track. A directory without manifests is an error.
    pub(crate) fn files(&self, paths: &[PathBuf]) -> Vec<Input> {
        let mut files = Vec::new();
        for path in paths {
            if path.is_dir() {
                let in_directory = self.files_in(path);
                if in_directory.is_empty() {
                    let text = if has_unselected_manifest(path) {
                        "all manifests in this directory are excluded, hidden or ignored"
                    } else {
                        "no manifests (.yaml, .yml or .json) in this directory"
                    };
                    let empty = Diagnostic::of_file(&Input::new(path).name, text);
                    files.push(Input::failed(empty.with_kind(DiagnosticKind::Empty)));
                }
                files.extend(in_directory);
            } else if self.includes_argument(path) {
                files.push(Input::new(path));
            }
        }
        skip_patches(files)
    }

    fn files_in(&self, directory: &Path) -> Vec<Input> {
        let mut files = Vec::new();
        let selector = self.clone();
        let walk = WalkBuilder::new(directory)
            .standard_filters(!self.includes_ignored)
            .hidden(false)
            .require_git(false)
            .filter_entry(move |entry| {
                let is_skipped = || {
                    [".git", "node_modules"]
                        .iter()
                        .any(|name| entry.file_name() == *name)
                        || selector.is_excluded(entry.path())
                };
                entry.depth() == 0 || !is_skipped()
            })
            .sort_by_file_name(Ord::cmp)
            .build();
        for entry in walk {
            let entry = match entry {
                Ok(entry) => entry,
                Err(e) => {
                    let text = format!("cannot be read: {e}");
                    let error = Diagnostic::of_file(&Input::new(directory).name, text);
                    files.push(Input::failed(error));
                    continue;
                }
            };
            let path = entry.path();
            let relative = path.strip_prefix(directory).unwrap_or(path);
            // Do not follow links to directories, because they may form a cycle.
            let is_directory = entry.file_type().is_none_or(|kind| kind.is_dir()) || path.is_dir();
            if is_directory || !Self::is_manifest(relative, path) {
                continue;
            }
            let input = Input::in_directory(path);
            // Reading a FIFO would block until it has a writer.
            let is_special = path.metadata().is_ok_and(|metadata| !metadata.is_file());
            files.push(if is_special {
                let error = Diagnostic::of_file(&input.name, "skipped: not a regular file");
                Input::failed(error.with_kind(DiagnosticKind::Skipped))
            } else {
                input
            });
        }
        if !self.includes_ignored {
            let walked: BTreeSet<_> = files.iter().filter_map(Input::path).collect();
            let tracked = tracked(directory).into_iter().filter_map(|relative| {
                let path = directory.join(&relative);
                let is_selected = !walked.contains(&*path)
                    && path.is_file()
                    && Self::is_manifest(&relative, &path)
                    && !self.is_excluded(&path);
                is_selected.then(|| Input::in_directory(&path))
            });
            let tracked: Vec<_> = tracked.collect();
            files.extend(tracked);
        }
        files
    }
}

/// Returns true if a directory has a manifest, whatever the user excludes or ignores.
fn has_unselected_manifest(directory: &Path) -> bool {
    let mut walk = WalkBuilder::new(directory);
    let mut entries = walk.standard_filters(false).build().flatten();
    entries.any(|entry| {
        let extension = entry.path().extension().and_then(OsStr::to_str);
        let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
        is_file && extension.is_some_and(|extension| EXTENSIONS.contains(&extension))
    })
}

/// Replaces the files that a kustomization next to one of them lists as a patch or component.
fn skip_patches(files: Vec<Input>) -> Vec<Input> {
    let patches = Patches::next_to(files.iter().filter_map(Input::path));
    let skip = |file: Input| {
        let note = file.path().and_then(|path| patches.note(path));
        note.map_or(file, Input::failed)
    };
    files.into_iter().map(skip).collect()
}
