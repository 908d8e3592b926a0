//! Files and standard input.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use managed_by_offline::decode;

use crate::diagnostic::{Diagnostic, DiagnosticKind};

#[derive(Debug, Clone)]
pub struct Input {
    /// Name for messages: the path without a leading `./`, or `stdin`.
    pub name: Arc<str>,
    source: Source,
    /// True if an empty file is not an error, because the user named a directory or a commit, not this file.
    pub may_be_empty: bool,
}

#[derive(Debug, Clone)]
enum Source {
    File(PathBuf),
    /// Standard input, which can be read only once.
    Stdin(OnceLock<Vec<u8>>),
    /// A pipe, such as `<(helm template .)` in a shell. It can be read only once too.
    Pipe(PathBuf, OnceLock<Vec<u8>>),
    /// Contents from another source, such as a file in a commit.
    Bytes(Vec<u8>),
    /// A file that is not read.
    Failed(Box<Diagnostic>),
}

impl Input {
    /// Creates an input for a file, or for standard input if the path is `-`.
    pub fn new(path: &Path) -> Self {
        // Code review tools do not match paths with a leading `./`.
        let relative = path.strip_prefix(".").ok();
        let relative = relative.filter(|relative| !relative.as_os_str().is_empty());
        let name = relative.unwrap_or(path).display().to_string();
        let (name, source) = match &*name {
            "-" => ("stdin".to_owned(), Source::Stdin(OnceLock::new())),
            _ if is_pipe(path) => (name, Source::Pipe(path.to_owned(), OnceLock::new())),
            _ => (name, Source::File(path.to_owned())),
        };
        Self {
            name: name.into(),
            source,
            may_be_empty: false,
        }
    }

    /// Creates an input for a file in a directory that the user named.
    pub fn in_directory(path: &Path) -> Self {
        Self {
            may_be_empty: true,
            ..Self::new(path)
        }
    }

    /// Creates an input from contents, such as a file in a commit.
    pub fn from_bytes(name: &Arc<str>, bytes: Vec<u8>) -> Self {
        Self {
            name: Arc::clone(name),
            source: Source::Bytes(bytes),
            may_be_empty: true,
        }
    }

    pub fn failed(error: Diagnostic) -> Self {
        Self {
            name: Arc::clone(&error.file),
            source: Source::Failed(Box::new(error)),
            may_be_empty: true,
        }
    }

    pub fn path(&self) -> Option<&Path> {
        match &self.source {
            Source::File(path) | Source::Pipe(path, _) => Some(path),
            Source::Stdin(_) | Source::Bytes(_) | Source::Failed(_) => None,
        }
    }

    /// Returns true for standard input, which may stay open for hours.
    pub fn is_stdin(&self) -> bool {
        matches!(self.source, Source::Stdin(_))
    }

    /// Returns true for standard input and for a pipe, which can be read only once.
    pub fn is_stream(&self) -> bool {
        matches!(self.source, Source::Stdin(_) | Source::Pipe(..))
    }

    pub fn bytes(&self) -> Result<Cow<'_, [u8]>, Diagnostic> {
        match &self.source {
            Source::File(path) => match fs::read(path) {
                Ok(bytes) if is_lfs_pointer(&bytes) => {
                    Err(Diagnostic::of_file(&self.name, LFS_POINTER))
                }
                Ok(bytes) => Ok(Cow::Owned(bytes)),
                Err(e) => Err(self.read_error(&e)),
            },
            Source::Stdin(cached) => self.read_once(cached, || {
                let mut bytes = Vec::new();
                io::stdin().lock().read_to_end(&mut bytes)?;
                Ok(bytes)
            }),
            Source::Pipe(path, cached) => self.read_once(cached, || fs::read(path)),
            Source::Bytes(bytes) => Ok(Cow::Borrowed(bytes)),
            Source::Failed(error) => Err((**error).clone()),
        }
    }

    fn read_once<'c>(
        &self,
        cached: &'c OnceLock<Vec<u8>>,
        read: impl FnOnce() -> io::Result<Vec<u8>>,
    ) -> Result<Cow<'c, [u8]>, Diagnostic> {
        if cached.get().is_none() {
            let _ = cached.set(read().map_err(|e| self.read_error(&e))?);
        }
        Ok(Cow::Borrowed(cached.get().map_or(&[], Vec::as_slice)))
    }

    pub fn text(&self) -> Result<String, Diagnostic> {
        let bytes = self.bytes()?;
        let text = decode(&bytes).map_err(|malformed| Diagnostic::new(&self.name, malformed))?;
        Ok(text.into_owned())
    }

    pub fn write(&self, bytes: &[u8]) -> Result<(), Diagnostic> {
        let written = match &self.source {
            Source::File(path) => fs::write(path, bytes).map_err(|e| e.to_string()),
            _ => Err("not a file".to_owned()),
        };
        written.map_err(|e| Diagnostic::of_file(&self.name, format!("cannot be written: {e}")))
    }

    /// Opens a file or standard input as a stream, with its size if known.
    pub fn open(&self) -> Result<(Box<dyn io::Read + Send>, Option<u64>), Diagnostic> {
        let (Source::File(path) | Source::Pipe(path, _)) = &self.source else {
            return Ok((Box::new(io::stdin()), None));
        };
        let file = File::open(path).map_err(|e| self.read_error(&e))?;
        let metadata = file.metadata().map_err(|e| self.read_error(&e))?;
        if metadata.is_dir() {
            return Err(self.read_error(&io::ErrorKind::IsADirectory.into()));
        }
        let size = Some(metadata.len()).filter(|_| metadata.is_file());
        Ok((Box::new(file), size))
    }

    pub fn empty_file_error(&self) -> Diagnostic {
        Diagnostic::of_file(&self.name, "empty file").with_kind(DiagnosticKind::Empty)
    }

    fn read_error(&self, error: &io::Error) -> Diagnostic {
        let text = match error.kind() {
            io::ErrorKind::NotFound => "no such file".to_owned(),
            io::ErrorKind::IsADirectory => "expected a file, got a directory".to_owned(),
            _ => format!("cannot be read: {error}"),
        };
        Diagnostic::of_file(&self.name, text)
    }
}

/// Error for a file whose contents are in Git LFS.
pub const LFS_POINTER: &str = "a pointer of Git LFS: run `git lfs pull`";

/// Returns true if git has checked out only the pointer to a file in Git LFS. Source: the specification in its first line.
pub fn is_lfs_pointer(bytes: &[u8]) -> bool {
    bytes.starts_with(b"version https://git-lfs.github.com/spec/")
}

/// Returns true if the path is neither a file nor a directory.
fn is_pipe(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}
