//! READMEs that are shown outside of the repository.
//!
//! In the repository their links are relative. Modules, Artifact Hub and the documentation's book embed them with absolute links.

use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::read;

const PAGES: &str = "https://github.com/managed-by-policy/managed-by-policy/blob/main";
const PICTURES: &str = "https://raw.githubusercontent.com/managed-by-policy/managed-by-policy/main";

/// Reads a README, by its path in the repository, and makes its links absolute.
///
/// # Errors
/// If the file cannot be read, or a link leaves the repository.
pub fn with_absolute_links(path: &str) -> Result<String> {
    let mut published = String::new();
    let mut is_code = false;
    for line in read(path)?.split_inclusive('\n') {
        is_code ^= line.trim_start().starts_with("```");
        let mut parts = line.split("](");
        published.push_str(parts.next().unwrap_or_default());
        for part in parts {
            published.push_str("](");
            if !is_code && is_relative(part) {
                published.push_str(&absolute(path, part)?);
            } else {
                published.push_str(part);
            }
        }
    }
    Ok(published)
}

/// Returns the targets of a README's relative links, as paths in the repository without fragments.
///
/// # Errors
/// If the file cannot be read, or a link leaves the repository.
pub fn linked_files(path: &str) -> Result<Vec<String>> {
    let text = read(path)?;
    let links = text.split("](").skip(1).filter(|link| is_relative(link));
    links.map(|link| resolve(path, link)).collect()
}

fn is_relative(link: &str) -> bool {
    !link.starts_with("https:") && !link.starts_with('#')
}

/// Splits the text that follows `](` into the link's file and the rest.
fn split(link: &str) -> (&str, &str) {
    link.split_at(link.find(['#', ')']).unwrap_or(link.len()))
}

fn absolute(readme: &str, link: &str) -> Result<String> {
    let file = resolve(readme, link)?;
    let is_picture = Path::new(&file).extension().is_some_and(|e| e == "svg");
    let base = if is_picture { PICTURES } else { PAGES };
    Ok(format!("{base}/{file}{}", split(link).1))
}

/// Resolves a link relative to the README that contains it.
fn resolve(readme: &str, link: &str) -> Result<String> {
    let mut file = PathBuf::from(readme);
    file.pop();
    for component in Path::new(split(link).0).components() {
        match component {
            Component::ParentDir => {
                let left = !file.pop();
                anyhow::ensure!(!left, "{readme}: {link} leaves the repository");
            }
            other => file.push(other),
        }
    }
    let file = file.to_str().context("not UTF-8")?;
    Ok(file.to_owned())
}
