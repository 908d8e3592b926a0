//! Rules, kinds and releases as data. The generator writes them to the package as JSON, so that it returns them without calling the
//! module.

use managed_by::{
    FieldLocation, Release, ReleaseSet, RuleSource, ValueConstraint, with_absolute_links,
};
use serde::Serialize;
use serde_json::Value;
use ts_rs::TS;

/// A rule.
#[derive(Debug, Clone, Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    /// Stable id in settings and messages: `managed-by/immutable`.
    #[ts(type = "RuleId")]
    pub id: &'static str,
    /// Title.
    pub title: &'static str,
    /// Default level.
    #[ts(type = "\"deny\" | \"warn\" | \"off\"")]
    pub enforcement: &'static str,
    /// True if kube-apiserver has the rule too. Verdict and error text are then kube-apiserver's.
    pub upstream: bool,
    /// True if the admin configures the rule for a cluster. Such rules ignore objects that are being deleted, except
    /// `managed-by/pruned-version`.
    pub cluster_specific: bool,
    /// Kubernetes releases that have the rule.
    #[ts(as = "Vec<String>")]
    pub releases: ReleaseSet,
}

/// A rule with its documentation. The texts are Markdown: paragraphs, lists, tables, `code`, **bold** and links.
#[derive(Debug, Clone, Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RulePage {
    /// The rule.
    #[serde(flatten)]
    pub rule: Rule,
    /// `releases` as text: `1.31 to 1.37`.
    pub release_range: String,
    /// Description of the check and its reason.
    pub text: String,
    /// Advice for fixing a finding.
    pub fix: &'static str,
    /// Source of the rule: a function of kube-apiserver, an API comment, an observation.
    pub source: String,
    /// Option of kube-apiserver's validation that turns the rule on, if the rule has one. For the status of a Job, the feature gate
    /// `JobManagedBy` sets it, which is on by default from 1.32 on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub option: Option<&'static str>,
    /// Intentional deviation from kube-apiserver.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub deviation: Option<&'static str>,
    /// Example of an accepted request.
    pub accepted: Example,
    /// Example of a rejected request.
    pub rejected: Example,
}

/// A request with its settings.
#[derive(Debug, Clone, Serialize, TS)]
pub struct Example {
    /// Settings of the policy.
    #[ts(type = "Settings")]
    pub settings: Value,
    /// Admission request with only the members that the rule reads.
    #[ts(type = "AdmissionRequest")]
    pub request: Value,
}

/// A kind with a `managedBy` field. A kind whose versions differ has several entries.
#[derive(Debug, Clone, Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Kind {
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
    #[ts(optional)]
    pub reserved_value: Option<&'static str>,
    /// Kind that is delegated: this kind, or the kind in its template.
    pub workload: &'static str,
    /// True if the field is in a template and mutable.
    pub template: bool,
    /// Values that the API accepts: domain-prefixed paths, a list of values, or any string.
    #[ts(type = "\"path\" | \"any\" | string[]")]
    pub format: Value,
    /// True if the API defaults the field to the reserved value.
    pub defaulted: bool,
    /// True if rules apply to the status.
    pub status: bool,
    /// Rules for the kind's field, templates and status, without the rules for all kinds and those only for Jobs.
    pub rules: Vec<&'static str>,
}

/// Returns all rules, in the order in which findings are reported.
///
/// # Errors
/// If an example is not JSON.
pub fn rules() -> serde_json::Result<Vec<RulePage>> {
    managed_by::rules().iter().map(|rule| page(rule)).collect()
}

fn page(rule: &managed_by::Rule) -> serde_json::Result<RulePage> {
    let docs = rule.documentation();
    let releases = Release::ALL.iter().copied();
    let rule_releases: ReleaseSet = releases
        .filter(|release| rule.exists_in(*release))
        .collect();
    let (source, option, deviation) = match *rule.source() {
        RuleSource::Upstream {
            function,
            option,
            deviation,
            ..
        } => {
            let suffix = option.map(|option| format!(" with `{option}`"));
            let suffix = suffix.unwrap_or_default();
            let source = format!("kube-apiserver: `{function}`{suffix}");
            (source, option, deviation)
        }
        RuleSource::Policy { source } => (source.to_owned(), None, None),
    };
    Ok(RulePage {
        rule: Rule {
            id: rule.id(),
            title: docs.title,
            enforcement: rule.default_enforcement().as_str(),
            upstream: rule.is_upstream(),
            cluster_specific: rule.is_cluster_specific(),
            releases: rule_releases,
        },
        release_range: rule_releases.to_string(),
        text: with_absolute_links(docs.text),
        fix: docs.fix,
        source,
        option,
        deviation,
        accepted: example(docs.accepted)?,
        rejected: example(docs.rejected)?,
    })
}

fn example(example: managed_by::Example) -> serde_json::Result<Example> {
    Ok(Example {
        settings: serde_json::from_str(example.settings)?,
        request: serde_json::from_str(example.request)?,
    })
}

/// Returns all kinds, in the order of the documentation.
pub fn kinds() -> Vec<Kind> {
    managed_by::kinds().iter().map(|kind| row(kind)).collect()
}

fn row(kind: &managed_by::Kind<'static>) -> Kind {
    Kind {
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
        status: kind.has_status_rules(),
        rules: kind.specific_rule_ids(),
    }
}

/// Returns the supported Kubernetes releases, oldest first, each with the patch releases that it stands for.
pub fn releases() -> Vec<(&'static str, String)> {
    Release::ALL
        .iter()
        .map(|release| (release.as_str(), ReleaseSet::from(*release).to_string()))
        .collect()
}

/// Returns the releases in which the feature gate `JobManagedBy` is on by default, oldest first.
pub fn releases_with_managed_by_on_by_default() -> ReleaseSet {
    ReleaseSet::with_managed_by_on_by_default()
}
