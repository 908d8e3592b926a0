//! Files, folders and standard input.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use ignore::overrides::OverrideBuilder;
use ignore::{DirEntry, WalkBuilder};
use managed_by_offline::MalformedText;

use crate::Stop;
use crate::args::Folders;
use crate::report::Complaint;

#[derive(Debug, Clone)]
pub(crate) struct Input {
    /// As the user named it, for messages.
    pub(crate) name: Arc<str>,
    path: Option<PathBuf>,
    /// What it holds, if it was read already: standard input can be read only once.
    held: OnceLock<Vec<u8>>,
}

impl Input {
    /// Whether it is a link to a file.
    pub(crate) fn is_link(&self) -> bool {
        self.path.as_deref().is_some_and(Path::is_symlink)
    }

    /// Its place in the file system, if it is a file that is there.
    pub(crate) fn place(&self) -> Option<PathBuf> {
        self.path.as_deref()?.canonicalize().ok()
    }
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
                path: None,
                held: OnceLock::new(),
            };
        }
        // Reviewers' tools know no `./`.
        let named = path.strip_prefix(".").ok();
        let named = named.filter(|named| !named.as_os_str().is_empty());
        Self {
            name: Arc::from(&*named.unwrap_or(path).display().to_string()),
            path: Some(path.to_owned()),
            held: OnceLock::new(),
        }
    }

    /// Something that is no file here, such as one of a commit, and what it holds.
    pub(crate) fn held(name: &str, bytes: Vec<u8>) -> Self {
        Self {
            name: Arc::from(name),
            path: None,
            held: OnceLock::from(bytes),
        }
    }

    /// Whether it is standard input, into which somebody may write for hours.
    pub(crate) fn is_stdin(&self) -> bool {
        self.path.is_none() && self.held.get().is_none()
    }

    pub(crate) fn bytes(&self) -> Result<Cow<'_, [u8]>, Complaint> {
        if let Some(path) = &self.path {
            let bytes = fs::read(path).map_err(|e| self.unreadable(&e))?;
            return Ok(Cow::Owned(bytes));
        }
        if self.is_stdin() {
            let mut bytes = Vec::new();
            let read = io::stdin().lock().read_to_end(&mut bytes);
            read.map_err(|e| self.unreadable(&e))?;
            let _ = self.held.set(bytes);
        }
        Ok(Cow::Borrowed(self.held.get().map_or(&[], Vec::as_slice)))
    }

    /// Writes other bytes into the file.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<(), Complaint> {
        let written = match &self.path {
            Some(path) => fs::write(path, bytes).map_err(|e| e.to_string()),
            None => Err("it is no file".to_owned()),
        };
        let malformed = |e| MalformedText::whole(format!("cannot be written: {e}"));
        written.map_err(|e| Complaint::new(&self.name, malformed(e)))
    }

    /// The file itself, and its size.
    pub(crate) fn open(&self) -> Result<(Box<dyn io::Read + Send>, Option<u64>), Complaint> {
        let Some(path) = &self.path else {
            return Ok((Box::new(io::stdin()), None));
        };
        let file = File::open(path).map_err(|e| self.unreadable(&e))?;
        let metadata = file.metadata().map_err(|e| self.unreadable(&e))?;
        if metadata.is_dir() {
            let text = "is a folder, expected a file";
            return Err(Complaint::new(&self.name, MalformedText::whole(text)));
        }
        let size = Some(metadata.len()).filter(|_| metadata.is_file());
        Ok((Box::new(file), size))
    }

    fn unreadable(&self, error: &io::Error) -> Complaint {
        let text = match error.kind() {
            io::ErrorKind::NotFound => "no such file".to_owned(),
            io::ErrorKind::IsADirectory => "is a folder, expected a file".to_owned(),
            _ => format!("cannot be read: {error}"),
        };
        Complaint::new(&self.name, MalformedText::whole(text))
    }
}

/// The files of paths: folders recursively, in the order of their names, without hidden ones, without what `.gitignore` and
/// `.ignore` name, and without `node_modules`. A folder without manifests is an error.
pub(crate) fn files(
    paths: &[PathBuf],
    folders: &Folders,
) -> Result<Vec<Result<Input, Complaint>>, Stop> {
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
            files.push(Err(Complaint::new(&Input::new(path).name, malformed)));
        }
    }
    Ok(files)
}

fn add_folder(
    folder: &Path,
    folders: &Folders,
    files: &mut Vec<Result<Input, Complaint>>,
) -> Result<(), Stop> {
    let cannot = |e| Stop::Error(format!("{}: {e}", folder.display()));
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
        added.map_err(|e| Stop::Error(format!("--exclude {pattern}: {e}")))?;
    }
    let excluded = excluded
        .build()
        .map_err(|e| Stop::Error(format!("--exclude: {e}")))?;
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
                files.push(Err(Complaint::new(&Input::new(folder).name, malformed)));
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
