//! What the package knows without asking the module: rules, kinds, releases. The generator writes it as JSON.

use managed_by::{Anchor, Form, Holder, Release};
use serde::Serialize;
use serde_json::Value;
use ts_rs::TS;

/// One rule, as a list shows it.
#[derive(Debug, Clone, Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    /// Stable name, as settings and messages write it: `managed-by/immutable`.
    #[ts(type = "RuleId")]
    pub id: &'static str,
    /// One line on what it checks.
    pub title: &'static str,
    /// What happens when it fires, unless the settings say otherwise.
    #[ts(type = "\"deny\" | \"warn\" | \"off\"")]
    pub enforcement: &'static str,
    /// Whether kube-apiserver has the rule too. The policy then gives its verdict and its error text.
    pub upstream: bool,
    /// Whether it is the admin's to give: silent until its setting is there, and on objects that are being deleted.
    pub site_specific: bool,
    /// The releases of Kubernetes in which it holds.
    pub releases: Vec<&'static str>,
}

/// One rule with what people read about it. The texts are Markdown with `code` as their only markup.
#[derive(Debug, Clone, Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RulePage {
    /// What the list shows.
    #[serde(flatten)]
    pub rule: Rule,
    /// What it checks, when it runs, and why.
    pub text: &'static str,
    /// What to do about what it finds.
    pub fix: &'static str,
    /// Where it comes from: a function of kube-apiserver, an API comment, an observation.
    pub source: String,
    /// What it does otherwise than kube-apiserver, on purpose.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub deviation: Option<&'static str>,
    /// A request that the rule accepts.
    pub accepted: Example,
    /// A request that it fires on.
    pub rejected: Example,
}

/// A request with its settings.
#[derive(Debug, Clone, Serialize, TS)]
pub struct Example {
    /// Settings.
    #[ts(type = "Settings")]
    pub settings: Value,
    /// Admission request, cut to what the rule reads.
    #[ts(type = "AdmissionRequest")]
    pub request: Value,
}

/// One kind that carries the field, in those of its versions that hold it in the same way.
#[derive(Debug, Clone, Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Kind {
    /// API group.
    pub group: &'static str,
    /// Served versions.
    pub versions: Vec<&'static str>,
    /// Those of them whose schema has no such field, so that the API server drops it.
    pub pruned_in: Vec<&'static str>,
    /// Name: `Job`.
    pub kind: &'static str,
    /// Name of its resource: `jobs`.
    pub plural: &'static str,
    /// Path of the field: `spec.managedBy`.
    pub managed_by_path: &'static str,
    /// The name of the built-in controller, if it has one: with it, or without the field, that controller runs the workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub reserved_value: Option<&'static str>,
    /// The kind that is delegated: this one, or the one that is made of its template.
    pub workload: &'static str,
    /// Whether the field stands in a template, and may change.
    pub template: bool,
    /// Which values its API accepts: domain-prefixed paths, one of a list, or any string.
    #[ts(type = "\"path\" | \"open\" | string[]")]
    pub form: Value,
    /// Whether its API writes the reserved value where there is none.
    pub defaulted: bool,
    /// Whether its status is judged.
    pub status: bool,
    /// The rules for its field, its templates and its status, beside those for all kinds and `job-status/...`.
    pub rules: Vec<&'static str>,
}

/// All rules, in the order in which findings are reported.
///
/// # Errors
/// If an example is no JSON.
pub fn rules() -> serde_json::Result<Vec<RulePage>> {
    managed_by::rules().iter().map(|rule| page(rule)).collect()
}

fn page(rule: &managed_by::Rule) -> serde_json::Result<RulePage> {
    let docs = rule.documentation();
    let releases = Release::ALL.iter().copied();
    let holds = releases.filter(|release| rule.holds_in(*release));
    let (source, deviation) = match *rule.anchor() {
        Anchor::Upstream {
            function,
            option,
            deviation,
            ..
        } => {
            let option = option.map(|option| format!(" with `{option}`"));
            let option = option.unwrap_or_default();
            (format!("kube-apiserver: `{function}`{option}"), deviation)
        }
        Anchor::Ours { source } => (source.to_owned(), None),
    };
    Ok(RulePage {
        rule: Rule {
            id: rule.id(),
            title: docs.title,
            enforcement: rule.default_enforcement().as_str(),
            upstream: rule.is_upstream(),
            site_specific: rule.is_site_specific(),
            releases: holds.map(Release::as_str).collect(),
        },
        text: docs.text,
        fix: docs.fix,
        source,
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

/// All kinds, in the order of the documentation.
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
        workload: kind.workload(),
        template: kind.holder() != Holder::Workload,
        form: match kind.form() {
            Form::Path => "path".into(),
            Form::Open => "open".into(),
            Form::OneOf(values) => values.into(),
        },
        defaulted: kind.is_defaulted(),
        status: kind.has_status_rules(),
        rules: kind.rules(),
    }
}

/// The releases of Kubernetes whose rules the library knows, oldest first.
pub fn releases() -> Vec<&'static str> {
    Release::ALL
        .iter()
        .map(|release| release.as_str())
        .collect()
}
