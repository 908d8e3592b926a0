//! What is generated from the kinds' profiles: the rules in the metadata, and the tables of docs/kinds.md. `make docs`
//! writes them anew.

use std::fmt::Write as _;
use std::{env, fs};

use managed_by::Enforcement;
use managed_by::{Form, Kind, kinds};
use serde_json::{Value, json};

use super::matrix::{self, verdicts};
use super::mutations;
use crate::support::root;

/// Kinds of one group that are served in the same versions, in order.
fn families() -> Vec<Vec<&'static Kind<'static>>> {
    let mut families: Vec<Vec<&'static Kind<'static>>> = Vec::new();
    for kind in kinds() {
        let same = |f: &&mut Vec<&Kind<'_>>| {
            f[0].group() == kind.group() && f[0].versions() == kind.versions()
        };
        match families.iter_mut().find(same) {
            Some(family) => family.push(kind),
            None => families.push(vec![kind]),
        }
    }
    families
}

/// The resources of a family: what is created, and what has a status to judge.
fn resources(family: &[&Kind<'_>]) -> [Vec<String>; 2] {
    let judged = family.iter().filter(|kind| kind.has_status_rules());
    [
        family.iter().map(|kind| kind.plural().to_owned()).collect(),
        judged
            .map(|kind| format!("{}/status", kind.plural()))
            .collect(),
    ]
}

const OPERATIONS: [&[&str]; 2] = [&["CREATE", "UPDATE"], &["UPDATE"]];

/// The webhook rules that cover every kind.
pub(crate) fn webhook_rules() -> Value {
    let mut rules = Vec::new();
    for family in families() {
        for (resources, operations) in resources(&family).into_iter().zip(OPERATIONS) {
            if !resources.is_empty() {
                rules.push(json!({
                    "apiGroups": [family[0].group()],
                    "apiVersions": family[0].versions(),
                    "resources": resources,
                    "operations": operations,
                }));
            }
        }
    }
    rules.into()
}

/// The same as YAML.
fn metadata() -> String {
    let path = root("policy-metadata.yml");
    let text = fs::read_to_string(path).unwrap();
    let (before, rest) = text.split_once("rules:\n").unwrap();
    let (_, after) = rest.split_once("mutating:").unwrap();
    let list = |words: &[&str]| {
        let quoted: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
        format!("[{}]", quoted.join(", "))
    };
    let mut rules = String::new();
    for family in families() {
        for (resources, operations) in resources(&family).iter().zip(OPERATIONS) {
            if resources.is_empty() {
                continue;
            }
            let resources: Vec<_> = resources.iter().map(|r| &**r).collect();
            write!(
                rules,
                "  - apiGroups: {}\n    apiVersions: {}\n    resources: {}\n    operations: {}\n",
                list(&[family[0].group()]),
                list(family[0].versions()),
                list(&resources),
                list(operations),
            )
            .unwrap();
        }
    }
    format!("{before}rules:\n{rules}mutating:{after}")
}

fn code(words: &[&str]) -> String {
    let quoted: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
    quoted.join(", ")
}

fn values(kind: &Kind<'_>) -> &'static str {
    match kind.form() {
        Form::Path => "any domain-prefixed path",
        Form::OneOf(_) => "its own and MultiKueue's",
        Form::Open => "any string",
    }
}

fn empty(kind: &Kind<'_>) -> &'static str {
    match (kind.form(), kind.steps_back()) {
        (Form::Open, true) => "nobody runs it",
        (Form::Open, false) => "ignored",
        _ => "refused",
    }
}

fn table() -> String {
    let mut text = "| kind | group, versions | path | reserved value | its API takes | `\"\"` |\n| --- | --- | --- | --- | --- | --- |\n".to_owned();
    for kind in kinds() {
        writeln!(
            text,
            "| {} | `{}` {} | `{}` | `{}` | {} | {} |",
            kind.name(),
            kind.group(),
            kind.versions().join(", "),
            kind.managed_by_path(),
            kind.reserved_value(),
            values(kind),
            empty(kind),
        )
        .unwrap();
    }
    text
}

/// A kind's name, with its version where the name is not enough.
pub(super) fn name(kind: &Kind<'_>) -> String {
    let twice = kinds().iter().filter(|k| k.name() == kind.name()).count() > 1;
    let version = twice.then(|| format!(" ({})", kind.versions().join(", ")));
    format!("{}{}", kind.name(), version.unwrap_or_default())
}

/// The heading of a kind's section.
pub(super) fn heading(kind: &Kind<'_>) -> String {
    format!("## {}", name(kind))
}

/// The rules for a kind, beside those for all, that have a verdict: what they said when they were asked in the engine.
fn said(kind: &'static Kind<'static>, verdict: Enforcement) -> String {
    let verdicts = verdicts(kind);
    let mut rules = kind.rules();
    rules.retain(|id| verdicts[id] == verdict);
    let family = kind.name() == "Job" && verdict == Enforcement::Deny;
    match (rules.is_empty(), family) {
        (true, _) => "nothing".to_owned(),
        (false, true) => format!("{}, and the family `job-status/`", code(&rules)),
        (false, false) => code(&rules),
    }
}

fn sections() -> String {
    let mut text = String::new();
    for kind in kinds() {
        let docs = kind.docs();
        let (heading, denied, warned) = (
            heading(kind),
            said(kind, Enforcement::Deny),
            said(kind, Enforcement::Warn),
        );
        write!(
            text,
            "\n{heading}\n\n- It checks: {}.\n- We deny: {denied}.\n- We warn: {warned}.\n- Nobody can: {}.\n- Source: {}.\n",
            docs.checks, docs.unchecked, docs.source,
        )
        .unwrap();
    }
    text
}

fn page() -> String {
    let path = root("docs/kinds.md");
    let mut text = fs::read_to_string(path).unwrap();
    for (mark, made) in [
        ("table", table()),
        ("kinds", sections()),
        ("rules", matrix::table()),
        ("broken", mutations::table()),
    ] {
        let (open, close) = (format!("<!-- {mark} -->\n"), format!("<!-- /{mark} -->\n"));
        let (before, rest) = text.split_once(&open).unwrap();
        let (_, after) = rest.split_once(&close).unwrap();
        text = format!("{before}{open}{made}{close}{after}");
    }
    text
}

#[test]
fn what_is_generated_of_kinds_is_up_to_date() {
    for (file, text) in [
        ("policy-metadata.yml", metadata()),
        ("docs/kinds.md", page()),
    ] {
        if env::var_os("UPDATE_DOCS").is_some() {
            fs::write(root(file), &text).unwrap();
        }
        let committed = fs::read_to_string(root(file)).unwrap();
        assert_eq!(committed, text, "{file}: make docs");
    }
}
