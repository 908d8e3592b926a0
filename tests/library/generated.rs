//! Compares the generated files with the committed ones. `make generate` updates them.

use std::process::Command;

use expect_test::expect_file;
use xtask::generated::Generated;
use xtask::root;

#[test]
fn generated_files_are_up_to_date() {
    let files = xtask::generators::all().unwrap();
    assert!(files.len() > 50, "{}", files.len());
    for Generated { path, text } in files {
        expect_file![root(path)].assert_eq(&text);
    }
}

/// `.gitattributes` marks the files that are generated completely. The others have handwritten parts.
#[test]
fn generated_files_are_marked() {
    const PARTLY: [&str; 6] = [
        "artifacthub-pkg.yml",
        "docs/SUMMARY.md",
        "docs/reference/job-status.md",
        "docs/reference/kinds.md",
        "pods/artifacthub-pkg.yml",
        "policy-metadata.yml",
    ];
    let mut files: Vec<_> = xtask::generators::all().unwrap();
    files.extend(xtask::deploy::paths().map(|path| Generated::new(path, "")));
    let paths = files.iter().map(|file| file.path.as_str());
    let output = Command::new("git")
        .args(["check-attr", "linguist-generated"])
        .args(paths)
        .current_dir(root("."))
        .output()
        .unwrap();
    let output = String::from_utf8(output.stdout).unwrap();
    let mut unmarked: Vec<_> = output
        .lines()
        .filter(|line| !line.ends_with(": set"))
        .filter_map(|line| line.split(':').next())
        .collect();
    unmarked.sort_unstable();
    assert_eq!(unmarked, PARTLY);
}
