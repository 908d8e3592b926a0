//! Generates the chart's copy of the library's kinds and rules.
//!
//! The templates contain no kind, group or rule of their own: they read this file, and `files/projects.yaml` for the accounts.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use managed_by::{
    EXTERNAL_CONTROLLERS, FieldLocation, Kind, QUEUE_NAME, QueueKind, REQUIRED_LABELS, Release,
    ReleaseSet, Rule, RuleCategory, ValueConstraint, kinds, rules,
};
use managed_by_testing::read;
use serde::Serialize;
use serde_json::{Value, json, to_string};

use crate::generated::Generated;
use crate::rules::rejection;

/// Path of the file.
pub(crate) const LIBRARY: &str = "charts/managed-by-policy/files/library.yaml";

/// The chart's values, which templates cannot read, and their copy.
const VALUES: &str = "charts/managed-by-policy/values.yaml";
const DEFAULTS: &str = "charts/managed-by-policy/files/defaults.json";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "a row of a table")]
struct KindRow<'k> {
    group: &'k str,
    versions: &'k [&'k str],
    kind: &'k str,
    plural: &'k str,
    path: &'k str,
    reserved_value: Option<&'k str>,
    location: &'static str,
    workload: &'k str,
    format: &'static str,
    /// Values that the API accepts; empty for any.
    values: &'k [&'k str],
    defaulted: bool,
    can_require_delegation: bool,
    status: bool,
    /// True if another kind has the same `CustomResourceDefinition` name, so that a cluster has only one of them.
    shares_crd: bool,
    templates: Vec<String>,
    /// Path of the labels of the delegated workloads; [`None`] if users can't set them.
    labels: Option<&'k str>,
    /// Path of the number of seconds after which the workload is deleted that has ended.
    ttl: Option<&'k str>,
    pruned: &'k [&'k str],
}

impl<'k> From<&Kind<'k>> for KindRow<'k> {
    fn from(kind: &Kind<'k>) -> Self {
        Self {
            group: kind.group(),
            versions: kind.versions(),
            kind: kind.name(),
            plural: kind.plural(),
            path: kind.managed_by_path(),
            reserved_value: kind.reserved_value(),
            location: match kind.field_location() {
                FieldLocation::Workload => "workload",
                FieldLocation::Template(_) => "template",
            },
            workload: kind.workload_kind(),
            format: match kind.value_constraint() {
                ValueConstraint::Path => "path",
                ValueConstraint::OneOf(_) => "values",
                ValueConstraint::Any => "any",
            },
            values: match kind.value_constraint() {
                ValueConstraint::OneOf(values) => values,
                ValueConstraint::Path | ValueConstraint::Any => &[],
            },
            defaulted: kind.is_defaulted(),
            can_require_delegation: kind.can_require_delegation(),
            status: kind.has_status_rules(),
            shares_crd: kinds().iter().any(|other| {
                (other.group(), other.plural()) == (kind.group(), kind.plural())
                    && other.versions() != kind.versions()
            }),
            templates: kind.nested_paths().collect(),
            labels: kind.workload_labels_path(),
            ttl: kind.ttl_path(),
            pruned: kind.pruned_in(),
        }
    }
}

#[derive(Serialize)]
struct RuleRow {
    id: &'static str,
    category: &'static str,
    default: &'static str,
}

impl From<&Rule> for RuleRow {
    fn from(rule: &Rule) -> Self {
        Self {
            id: rule.id(),
            category: match rule.category() {
                RuleCategory::Api => "api",
                RuleCategory::ApiAndCustomKinds => "apiAndCustomKinds",
                RuleCategory::ClusterSpecific => "clusterSpecific",
                RuleCategory::PolicyBypass => "policyBypass",
            },
            default: rule.default_enforcement().as_str(),
        }
    }
}

#[derive(Serialize)]
struct CelRow {
    variable: &'static str,
    rule: &'static str,
    reason: &'static str,
}

pub(crate) fn generated() -> Result<Vec<Generated>> {
    let defaults: Value = serde_yaml_ng::from_str(&read(VALUES)?)?;
    Ok(vec![
        Generated::new(LIBRARY, library()?),
        Generated::new(DEFAULTS, format!("{defaults:#}\n")),
    ])
}

fn library() -> Result<String> {
    let mut text = "# Generated from the library (make generate): its kinds and rules, for the templates. files/projects.yaml has the accounts.\n".to_owned();
    let newest = Release::ALL.last().context("no releases")?;
    let releases = Release::ALL.iter().map(|&release| {
        let name = ReleaseSet::from(release).to_string();
        to_string(&json!({"name": name, "newestPatch": release.newest_patch()}))
    });
    let [multikueue] = EXTERNAL_CONTROLLERS else {
        anyhow::bail!("the templates expect that MultiKueue is the only external controller");
    };
    let job = Kind::find("batch", "v1", "Job").context("no Job")?;
    write!(
        text,
        "\n# The newest supported Kubernetes release.\nnewestRelease: {}\n\n# The controller in Kueue to which workloads are delegated.\nmultiKueue: {}\n\n\
         # Labels that known controllers require, and the one that Kueue can set itself.\nrequiredLabels: {}\nqueueName: {}\n",
        to_string(newest.as_str())?,
        to_string(multikueue)?,
        to_string(&REQUIRED_LABELS.iter().copied().collect::<BTreeMap<_, _>>())?,
        to_string(QUEUE_NAME)?,
    )?;
    write!(
        text,
        "\n# The kind whose pods the pods policy checks, and whose status several projects write.\njob: {}\n",
        to_string(&KindRow::from(job))?
    )?;
    let queues = QueueKind::ALL.iter().map(|kind| {
        let kind = kind.as_str();
        // The names of Kueue's resources are regular.
        json!({"kind": kind, "plural": format!("{}s", kind.to_lowercase())})
    });
    write!(
        text,
        "\n# The kinds that the queues policy looks up.\nqueues: {}\n",
        to_string(
            &json!({"apiVersion": QueueKind::API_VERSION, "kinds": queues.collect::<Vec<_>>()})
        )?
    )?;
    let mut list = |comment: &str, key: &str, rows: Vec<String>| {
        write!(text, "\n# {comment}\n{key}:\n")?;
        rows.iter().try_for_each(|row| writeln!(text, "  - {row}"))
    };
    list(
        "Releases, with the newest patch release that is known to have the rules. The last one of a minor release also applies to newer ones.",
        "releases",
        releases.collect::<Result<_, _>>()?,
    )?;
    let rows = kinds().iter().map(|kind| to_string(&KindRow::from(*kind)));
    list(
        "Kinds. The path is the one of managedBy, `templates` are further paths that matter, `pruned` are versions whose schema lacks the field, and kinds with `sharesCrd` have the CustomResourceDefinition name of another kind.",
        "kinds",
        rows.collect::<Result<_, _>>()?,
    )?;
    let rows = rules().iter().map(|rule| to_string(&RuleRow::from(*rule)));
    list(
        "Rules. Those of the category `api` only warn for kinds in the setting custom_kinds; `policyBypass` denies if the settings configure delegation.",
        "rules",
        rows.collect::<Result<_, _>>()?,
    )?;
    let variables = rules().iter().flat_map(|rule| {
        let variables = rule.cel_variables().iter();
        variables.map(move |variable| (*rule, variable))
    });
    let rows = variables.map(|(rule, variable)| {
        // kube-apiserver responds with code 403 for the reason Forbidden, and with 422 for Invalid, as the module does.
        let reason = match rejection(rule)?.code {
            Some(403) => "Forbidden",
            _ => "Invalid",
        };
        Ok(to_string(&CelRow {
            variable,
            rule: rule.id(),
            reason,
        })?)
    });
    list(
        "Variables of the ValidatingAdmissionPolicies that implement rules, in the order in which they are reported.",
        "cel",
        rows.collect::<Result<_>>()?,
    )?;
    Ok(text)
}
