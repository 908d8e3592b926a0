//! Copies the blocks that manifests share from `deploy/management.yml` into the others (`make docs`).
//!
//! `tests/conditions/` compares the conditions with the library, and `tests/policy/deploy.rs` the rules.
//!
//! The lines of each project are commented out with its tag, for example `#jobset `. Admins enable the projects that they have
//! installed by removing the tag. They must not list others, because any user who can create the namespace could take that name.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::{Context as _, Result, ensure};

use crate::generated::{Generated, read};

/// Manifest from which blocks are copied.
const SOURCE: &str = "deploy/management.yml";

const RULES: &str = "rules:";
const CONDITIONS: &str = "matchConditions:";
const WRITERS: &str = "builtin_status_writers:";

/// Files with copies, and the keys of the copied blocks.
const COPIES: [(&str, &[&str]); 7] = [
    ("deploy/worker.yml", &[RULES, CONDITIONS, WRITERS]),
    ("deploy/hybrid.yml", &[RULES, CONDITIONS]),
    ("deploy/namespace.yml", &[RULES, CONDITIONS]),
    ("deploy/webhook.yml", &[CONDITIONS]),
    ("deploy/policies.yml", &[WRITERS]),
    ("examples/settings/management.yml", &[WRITERS]),
    ("examples/settings/worker.yml", &[WRITERS]),
];

/// Manifests whose settings list no status writers. Their conditions exclude status updates of objects that are not delegated.
const WITHOUT_WRITERS: [&str; 2] = ["deploy/hybrid.yml", "deploy/namespace.yml"];

/// Comment and condition that only manifests with status writers need.
const WRITERS_PARTS: [&str; 2] = [
    " Also all of the kinds in `builtin_status_writers`.",
    "request.kind.kind in [\"Job\"",
];

/// Generates the files with copied blocks.
///
/// # Errors
/// If a file cannot be read or lacks a key, or a block has another form.
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
            let mut copied = format!("{before}{key}\n");
            for line in block.lines() {
                writeln!(copied, "{indent}{line}")?;
            }
            text = copied + &after;
        }
        files.push(Generated::new(path, text));
    }
    Ok(files)
}

/// Splits a file into the text before a key, the dedented block below it, and the rest.
fn parts(text: &str, key: &str) -> Result<[String; 3]> {
    let line = text.lines().find(|line| line.trim() == key);
    let line = line.context("no such key")?;
    let after = text.split_once(&format!("{line}\n"));
    let (before, after) = after.context("nothing below")?;
    let indent = line.strip_suffix(key).context("a space after the key")?;
    let is_indented = |line: &&str| line.starts_with(&format!("{indent}  "));
    let lines: Vec<_> = after.lines().take_while(is_indented).collect();
    let block = lines.iter().filter_map(|line| line.strip_prefix(indent));
    let block = block.collect::<Vec<_>>().join("\n");
    let mut rest = after.lines().skip(lines.len()).peekable();
    ensure!(rest.peek() != Some(&""), "a blank line would end the block");
    let rest = rest.flat_map(|line| [line, "\n"]).collect();
    Ok([format!("{before}{indent}"), block, rest])
}

fn without_writers(block: &str) -> Result<String> {
    let [comment, condition] = WRITERS_PARTS;
    let is_removed = |line: &&str| line.trim().starts_with(condition);
    let (removed, kept): (Vec<_>, Vec<_>) = block.lines().partition(is_removed);
    let block = kept.join("\n");
    for (part, count) in [
        (condition, removed.len()),
        (comment, block.matches(comment).count()),
    ] {
        ensure!(count == 1, "{SOURCE}: {count} times, not once: {part}");
    }
    Ok(block.replace(comment, ""))
}

/// Returns the projects that a manifest has tags for.
pub fn projects(manifest: &str) -> BTreeSet<String> {
    let tagged = manifest
        .lines()
        .filter_map(|line| line.trim().strip_prefix('#'));
    let tags = tagged.filter_map(|line| line.split(' ').next());
    tags.filter(|tag| !tag.is_empty())
        .map(ToOwned::to_owned)
        .collect()
}

/// Enables projects in a manifest by removing their tags.
pub fn with_enabled(manifest: &str, projects: &BTreeSet<String>) -> String {
    projects.iter().fold(manifest.to_owned(), |text, project| {
        text.replace(&format!("#{project} "), "")
    })
}
