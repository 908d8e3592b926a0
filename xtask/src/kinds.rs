//! Generates the tables of `docs/reference/kinds.md`.

use std::fmt::Write as _;

use anyhow::Result;
use managed_by::{Enforcement, Kind, ValueConstraint, kinds, rule};
use managed_by_testing::read;

use crate::generated::{Generated, replace_between_marks};

const PAGE: &str = "docs/reference/kinds.md";

pub(crate) fn generated() -> Result<Vec<Generated>> {
    let page = replace_between_marks(&read(PAGE)?, "table", &table()?)?;
    let page = replace_between_marks(&page, "kinds", &sections()?)?;
    Ok(vec![Generated::new(PAGE, page)])
}

fn code(names: &[&str]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

fn values(kind: &Kind<'_>) -> &'static str {
    match kind.value_constraint() {
        ValueConstraint::Path => "any domain-prefixed path",
        ValueConstraint::OneOf(_) => "the reserved value, MultiKueue",
        ValueConstraint::Any => "any string",
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

/// Returns the name of a kind, with its versions if another kind has the same name.
pub(crate) fn name(kind: &Kind<'_>) -> String {
    let is_ambiguous = kinds().iter().filter(|k| k.name() == kind.name()).count() > 1;
    let version = is_ambiguous.then(|| format!(" ({})", kind.versions().join(", ")));
    format!("{}{}", kind.name(), version.unwrap_or_default())
}

/// Lists the rules for a kind that have the given default level, without the rules for all kinds.
fn rules_with_level(kind: &Kind<'_>, level: Enforcement) -> String {
    let mut rules = kind.specific_rule_ids();
    rules.retain(|id| rule(id).is_some_and(|rule| rule.default_enforcement() == level));
    let has_family = kind.name() == "Job" && level == Enforcement::Deny;
    match (rules.is_empty(), has_family) {
        (true, _) => "nothing".to_owned(),
        (false, true) => format!("{}, and the family `job-status/`", code(&rules)),
        (false, false) => code(&rules),
    }
}

/// Gap that every kind has. The page mentions it once, above the kinds.
const NO_CONTROLLER: &str = "Known gaps: nothing checks that the external controller exists";

/// Writes a section for each kind.
///
/// Consecutive kinds with the same lines share a section. A long line that occurred before becomes a reference.
fn sections() -> Result<String> {
    let mut sections: Vec<(String, Vec<String>)> = Vec::new();
    for kind in kinds() {
        let docs = kind.docs();
        let mut lines = vec![
            format!("Checked upstream: {}", docs.checks),
            format!(
                "Rules that deny: {}",
                rules_with_level(kind, Enforcement::Deny)
            ),
            format!(
                "Rules that warn: {}",
                rules_with_level(kind, Enforcement::Warn)
            ),
            format!("Known gaps: {}", docs.unchecked),
        ];
        lines.retain(|line| {
            let is_empty = line.starts_with("Rules that ") && line.ends_with(": nothing");
            !is_empty && !line.ends_with(NO_CONTROLLER)
        });
        match sections.last_mut().filter(|(_, last)| *last == lines) {
            Some((names, _)) => write!(names, ", {}", name(kind))?,
            None => sections.push((name(kind), lines)),
        }
    }
    let mut text = String::new();
    let mut long_lines: Vec<(&str, &str)> = Vec::new();
    for (names, lines) in &sections {
        write!(text, "\n## {names}\n\n")?;
        for line in lines {
            let label = line.split(": ").next().unwrap_or_default();
            match long_lines.iter().find(|(known, _)| known == line) {
                Some((_, names)) => writeln!(text, "- {label}: as for {names}.")?,
                None => writeln!(text, "- {line}.")?,
            }
            // Lines about this policy are repeated for each kind.
            if line.len() > 80 && !label.starts_with("Rules that ") {
                long_lines.push((line, names));
            }
        }
    }
    Ok(text)
}
