//! Documentation: what is generated into it, what its links lead to, and what it repeats of the code.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anstream::StripStream;
use managed_by::{Release, rule as find, rules};
use managed_by_testing::Engine;
use xtask::demo;

use crate::support::{GUEST, root};

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
    files_with_ending(folder, "md")
}

fn files_with_ending(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let below = |path: PathBuf| {
        if path.is_dir() {
            files_with_ending(&path, ending)
        } else {
            vec![path]
        }
    };
    let mut files: Vec<_> = paths.flat_map(below).collect();
    files.retain(|file| file.extension().is_some_and(|e| e == ending));
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

/// The anchors of a page's headings, as GitHub and mdBook make them.
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

/// Links between the pages of this repository lead somewhere.
#[test]
fn links_lead_to_files() {
    let mut files = markdown(&root("docs"));
    // Its links are those of the site, whose pages lie together.
    files.retain(|file| !file.ends_with("SUMMARY.md"));
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

/// A page that the site does not list would be in none of its menus.
#[test]
fn the_site_lists_every_page() {
    let contents = fs::read_to_string(root("docs/SUMMARY.md")).unwrap();
    for file in markdown(&root("docs")) {
        let page = file.strip_prefix(root("docs")).unwrap().to_str().unwrap();
        let is_listed = contents.contains(&format!("]({page})"));
        assert!(is_listed || page == "SUMMARY.md", "{page}");
    }
}

/// The library's modules use only those above them in the list of the architecture, so there is no circle.
#[test]
fn modules_use_only_those_above_them() {
    let page = fs::read_to_string(root("docs/architecture.md")).unwrap();
    let (_, layers) = page.split_once("## Layers\n").unwrap();
    let layers = layers.split("\n## ").next().unwrap();
    let rows = layers.lines().filter_map(|line| line.strip_prefix("| `"));
    let cells = rows.map(|row| row.split(" | ").next().unwrap());
    let order: Vec<_> = cells
        .flat_map(|cell| cell.split('`').step_by(2))
        .map(|name| name.trim_end_matches('/').trim_end_matches(".rs"))
        .collect();
    let source = root("crates/managed-by/src");
    let library = fs::read_to_string(source.join("lib.rs")).unwrap();
    let modules: BTreeSet<_> = library
        .lines()
        .filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'))
        .collect();
    assert_eq!(order.iter().copied().collect::<BTreeSet<_>>(), modules);
    let mut count = 0;
    for file in files_with_ending(&source, "rs") {
        let place = file.strip_prefix(&source).unwrap().with_extension("");
        let parts: Vec<_> = place.iter().map(|part| part.to_str().unwrap()).collect();
        if parts == ["lib"] || parts.contains(&"tests") {
            continue;
        }
        let position = |name: &str| order.iter().position(|module| *module == name);
        let own = position(parts[0]).unwrap();
        let text = fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        let is_top = parts.len() == 1 || parts[1] == "mod";
        for line in code.lines() {
            if line.trim_start().starts_with("//") {
                continue;
            }
            let at = format!("{}: {line}", file.display());
            // Other ways to the root than `crate::`.
            let up = if is_top { "super::" } else { "super::super::" };
            assert!(!line.contains(up), "{at}");
            for used in line.split("crate::").skip(1) {
                let end = used.find(|c: char| !c.is_alphanumeric() && c != '_');
                let name = used.split_at(end.unwrap_or(used.len())).0;
                let used = position(name).unwrap_or_else(|| panic!("{at}: no module"));
                assert!(used <= own, "{at}");
                count += 1;
            }
        }
    }
    assert!(count > 200, "{count}");
}

/// The rollout ladder is drawn by hand. It lists what to set to warn.
#[test]
fn the_rollout_ladder_lists_the_site_specific_rules() {
    let picture = fs::read_to_string(root("docs/pictures/rollout.svg")).unwrap();
    let drawn: Vec<_> = picture
        .lines()
        .filter(|line| find(line).is_some())
        .collect();
    let ids = rules().iter().filter(|rule| rule.is_site_specific());
    let ids = ids.map(|rule| rule.id());
    assert_eq!(
        drawn,
        ids.filter(|id| !id.starts_with("pods/"))
            .collect::<Vec<_>>()
    );
}

/// What the page shows of `make demo` is what it prints.
#[test]
fn contributing_shows_what_the_demo_prints() {
    let page = fs::read_to_string(root("CONTRIBUTING.md")).unwrap();
    let (_, rest) = page
        .split_once("`make demo` prints, among others:")
        .unwrap();
    let (_, shown) = rest.split_once("```text\n").unwrap();
    let shown = shown.split("\n```").next().unwrap();
    let mut printed = StripStream::new(Vec::new());
    let policy = GUEST.on(Engine::Wasmi);
    demo::run(&mut printed, policy, &root("examples")).unwrap();
    let printed = String::from_utf8(printed.into_inner()).unwrap();
    let printed: Vec<_> = printed.split("\n\n").collect();
    let shown: Vec<_> = shown.split("\n\n").collect();
    assert!(shown.len() >= 3);
    for block in shown {
        assert!(printed.contains(&block), "{block}");
    }
}

/// The paths in it, from the root or from the folder that the text has just named.
#[test]
fn contributing_names_files_that_are_there() {
    let page = fs::read_to_string(root("CONTRIBUTING.md")).unwrap();
    let library = "crates/managed-by/src";
    let settings = "crates/managed-by/src/settings";
    let folders = ["", library, settings, "tests/policy", ".github/workflows"];
    let endings = ["rs", "md", "yml", "json", "tsv", "toml", "go", "mod"];
    let mut count = 0;
    for name in page.split('`').skip(1).step_by(2) {
        let has_ending = Path::new(name)
            .extension()
            .is_some_and(|ending| endings.iter().any(|known| ending == *known));
        // `cases/*.yml` and the branch `release/...` are no paths.
        if name.contains([' ', '\n', '*']) || name.ends_with("...") {
            continue;
        }
        if name.contains('/') || has_ending {
            let mut places = folders.iter().map(|folder| root(folder).join(name));
            assert!(places.any(|place| place.exists()), "{name}");
            count += 1;
        }
    }
    assert!(count > 40, "{count}");
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
    assert!(readme.contains(&format!("kube-apiserver {} to {}", all[0], all[7])));
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

/// The one table of what ran: it names the modules and programs that the targets name, which CI fetches, and every recording
/// with its length. Other pages lead there.
#[test]
fn what_ran_is_in_one_table() {
    let text = |file: &str| fs::read_to_string(root(file)).unwrap();
    let testing = text("docs/testing.md");
    let (_, table) = testing.split_once("\n## Versions\n").unwrap();
    let (table, _) = table.split_once("\n## ").unwrap();
    let row = |name: &str, version: &str| {
        let mut rows = table.lines().filter(|row| {
            let mut cells = row.split('|').skip(1).map(str::trim);
            let is_it = |cell: &str| cell.split([',', ':']).next() == Some(name);
            cells.next().is_some_and(is_it) && cells.next() == Some(version)
        });
        assert_eq!(rows.clone().count(), 1, "{name} {version}");
        rows.next().unwrap().to_owned()
    };
    let real = text(".github/workflows/real.yml");
    let files = ["controllers.bash", "outages.bats"];
    let files = files.map(|file| text(&format!("e2e/{file}"))).concat();
    let mut count = 0;
    for word in files.split(|c: char| c.is_whitespace() || c == '=') {
        let is_version = |(_, version): &(&str, &str)| {
            version.contains('.') && version.chars().all(|c| c.is_ascii_digit() || c == '.')
        };
        // `sigs.k8s.io/kueue@v0.18.4` or `etcd-3.6.8`.
        let named = word.rsplit_once("@v").or_else(|| word.rsplit_once('-'));
        let Some((name, version)) = named.filter(is_version) else {
            continue;
        };
        row(name.rsplit('/').next().unwrap(), version);
        assert!(real.contains(name) && real.contains(version), "{word}");
        count += 1;
    }
    assert!(count > 6, "{count}");
    let folder = root("conformance/traces");
    for file in files_with_ending(&folder, "ndjson") {
        let name = file.strip_prefix(&folder).unwrap().with_extension("");
        let name = name.display().to_string();
        // kube-apiserver's answers about the others.
        if name != "verdicts" {
            let lines = fs::read_to_string(file).unwrap().lines().count();
            let mut rows = table
                .lines()
                .filter(|row| row.starts_with(&format!("| `{name}`")));
            let is_told = rows.any(|row| row.ends_with(&format!(" | {lines} |")));
            assert!(is_told, "{name}: {lines} lines");
        }
    }
    for page in ["README.md", "SECURITY.md", "SUPPORT.md"] {
        assert!(text(page).contains("docs/testing.md#versions"), "{page}");
    }
}
