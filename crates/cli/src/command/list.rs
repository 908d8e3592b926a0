//! `managed-by rules` and `managed-by kinds`.

use std::io::{self, Write as _};

use managed_by::{FieldLocation, Kind, Rule, RuleSource, kinds as all_kinds, rules as all_rules};
use serde_json::{Value, json};

use crate::args::{ListOutput, did_you_mean};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::table::Table;
use crate::report::page;

/// Returns the families of rules.
fn families() -> Vec<&'static str> {
    let mut families: Vec<&str> = Vec::new();
    for rule in all_rules() {
        let family = family_of(rule);
        if !families.contains(&family) {
            families.push(family);
        }
    }
    families
}

fn family_of(rule: &Rule) -> &'static str {
    rule.id().split('/').next().unwrap_or_default()
}

/// Lists rules, optionally of one family or for one kind.
pub(super) fn rules(
    family: Option<&str>,
    kind: Option<&str>,
    output: ListOutput,
) -> Result<Exit, CliError> {
    let family = family.map(|family| family.trim_end_matches('/'));
    if let Some(family) = family.filter(|family| !families().contains(family)) {
        let known = families().join(", ");
        return Err(CliError::Error(format!(
            "no family is called {family}, expected one of {known}{}",
            did_you_mean(family, families())
        )));
    }
    let of_kind = match kind {
        None => None,
        Some(name) => Some(rules_of_kind(name)?),
    };
    let chosen = all_rules().iter().filter(|rule| {
        family.is_none_or(|family| family_of(rule) == family)
            && of_kind.as_ref().is_none_or(|ids| ids.contains(&rule.id()))
    });
    let mut out = io::stdout().lock();
    if output == ListOutput::Json {
        let list: Vec<Value> = chosen.map(|rule| rule_json(rule)).collect();
        writeln!(out, "{:#}", Value::from(list))?;
        return Ok(Exit::Accepted);
    }
    let mut table = Table::new(["RULE", "DEFAULT", "FROM", "RELEASES", "TITLE"]);
    for rule in chosen {
        table.row([
            rule.id().to_owned(),
            rule.default_enforcement().as_str().to_owned(),
            if rule.is_upstream() {
                "kube-apiserver"
            } else {
                "this project"
            }
            .to_owned(),
            releases(rule),
            rule.documentation().title.to_owned(),
        ]);
    }
    write!(out, "{table}")?;
    Ok(Exit::Accepted)
}

/// Formats the releases that have a rule.
fn releases(rule: &Rule) -> String {
    let all = managed_by::Release::ALL.iter().copied();
    let of: managed_by::ReleaseSet = all.filter(|release| rule.holds_in(*release)).collect();
    if of == managed_by::ReleaseSet::all() {
        "all".to_owned()
    } else {
        of.to_string()
    }
}

/// Returns the rules for objects of a kind, including the rules for all kinds.
fn rules_of_kind(name: &str) -> Result<Vec<&'static str>, CliError> {
    let of: Vec<&Kind<'_>> = all_kinds()
        .iter()
        .copied()
        .filter(|kind| kind.name().eq_ignore_ascii_case(name) || kind.plural() == name)
        .collect();
    if of.is_empty() {
        let mut known: Vec<_> = all_kinds().iter().map(|kind| kind.name()).collect();
        known.dedup();
        let near = did_you_mean(name, known.iter().copied());
        let known = known.join(", ");
        return Err(CliError::Error(format!(
            "no kind is called {name}, expected one of {known}{near}"
        )));
    }
    let judges = |rule: &&&Rule| of.iter().any(|kind| rule.applies_to(kind));
    Ok(all_rules()
        .iter()
        .filter(judges)
        .map(|rule| rule.id())
        .collect())
}

fn rule_json(rule: &Rule) -> Value {
    let docs = rule.documentation();
    let source = match *rule.source() {
        RuleSource::Upstream {
            function,
            option,
            since,
            until,
            deviation,
        } => json!({
            "function": function, "option": option, "since": since.as_str(),
            "until": until.map(managed_by::Release::as_str), "deviation": deviation,
        }),
        RuleSource::Policy { source } => json!({"source": source}),
    };
    json!({
        "id": rule.id(), "title": docs.title, "text": docs.text, "fix": docs.fix,
        "default": rule.default_enforcement().as_str(), "upstream": rule.is_upstream(),
        "siteSpecific": rule.is_site_specific(), "from": source, "page": page(rule),
    })
}

pub(super) fn kinds(output: ListOutput) -> Result<Exit, CliError> {
    let mut out = io::stdout().lock();
    if output == ListOutput::Json {
        let list: Vec<Value> = all_kinds().iter().map(|kind| kind_json(kind)).collect();
        writeln!(out, "{:#}", Value::from(list))?;
        return Ok(Exit::Accepted);
    }
    let mut table = Table::new(["KIND", "API", "FIELD", "RESERVED VALUE", "STATUS"]);
    for kind in all_kinds() {
        let versions = kind.versions().join(", ");
        table.row([
            kind.name().to_owned(),
            format!("{}/{versions}", kind.group()),
            kind.managed_by_path().to_owned(),
            kind.reserved_value().unwrap_or("-").to_owned(),
            if kind.has_status_rules() {
                "judged"
            } else {
                "-"
            }
            .to_owned(),
        ]);
    }
    write!(out, "{table}")?;
    Ok(Exit::Accepted)
}

fn kind_json(kind: &Kind<'_>) -> Value {
    let docs = kind.docs();
    json!({
        "kind": kind.name(), "group": kind.group(), "versions": kind.versions(), "plural": kind.plural(),
        "field": kind.managed_by_path(), "reservedValue": kind.reserved_value(),
        "makes": match kind.field_location() { FieldLocation::Workload => None, FieldLocation::Template(made) => Some(made) },
        "defaulted": kind.is_defaulted(), "stepsBack": kind.honors_managed_by(), "statusRules": kind.has_status_rules(),
        "rules": kind.rules(), "checks": docs.checks, "unchecked": docs.unchecked, "source": docs.source,
    })
}
