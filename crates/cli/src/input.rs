//! Files, folders and standard input.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use ignore::overrides::OverrideBuilder;
use ignore::{DirEntry, WalkBuilder};
use managed_by_offline::MalformedText;

use crate::args::Folders;
use crate::diagnostic::Diagnostic;
use crate::error::CliError;

/// Something to read.
#[derive(Debug, Clone)]
pub(crate) struct Input {
    /// As the user named it, for messages.
    pub(crate) name: Arc<str>,
    from: From,
}

#[derive(Debug, Clone)]
enum From {
    File(PathBuf),
    /// It can be read only once.
    Stdin(OnceLock<Vec<u8>>),
    /// What was read elsewhere, such as a file of a commit.
    Bytes(Vec<u8>),
}

/// What files of a folder hold manifests.
const MANIFESTS: [&str; 3] = ["yaml", "yml", "json"];

/// Whether a file of a folder holds manifests, as far as its name says.
pub(crate) fn is_manifest(path: &Path) -> bool {
    let extension = path.extension();
    extension.is_some_and(|e| MANIFESTS.iter().any(|m| e == *m))
}

impl Input {
    /// A file, or standard input for `-`.
    pub(crate) fn new(path: &Path) -> Self {
        if path.as_os_str() == "-" {
            return Self {
                name: Arc::from("stdin"),
                from: From::Stdin(OnceLock::new()),
            };
        }
        // Reviewers' tools know no `./`.
        let named = path.strip_prefix(".").ok();
        let named = named.filter(|named| !named.as_os_str().is_empty());
        Self {
            name: Arc::from(&*named.unwrap_or(path).display().to_string()),
            from: From::File(path.to_owned()),
        }
    }

    /// What was read elsewhere, such as a file of a commit.
    pub(crate) fn of_bytes(name: &str, bytes: Vec<u8>) -> Self {
        Self {
            name: Arc::from(name),
            from: From::Bytes(bytes),
        }
    }

    /// Its path, if it is a file.
    pub(crate) fn path(&self) -> Option<&Path> {
        match &self.from {
            From::File(path) => Some(path),
            From::Stdin(_) | From::Bytes(_) => None,
        }
    }

    /// Returns true for standard input, to which a program may write for hours.
    pub(crate) fn is_stdin(&self) -> bool {
        matches!(self.from, From::Stdin(_))
    }

    pub(crate) fn bytes(&self) -> Result<Cow<'_, [u8]>, Diagnostic> {
        match &self.from {
            From::File(path) => match fs::read(path) {
                Ok(bytes) => Ok(Cow::Owned(bytes)),
                Err(e) => Err(self.unreadable(&e)),
            },
            From::Stdin(held) => {
                if held.get().is_none() {
                    let mut bytes = Vec::new();
                    let read = io::stdin().lock().read_to_end(&mut bytes);
                    read.map_err(|e| self.unreadable(&e))?;
                    let _ = held.set(bytes);
                }
                Ok(Cow::Borrowed(held.get().map_or(&[], Vec::as_slice)))
            }
            From::Bytes(bytes) => Ok(Cow::Borrowed(bytes)),
        }
    }

    /// Writes other bytes into the file.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<(), Diagnostic> {
        let written = match self.path() {
            Some(path) => fs::write(path, bytes).map_err(|e| e.to_string()),
            None => Err("it is no file".to_owned()),
        };
        let malformed = |e| MalformedText::whole(format!("cannot be written: {e}"));
        written.map_err(|e| Diagnostic::new(&self.name, malformed(e)))
    }

    /// The input as a stream, with its size if that is known.
    pub(crate) fn open(&self) -> Result<(Box<dyn io::Read + Send>, Option<u64>), Diagnostic> {
        let path = match &self.from {
            From::File(path) => path,
            From::Stdin(_) => return Ok((Box::new(io::stdin()), None)),
            From::Bytes(bytes) => return Ok((Box::new(io::Cursor::new(bytes.clone())), None)),
        };
        let file = File::open(path).map_err(|e| self.unreadable(&e))?;
        let metadata = file.metadata().map_err(|e| self.unreadable(&e))?;
        if metadata.is_dir() {
            return Err(self.unreadable(&io::ErrorKind::IsADirectory.into()));
        }
        let size = Some(metadata.len()).filter(|_| metadata.is_file());
        Ok((Box::new(file), size))
    }

    fn unreadable(&self, error: &io::Error) -> Diagnostic {
        let text = match error.kind() {
            io::ErrorKind::NotFound => "no such file".to_owned(),
            io::ErrorKind::IsADirectory => "is a folder, expected a file".to_owned(),
            _ => format!("cannot be read: {error}"),
        };
        Diagnostic::new(&self.name, MalformedText::whole(text))
    }
}

/// The files of paths: folders recursively, in the order of their names, without hidden ones, without what `.gitignore` and
/// `.ignore` name, and without `node_modules`. A folder without manifests is an error.
pub(crate) fn files(
    paths: &[PathBuf],
    folders: &Folders,
) -> Result<Vec<Result<Input, Diagnostic>>, CliError> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(Ok(Input::new(path)));
            continue;
        }
        let before = files.len();
        add_folder(path, folders, &mut files)?;
        if files.len() == before {
            let text = "holds no manifests (.yaml, .yml or .json)";
            let malformed = MalformedText::whole(text);
            files.push(Err(Diagnostic::new(&Input::new(path).name, malformed)));
        }
    }
    Ok(files)
}

fn add_folder(
    folder: &Path,
    folders: &Folders,
    files: &mut Vec<Result<Input, Diagnostic>>,
) -> Result<(), CliError> {
    let cannot = |e| CliError::Error(format!("{}: {e}", folder.display()));
    let real = folder.canonicalize().map_err(cannot)?;
    let root = match folders.root.as_deref() {
        Some(root) if root.as_os_str().is_empty() => Path::new("."),
        Some(root) => root,
        None => folder,
    };
    let mut excluded = OverrideBuilder::new(root.canonicalize().map_err(cannot)?);
    for pattern in &folders.exclude {
        // What `ignore` calls an override is what counts against all else; with `!` it leaves out.
        let added = excluded.add(&format!("!{pattern}"));
        added.map_err(|e| CliError::Error(format!("--exclude {pattern}: {e}")))?;
    }
    let excluded = excluded
        .build()
        .map_err(|e| CliError::Error(format!("--exclude: {e}")))?;
    let top = folder.to_owned();
    let is_read = move |entry: &DirEntry| {
        let path = entry.path().strip_prefix(&top).unwrap_or(entry.path());
        let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        let is_excluded = excluded.matched(real.join(path), is_folder).is_ignore();
        entry.depth() == 0 || entry.file_name() != "node_modules" && !is_excluded
    };
    let walk = WalkBuilder::new(folder)
        .standard_filters(!folders.no_ignore)
        .hidden(true)
        .require_git(false)
        .filter_entry(is_read)
        .sort_by_file_name(Ord::cmp)
        .build();
    for entry in walk {
        let entry = match entry {
            Ok(entry) => entry,
            Err(e) => {
                let malformed = MalformedText::whole(format!("cannot be read: {e}"));
                files.push(Err(Diagnostic::new(&Input::new(folder).name, malformed)));
                continue;
            }
        };
        // A link to a folder is not followed: it may lead to where it came from.
        let is_folder = entry.file_type().is_none_or(|kind| kind.is_dir()) || entry.path().is_dir();
        if !is_folder && is_manifest(entry.path()) {
            files.push(Ok(Input::new(entry.path())));
        }
    }
    Ok(())
}
