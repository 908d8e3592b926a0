//! Documentation: what is generated into it, what its links lead to, and what it repeats of the code.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use expect_test::expect_file;
use managed_by::Release;
use managed_by_engine::Engine;
use xtask::book::headings;
use xtask::demo;
use xtask::generated::Generated;
use xtask::prose;

use crate::support::{GUEST, root};

/// What is committed is what `make docs` writes.
#[test]
fn generated_files_are_up_to_date() {
    let files = xtask::generated::all().unwrap();
    assert!(files.len() > 50, "{}", files.len());
    for Generated { path, text } in files {
        expect_file![root(path)].assert_eq(&text);
    }
}

/// A page of a rule that is gone would go on explaining it.
#[test]
fn every_page_of_a_rule_has_its_rule() {
    let files = xtask::generated::all().unwrap();
    let known: Vec<_> = files.iter().map(|file| root(&file.path)).collect();
    for file in markdown(&root("docs/rules")) {
        assert!(known.contains(&file), "{}", file.display());
    }
}

fn markdown(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let below = |path: PathBuf| {
        if path.is_dir() {
            markdown(&path)
        } else {
            vec![path]
        }
    };
    let mut files: Vec<_> = paths.flat_map(below).collect();
    files.retain(|file| file.extension().is_some_and(|e| e == "md"));
    files.sort();
    files
}

/// Where a reader of the README finds the rest: it is read on Artifact Hub and inside the module too.
const HOME: &str = "https://github.com/managed-by-policy/managed-by-policy/";

/// The file of this repository that a link leads to, if it is one, seen from the page that has it.
fn target(page: &Path, link: &str) -> Option<PathBuf> {
    if let Some(rest) = link.strip_prefix(HOME) {
        let (kind, file) = rest.split_once("/main/")?;
        assert!(kind == "blob" || kind == "tree", "{link}");
        assert_eq!(root(file).is_dir(), kind == "tree", "{link}");
        return Some(root(file));
    }
    if link.starts_with("https://") {
        return None;
    }
    // A heading of the page itself.
    if link.is_empty() {
        return Some(page.to_owned());
    }
    assert_ne!(
        page,
        root("README.md"),
        "{link}: dead where the README is read alone"
    );
    Some(page.parent().unwrap().join(link))
}

/// Links between the pages of this repository lead somewhere.
#[test]
fn links_lead_to_files() {
    let mut files = markdown(&root("docs"));
    for entry in fs::read_dir(root("")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "md") {
            files.push(path);
        }
    }
    let mut count = 0;
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for (_, rest) in text
            .match_indices("](")
            .map(|(at, m)| text.split_at(at + m.len()))
        {
            let link = rest.split(')').next().unwrap();
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let Some(target) = target(&file, path) else {
                continue;
            };
            assert!(target.exists(), "{}: {link}", file.display());
            if !anchor.is_empty() {
                let text = fs::read_to_string(&target).unwrap();
                assert!(
                    headings(&text).contains(&anchor.to_owned()),
                    "{}: {link}",
                    file.display()
                );
            }
            count += 1;
        }
    }
    assert!(count > 50, "{count}");
}

/// The site has every page, and its links lead to pages, files and headings.
#[test]
fn the_book_is_whole() {
    xtask::book::assemble(&root("target/book-of-the-tests")).unwrap();
}

/// What the README shows of `make demo` is what it prints.
#[test]
fn the_readme_shows_what_the_demo_prints() {
    let readme = fs::read_to_string(root("README.md")).unwrap();
    let (_, rest) = readme
        .split_once("`make demo` prints, among others:")
        .unwrap();
    let (_, shown) = rest.split_once("```text\n").unwrap();
    let shown = shown.split("\n```").next().unwrap();
    let mut printed = Vec::new();
    let policy = GUEST.on(Engine::Wasmi);
    demo::run(&mut printed, demo::Paint::Plain, policy, &root("examples")).unwrap();
    let printed = String::from_utf8(printed).unwrap();
    let printed: Vec<_> = printed.split("\n\n").collect();
    let shown: Vec<_> = shown.split("\n\n").collect();
    assert!(shown.len() >= 3);
    for block in shown {
        assert!(printed.contains(&block), "{block}");
    }
}

/// Releases stand in code, in the README and in the oracle's module files.
#[test]
fn the_same_releases_are_named_everywhere() {
    let readme = fs::read_to_string(root("README.md")).unwrap();
    let makefile = fs::read_to_string(root("Makefile")).unwrap();
    let all = Release::ALL
        .iter()
        .map(|release| release.as_str())
        .collect::<Vec<_>>();
    assert!(makefile.contains(&format!("RELEASES := {}\n", all.join(" "))));
    assert!(readme.contains(&format!("`\"{}\"` to `\"{}\"`", all[0], all[7])));
    for release in all {
        assert!(
            root(format!("conformance/oracle/v{release}.mod")).exists(),
            "{release}"
        );
    }
}

/// Each direct dependency of a crate of ours has its reason, and no reason is left of one that is gone.
#[test]
fn dependencies_are_explained() {
    let workspace = fs::read_to_string(root("Cargo.toml")).unwrap();
    let workspace: toml::Table = toml::from_str(&workspace).unwrap();
    let members = workspace["workspace"]["members"].as_array().unwrap();
    let members = members.iter().map(|member| member.as_str().unwrap());
    let manifests = members
        .chain([""])
        .map(|member| root(member).join("Cargo.toml"));
    let mut used = BTreeSet::new();
    for manifest in manifests {
        let text = fs::read_to_string(manifest).unwrap();
        let manifest: toml::Table = toml::from_str(&text).unwrap();
        for table in ["dependencies", "dev-dependencies", "build-dependencies"] {
            used.extend(
                manifest
                    .get(table)
                    .and_then(|t| t.as_table())
                    .into_iter()
                    .flat_map(|t| t.keys())
                    .cloned(),
            );
        }
    }
    used.retain(|name| !name.starts_with("managed-by") && name != "xtask");
    let text = fs::read_to_string(root("docs/dependencies.md")).unwrap();
    let cells = text.lines().filter_map(|line| line.split(" | ").next());
    let names = cells.filter(|cell| cell.starts_with("| `"));
    let explained: BTreeSet<_> = names
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .map(ToOwned::to_owned)
        .collect();
    assert_eq!(explained, used);
}

/// The toolchain stands where rustup, cargo and make look for it.
#[test]
fn the_same_toolchain_is_named_everywhere() {
    let read = |file: &str| fs::read_to_string(root(file)).unwrap();
    let table = |file: &str| toml::from_str::<toml::Table>(&read(file)).unwrap();
    let toolchain = table("rust-toolchain.toml");
    let channel = toolchain["toolchain"]["channel"].as_str().unwrap();
    let minor = channel.rsplit_once('.').unwrap().0;
    let workspace = &table("Cargo.toml")["workspace"];
    assert_eq!(workspace["package"]["rust-version"].as_str(), Some(minor));
    let makefile = read("Makefile");
    assert!(makefile.contains(&format!("rustfmt {channel}\n")));
    assert!(makefile.contains(&format!("'^{}'", channel.replace('.', r"\."))));
}

/// Phrases that readers stumbled over do not come back. What the code generates is among the pages.
#[test]
fn the_words_are_plain() {
    let mut files = markdown(&root("docs"));
    let others = [
        "README.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "SUPPORT.md",
        "CHANGELOG.md",
        "pods/README.md",
        "questions-ui.yml",
    ];
    files.extend(others.map(root));
    for folder in ["deploy", "examples/settings"] {
        let entries = fs::read_dir(root(folder)).unwrap();
        files.extend(entries.map(|entry| entry.unwrap().path()));
    }
    let mut found = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for (line, phrase) in prose::stumbles(&text) {
            found.push(format!(
                "{}:{line}: {:?}, write: {}",
                file.display(),
                phrase.words,
                phrase.instead
            ));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
