//! Finds manifests in folders.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::{DirEntry, WalkBuilder};
use managed_by_offline::MalformedText;

use crate::args::Folders;
use crate::diagnostic::{Diagnostic, Kind};
use crate::error::CliError;
use crate::input::Input;

/// File extensions of manifests.
const MANIFESTS: [&str; 3] = ["yaml", "yml", "json"];

/// Files to read, or errors.
pub(crate) type Files = Vec<Result<Input, Diagnostic>>;

/// Selects files in folders.
#[derive(Clone)]
pub(crate) struct Chooser {
    excluded: Gitignore,
    pub(crate) reads_ignored: bool,
    excludes_named: bool,
}

impl Chooser {
    /// Creates a chooser. Patterns of `--exclude` are relative to the working directory, patterns of `managed-by.toml` to
    /// its folder.
    ///
    /// # Errors
    /// Returns an error if a pattern is malformed.
    pub(crate) fn new(folders: &Folders) -> Result<Self, CliError> {
        let here = env::current_dir()?;
        let root = here.join(folders.root.as_deref().unwrap_or(Path::new("")));
        let mut patterns = GitignoreBuilder::new(root.canonicalize()?);
        patterns.allow_unclosed_class(false);
        for pattern in &folders.exclude {
            // Shells accept a leading `./` too.
            let anchored = pattern.strip_prefix("./").map(|rest| format!("/{rest}"));
            let added = patterns.add_line(None, anchored.as_deref().unwrap_or(pattern));
            added.map_err(|e| CliError::Error(format!("--exclude {pattern}: {e}")))?;
        }
        let excluded = patterns.build();
        Ok(Self {
            excluded: excluded.map_err(|e| CliError::Error(format!("--exclude: {e}")))?,
            reads_ignored: folders.no_ignore,
            excludes_named: folders.force_exclude,
        })
    }

    /// Returns true if a pattern excludes the path or a parent folder.
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
        let is_folder = path.is_dir();
        // Outside the folder, match patterns against the absolute path.
        let inside = path.strip_prefix(self.excluded.path());
        let inside = inside.unwrap_or_else(|_| path.strip_prefix("/").unwrap_or(&path));
        let matched = |path| self.excluded.matched_path_or_any_parents(path, is_folder);
        inside.is_relative() && matched(inside).is_ignore()
    }

    /// Returns true if a path in a folder names a manifest and is not hidden.
    pub(crate) fn is_chosen(path: &Path) -> bool {
        let is_left_out = |name: &[u8]| name.starts_with(b".") || name == b"node_modules";
        let mut names = path.iter().map(OsStr::as_encoded_bytes);
        let extension = path.extension();
        extension.is_some_and(|e| MANIFESTS.iter().any(|m| e == *m)) && !names.any(is_left_out)
    }

    /// Returns the files at paths. Folders are read recursively, sorted by name, without hidden files, `.gitignore` and
    /// `.ignore` matches, and `node_modules`. A folder without manifests is an error.
    pub(crate) fn files(&self, paths: &[PathBuf]) -> Files {
        let mut files = Vec::new();
        for path in paths {
            if path.is_dir() {
                let before = files.len();
                self.add_folder(path, !self.reads_ignored, &mut files);
                if files.len() == before {
                    let text = "holds no manifests (.yaml, .yml or .json)";
                    let empty = Diagnostic::new(&Input::new(path).name, MalformedText::whole(text));
                    files.push(Err(empty.of(Kind::Empty)));
                }
            } else if !(self.excludes_named && self.is_excluded(path)) {
                files.push(Ok(Input::new(path)));
            }
        }
        files
    }

    /// Adds the files of a folder, without `.gitignore` matches if `is_git` is set.
    pub(crate) fn add_folder(&self, folder: &Path, is_git: bool, files: &mut Files) {
        let chooser = self.clone();
        let is_read = move |entry: &DirEntry| {
            let is_left_out =
                || entry.file_name() == "node_modules" || chooser.is_excluded(entry.path());
            entry.depth() == 0 || !is_left_out()
        };
        let walk = WalkBuilder::new(folder)
            .standard_filters(!self.reads_ignored)
            .git_ignore(is_git)
            .git_global(is_git)
            .git_exclude(is_git)
            .hidden(true)
            .require_git(false)
            .filter_entry(is_read)
            .sort_by_file_name(Ord::cmp)
            .build();
        for entry in walk {
            let failed =
                |path, text| Diagnostic::new(&Input::new(path).name, MalformedText::whole(text));
            let entry = match entry {
                Ok(entry) => entry,
                Err(e) => {
                    files.push(Err(failed(folder, format!("cannot be read: {e}"))));
                    continue;
                }
            };
            let path = entry.path();
            let relative = path.strip_prefix(folder).unwrap_or(path);
            // Do not follow links to folders, because they may form a cycle.
            let is_folder = entry.file_type().is_none_or(|kind| kind.is_dir()) || path.is_dir();
            if is_folder || !Self::is_chosen(relative) {
                continue;
            }
            // Reading a FIFO would block until it has a writer.
            let is_other = path.metadata().is_ok_and(|metadata| !metadata.is_file());
            files.push(if is_other {
                Err(failed(path, "is no regular file, not read".to_owned()).of(Kind::Skipped))
            } else {
                Ok(Input::found(path))
            });
        }
    }
}
