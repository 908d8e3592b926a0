//! Rules about the text of a manifest, which only tools run, with the feature `manifests`. The API server drops unknown fields and rejects
//! these updates before it calls an admission policy, and the policy module does not decode the other fields.

use crate::description::Enforcement;
use crate::finding::FieldError;
use crate::request::ManifestTexts;
use crate::rule::delegation::manifest::{missing_requests, unsupported_fields};
use crate::rule::delegation::{NO_REQUESTS, UNSUPPORTED_FIELD};
use crate::rule::job_spec::{IMMUTABLE_FIELD, immutable_field};
use crate::rule::managed_by::{UNKNOWN_FIELD, unknown_field};
use crate::rule::{Check, Context, Findings};

type Find = fn(&Context<'_>, ManifestTexts<'_>) -> Vec<FieldError<'static>>;

static CHECKS: [(&Check, Find); 4] = [
    (&IMMUTABLE_FIELD, |context, texts| {
        immutable_field::compare(context, texts).errors
    }),
    (&UNKNOWN_FIELD, unknown_field::find),
    (&NO_REQUESTS, |context, texts| {
        missing_requests(context, texts).into_iter().collect()
    }),
    (&UNSUPPORTED_FIELD, unsupported_fields),
];

/// Adds the findings about the manifest, if the request has one.
pub(crate) fn run(context: &Context<'_>, findings: &mut Findings<'_>) {
    let Some(texts) = context.request.source.manifests() else {
        return;
    };
    for (check, find) in &CHECKS {
        let enforcement = context.settings.enforcement(check.rule.id);
        let enforcement = enforcement.unwrap_or(check.rule.default);
        if enforcement == Enforcement::Off {
            continue;
        }
        findings.start_rule(&check.rule, enforcement);
        for error in find(context, texts) {
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
