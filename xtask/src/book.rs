//! Builds the site of the documentation with mdBook: the pages in `docs/`, pages from other directories, and pages that are generated
//! from the code.
//!
//! Links between pages are relative in the repository. The site has other paths, so links to its pages are rewritten, and links to other
//! files lead to GitHub.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use managed_by_testing::{read, readme, root};

use crate::generated::Page;
use crate::{rules, settings};

/// Directory of the source files for mdBook, as in `docs/book.toml`.
const SOURCE: &str = "target/book/src";

/// Directory of the built site, as in `docs/book.toml`.
const SITE: &str = "target/book/html";

const SITE_URL: &str = "https://managed-by-policy.github.io/managed-by-policy/";

/// Pages from other directories than `docs/`, with their paths on the site.
const OTHER_PAGES: [(&str, &str); 4] = [
    ("CHANGELOG.md", "CHANGELOG.md"),
    ("CONTRIBUTING.md", "CONTRIBUTING.md"),
    (".github/SECURITY.md", "SECURITY.md"),
    ("pods/README.md", "pods.md"),
];

/// Writes the sources, builds the site with mdBook, and checks its links.
pub(crate) fn build(mdbook: &Path, webhook_calls: &str) -> Result<()> {
    let pages = pages(webhook_calls, cli_help()?)?;
    let _ = fs::remove_dir_all(root("target/book"));
    for file in files("docs")?.filter(|file| !has_extension(file, "md")) {
        write(file.trim_start_matches("docs/"), &fs::read(root(&file))?)?;
    }
    for (target, text) in with_site_links(&pages)? {
        write(&target, text.as_bytes())?;
    }
    let built = Command::new(mdbook)
        .args(["build", "docs"])
        .current_dir(root("."))
        .status()?;
    ensure!(built.success(), "mdbook failed");
    check(&root(SITE))
}

fn write(target: &str, content: &[u8]) -> Result<()> {
    let file = root(SOURCE).join(target);
    fs::create_dir_all(file.parent().context("no directory")?)?;
    fs::write(&file, content).with_context(|| file.display().to_string())
}

/// Returns the paths of the files in a directory and its subdirectories.
pub(crate) fn files(directory: &str) -> Result<impl Iterator<Item = String>> {
    let mut files = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(root(&directory))? {
            let path = format!("{directory}/{}", entry?.file_name().display());
            if root(&path).is_dir() {
                directories.push(path);
            } else {
                files.push(path);
            }
        }
    }
    Ok(files.into_iter())
}

pub(crate) fn has_extension(file: &str, extension: &str) -> bool {
    Path::new(file).extension().is_some_and(|e| e == extension)
}

/// Returns all pages, with the lines about the rules' match conditions and the help of the command line.
fn pages(webhook_calls: &str, cli_help: String) -> Result<Vec<Page>> {
    let mut pages = rules::pages(webhook_calls)?;
    pages.push(settings::page()?);
    pages.push(Page {
        path: "docs/reference/cli-help.md".into(),
        target: "reference/cli-help.md".into(),
        text: cli_help,
    });
    let docs = files("docs")?.filter(|file| has_extension(file, "md"));
    let docs = docs.map(|path| {
        let target = path.trim_start_matches("docs/");
        (path.clone(), target.replace("README.md", "index.md"))
    });
    let other = OTHER_PAGES.map(|(path, target)| (path.to_owned(), target.to_owned()));
    for (path, target) in docs.chain(other) {
        let text = read(&path)?;
        let text = match &*path {
            "docs/SUMMARY.md" => contents(&text)?,
            rules::INDEX => text + &rules::table()?,
            _ => text,
        };
        pages.push(Page { path, target, text });
    }
    Ok(pages)
}

/// Adds the generated pages to the table of contents.
fn contents(summary: &str) -> Result<String> {
    let mut text = String::new();
    for line in summary.lines() {
        writeln!(text, "{line}")?;
        if line.ends_with("(reference/rules.md)") {
            for family in rules::families() {
                let name = family.first().map_or("", |rule| rules::family(rule));
                writeln!(text, "  - [{name}]()")?;
                for rule in family {
                    writeln!(text, "    - [{}](../{})", rule.id(), rule.page_path())?;
                }
            }
        } else if line.ends_with("(reference/cli.md)") {
            writeln!(text, "- [Command-line options](reference/cli-help.md)")?;
        }
    }
    Ok(text)
}

/// Returns the help of each command of the command line.
fn cli_help() -> Result<String> {
    let mut text = "# Options of the command line\n\nThis page shows the help of each command of [`managed-by`](cli.md).\n".to_owned();
    let mut commands = vec![Vec::new()];
    while let Some(command) = commands.pop() {
        let help = Command::new(env!("CARGO"))
            .args(["run", "--quiet", "--package", "managed-by-cli", "--"])
            .args(&command)
            .arg("--help")
            .env("COLUMNS", "100")
            .env("NO_COLOR", "1")
            .current_dir(root("."))
            .output()?;
        ensure!(help.status.success(), "{command:?}");
        let help = String::from_utf8(help.stdout)?;
        let name = command.join(" ");
        if !name.is_empty() {
            write!(text, "\n## `{name}`\n")?;
        }
        let space = if name.is_empty() { "" } else { " " };
        write!(
            text,
            "\n```console\n$ managed-by{space}{name} --help\n{help}```\n"
        )?;
        let (_, list) = help.split_once("\nCommands:\n").unwrap_or_default();
        let (list, _) = list.split_once("\n\n").unwrap_or_default();
        let names = list.lines().filter_map(|line| {
            let name = line.strip_prefix("  ")?.split(' ').next()?;
            (!name.is_empty() && name != "help").then_some(name)
        });
        let subcommands = names.map(|name| [&*command, &[name.to_owned()]].concat());
        commands.extend(subcommands.rev());
    }
    Ok(text)
}

/// Replaces the links in all pages. Returns the texts with the pages' paths on the site.
fn with_site_links(pages: &[Page]) -> Result<Vec<(String, String)>> {
    let targets = pages.iter().map(|page| (&*page.path, &*page.target));
    let targets: BTreeMap<_, _> = targets.collect();
    let replaced = pages.iter().map(|page| {
        let text = readme::replace_links(&page.text, |link| {
            let file = readme::resolve(&page.path, link)?;
            site_link(&targets, &page.target, &file)
                .with_context(|| format!("{}: {link} does not exist", page.path))
        });
        Ok((page.target.clone(), text?))
    });
    replaced.collect()
}

/// Returns the link on the site, from a page to a file in the repository. Returns [`None`] if the file does not exist.
fn site_link(targets: &BTreeMap<&str, &str>, from: &str, file: &str) -> Option<String> {
    let copied = || file.strip_prefix("docs/").filter(|_| root(file).is_file());
    if let Some(target) = targets.get(file).copied().or_else(copied) {
        let up = "../".repeat(from.matches('/').count());
        return Some(format!("{up}{target}"));
    }
    let path = root(file);
    let view = if path.is_dir() { "tree" } else { "blob" };
    let repository = env!("CARGO_PKG_REPOSITORY");
    path.exists()
        .then(|| format!("{repository}/{view}/main/{file}"))
}

/// Checks the links of the site, and the repository's links to the site.
fn check(site: &Path) -> Result<()> {
    let mut ids: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut links = Vec::new();
    for file in files(SITE)? {
        let path = file.replacen(&format!("{SITE}/"), "", 1);
        // mdBook writes the pages again into one for printing, and the page 404.html for any directory.
        if !has_extension(&path, "html") || ["print.html", "404.html"].contains(&&*path) {
            continue;
        }
        let html = fs::read_to_string(root(&file))?;
        for attribute in ["href", "src"] {
            let values = attributes(&html, attribute);
            links.extend(values.map(|link| (path.clone(), link.to_owned())));
        }
        let anchors = attributes(&html, "id").map(ToOwned::to_owned);
        ids.insert(path, anchors.collect());
    }
    let to_site = links_in_repository(SITE_URL)?.into_iter();
    links.extend(to_site.map(|link| ("the repository".to_owned(), link)));
    let mut broken = BTreeSet::new();
    for (page, link) in &links {
        let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
        let file = match file.strip_prefix(SITE_URL) {
            Some(file) if file.is_empty() || file.ends_with('/') => format!("{file}index.html"),
            Some(file) => file.to_owned(),
            None if file.contains(':') => continue,
            None if file.is_empty() => page.clone(),
            None => readme::resolve(page, file)?,
        };
        // The workflow adds the playground.
        let is_known = file.starts_with("playground/")
            || match ids.get(&file) {
                Some(ids) => anchor.is_empty() || ids.contains(anchor),
                None => site.join(&file).exists(),
            };
        if !is_known {
            broken.insert(format!("{page}: {link}"));
        }
    }
    ensure!(links.len() > 1000, "only {} links", links.len());
    ensure!(broken.is_empty(), "broken links: {broken:#?}");
    Ok(())
}

/// Returns the values of an HTML attribute.
fn attributes<'h>(html: &'h str, name: &str) -> impl Iterator<Item = &'h str> {
    let start = format!(" {name}=\"");
    let mut rest = html;
    std::iter::from_fn(move || {
        let (value, after) = rest.split_once(&start)?.1.split_once('"')?;
        rest = after;
        Some(value)
    })
}

/// Returns the links in tracked files that start with a URL.
fn links_in_repository(url: &str) -> Result<BTreeSet<String>> {
    let output = Command::new("git")
        .args(["grep", "-IhoE", "-e"])
        .arg(format!(r#"{url}[^] )>"'`,;\{{}}]*"#))
        .current_dir(root("."))
        .output()?;
    let links = String::from_utf8(output.stdout)?;
    let links = links.lines().map(|link| link.trim_end_matches(['.', ':']));
    Ok(links.map(ToOwned::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use managed_by_testing::root;

    use super::{links_in_repository, pages, with_site_links};

    #[test]
    fn relative_links_in_the_documentation_lead_to_files() {
        let texts = with_site_links(&pages("", String::new()).unwrap()).unwrap();
        assert!(texts.len() > 100, "{}", texts.len());
        let mut texts = texts.iter().map(|(_, text)| text);
        assert!(
            texts.any(|text| text.contains("](../../rules/job-spec/scheduling-directives.md)"))
        );
    }

    /// Links to GitHub lead to the files of this version or of the main branch.
    #[test]
    fn absolute_links_to_the_repository_lead_to_files() {
        let url = concat!(env!("CARGO_PKG_REPOSITORY"), "/(blob|tree)/(main|v[0-9])");
        let links = links_in_repository(url).unwrap();
        assert!(links.len() > 20, "{links:?}");
        for link in links {
            let parts: Vec<_> = link.splitn(8, '/').collect();
            let tag = concat!("v", env!("CARGO_PKG_VERSION"));
            assert!(["main", tag].contains(&parts[6]), "{link}");
            let file = parts[7].split('#').next().unwrap();
            assert!(root(file).exists(), "{link}");
        }
    }
}
