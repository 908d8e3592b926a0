//! The files that `make generate` generates from the code.

use std::fs;
use std::io::{self, Write as _};

use anyhow::{Context as _, Result, bail};

use crate::{artifacthub, chart, deploy, kinds, root, rules, settings, status_guide};

/// A generated file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generated {
    /// Path relative to the root of the repository.
    pub path: String,
    /// Complete content.
    pub text: String,
}

impl Generated {
    /// Creates a file from path and content.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            text: text.into(),
        }
    }
}

/// Generates all files. New generators are added here.
///
/// # Errors
/// If a partly generated file cannot be read or lacks its marks.
pub fn all() -> Result<Vec<Generated>> {
    let generators = [
        rules::generated()?,
        kinds::generated()?,
        settings::generated()?,
        chart::generated()?,
        artifacthub::generated()?,
        status_guide::generated()?,
    ];
    let mut files = generators.concat();
    match deploy::generated()? {
        Some(rendered) => files.extend(rendered),
        None => writeln!(
            io::stderr(),
            "skipped: the manifests in deploy/ and charts/managed-by-policy/tests/rendered/, because helm is not on the PATH"
        )?,
    }
    Ok(files)
}

/// Writes generated files.
///
/// # Errors
/// If a file cannot be written.
pub fn write(files: Vec<Generated>) -> Result<()> {
    for Generated { path, text } in files {
        let path = root(&path);
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        fs::write(&path, text).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

/// Compares generated files with the files on disk.
///
/// # Errors
/// If files differ. The error lists them.
pub fn check(files: Vec<Generated>) -> Result<()> {
    let stale: Vec<_> = files
        .into_iter()
        .filter(|file| fs::read_to_string(root(&file.path)).ok().as_ref() != Some(&file.text))
        .map(|file| file.path)
        .collect();
    if !stale.is_empty() {
        bail!(
            "generated files are out of date, run `make generate`: {}",
            stale.join(", ")
        );
    }
    Ok(())
}

/// Replaces the lines between the marks `<!-- NAME -->` and `<!-- /NAME -->`.
pub(crate) fn replace_between_marks(text: &str, mark: &str, generated: &str) -> Result<String> {
    let (open, close) = (format!("<!-- {mark} -->\n"), format!("<!-- /{mark} -->\n"));
    let parts = text.split_once(&open).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(&close)?;
        Some((before, after))
    });
    let (before, after) =
        parts.with_context(|| format!("missing <!-- {mark} --> or <!-- /{mark} -->"))?;
    Ok(format!("{before}{open}{generated}{close}{after}"))
}

/// Reads a file of the repository.
pub(crate) fn read(path: &str) -> Result<String> {
    fs::read_to_string(root(path)).with_context(|| path.to_owned())
}
