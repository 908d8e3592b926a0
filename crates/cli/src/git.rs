//! Reads the files of a git commit, and of the working tree as git sees it, with the `git` program.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{self, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;

use managed_by_offline::MalformedText;

use crate::diagnostic::{Diagnostic, Kind};
use crate::error::CliError;
use crate::files::{Chooser, Files};
use crate::input::Input;

/// The files at a path in a commit and in the working tree.
#[derive(Default)]
pub(crate) struct Compared {
    pub(crate) old: Side,
    pub(crate) new: Side,
    /// Submodules.
    pub(crate) skipped: Vec<Diagnostic>,
}

/// Files, each with its path, which is the same on both sides.
pub(crate) type Side = Vec<(PathBuf, Result<Input, Diagnostic>)>;

/// The directory to run git in, and the path to pass, unless it is the whole directory.
struct Place {
    folder: PathBuf,
    path: PathBuf,
}

impl Place {
    fn of(path: &Path) -> Self {
        let folder = |path: &Path| {
            if path.as_os_str().is_empty() {
                PathBuf::from(".")
            } else {
                path.to_owned()
            }
        };
        // The folder may have been deleted.
        let mut folders = path.ancestors().filter(|path| folder(path).is_dir());
        let above = folders.next().unwrap_or(path);
        Self {
            folder: folder(above),
            path: path.strip_prefix(above).unwrap_or(path).to_owned(),
        }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut git = Command::new("git");
        git.arg("-C")
            .arg(&self.folder)
            .arg("--literal-pathspecs")
            .args(args);
        git
    }

    /// Runs git and returns its output.
    fn run(&self, args: &[&str], paths: &[&Path]) -> Result<Vec<u8>, CliError> {
        let output = self
            .command(args)
            .args(paths)
            .output()
            .map_err(cannot_run)?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let text = String::from_utf8_lossy(&output.stderr);
        let text = text.trim().trim_start_matches("fatal: ");
        Err(CliError::Error(format!("git: {text}")))
    }

    fn paths(&self) -> Vec<&Path> {
        let path = (!self.path.as_os_str().is_empty()).then_some(&*self.path);
        path.into_iter().collect()
    }

    /// Returns the path of a file in git's output.
    fn file(&self, name: &Path) -> PathBuf {
        plain(&self.folder.join(name)).to_owned()
    }

    /// Returns the hash of a commit.
    fn commit(&self, name: &str) -> Result<String, CliError> {
        let verified = format!("{name}^{{commit}}");
        let hash = self.run(&["rev-parse", "--verify", "--quiet", &verified], &[]);
        self.hash(hash, || {
            format!("git: {name} is not a commit of this repository")
        })
    }

    /// Returns the hash of the commit to compare with; for `main...HEAD`, the merge base.
    fn base(&self, commit: &str) -> Result<String, CliError> {
        if commit.starts_with('-') || commit.contains(':') {
            return Err(CliError::Error(format!(
                "--git {commit}: expected a commit"
            )));
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
            let text = format!(
                "--git {commit}: the new side is the working tree, expected HEAD behind the dots"
            );
            return Err(CliError::Error(text));
        }
        if !is_base {
            return Ok(old);
        }
        let base = self.run(&["merge-base", &old, &new], &[]);
        self.hash(base, || {
            format!("git: {commit}: the two have no commit in common")
        })
    }

    /// Returns a hash from git's output, or the error. CI systems fetch a single commit by default.
    fn hash(
        &self,
        printed: Result<Vec<u8>, CliError>,
        what: impl Fn() -> String,
    ) -> Result<String, CliError> {
        let printed = match printed {
            Err(CliError::Error(text)) if text != "git: " => return Err(CliError::Error(text)),
            printed => printed.unwrap_or_default(),
        };
        let hash = String::from_utf8_lossy(&printed).trim().to_owned();
        if !hash.is_empty() {
            return Ok(hash);
        }
        let shallow = self.run(&["rev-parse", "--is-shallow-repository"], &[])?;
        let hint = if shallow.starts_with(b"true") {
            "; this clone is shallow: fetch the history, with `fetch-depth: 0` of actions/checkout, `GIT_DEPTH: 0` of GitLab or \
             `git fetch --unshallow`"
        } else {
            ""
        };
        Err(CliError::Error(what() + hint))
    }

    /// Returns the contents of blobs, in order; [`None`] if git does not have a blob.
    fn contents(&self, hashes: &[String]) -> Result<Vec<Option<Vec<u8>>>, CliError> {
        let mut git = self.command(&["cat-file", "--batch"]);
        let git = git
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut git: Child = git.spawn().map_err(cannot_run)?;
        let (to, from) = (git.stdin.take(), git.stdout.take());
        let (Some(mut to), Some(from)) = (to, from) else {
            return Err(CliError::Error("git cannot be run".to_owned()));
        };
        let contents = thread::scope(|scope| {
            scope.spawn(move || hashes.iter().try_for_each(|hash| writeln!(to, "{hash}")));
            let mut from = BufReader::new(from);
            let each = hashes.iter().map(|_| blob(&mut from));
            each.collect::<io::Result<Vec<_>>>()
        });
        git.wait()?;
        contents.map_err(|e| CliError::Error(format!("git cat-file: {e}")))
    }
}

/// Reads the next blob from `git cat-file --batch`: `HASH blob SIZE`, the bytes and a line end; or `HASH missing`.
fn blob(from: &mut impl io::BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut header = String::new();
    from.read_line(&mut header)?;
    let mut words = header.split_whitespace().skip(1);
    let (kind, size) = (
        words.next(),
        words.next().and_then(|size| size.parse().ok()),
    );
    let Some(size) = size.filter(|_| kind == Some("blob")) else {
        let is_missing = kind == Some("missing");
        return if is_missing {
            Ok(None)
        } else {
            Err(io::ErrorKind::UnexpectedEof.into())
        };
    };
    let mut bytes = Vec::new();
    from.take(size).read_to_end(&mut bytes)?;
    from.read_until(b'\n', &mut Vec::new())?;
    Ok(Some(bytes))
}

#[expect(clippy::needless_pass_by_value, reason = "it is for `map_err`")]
fn cannot_run(e: io::Error) -> CliError {
    CliError::Error(format!("git cannot be run: {e}"))
}

/// Returns the file, or the manifests of a folder, in a commit and in the working tree, without links. Tracked files are
/// included even if `.gitignore` matches them; other files excluded in the working tree are excluded in the commit too.
///
/// # Errors
/// Returns an error if git does not have the commit, if git is not installed, or if neither side has the path.
pub(crate) fn compared(commit: &str, path: &Path, chooser: &Chooser) -> Result<Compared, CliError> {
    let place = Place::of(path);
    let hash = place.base(commit)?;
    let mut submodules = BTreeSet::new();
    let mut new: Files = Vec::new();
    if path.is_dir() {
        let listed = [
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ];
        let listed = place.run(&listed, &[])?;
        let known: BTreeSet<PathBuf> = names(&listed)
            .map(|name| place.file(path_of(name)))
            .collect();
        submodules.extend(known.iter().filter(|path| path.is_dir()).cloned());
        chooser.add_folder(path, false, &mut new);
        new.retain(|file| {
            let path = file.as_ref().ok().and_then(Input::path);
            path.is_none_or(|path| chooser.reads_ignored || known.contains(plain(path)))
        });
    } else if path.exists() {
        new = chooser.files(&[path.to_owned()]);
    }
    let of_file = |file: Result<Input, Diagnostic>| {
        let path = file.as_ref().ok().and_then(Input::path);
        let path = path.map(|path| plain(path).to_owned()).unwrap_or_default();
        (!path.is_symlink()).then_some((path, file))
    };
    let new: Side = new.into_iter().filter_map(of_file).collect();
    let there: BTreeSet<&Path> = new.iter().map(|(path, _)| &**path).collect();
    let tree = place.run(&["ls-tree", "-r", "-z", &hash, "--"], &place.paths())?;
    let (mut files, mut hashes) = (Vec::new(), Vec::new());
    // Each entry is "100644 blob <hash>\t<name>"; links and submodules have other modes.
    for entry in names(&tree) {
        let mut parts = entry.splitn(2, |byte| *byte == b'\t').map(path_of);
        let (Some(meta), Some(name)) = (parts.next().and_then(Path::to_str), parts.next()) else {
            continue;
        };
        let file = place.file(name);
        let is_chosen = || {
            let relative = name.strip_prefix(&place.path).unwrap_or(name);
            let is_there = there.contains(&*file) || !file.exists();
            Chooser::is_chosen(relative) && is_there && !chooser.is_excluded(&file)
        };
        if meta.starts_with("160000 ") {
            submodules.insert(file);
        } else if meta.starts_with("100") && (name == place.path || is_chosen()) {
            hashes.push(meta.rsplit(' ').next().unwrap_or_default().to_owned());
            files.push(file);
        }
    }
    if files.is_empty() && !path.exists() {
        let text = MalformedText::whole("no such file, neither now nor in the commit");
        return Err(Diagnostic::new(&Input::new(path).name, text).into());
    }
    let old = files
        .into_iter()
        .zip(place.contents(&hashes)?)
        .map(|(file, bytes)| {
            let name = Arc::from(format!("{commit}:{}", Input::new(&file).name));
            let missing = || MalformedText::whole("is not in this clone");
            let bytes = bytes.ok_or_else(|| Diagnostic::new(&name, missing()));
            (file, bytes.map(|bytes| Input::of_bytes(&name, bytes)))
        });
    let submodule = |path: &PathBuf| {
        let text = MalformedText::whole("is a submodule, not compared");
        Diagnostic::new(&Input::new(path).name, text).of(Kind::Skipped)
    };
    Ok(Compared {
        old: old.collect(),
        skipped: submodules.iter().map(submodule).collect(),
        new,
    })
}

/// Returns a path without its leading `./`.
fn plain(path: &Path) -> &Path {
    path.strip_prefix(".").unwrap_or(path)
}

/// Splits the output of `-z`.
fn names(printed: &[u8]) -> impl Iterator<Item = &[u8]> {
    printed
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
}

/// Converts a name to a path; names need not be UTF-8.
#[cfg(unix)]
fn path_of(name: &[u8]) -> &Path {
    use std::os::unix::ffi::OsStrExt as _;
    Path::new(OsStr::from_bytes(name))
}

#[cfg(not(unix))]
fn path_of(name: &[u8]) -> &Path {
    Path::new(OsStr::new(std::str::from_utf8(name).unwrap_or_default()))
}
