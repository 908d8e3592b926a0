//! Sets the version of the project in all files that `make generate` does not write.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use managed_by_testing::{read, root};

use crate::generated::Generated;

/// Files and directories with the version. In directories, only Markdown files.
const PLACES: [&str; 18] = [
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
    "go/managedbytest/managedbytest_test.go",
    ".github/actions/check/action.yml",
    ".github/ISSUE_TEMPLATE/wrong-verdict.yml",
    ".github/SECURITY.md",
    "README.md",
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
pub(crate) fn current() -> Result<String> {
    let manifest = read("Cargo.toml")?;
    let mut lines = manifest.lines();
    let version = lines.find_map(|line| line.strip_prefix("version = \"")?.strip_suffix('"'));
    Ok(version.context("Cargo.toml: no version")?.to_owned())
}

/// Returns all files of [`PLACES`] with another version.
///
/// # Errors
/// If the version is malformed, a file cannot be read, or a file that is listed by name does not contain the current version.
pub(crate) fn set(new: &str) -> Result<Vec<Generated>> {
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::process::Command;

    use super::{Generated, current, root, set};

    /// Files and directories whose version has another source: `make generate`, the changelog, and a test with its own registry.
    const OTHERS: [&str; 5] = [
        "CHANGELOG.md",
        "artifacthub-pkg.yml",
        "crates/cli/tests/transcripts/",
        "e2e/kwctl.bats",
        "pods/artifacthub-pkg.yml",
    ];

    #[test]
    fn the_current_version_changes_nothing() {
        for Generated { path, text } in set(&current().unwrap()).unwrap() {
            assert!(
                text == std::fs::read_to_string(root(&path)).unwrap(),
                "{path}"
            );
        }
    }

    #[test]
    fn every_place_gets_the_new_version() {
        let current = current().unwrap();
        let files = set("98.76.54").unwrap().into_iter();
        let files: BTreeMap<_, _> = files.map(|file| (file.path, file.text)).collect();
        // Also text that merely contains the version, so that the list of files does not depend on `set`.
        let output = Command::new("git")
            .args(["grep", "--fixed-strings", "--files-with-matches", &current])
            .args(["--", ":(attr:!linguist-generated)"])
            .current_dir(root("."))
            .output()
            .unwrap();
        let named = String::from_utf8(output.stdout).unwrap();
        assert!(named.lines().any(|path| path == "Cargo.toml"), "{named}");
        for path in named
            .lines()
            .filter(|path| !OTHERS.iter().any(|other| path.starts_with(other)))
        {
            let text = match files.get(path) {
                Some(text) => text.clone(),
                None => std::fs::read_to_string(root(path)).unwrap(),
            };
            for line in text.lines().filter(|line| line.contains("managed-by")) {
                assert!(!line.contains(&current), "{path}: {line}");
            }
        }
        assert!(files["Cargo.toml"].contains("\nversion = \"98.76.54\"\n"));
        assert!(files["Cargo.lock"].contains("name = \"managed-by\"\nversion = \"98.76.54\"\n"));
        assert!(files["go/managedby/module.go"].contains("const Version = \"98.76.54\"\n"));
    }

    #[test]
    fn only_a_version_is_accepted() {
        for version in ["", "v0.2.0", "0.2", "0.2.0-rc.1", "0.2.x"] {
            let error = set(version).unwrap_err().to_string();
            assert_eq!(error, format!("{version}: not a version such as 0.2.0"));
        }
    }
}
