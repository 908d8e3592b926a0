//! The documentation as a site: the pages of this repository as a book of mdBook, with links that lead inside it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use managed_by::rules;

use crate::generated::read;
use crate::root;

/// Where the README says that files are: it is read in other places too.
const HOME: &str = "https://github.com/managed-by-policy/managed-by-policy/";

/// Where it says that pictures are.
const RAW: &str =
    "https://raw.githubusercontent.com/managed-by-policy/managed-by-policy/main/docs/pictures/";

/// Parts of the book with their pages: the title in the list, and the file. A page that is not there is left out.
const PARTS: &[(&str, &[(&str, &str)])] = &[
    (
        "Use it",
        &[
            ("Rolling out", "docs/rolling-out.md"),
            ("Status writers", "docs/status-writers.md"),
            ("Outages", "docs/outages.md"),
            ("Comparison", "docs/comparison.md"),
            ("Performance", "docs/performance.md"),
            ("Policy for pods", "pods/README.md"),
        ],
    ),
    (
        "Look it up",
        &[
            ("Terms", "docs/terms.md"),
            ("Settings", "docs/settings.md"),
            ("Kinds", "docs/kinds.md"),
            ("Kinds of your own", "docs/custom-kinds.md"),
            ("Rules", "docs/rules/README.md"),
            ("Decoding", "docs/decoding.md"),
        ],
    ),
    (
        "Other ways in",
        &[
            ("Write the status of a Job", "docs/writing-job-status.md"),
            ("Command line", "docs/cli.md"),
            ("Options of the command line", "docs/cli-help.md"),
            ("JavaScript", "docs/javascript.md"),
            ("Go", "docs/go.md"),
            ("Rust", "docs/rust.md"),
        ],
    ),
    (
        "Work on it",
        &[
            ("Contributing", "CONTRIBUTING.md"),
            ("Architecture", "docs/architecture.md"),
            ("Conformance", "docs/conformance.md"),
            ("Testing", "docs/testing.md"),
            ("Dependencies", "docs/dependencies.md"),
            ("Security", "SECURITY.md"),
            ("Support", "SUPPORT.md"),
            ("Code of conduct", "CODE_OF_CONDUCT.md"),
            ("Changes", "CHANGELOG.md"),
        ],
    ),
];

/// Writes the sources of the book into a folder.
///
/// # Errors
/// If a page cannot be read or written, or a link leads nowhere.
pub fn assemble(folder: &Path) -> Result<()> {
    let pages = pages();
    for entry in fs::read_dir(root("docs"))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_page = path.extension().is_some_and(|e| e == "md");
        ensure!(
            !is_page || pages.contains_key(&format!("docs/{name}")),
            "docs/{name} is in no part of the book, see xtask/src/book.rs"
        );
    }
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    let write = |path: &str, text: &str| -> Result<()> {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(&path, text).with_context(|| path.display().to_string())
    };
    for (file, place) in &pages {
        let text = relink(file, &read(file)?, &pages).with_context(|| file.clone())?;
        write(place, &text)?;
    }
    write("SUMMARY.md", &summary(&pages)?)?;
    write("playground.md", PLAYGROUND)?;
    // Pictures and schemas, beside the pages as in docs/.
    for beside in ["", "pictures"] {
        let to = folder.join(beside);
        fs::create_dir_all(&to)?;
        for entry in fs::read_dir(root("docs").join(beside))? {
            let path = entry?.path();
            if is_asset(&path) {
                fs::copy(&path, to.join(path.file_name().unwrap_or_default()))?;
            }
        }
    }
    check(folder)
}

/// The page around the playground, which the workflow builds beside the book.
const PLAYGROUND: &str = "# Playground\n\nType a Job or another workload and see the answer. Nothing leaves this page. \
    [Open the playground alone](playground/index.html).\n\n\
    <iframe src=\"playground/index.html\" title=\"Playground of managed-by-policy\" style=\"width: 100%; height: 80vh; border: 1px solid #818b98\"></iframe>\n";

/// Every page of the repository that is in the book, with its place there.
fn pages() -> BTreeMap<String, String> {
    let mut pages = BTreeMap::from([("README.md".to_owned(), "index.md".to_owned())]);
    let listed = PARTS.iter().flat_map(|(_, pages)| pages.iter());
    for (_, file) in listed.filter(|(_, file)| root(file).exists()) {
        let place = match file.strip_prefix("docs/") {
            Some(place) => place.to_owned(),
            None => file.to_lowercase().replace("/readme", ""),
        };
        pages.insert((*file).to_owned(), place);
    }
    for rule in rules() {
        let place = format!("rules/{}.md", rule.id());
        pages.insert(format!("docs/{place}"), place);
    }
    pages
}

fn summary(pages: &BTreeMap<String, String>) -> Result<String> {
    let mut text =
        "# Summary\n\n[managed-by-policy](index.md)\n[Playground](playground.md)\n".to_owned();
    for (part, listed) in PARTS {
        writeln!(text, "\n# {part}\n")?;
        for (title, file) in *listed {
            let Some(place) = pages.get(*file) else {
                continue;
            };
            writeln!(text, "- [{title}]({place})")?;
            if *file == "docs/rules/README.md" {
                for rule in rules() {
                    writeln!(text, "  - [{}](rules/{}.md)", rule.id(), rule.id())?;
                }
            }
        }
    }
    Ok(text)
}

/// A page with its links as the book needs them: to a page of the book where there is one, else to the repository.
fn relink(file: &str, text: &str, pages: &BTreeMap<String, String>) -> Result<String> {
    let place = pages.get(file).context("no page")?;
    let mut parts = text.split("](");
    let mut made = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (link, rest) = part.split_once(')').context("a link without an end")?;
        made.push_str("](");
        made.push_str(&target(file, place, link, pages)?);
        made.push(')');
        made.push_str(rest);
    }
    Ok(made)
}

fn target(file: &str, place: &str, link: &str, pages: &BTreeMap<String, String>) -> Result<String> {
    let up = "../".repeat(place.matches('/').count());
    if let Some(picture) = link.strip_prefix(RAW) {
        return Ok(format!("{up}pictures/{picture}"));
    }
    let (path, anchor) = link.split_once('#').map_or((link, ""), |(p, a)| (p, a));
    let anchor = if anchor.is_empty() {
        String::new()
    } else {
        format!("#{anchor}")
    };
    let path = match path.strip_prefix(HOME) {
        Some(rest) => match rest.split_once("/main/") {
            Some((_, path)) => path.to_owned(),
            None => return Ok(link.to_owned()),
        },
        None if path.contains("://") || path.is_empty() => return Ok(link.to_owned()),
        None => resolve(file, path),
    };
    if let Some(page) = pages.get(&path) {
        return Ok(format!("{up}{page}{anchor}"));
    }
    if let Some(beside) = path.strip_prefix("docs/")
        && is_asset(Path::new(beside))
        && root(&path).exists()
    {
        return Ok(format!("{up}{beside}"));
    }
    let there = root(&path);
    ensure!(there.exists(), "{link}: no {path}");
    let kind = if there.is_dir() { "tree" } else { "blob" };
    Ok(format!("{HOME}{kind}/main/{path}{anchor}"))
}

/// What pages show or link to, and is no page.
fn is_asset(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "svg" || e == "json")
}

/// A path beside a file, from the root of the repository.
fn resolve(file: &str, path: &str) -> String {
    let mut parts: Vec<String> = Vec::new();
    let folder = Path::new(file).parent().unwrap_or_else(|| Path::new(""));
    for part in folder.join(path).components() {
        match part {
            Component::ParentDir => {
                parts.pop();
            }
            Component::Normal(name) => parts.push(name.to_string_lossy().into_owned()),
            _ => {}
        }
    }
    parts.join("/")
}

/// Fails unless each link inside the book leads to a file, and each anchor to a heading.
fn check(folder: &Path) -> Result<()> {
    for page in markdown(folder)? {
        let text = fs::read_to_string(&page)?;
        for part in text.split("](").skip(1) {
            let link = part.split(')').next().unwrap_or_default();
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            // The playground is built beside the book.
            if path.contains("://") || path.starts_with("playground/") {
                continue;
            }
            let there = match path {
                "" => page.clone(),
                path => page.parent().unwrap_or(folder).join(path),
            };
            ensure!(there.exists(), "{}: {link}", page.display());
            let known = anchor.is_empty()
                || headings(&fs::read_to_string(&there)?).contains(&anchor.to_owned());
            ensure!(known, "{}: no heading for {link}", page.display());
        }
    }
    Ok(())
}

fn markdown(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(markdown(&path)?);
        } else if path.extension().is_some_and(|e| e == "md") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// The anchors of a page's headings, as GitHub and mdBook make them.
pub fn headings(text: &str) -> Vec<String> {
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

#[cfg(test)]
mod tests {
    use super::{pages, target};

    #[test]
    fn links_lead_to_pages_of_the_book_or_to_the_repository() {
        let pages = pages();
        let from = |file: &str, link: &str| target(file, &pages[file], link, &pages).unwrap();
        let home = "https://github.com/managed-by-policy/managed-by-policy/";
        assert_eq!(
            from("README.md", &format!("{home}blob/main/docs/kinds.md#job")),
            "kinds.md#job"
        );
        assert_eq!(
            from("docs/rules/README.md", "managed-by/format.md"),
            "../rules/managed-by/format.md"
        );
        assert_eq!(
            from("docs/rolling-out.md", "../CHANGELOG.md"),
            "changelog.md"
        );
        assert_eq!(
            from("docs/outages.md", "../deploy"),
            format!("{home}tree/main/deploy")
        );
        assert_eq!(
            from("docs/kinds.md", "#shown-by-replay"),
            "#shown-by-replay"
        );
        assert_eq!(
            from("README.md", &format!("{home}actions/workflows/test.yml")),
            format!("{home}actions/workflows/test.yml")
        );
        let gone = target("docs/kinds.md", "kinds.md", "gone.md", &pages);
        assert_eq!(gone.unwrap_err().to_string(), "gone.md: no docs/gone.md");
    }
}
