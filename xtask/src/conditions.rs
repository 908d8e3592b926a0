//! `matchConditions`: which requests kube-apiserver asks the policy about, in CEL, for every manifest in `deploy/`.
//!
//! What it does not ask about cannot be lost while PolicyServer is away (`docs/outages.md`). Both conditions must hold, and
//! each of them lets pass what it is not about: the first is about updates of the object itself, the second about its
//! status. `.?` reads a field that may be absent, so that no object makes an expression fail: kube-apiserver has it in all
//! releases that the policy knows.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::{Context as _, Result, ensure};
use managed_by::{Holder, kinds};
use serde::Deserialize as _;
use serde_json::Value;

use crate::generated::{Generated, read};
use crate::writers;

/// One of `matchConditions`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// Its name, which kube-apiserver puts into errors and metrics.
    pub name: &'static str,
    /// Why it is there.
    pub comment: String,
    /// CEL, a line each.
    pub lines: Vec<String>,
}

/// Where most kinds have the field.
const COMMON: &str = "spec.managedBy";

/// The manifests that judge workloads, and where the settings of each are.
const MANIFESTS: [(&str, &str); 5] = [
    ("deploy/management.yml", "deploy/management.yml"),
    ("deploy/worker.yml", "deploy/worker.yml"),
    ("deploy/hybrid.yml", "deploy/hybrid.yml"),
    ("deploy/namespace.yml", "deploy/namespace.yml"),
    ("deploy/webhook.yml", "deploy/policies.yml"),
];

/// The manifests with the conditions of today.
///
/// # Errors
/// If a manifest cannot be read or has no `matchConditions`.
pub fn generated() -> Result<Vec<Generated>> {
    let mut files = Vec::new();
    for (path, settings) in MANIFESTS {
        // Whoever takes a project in need not think of the conditions: the kinds behind tags count too.
        let has_lists = read(settings)?.contains("standard_status_writers:\n");
        let kinds = if has_lists {
            writers::listed()?
        } else {
            BTreeSet::new()
        };
        files.push(Generated::new(path, replaced(path, &conditions(&kinds)?)?));
    }
    let path = "deploy/pods.yml";
    files.push(Generated::new(path, replaced(path, &[for_pods()])?));
    Ok(files)
}

/// The conditions for all kinds, where the settings name writers for some.
///
/// # Errors
/// If two kinds of a version have different reserved values.
pub fn conditions(writers: &BTreeSet<&str>) -> Result<Vec<Condition>> {
    Ok(vec![the_field_changes(), the_status_is_judged(writers)?])
}

fn the_field_changes() -> Condition {
    let mut lines =
        vec![r#"request.operation != "UPDATE" || has(request.subResource) ||"#.to_owned()];
    lines.extend(pruned().map(|line| format!("{line} ||")));
    // Where most kinds have it, those of an admin's own too.
    lines.push(format!("{} ||", changes(COMMON)));
    let mut paths = Vec::new();
    for kind in kinds() {
        let own = [kind.managed_by_path().to_owned()].into_iter();
        let all = own.chain(kind.nested_paths());
        paths.extend(all.map(|path| (kind.group(), kind.name(), path)));
    }
    let borrowed = paths
        .iter()
        .map(|(group, name, path)| (*group, *name, &**path));
    for ((group, path), names) in elsewhere(borrowed) {
        lines.push(format!(
            "{} && {} ||",
            is_one_of(group, &names),
            changes(path)
        ));
    }
    if let Some(last) = lines.last_mut() {
        last.truncate(last.len().saturating_sub(" ||".len()));
    }
    Condition {
        name: "the-field-changes",
        comment: "Updates: only if `managedBy` changes, in the object or in a template.".to_owned(),
        lines,
    }
}

fn the_status_is_judged(writers: &BTreeSet<&str>) -> Result<Condition> {
    let workloads = || kinds().iter().filter(|kind| kind.has_status_rules());
    let mut reserved: Vec<(String, &str)> = Vec::new();
    for kind in workloads().filter(|kind| kind.holder() == Holder::Workload) {
        for version in kind.versions() {
            let key = format!("{}/{version}", kind.group());
            match reserved.iter().find(|(known, _)| *known == key) {
                Some((_, value)) => ensure!(
                    Some(*value) == kind.reserved_value(),
                    "two reserved values in {key}"
                ),
                None => reserved.extend(kind.reserved_value().map(|value| (key, value))),
            }
        }
    }
    let mut lines =
        vec![r#"!has(request.subResource) || request.subResource == "status" && ("#.to_owned()];
    lines.extend(pruned().map(|line| format!("  {line} ||")));
    let mut comment = "Status updates: only those of delegated objects.".to_owned();
    if !writers.is_empty() {
        comment.push_str(" Also all of the kinds in `standard_status_writers`.");
        lines.push(format!("  request.kind.kind in [{}] ||", quoted(writers)));
    }
    let mut read = String::new();
    let fields = workloads().map(|kind| (kind.group(), kind.name(), kind.managed_by_path()));
    for ((group, path), names) in elsewhere(fields) {
        let value = reading("oldObject", path);
        write!(read, "{} ? {value} : ", is_one_of(group, &names))?;
    }
    read.push_str(&reading("oldObject", COMMON));
    lines.push(format!("  [{read}].exists(name,"));
    lines.push("    name.hasValue() && name != {".to_owned());
    for (key, value) in reserved {
        lines.push(format!("      \"{key}\": \"{value}\","));
    }
    if let Some(last) = lines.last_mut() {
        last.truncate(last.len().saturating_sub(1));
    }
    lines.push(r#"    }[?(request.kind.group + "/" + request.kind.version)]))"#.to_owned());
    Ok(Condition {
        name: "the-status-is-judged",
        comment,
        lines,
    })
}

/// The one condition of the policy for pods: it looks at those that a Job controls.
pub fn for_pods() -> Condition {
    let line = r#"object.?metadata.?ownerReferences.orValue([]).exists(owner, owner.kind == "Job" && owner.?controller.orValue(false))"#;
    Condition {
        name: "a-job-controls-it",
        comment: "Only pods of Jobs.".to_owned(),
        lines: vec![line.to_owned()],
    }
}

/// What asks for a request through a version whose schema has no such field. The object shows nothing there.
fn pruned() -> impl Iterator<Item = String> {
    let mut known = BTreeSet::new();
    let pairs = kinds().iter().flat_map(|kind| {
        let versions = kind.pruned_in().iter();
        versions.map(|version| (kind.group(), *version))
    });
    pairs.filter(move |pair| known.insert(*pair)).map(|(group, version)| {
        format!(r#"request.requestKind.group == "{group}" && request.requestKind.version == "{version}""#)
    })
}

/// Whether the object is of one of the kinds of a group that have something there. An admin's own kind of that group may hold anything.
fn is_one_of(group: &str, names: &[&str]) -> String {
    let names: Vec<_> = names.iter().map(|name| format!("\"{name}\"")).collect();
    format!(
        r#"request.kind.group == "{group}" && request.kind.kind in [{}]"#,
        names.join(", ")
    )
}

/// The kinds by group and path, of what is not where most kinds have it.
fn elsewhere<'k>(
    paths: impl Iterator<Item = (&'k str, &'k str, &'k str)>,
) -> Vec<((&'k str, &'k str), Vec<&'k str>)> {
    let mut places: Vec<((&str, &str), Vec<&str>)> = Vec::new();
    for (group, name, path) in paths.filter(|(_, _, path)| *path != COMMON) {
        match places.iter_mut().find(|(place, _)| *place == (group, path)) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => places.push(((group, path), vec![name])),
        }
    }
    places
}

/// Whether what is at a path changes. A list is first compared as a whole: what stands there unchanged need not be a list, whose
/// elements could be read.
fn changes(path: &str) -> String {
    let differ = |path| {
        format!(
            "{} != {}",
            reading("object", path),
            reading("oldObject", path)
        )
    };
    match path.split_once("[]") {
        None => differ(path),
        Some((list, _)) => format!("{} && {}", differ(list), differ(path)),
    }
}

/// What is at a path of an object, as an optional value; of a list, as a list of them.
fn reading(object: &str, path: &str) -> String {
    let optional = |base: &str, path: &str| {
        let names = path.split('.').filter(|name| !name.is_empty());
        names.fold(base.to_owned(), |text, name| format!("{text}.?{name}"))
    };
    match path.split_once("[]") {
        None => optional(object, path),
        Some((list, path)) => format!(
            "{}.orValue([]).map(item, {})",
            optional(object, list),
            optional("item", path)
        ),
    }
}

/// In the order of the documentation.
fn quoted(names: &BTreeSet<&str>) -> String {
    let mut rest = names.clone();
    let ordered = kinds().iter().map(|kind| kind.name());
    let quoted: Vec<_> = ordered
        .filter(|name| rest.remove(name))
        .map(|name| format!("\"{name}\""))
        .collect();
    quoted.join(", ")
}

/// A manifest with its `matchConditions` replaced: the lines after that key that are indented more.
fn replaced(path: &str, conditions: &[Condition]) -> Result<String> {
    let text = read(path)?;
    let text = writers::filled(&text)?.unwrap_or(text);
    let parts = text.split_once("matchConditions:\n");
    let (before, after) = parts.with_context(|| format!("{path}: no matchConditions"))?;
    let indent = before.rsplit('\n').next().unwrap_or_default();
    let is_inside = |line: &&str| line.len().saturating_sub(line.trim_start().len()) > indent.len();
    let mut made = format!("{before}matchConditions:\n{}", yaml(conditions, indent)?);
    for line in after.lines().skip_while(is_inside) {
        writeln!(made, "{line}")?;
    }
    Ok(made)
}

fn yaml(conditions: &[Condition], indent: &str) -> Result<String> {
    let mut text = String::new();
    for Condition {
        name,
        comment,
        lines,
    } in conditions
    {
        writeln!(text, "{indent}  # {comment}")?;
        writeln!(text, "{indent}  - name: {name}")?;
        writeln!(text, "{indent}    expression: |-")?;
        for line in lines {
            writeln!(text, "{indent}      {line}")?;
        }
    }
    Ok(text)
}

/// `matchConditions` of a manifest, by name.
///
/// # Errors
/// If it has none, or one without a name or an expression.
pub fn of(manifest: &Value) -> Result<Vec<(String, String)>> {
    let holder = match manifest.pointer("/webhooks/0") {
        Some(webhook) => Some(webhook),
        None => manifest.get("spec"),
    };
    let list = holder.and_then(|holder| holder.get("matchConditions")?.as_array());
    let text = |condition: &Value, key| {
        let text = condition.get(key).and_then(Value::as_str);
        text.map(ToOwned::to_owned)
            .with_context(|| format!("a condition without {key}"))
    };
    list.context("no matchConditions")?
        .iter()
        .map(|condition| Ok((text(condition, "name")?, text(condition, "expression")?)))
        .collect()
}

/// The first document of a YAML file of the repository.
///
/// # Errors
/// If it cannot be read.
pub fn manifest(path: &str) -> Result<Value> {
    let text = read(path)?;
    let first = serde_yaml_ng::Deserializer::from_str(&text).next();
    Ok(Value::deserialize(first.context("no document")?)?)
}
