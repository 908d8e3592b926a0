//! Rules and kinds as JSON: `managed-by rules -o json`, `managed-by kinds -o json`, and the data of the npm package.

use managed_by::{
    FieldLocation, Release, ReleaseSet, RuleSource, ValueConstraint, with_absolute_links,
};
use serde::Serialize;
use serde_json::Value;

/// A rule.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS), ts(rename = "Rule"))]
#[serde(rename_all = "camelCase")]
pub struct RuleEntry {
    /// Stable id in settings and messages: `managed-by/immutable`.
    #[cfg_attr(feature = "package", ts(type = "RuleId"))]
    pub id: &'static str,
    /// Title.
    pub title: &'static str,
    /// Default level.
    #[cfg_attr(feature = "package", ts(type = "\"deny\" | \"warn\" | \"off\""))]
    pub enforcement: &'static str,
    /// True if kube-apiserver has the rule too. Verdict and error text are then kube-apiserver's.
    pub upstream: bool,
    /// True if the admin configures the rule for a cluster. Such rules ignore objects that are being deleted, except
    /// `managed-by/pruned-version`.
    pub cluster_specific: bool,
    /// Kubernetes releases that have the rule.
    #[cfg_attr(feature = "package", ts(as = "Vec<String>"))]
    pub releases: ReleaseSet,
}

/// A rule with its documentation. The texts are Markdown: paragraphs, lists, tables, `code`, **bold** and links.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct RulePage {
    /// The rule.
    #[serde(flatten)]
    pub rule: RuleEntry,
    /// `releases` as text: `1.31 to 1.37`.
    pub release_range: String,
    /// Description of the check and its reason.
    pub text: String,
    /// Advice for fixing a finding.
    pub fix: &'static str,
    /// Source of the rule: a function of kube-apiserver with its releases, an API comment, an observation.
    pub source: String,
    /// Option of kube-apiserver's validation that turns the rule on, if the rule has one. For the status of a Job, the feature gate
    /// `JobManagedBy` sets it, which is on by default from 1.32 on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "package", ts(optional))]
    pub option: Option<&'static str>,
    /// Intentional deviation from kube-apiserver.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "package", ts(optional))]
    pub deviation: Option<&'static str>,
    /// Address of the page.
    pub page: String,
    /// Example of an accepted request.
    pub accepted: RuleExample,
    /// Example of a rejected request.
    pub rejected: RuleExample,
}

/// A request with its settings.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS), ts(rename = "Example"))]
pub struct RuleExample {
    /// Settings of the policy.
    #[cfg_attr(feature = "package", ts(type = "Settings"))]
    pub settings: Value,
    /// Admission request with only the members that the rule reads.
    #[cfg_attr(feature = "package", ts(type = "AdmissionRequest"))]
    pub request: Value,
}

/// A kind with a `managedBy` field. A kind whose versions differ has several entries.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS), ts(rename = "Kind"))]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "columns of a table")]
pub struct KindEntry {
    /// API group.
    pub group: &'static str,
    /// Served versions.
    pub versions: Vec<&'static str>,
    /// Served versions without the field in their schema, so that the API server drops it.
    pub pruned_in: Vec<&'static str>,
    /// Name: `Job`.
    pub kind: &'static str,
    /// Name of its resource: `jobs`.
    pub plural: &'static str,
    /// Path of the field: `spec.managedBy`.
    pub managed_by_path: &'static str,
    /// Reserved value of the built-in controller, which reconciles objects with this value or without the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "package", ts(optional))]
    pub reserved_value: Option<&'static str>,
    /// Kind that is delegated: this kind, or the kind in its template.
    pub workload: &'static str,
    /// True if the field is in a template and mutable.
    pub template: bool,
    /// Values that the API accepts: domain-prefixed paths, a list of values, or any string.
    #[cfg_attr(feature = "package", ts(type = "\"path\" | \"any\" | string[]"))]
    pub format: Value,
    /// True if the API defaults the field to the reserved value.
    pub defaulted: bool,
    /// True if the kind's controller skips objects that are delegated.
    pub honors_managed_by: bool,
    /// True if rules apply to the status.
    pub status: bool,
    /// Rules for the kind's field, templates and status, without the rules for all kinds and those only for Jobs.
    pub rules: Vec<&'static str>,
    /// Validation of `managedBy` and of the status by the kind's own project.
    pub checks: &'static str,
    /// Invariants that neither the kind's own project nor this policy validates.
    pub unchecked: &'static str,
    /// API comments and controller code.
    pub source: &'static str,
}

impl RulePage {
    pub fn new(rule: &managed_by::Rule) -> serde_json::Result<Self> {
        let docs = rule.documentation();
        let releases = releases_with(rule);
        let (option, deviation) = match *rule.source() {
            RuleSource::Upstream {
                option, deviation, ..
            } => (option, deviation),
            RuleSource::Policy { .. } => (None, None),
        };
        Ok(Self {
            rule: RuleEntry {
                id: rule.id(),
                title: docs.title,
                enforcement: rule.default_enforcement().as_str(),
                upstream: rule.is_upstream(),
                cluster_specific: rule.is_cluster_specific(),
                releases,
            },
            release_range: releases.to_string(),
            text: with_absolute_links(docs.text),
            fix: docs.fix,
            source: rule.source().to_string(),
            option,
            deviation,
            page: rule.page_url(),
            accepted: example(docs.accepted)?,
            rejected: example(docs.rejected)?,
        })
    }
}

/// Returns the releases that have a rule.
pub fn releases_with(rule: &managed_by::Rule) -> ReleaseSet {
    let releases = Release::ALL.iter().copied();
    releases
        .filter(|release| rule.exists_in(*release))
        .collect()
}

fn example(example: managed_by::Example) -> serde_json::Result<RuleExample> {
    Ok(RuleExample {
        settings: serde_json::from_str(example.settings)?,
        request: serde_json::from_str(&example.request())?,
    })
}

impl From<&managed_by::Kind<'static>> for KindEntry {
    fn from(kind: &managed_by::Kind<'static>) -> Self {
        let docs = kind.docs();
        Self {
            group: kind.group(),
            versions: kind.versions().to_vec(),
            pruned_in: kind.pruned_in().to_vec(),
            kind: kind.name(),
            plural: kind.plural(),
            managed_by_path: kind.managed_by_path(),
            reserved_value: kind.reserved_value(),
            workload: kind.workload_kind(),
            template: kind.field_location() != FieldLocation::Workload,
            format: match kind.value_constraint() {
                ValueConstraint::Path => "path".into(),
                ValueConstraint::Any => "any".into(),
                ValueConstraint::OneOf(values) => values.into(),
            },
            defaulted: kind.is_defaulted(),
            honors_managed_by: kind.honors_managed_by(),
            status: kind.has_status_rules(),
            rules: kind.specific_rule_ids(),
            checks: docs.checks,
            unchecked: docs.unchecked,
            source: docs.source,
        }
    }
}
