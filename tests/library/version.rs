//! `cargo xtask set-version`.

use std::collections::BTreeMap;
use std::process::Command;

use xtask::generated::Generated;
use xtask::{root, version};

/// Files whose version has another source: `make generate`, the changelog, and a test with its own registry.
const OTHERS: [&str; 5] = [
    "CHANGELOG.md",
    "artifacthub-pkg.yml",
    "crates/cli/tests/transcripts/more.md",
    "e2e/kwctl.bats",
    "pods/artifacthub-pkg.yml",
];

#[test]
fn the_current_version_changes_nothing() {
    for Generated { path, text } in version::set(&version::current().unwrap()).unwrap() {
        assert!(
            text == std::fs::read_to_string(root(&path)).unwrap(),
            "{path}"
        );
    }
}

#[test]
fn every_place_gets_the_new_version() {
    let current = version::current().unwrap();
    let files = version::set("98.76.54").unwrap().into_iter();
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
    for path in named.lines().filter(|path| !OTHERS.contains(path)) {
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
        let error = version::set(version).unwrap_err().to_string();
        assert_eq!(error, format!("{version}: not a version such as 0.2.0"));
    }
}
