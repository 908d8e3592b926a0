//! READMEs that are shown outside of the repository.
//!
//! In the repository their links are relative. Modules and Artifact Hub embed them with absolute links to the tag of their version.

use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, Result};
use managed_by::FILES_URL;

use crate::read;

const PICTURES: &str = concat!(
    "https://raw.githubusercontent.com/managed-by-policy/managed-by-policy/v",
    env!("CARGO_PKG_VERSION")
);

/// Reads a README, by its path in the repository, and makes its links absolute.
pub fn with_absolute_links(path: &str) -> Result<String> {
    replace_links(&read(path)?, |file| absolute(path, file))
}

/// Replaces the files of the relative links in a Markdown text. Keeps fragments, and blocks of code.
pub fn replace_links(
    text: &str,
    mut replacement: impl FnMut(&str) -> Result<String>,
) -> Result<String> {
    let mut replaced = String::new();
    let mut is_code = false;
    for line in text.split_inclusive('\n') {
        is_code ^= line.trim_start().starts_with("```");
        let mut parts = line.split("](");
        replaced.push_str(parts.next().unwrap_or_default());
        for part in parts {
            replaced.push_str("](");
            if is_code || !is_relative(part) {
                replaced.push_str(part);
            } else {
                let (file, rest) = split(part);
                replaced.push_str(&replacement(file)?);
                replaced.push_str(rest);
            }
        }
    }
    Ok(replaced)
}

/// Returns the targets of a README's relative links, as paths in the repository without fragments.
pub fn linked_files(path: &str) -> Result<Vec<String>> {
    let text = read(path)?;
    let links = text.split("](").skip(1).filter(|link| is_relative(link));
    links.map(|link| resolve(path, link)).collect()
}

fn is_relative(link: &str) -> bool {
    // A chapter without a page has an empty link.
    let others = ["https:", "http:", "#", ")"];
    !others.iter().any(|other| link.starts_with(other))
}

/// Splits the text that follows `](` into the link's file and the rest.
fn split(link: &str) -> (&str, &str) {
    link.split_at(link.find(['#', ')']).unwrap_or(link.len()))
}

fn absolute(readme: &str, link: &str) -> Result<String> {
    let file = resolve(readme, link)?;
    let is_picture = Path::new(&file)
        .extension()
        .is_some_and(|e| e == "svg" || e == "png");
    let base = if is_picture { PICTURES } else { FILES_URL };
    Ok(format!("{base}/{file}"))
}

/// Resolves a link relative to the file that contains it.
pub fn resolve(readme: &str, link: &str) -> Result<String> {
    let mut file = PathBuf::from(readme);
    file.pop();
    for component in Path::new(split(link).0).components() {
        match component {
            Component::ParentDir => {
                let left = !file.pop();
                anyhow::ensure!(!left, "{readme}: {link} leaves the repository");
            }
            Component::CurDir => {}
            other => file.push(other),
        }
    }
    let file = file.to_str().context("not UTF-8")?;
    Ok(file.to_owned())
}
