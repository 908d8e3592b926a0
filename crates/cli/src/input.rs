//! Files and standard input.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use managed_by_offline::MalformedText;

use crate::diagnostic::Diagnostic;

/// An input to read.
#[derive(Debug, Clone)]
pub(crate) struct Input {
    /// The name that the user gave, for messages.
    pub(crate) name: Arc<str>,
    from: From,
}

#[derive(Debug, Clone)]
enum From {
    File(PathBuf),
    /// A file in a folder that the user named.
    Found(PathBuf),
    /// Standard input, which can be read only once.
    Stdin(OnceLock<Vec<u8>>),
    /// Contents from another source, such as a file in a commit.
    Bytes(Vec<u8>),
}

impl Input {
    /// Creates an input for a file, or for standard input if the path is `-`.
    pub(crate) fn new(path: &Path) -> Self {
        if path.as_os_str() == "-" {
            return Self {
                name: Arc::from("stdin"),
                from: From::Stdin(OnceLock::new()),
            };
        }
        // Code review tools do not match paths with a leading `./`.
        let named = path.strip_prefix(".").ok();
        let named = named.filter(|named| !named.as_os_str().is_empty());
        Self {
            name: Arc::from(&*named.unwrap_or(path).display().to_string()),
            from: From::File(path.to_owned()),
        }
    }

    /// Creates an input for a file in a folder that the user named.
    pub(crate) fn found(path: &Path) -> Self {
        Self {
            from: From::Found(path.to_owned()),
            ..Self::new(path)
        }
    }

    /// Returns true if the user named a folder, not the file itself.
    pub(crate) fn is_found(&self) -> bool {
        matches!(self.from, From::Found(_) | From::Bytes(_))
    }

    /// Creates an input from contents, such as a file in a commit.
    pub(crate) fn of_bytes(name: &Arc<str>, bytes: Vec<u8>) -> Self {
        Self {
            name: Arc::clone(name),
            from: From::Bytes(bytes),
        }
    }

    /// Returns the path of a file.
    pub(crate) fn path(&self) -> Option<&Path> {
        match &self.from {
            From::File(path) | From::Found(path) => Some(path),
            From::Stdin(_) | From::Bytes(_) => None,
        }
    }

    /// Returns true for standard input, which may stay open for hours.
    pub(crate) fn is_stdin(&self) -> bool {
        matches!(self.from, From::Stdin(_))
    }

    pub(crate) fn bytes(&self) -> Result<Cow<'_, [u8]>, Diagnostic> {
        match &self.from {
            From::File(path) | From::Found(path) => match fs::read(path) {
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

    /// Replaces the contents of the file.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<(), Diagnostic> {
        let written = match self.path() {
            Some(path) => fs::write(path, bytes).map_err(|e| e.to_string()),
            None => Err("it is no file".to_owned()),
        };
        let malformed = |e| MalformedText::whole(format!("cannot be written: {e}"));
        written.map_err(|e| Diagnostic::new(&self.name, malformed(e)))
    }

    /// Opens the input as a stream, with its size if known.
    pub(crate) fn open(&self) -> Result<(Box<dyn io::Read + Send>, Option<u64>), Diagnostic> {
        let path = match &self.from {
            From::File(path) | From::Found(path) => path,
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
