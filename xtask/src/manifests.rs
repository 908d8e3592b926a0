//! What several manifests share stands in `deploy/management.yml`, written by hand; `make docs` copies it into the others. Tests compare
//! it with the library: `tests/conditions/` the conditions, `tests/policy/deploy.rs` the rules.
//!
//! An admin lists only what is installed, because a name that is free can be taken by whoever creates namespaces. So the lines of a
//! project stand behind its tag, `#jobset ` for example, in the rules and in the lists, and removing the tag takes the project in.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::{Context as _, Result, ensure};

use crate::generated::{Generated, read};

/// The manifest that is written by hand.
const SOURCE: &str = "deploy/management.yml";

const RULES: &str = "rules:";
const CONDITIONS: &str = "matchConditions:";
const WRITERS: &str = "standard_status_writers:";

/// The files with copies, and the keys whose blocks are copied.
const COPIES: [(&str, &[&str]); 7] = [
    ("deploy/worker.yml", &[RULES, CONDITIONS, WRITERS]),
    ("deploy/hybrid.yml", &[RULES, CONDITIONS]),
    ("deploy/namespace.yml", &[RULES, CONDITIONS]),
    ("deploy/webhook.yml", &[CONDITIONS]),
    ("deploy/policies.yml", &[WRITERS]),
    ("examples/settings/management.yml", &[WRITERS]),
    ("examples/settings/worker.yml", &[WRITERS]),
];

/// The manifests whose settings name no writers: they need not be asked about every status.
const WITHOUT_WRITERS: [&str; 2] = ["deploy/hybrid.yml", "deploy/namespace.yml"];

/// What stands only where the settings name writers.
const OF_WRITERS: [&str; 2] = [
    " Also all of the kinds in `standard_status_writers`.",
    "request.kind.kind in [\"Job\"",
];

/// The files with the blocks of today.
///
/// # Errors
/// If a file cannot be read or lacks a key, or a block is not as expected.
pub fn generated() -> Result<Vec<Generated>> {
    let source = read(SOURCE)?;
    let mut files = Vec::new();
    for (path, keys) in COPIES {
        let mut text = read(path)?;
        for key in keys {
            let [_, block, _] = parts(&source, key).with_context(|| format!("{SOURCE}: {key}"))?;
            let [before, _, after] = parts(&text, key).with_context(|| format!("{path}: {key}"))?;
            let block = if *key == CONDITIONS && WITHOUT_WRITERS.contains(&path) {
                without_writers(&block)?
            } else {
                block
            };
            let indent = before.rsplit('\n').next().unwrap_or_default();
            let mut made = format!("{before}{key}\n");
            for line in block.lines() {
                writeln!(made, "{indent}{line}")?;
            }
            text = made + &after;
        }
        files.push(Generated::new(path, text));
    }
    Ok(files)
}

/// A file up to the first line with nothing but that key, the lines below it that are indented more, by how much more, and the rest.
fn parts(text: &str, key: &str) -> Result<[String; 3]> {
    let line = text.lines().find(|line| line.trim() == key);
    let line = line.context("no such key")?;
    let after = text.split_once(&format!("{line}\n"));
    let (before, after) = after.context("nothing below")?;
    let indent = line.strip_suffix(key).context("a space after the key")?;
    let is_below = |line: &&str| line.starts_with(&format!("{indent}  "));
    let below: Vec<_> = after.lines().take_while(is_below).collect();
    let block = below.iter().filter_map(|line| line.strip_prefix(indent));
    let block = block.collect::<Vec<_>>().join("\n");
    let mut rest = after.lines().skip(below.len()).peekable();
    ensure!(rest.peek() != Some(&""), "a blank line would end the block");
    let rest = rest.flat_map(|line| [line, "\n"]).collect();
    Ok([format!("{before}{indent}"), block, rest])
}

fn without_writers(block: &str) -> Result<String> {
    let [comment, condition] = OF_WRITERS;
    let is_theirs = |line: &&str| line.trim().starts_with(condition);
    let (theirs, kept): (Vec<_>, Vec<_>) = block.lines().partition(is_theirs);
    let block = kept.join("\n");
    for (part, count) in [
        (condition, theirs.len()),
        (comment, block.matches(comment).count()),
    ] {
        ensure!(count == 1, "{SOURCE}: {count} times, not once: {part}");
    }
    Ok(block.replace(comment, ""))
}

/// The projects that a manifest can take in, by its tags.
pub fn projects(manifest: &str) -> BTreeSet<String> {
    let tagged = manifest
        .lines()
        .filter_map(|line| line.trim().strip_prefix('#'));
    let tags = tagged.filter_map(|line| line.split(' ').next());
    tags.filter(|tag| !tag.is_empty())
        .map(ToOwned::to_owned)
        .collect()
}

/// A manifest with some projects taken in.
pub fn taken_in(manifest: &str, projects: &BTreeSet<String>) -> String {
    projects.iter().fold(manifest.to_owned(), |text, project| {
        text.replace(&format!("#{project} "), "")
    })
}
