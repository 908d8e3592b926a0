//! Sets the version of the project in all files that `make generate` does not write.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use managed_by_testing::{read, root};

use crate::generated::Generated;

/// Files with the version, as patterns for Git.
const FILES: [&str; 16] = [
    ".github/ISSUE_TEMPLATE/wrong-verdict.yml",
    ".github/SECURITY.md",
    ".github/actions/check/action.yml",
    "Cargo.toml",
    "README.md",
    "charts/managed-by-policy/Chart.yaml",
    "crates/*/README.md",
    "crates/js/npm/published.json",
    "docs/*.md",
    "go/*/go.mod",
    "go/README.md",
    "go/conformance/conformance.go",
    "go/managedby/module.go",
    "go/managedbytest/managedbytest_test.go",
    "pods/metadata.yml",
    "policy-metadata.yml",
];

/// Directories with a lock file that lists packages of this project.
const LOCKED: [&str; 2] = [".", "fuzz"];

/// Text on lines with the version of this project. Other projects may have the same version.
const MARKERS: [&str; 7] = [
    "managed-by",
    "ersion",
    "default: v",
    "placeholder: policy ",
    "release.tag: v",
    "rev: v",
    "$RELEASES/v",
];

/// Returns all files with the version, each with a new one.
pub(crate) fn set(new: &str) -> Result<Vec<Generated>> {
    let numbers: Vec<_> = new.split('.').collect();
    let is_version = numbers.len() == 3 && numbers.iter().all(|n| n.parse::<u32>().is_ok());
    ensure!(is_version, "{new}: not a version such as 0.2.0");
    let current = env!("CARGO_PKG_VERSION");
    let replace = |line: &str| {
        if MARKERS.iter().any(|marker| line.contains(marker)) {
            line.replace(current, new)
        } else {
            line.to_owned()
        }
    };
    let paths = files_with(current, &FILES)?;
    let files = paths.lines().map(|path| {
        let text = read(path)?;
        let text: String = text.split_inclusive('\n').map(replace).collect();
        Ok(Generated::new(path, text))
    });
    files.collect()
}

/// Updates the versions of this project's packages in the lock files.
pub(crate) fn lock() -> Result<()> {
    for directory in LOCKED {
        let mut cargo = Command::new("cargo");
        cargo.args(["update", "--workspace", "--quiet"]);
        let status = cargo.current_dir(root(directory)).status()?;
        ensure!(status.success(), "{directory}: cargo update failed");
    }
    Ok(())
}

/// Returns the paths of the files that match one of the patterns and contain a text.
fn files_with(text: &str, patterns: &[&str]) -> Result<String> {
    let output = Command::new("git")
        .args([
            "grep",
            "--fixed-strings",
            "--files-with-matches",
            text,
            "--",
        ])
        .args(patterns)
        .current_dir(root("."))
        .output()
        .context("git")?;
    Ok(String::from_utf8(output.stdout)?)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{FILES, files_with, read, set};

    /// Files whose version has another source: `make generate`, Cargo, the changelog, and tests with their own registry.
    const OTHERS: [&str; 5] = [
        ":!CHANGELOG.md",
        ":!*artifacthub-pkg.yml",
        ":!crates/cli/tests/transcripts/*",
        ":!e2e/kwctl.bats",
        ":(attr:!linguist-generated)",
    ];

    #[test]
    fn no_line_about_this_project_keeps_the_version() {
        let current = env!("CARGO_PKG_VERSION");
        let files = set("98.76.54").unwrap().into_iter();
        let files: BTreeMap<_, _> = files.map(|file| (file.path, file.text)).collect();
        for path in files_with(current, &OTHERS).unwrap().lines() {
            let text = files
                .get(path)
                .map_or_else(|| read(path).unwrap(), Clone::clone);
            for line in text.lines().filter(|line| line.contains("managed-by")) {
                assert!(!line.contains(current), "{path}: {line}");
            }
        }
        for pattern in FILES {
            assert!(
                !files_with(current, &[pattern]).unwrap().is_empty(),
                "{pattern}"
            );
        }
        assert!(files["Cargo.toml"].contains("\nversion = \"98.76.54\"\n"));
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
