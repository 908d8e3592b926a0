//! Generated files and pages, and the parts of files that are generated.

use std::fs;

use anyhow::{Context as _, Result};
use managed_by_testing::root;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Generated {
    /// Path relative to the root of the repository.
    pub(crate) path: String,
    /// Complete content.
    pub(crate) text: String,
}

impl Generated {
    /// Creates a file from path and content.
    pub(crate) fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            text: text.into(),
        }
    }
}

pub(crate) struct Page {
    /// Path in the repository. Links to and from the page are relative to it.
    pub(crate) path: String,
    /// Path on the site.
    pub(crate) target: String,
    /// Text with relative links.
    pub(crate) text: String,
}

pub(crate) fn write(files: Vec<Generated>) -> Result<()> {
    for Generated { path, text } in files {
        let path = root(&path);
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        fs::write(&path, text).with_context(|| path.display().to_string())?;
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
