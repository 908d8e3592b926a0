//! What is generated into documentation from the code. `make docs` writes it anew; a test fails where it would change.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use managed_by::Release;
use managed_by::catalogue::RULES;
use managed_by::rule::{Anchor, Rule};
use managed_by_engine::demo;
use serde_json::{Value, from_str};

use crate::support::{GUEST, natively, root};

fn anchor(rule: &Rule) -> String {
    match rule.anchor {
        Anchor::Upstream {
            function,
            option,
            since,
            until,
            ..
        } => {
            let to = until.unwrap_or_default().as_str();
            let option = option.map(|o| format!(" with `{o}`")).unwrap_or_default();
            format!(
                "kube-apiserver: `{function}`{option}, {} to {to}",
                since.as_str()
            )
        }
        Anchor::Ours { source } => format!("ours: {source}"),
    }
}

/// The rules as a table, with links to their pages.
fn table() -> String {
    let mut text =
        "| rule | default | checks that | from |\n| --- | --- | --- | --- |\n".to_owned();
    for rule in RULES {
        let from = if rule.is_upstream() {
            "kube-apiserver"
        } else {
            "this project"
        };
        let (id, default) = (rule.id, rule.default.as_str());
        let mut title = rule.documentation().title.to_owned();
        title.get_mut(..1).unwrap().make_ascii_lowercase();
        writeln!(text, "| [`{id}`]({id}.md) | {default} | {title} | {from} |").unwrap();
    }
    text
}

fn pretty(json: &str) -> String {
    let value: Value = from_str(json).unwrap();
    serde_json::to_string_pretty(&value).unwrap()
}

/// A rule's page.
fn page(rule: &Rule) -> String {
    let docs = rule.documentation();
    let request: Value = from_str(docs.rejected.request).unwrap();
    let settings: Value = from_str(docs.rejected.settings).unwrap();
    let answer = natively(&request, &settings);
    let mut text = format!(
        "<!-- Generated from the code: make docs -->\n\n# {}\n\n{}.\n\n{}\n\n- Default: `{}`\n- Source: {}\n",
        rule.id,
        docs.title,
        docs.text,
        rule.default.as_str(),
        anchor(rule),
    );
    if let Anchor::Upstream {
        deviation: Some(deviation),
        ..
    } = rule.anchor
    {
        writeln!(text, "- Deviation: {deviation}").unwrap();
    }
    write!(text, "\n## What to do\n\n{}\n\n## Examples\n", docs.fix).unwrap();
    for (title, example) in [("Accepted", docs.accepted), ("Rejected", docs.rejected)] {
        let with = match example.settings {
            "{}" => String::new(),
            settings => format!(" with settings `{settings}`"),
        };
        write!(
            text,
            "\n{title}{with}:\n\n```json\n{}\n```\n",
            pretty(example.request)
        )
        .unwrap();
    }
    let (code, message) = (answer.code.unwrap(), answer.message.unwrap());
    write!(
        text,
        "\nThe answer, with code {code}:\n\n```text\n{message}\n```\n"
    )
    .unwrap();
    text
}

/// Every page of `docs/rules/`, by its path.
fn pages() -> Vec<(String, String)> {
    let index = format!(
        "<!-- Generated from the code: make docs -->\n\n# Rules\n\nIn the order in which findings are reported. The examples on each page are run by the tests. They are cut to what a rule reads;\nwhole requests, as kwctl wants them, are in [examples](../../examples).\n\n{}",
        table()
    );
    let mut pages = vec![("docs/rules/README.md".to_owned(), index)];
    let page = |rule: &Rule| (format!("docs/rules/{}.md", rule.id), page(rule));
    pages.extend(RULES.into_iter().map(page));
    pages
}

/// What to read in a new release: upstream's functions with the options that they are given, and the rules that follow
/// them.
fn anchors() -> String {
    let mut functions: Vec<(&str, Vec<String>)> = Vec::new();
    for rule in RULES {
        let Anchor::Upstream {
            function,
            option,
            since,
            until,
            ..
        } = rule.anchor
        else {
            continue;
        };
        let option = option.map_or_else(|| "always".to_owned(), |o| format!("`{o}`"));
        let releases = match (since.as_str(), until) {
            (since, Some(until)) if since == until.as_str() => format!("{since} only"),
            (since, Some(until)) => format!("{since} to {}", until.as_str()),
            ("1.30", None) => "all".to_owned(),
            (since, None) => format!("{since} on"),
        };
        let row = format!("| {option} | {releases} | `{}` |\n", rule.id);
        match functions.iter_mut().find(|(known, _)| *known == function) {
            Some((_, rows)) => rows.push(row),
            None => functions.push((function, vec![row])),
        }
    }
    let mut text = String::new();
    for (function, rows) in functions {
        let rows = rows.concat();
        write!(
            text,
            "\n`{function}`\n\n| switched on by | releases | rule |\n| --- | --- | --- |\n{rows}"
        )
        .unwrap();
    }
    text
}

/// A file with what stands between the two marks of that name made anew.
fn between_marks(file: &str, mark: &str, made: &str) -> String {
    let text = fs::read_to_string(root(file)).unwrap();
    let (open, close) = (format!("<!-- {mark} -->\n"), format!("<!-- /{mark} -->\n"));
    let (before, rest) = text.split_once(&open).unwrap();
    let (_, after) = rest.split_once(&close).unwrap();
    format!("{before}{open}{made}{close}{after}")
}

#[test]
fn generated_documentation_is_up_to_date() {
    let mut files = pages();
    let conformance = between_marks("docs/conformance.md", "anchors", &anchors());
    files.push(("docs/conformance.md".to_owned(), conformance));
    for (file, text) in files {
        if env::var_os("UPDATE_DOCS").is_some() {
            let path = root(&file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, &text).unwrap();
        }
        let committed = fs::read_to_string(root(&file)).unwrap_or_default();
        assert_eq!(committed, text, "{file}: make docs");
    }
}

/// A page of a rule that is gone would go on explaining it.
#[test]
fn every_page_of_a_rule_has_its_rule() {
    let known: Vec<_> = pages().into_iter().map(|(file, _)| root(&file)).collect();
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
    assert_ne!(
        page,
        root("README.md"),
        "{link}: dead where the README is read alone"
    );
    Some(match link {
        "" => page.to_owned(),
        link => page.parent().unwrap().join(link),
    })
}

/// Links between the pages of this repository lead somewhere.
#[test]
fn links_lead_to_files() {
    // Pages that are being written at the same time may not be there yet.
    if env::var_os("UPDATE_DOCS").is_some() {
        return;
    }
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

/// The anchors that GitHub makes of a page's headings.
fn headings(text: &str) -> Vec<String> {
    let lines = text.lines().filter_map(|line| line.strip_prefix('#'));
    let anchor = |line: &str| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    lines.map(anchor).collect()
}

/// What the README shows of `make demo` is what it prints.
#[test]
fn the_readme_shows_what_the_demo_prints() {
    let readme = fs::read_to_string(root("README.md")).unwrap();
    let (_, shown) = readme.split_once("```text\n").unwrap();
    let shown = shown.split("\n```").next().unwrap();
    let mut printed = Vec::new();
    demo::run(&mut printed, demo::Paint::Plain, &GUEST, &root("examples")).unwrap();
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
    let all = Release::ALL.map(Release::as_str);
    assert!(makefile.contains(&format!("RELEASES := {}\n", all.join(" "))));
    assert!(readme.contains(&format!("`\"{}\"` to `\"{}\"`", all[0], all[7])));
    for release in all {
        assert!(
            root(&format!("conformance/oracle/v{release}.mod")).exists(),
            "{release}"
        );
    }
}

/// Each direct dependency of a crate of ours has its reason, and no reason is left of one that is gone.
#[test]
fn dependencies_are_explained() {
    let manifests = [
        "Cargo.toml",
        "conformance/Cargo.toml",
        "crates/engine/Cargo.toml",
        "crates/managed-by/Cargo.toml",
        "crates/noop/Cargo.toml",
        "e2e/Cargo.toml",
    ];
    let mut used = BTreeSet::new();
    for manifest in manifests {
        let mut is_dependency = false;
        for line in fs::read_to_string(root(manifest)).unwrap().lines() {
            if line.starts_with('[') {
                is_dependency = line.ends_with("dependencies]");
            } else if is_dependency && let Some((name, _)) = line.split_once(['.', ' ', '=']) {
                used.insert(name.to_owned());
            }
        }
    }
    used.retain(|name| !name.starts_with("managed-by") && !name.starts_with('#'));
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
    let toolchain = read("rust-toolchain.toml");
    let channel = toolchain.split('"').nth(1).unwrap();
    let minor = channel.rsplit_once('.').unwrap().0;
    assert!(read("Cargo.toml").contains(&format!("rust-version = \"{minor}\"\n")));
    let makefile = read("Makefile");
    assert!(makefile.contains(&format!("rustfmt {channel}\n")));
    assert!(makefile.contains(&format!("'^{}'", channel.replace('.', r"\."))));
}

/// What is still to be done is no documentation.
#[test]
fn nothing_is_left_to_be_written() {
    for file in markdown(&root("docs")) {
        let text = fs::read_to_string(&file).unwrap();
        for word in ["(to be ", "TBD", "FIXME"] {
            assert!(!text.contains(word), "{}: {word}", file.display());
        }
    }
}
