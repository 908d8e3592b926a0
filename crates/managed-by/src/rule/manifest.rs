//! Rules about the text of a manifest. The API server drops unknown fields and rejects these updates before it calls an admission
//! policy, so only tools run the rules, with the feature `manifests`.

use crate::description::Enforcement;
use crate::rule::job_spec::{IMMUTABLE_FIELD, immutable_field};
use crate::rule::managed_by::{UNKNOWN_FIELD, unknown_field};
use crate::rule::{Check, Context, Findings};

/// Adds the findings about the manifest, if the request has one.
pub(crate) fn run(context: &Context<'_>, findings: &mut Findings<'_>) {
    let Some(texts) = context.request.source.manifests() else {
        return;
    };
    let errors = |check: &Check| {
        if check.rule == IMMUTABLE_FIELD.rule {
            immutable_field::compare(context, texts).errors
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
pub(crate) fn undecided(context: &Context<'_>) -> Vec<String> {
    let enforcement = context.settings.enforcement(IMMUTABLE_FIELD.rule.id);
    let texts = context.request.source.manifests();
    let texts = texts.filter(|_| enforcement != Some(Enforcement::Off));
    texts.map_or_else(Vec::new, |texts| {
        immutable_field::compare(context, texts).undecided
    })
}
