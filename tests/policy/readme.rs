//! The READMEs: the first commands, and links.

use std::fs;

use crate::support::root;
use managed_by_testing::readme;

/// CI runs the commands that the README shows to new contributors, in the same order.
#[test]
fn ci_runs_the_first_commands_of_the_readme() {
    let readme = fs::read_to_string(root("README.md")).unwrap();
    let commands: Vec<_> = readme.lines().filter(|l| l.starts_with("make ")).collect();
    assert_eq!(commands, ["make demo", "make test"]);

    let ci = fs::read_to_string(root(".ci/run")).unwrap();
    let ran: Vec<_> = ci.lines().filter(|line| commands.contains(line)).collect();
    assert_eq!(ran, commands);
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Links are relative in the repository, and absolute where a README is published.
#[test]
fn links_are_relative_until_published() {
    for path in ["README.md", "pods/README.md"] {
        let readme = fs::read_to_string(root(path)).unwrap();
        for base in ["managed-by-policy/blob/", "raw.githubusercontent.com"] {
            assert!(!readme.contains(base), "{path} has absolute links: {base}");
        }
        let files = readme::linked_files(path).unwrap();
        assert!(!files.is_empty(), "{path}");
        let published = readme::with_absolute_links(path).unwrap();
        for file in files {
            assert!(root(&file).exists(), "{path}: {file} does not exist");
            assert!(published.contains(&format!("/v{VERSION}/{file}")), "{file}");
        }
        for link in published.split("](").skip(1) {
            assert!(link.starts_with("https://"), "{path}: {link:.40}");
        }
    }
    let published = readme::with_absolute_links("README.md").unwrap();
    let repository = "managed-by-policy/managed-by-policy";
    for link in [
        format!("(https://github.com/{repository}/blob/v{VERSION}/docs/README.md)"),
        format!(
            "(https://github.com/{repository}/blob/v{VERSION}/.github/SECURITY.md#how-it-fails)"
        ),
    ] {
        assert!(published.contains(&link), "{link}");
    }
}
