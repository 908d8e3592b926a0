//! `managed-by rules` and `managed-by kinds`.

use std::io::{self, Write as _};

use managed_by::{Kind, ReleaseSet, Rule, kinds as all_kinds, rules as all_rules};
use managed_by_console::exit::{CliError, ExitStatus};
use managed_by_console::table::table;
use managed_by_console::value::suggestion;
use managed_by_offline::catalog::{KindEntry, RulePage, releases_with};
use serde_json::json;

use crate::args::ListOutput;

/// Lists rules, optionally of one family or for one kind.
pub fn rules(
    family: Option<&str>,
    kind: Option<&str>,
    output: ListOutput,
) -> Result<ExitStatus, CliError> {
    let family = family.map(|family| format!("{family}/"));
    let ids = kind.map(rules_of_kind).transpose()?;
    let rules = all_rules().iter().filter(|rule| {
        let is_of_family = |family: &String| rule.id().starts_with(family);
        family.as_ref().is_none_or(is_of_family)
            && ids.as_ref().is_none_or(|ids| ids.contains(&rule.id()))
    });
    let mut out = io::stdout().lock();
    if output == ListOutput::Json {
        let pages: Result<Vec<_>, _> = rules.map(|rule| RulePage::new(rule)).collect();
        let pages = pages.map_err(io::Error::from)?;
        writeln!(out, "{:#}", json!(pages))?;
        return Ok(ExitStatus::Accepted);
    }
    let rows = rules.map(|rule| {
        let source = if rule.is_upstream() {
            "kube-apiserver"
        } else {
            "this project"
        };
        [
            rule.id().to_owned(),
            rule.default_enforcement().as_str().to_owned(),
            source.to_owned(),
            releases(rule),
            rule.documentation().title.to_owned(),
        ]
    });
    let header = ["RULE", "DEFAULT", "FROM", "RELEASES", "TITLE"];
    write!(out, "{}", table(header, rows))?;
    Ok(ExitStatus::Accepted)
}

fn releases(rule: &Rule) -> String {
    let releases = releases_with(rule);
    if releases == ReleaseSet::all() {
        "all".to_owned()
    } else {
        releases.to_string()
    }
}

/// Returns the rules for objects of a kind, including the rules for all kinds.
fn rules_of_kind(name: &str) -> Result<Vec<&'static str>, CliError> {
    let kinds = all_kinds().iter().copied();
    let is_named =
        |kind: &Kind<'_>| kind.name().eq_ignore_ascii_case(name) || kind.plural() == name;
    if !kinds.clone().any(is_named) {
        let mut known: Vec<_> = kinds.map(Kind::name).collect();
        known.dedup();
        let (known, near) = (known.join(", "), suggestion(name, known));
        let text = format!("unknown kind {name}, expected one of {known}{near}");
        return Err(CliError::Error(text));
    }
    let rules = all_rules().iter();
    let rules = rules.filter(|rule| {
        kinds
            .clone()
            .any(|kind| is_named(kind) && rule.applies_to(kind))
    });
    Ok(rules.map(|rule| rule.id()).collect())
}

pub fn kinds(output: ListOutput) -> Result<ExitStatus, CliError> {
    let mut out = io::stdout().lock();
    if output == ListOutput::Json {
        let kinds: Vec<_> = all_kinds()
            .iter()
            .map(|kind| KindEntry::from(*kind))
            .collect();
        writeln!(out, "{:#}", json!(kinds))?;
        return Ok(ExitStatus::Accepted);
    }
    let rows = all_kinds().iter().map(|kind| {
        let status = if kind.has_status_rules() {
            "checked"
        } else {
            "-"
        };
        [
            kind.name().to_owned(),
            format!("{}/{}", kind.group(), kind.versions().join(", ")),
            kind.managed_by_path().to_owned(),
            kind.reserved_value().unwrap_or("-").to_owned(),
            status.to_owned(),
        ]
    });
    let header = ["KIND", "API", "FIELD", "RESERVED VALUE", "STATUS"];
    write!(out, "{}", table(header, rows))?;
    Ok(ExitStatus::Accepted)
}
