//! Rules about the text of a manifest. The API server drops unknown fields and rejects these updates before it calls an admission
//! policy, so only tools run the rules, with the feature `manifests`.

#[cfg(feature = "manifests")]
mod immutable_field;
#[cfg(feature = "manifests")]
mod unknown_field;

#[cfg(feature = "manifests")]
pub(crate) use immutable_field::is_status_known;

use crate::description::{Enforcement, Rule, Upstream};
use crate::rule::{Check, CheckFn};
#[cfg(feature = "manifests")]
use crate::rule::{Context, Findings};

pub(crate) static IMMUTABLE_FIELD: Check = Check::new(
    Rule::upstream(
        "job-spec/immutable-field",
        include_str!("immutable-field.md"),
        Upstream::in_function("ValidateJobSpecUpdate (pkg/apis/batch/validation)"),
    )
    .for_jobs()
    .for_manifests(),
    CheckFn::Manifest,
);

pub(crate) static UNKNOWN_FIELD: Check = Check::new(
    Rule::policy("managed-by/unknown-field", include_str!("unknown-field.md"))
        .with_default(Enforcement::Warn)
        .for_manifests(),
    CheckFn::Manifest,
);

/// Adds the findings about the manifest, if the request has one.
#[cfg(feature = "manifests")]
pub(crate) fn run(context: &Context<'_>, findings: &mut Findings<'_>) {
    let Some(texts) = context.request.source.manifests() else {
        return;
    };
    let errors = |check: &Check| {
        if check.rule == IMMUTABLE_FIELD.rule {
            immutable_field::compare(context.kind, context.change, texts).errors
        } else {
            unknown_field::find(context, texts)
        }
    };
    for check in [&IMMUTABLE_FIELD, &UNKNOWN_FIELD] {
        let enforcement = context.settings.enforcement(check.rule.id);
        let enforcement = enforcement.unwrap_or(check.rule.default);
        if enforcement == Enforcement::Off {
            continue;
        }
        findings.start_rule(&check.rule, enforcement);
        for error in errors(check) {
            findings.push(error);
        }
    }
}

/// Returns the changed fields that kube-apiserver may reject, because they need its defaults to be compared.
#[cfg(feature = "manifests")]
pub(crate) fn undecided(context: &Context<'_>) -> Vec<&'static str> {
    let enforcement = context.settings.enforcement(IMMUTABLE_FIELD.rule.id);
    let texts = context.request.source.manifests();
    let texts = texts.filter(|_| enforcement != Some(Enforcement::Off));
    texts.map_or_else(Vec::new, |texts| {
        immutable_field::compare(context.kind, context.change, texts).undecided
    })
}
