//! What is made of the kinds' profiles: the tables of docs/kinds.md.

pub mod objects;
pub mod questions;

use std::fmt::Write as _;

use anyhow::Result;
use managed_by::{Enforcement, Form, Kind, kinds, rule};

use crate::generated::{Generated, between_marks, read};

/// The page.
///
/// # Errors
/// If a file cannot be read or lacks its marks.
pub fn generated() -> Result<Vec<Generated>> {
    Ok(vec![Generated::new("docs/kinds.md", page()?)])
}

fn code(words: &[&str]) -> String {
    let quoted: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
    quoted.join(", ")
}

fn values(kind: &Kind<'_>) -> &'static str {
    match kind.form() {
        Form::Path => "any domain-prefixed path",
        Form::OneOf(_) => "the reserved value, MultiKueue",
        Form::Open => "any string",
    }
}

fn table() -> Result<String> {
    let mut text = "| kind | group, versions | path | reserved value | accepted by its API |\n| --- | --- | --- | --- | --- |\n".to_owned();
    for kind in kinds() {
        writeln!(
            text,
            "| {} | `{}` {} | `{}` | `{}` | {} |",
            kind.name(),
            kind.group(),
            kind.versions().join(", "),
            kind.managed_by_path(),
            kind.reserved_value().unwrap_or_default(),
            values(kind),
        )?;
    }
    Ok(text)
}

/// A kind's name, with its version where the name is not enough.
pub fn name(kind: &Kind<'_>) -> String {
    let twice = kinds().iter().filter(|k| k.name() == kind.name()).count() > 1;
    let version = twice.then(|| format!(" ({})", kind.versions().join(", ")));
    format!("{}{}", kind.name(), version.unwrap_or_default())
}

/// The rules for a kind, beside those for all, that have a verdict by default.
fn said(kind: &Kind<'_>, verdict: Enforcement) -> String {
    let mut rules = kind.rules();
    rules.retain(|id| rule(id).is_some_and(|rule| rule.default_enforcement() == verdict));
    let family = kind.name() == "Job" && verdict == Enforcement::Deny;
    match (rules.is_empty(), family) {
        (true, _) => "nothing".to_owned(),
        (false, true) => format!("{}, and the family `job-status/`", code(&rules)),
        (false, false) => code(&rules),
    }
}

/// The gap that every kind has.
const NO_CONTROLLER: &str = "Known gaps: nothing checks that the external controller exists";

/// A section for each kind. Kinds in a row of which the same is said share one, and what is told at length of a kind is not told again.
fn sections() -> Result<String> {
    let mut sections: Vec<(String, Vec<String>)> = Vec::new();
    for kind in kinds() {
        let docs = kind.docs();
        let mut said = vec![
            format!("Checked upstream: {}", docs.checks),
            format!("Denied here: {}", said(kind, Enforcement::Deny)),
            format!("Warned here: {}", said(kind, Enforcement::Warn)),
            format!("Known gaps: {}", docs.unchecked),
        ];
        // What is true of every kind stands once on the page, above.
        said.retain(|line| !line.ends_with(" here: nothing") && !line.ends_with(NO_CONTROLLER));
        match sections.last_mut().filter(|(_, last)| *last == said) {
            Some((names, _)) => write!(names, ", {}", name(kind))?,
            None => sections.push((name(kind), said)),
        }
    }
    let mut text = String::new();
    let mut told: Vec<(&str, &str)> = Vec::new();
    for (names, lines) in &sections {
        write!(text, "\n## {names}\n\n")?;
        for line in lines {
            let label = line.split(": ").next().unwrap_or_default();
            match told.iter().find(|(known, _)| known == line) {
                Some((_, names)) => writeln!(text, "- {label}: as for {names}.")?,
                None => writeln!(text, "- {line}.")?,
            }
            // What this policy does is told of each kind, and what is short too.
            if line.len() > 80 && !label.ends_with(" here") {
                told.push((line, names));
            }
        }
    }
    Ok(text)
}

fn page() -> Result<String> {
    let mut text = read("docs/kinds.md")?;
    for (mark, made) in [("table", table()?), ("kinds", sections()?)] {
        text = between_marks(&text, mark, &made)?;
    }
    Ok(text)
}
