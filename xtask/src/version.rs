//! Sets the version of the project in all files that `make generate` does not write.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use crate::generated::{Generated, read};
use crate::root;

/// Files and directories with the version. In directories, only Markdown files.
const PLACES: [&str; 17] = [
    "Cargo.toml",
    "Cargo.lock",
    "examples/rust-controller/Cargo.lock",
    "fuzz/Cargo.lock",
    "policy-metadata.yml",
    "pods/metadata.yml",
    "charts/managed-by-policy/Chart.yaml",
    "charts/managed-by-policy/README.md.gotmpl",
    "go/managedby/module.go",
    "go/managedbyclient/go.mod",
    "go/envtest/go.mod",
    "go/README.md",
    ".github/actions/check/action.yml",
    ".github/ISSUE_TEMPLATE/wrong-verdict.yml",
    "README.md",
    "SECURITY.md",
    "docs",
];

/// Text on lines with the version of this project. Other projects may have the same version.
const MARKERS: [&str; 8] = [
    "managed-by",
    "ersion ",
    "ersion: ",
    "default: v",
    "placeholder: policy ",
    "release.tag: v",
    "rev: v",
    "$RELEASES/v",
];

/// Returns the version in `Cargo.toml`.
///
/// # Errors
/// If the file cannot be read or has no version.
pub fn current() -> Result<String> {
    let manifest = read("Cargo.toml")?;
    let mut lines = manifest.lines();
    let version = lines.find_map(|line| line.strip_prefix("version = \"")?.strip_suffix('"'));
    Ok(version.context("Cargo.toml: no version")?.to_owned())
}

/// Returns all files of [`PLACES`] with another version.
///
/// # Errors
/// If the version is malformed, a file cannot be read, or a file that is listed by name does not contain the current version.
pub fn set(new: &str) -> Result<Vec<Generated>> {
    let numbers: Vec<_> = new.split('.').collect();
    let is_version = numbers.len() == 3 && numbers.iter().all(|n| n.parse::<u32>().is_ok());
    ensure!(is_version, "{new}: not a version such as 0.2.0");
    let current = current()?;
    let mut files = Vec::new();
    for place in PLACES {
        if root(place).is_dir() {
            pages(place, &current, new, &mut files)?;
            continue;
        }
        let text = read(place)?;
        ensure!(text.contains(&current), "{place}: no version {current}");
        files.push(Generated::new(place, replace(place, &text, &current, new)));
    }
    Ok(files)
}

fn pages(directory: &str, current: &str, new: &str, files: &mut Vec<Generated>) -> Result<()> {
    for entry in fs::read_dir(root(directory))? {
        let path = format!("{directory}/{}", entry?.file_name().to_string_lossy());
        if root(&path).is_dir() {
            pages(&path, current, new, files)?;
        } else if Path::new(&path).extension().is_some_and(|e| e == "md") {
            let text = replace(&path, &read(&path)?, current, new);
            files.push(Generated::new(path, text));
        }
    }
    Ok(())
}

fn replace(path: &str, text: &str, current: &str, new: &str) -> String {
    let mut replaced = String::new();
    let mut before = "";
    for line in text.split_inclusive('\n') {
        // In lock files, the line with the name of the package comes before the version.
        let is_locked = before.starts_with("name = \"managed-by") || before.contains("\"xtask\"");
        let is_ours = if path.ends_with("Cargo.lock") {
            is_locked
        } else {
            line.starts_with("version = ")
                || line.starts_with("const Version = ")
                || MARKERS.iter().any(|marker| line.contains(marker))
        };
        if is_ours {
            replaced.push_str(&replace_whole(line, current, new));
        } else {
            replaced.push_str(line);
        }
        before = line;
    }
    replaced
}

/// Replaces a version that is not a part of a longer one, such as `0.1.0` in `10.1.0` or `0.1.01`.
fn replace_whole(line: &str, current: &str, new: &str) -> String {
    let mut parts = line.split(current);
    let mut replaced = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_part = replaced.ends_with(|c: char| c.is_ascii_digit() || c == '.')
            || part.starts_with(|c: char| c.is_ascii_digit());
        replaced.push_str(if is_part { current } else { new });
        replaced.push_str(part);
    }
    replaced
}
