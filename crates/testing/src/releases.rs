//! Evaluates a change of a Job for each release of kube-apiserver, for the generated docs.

use managed_by::{
    AdmissionRequest, DecodeError, Enforcement, ReleaseSet, Rule, Settings, evaluate,
};
use serde_json::{Value, json};

/// A denial of one or more releases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    /// Releases that deny with this text.
    pub releases: ReleaseSet,
    pub rule: &'static Rule,
    pub text: String,
}

/// Returns the denials by kube-apiserver's rules in all releases, oldest release first.
pub fn denials(request: &Value) -> Result<Vec<Denial>, DecodeError> {
    let text = request.to_string();
    let request = AdmissionRequest::from_json(text.as_bytes())?;
    let settings = Settings::default().for_tools();
    let evaluation = evaluate(&request, &settings, Some(ReleaseSet::all()));
    let mut denials: Vec<Denial> = Vec::new();
    for found in &evaluation.findings {
        if found.enforcement == Enforcement::Deny && found.is_upstream {
            let texts = found.texts().into_iter();
            denials.extend(texts.map(|(releases, text)| Denial {
                releases,
                rule: found.rule,
                text: text.to_owned(),
            }));
        }
    }
    denials.sort_by_key(|denial| denial.releases.iter().next());
    Ok(denials)
}

pub fn accepting_releases(request: &Value) -> Result<ReleaseSet, DecodeError> {
    let denials = denials(request)?;
    let denying = denials.iter().map(|denial| denial.releases);
    let denying = denying.fold(ReleaseSet::default(), ReleaseSet::union);
    Ok(ReleaseSet::all().difference(denying))
}

/// Builds the request that updates a Job's status.
pub fn status_update(spec: &Value, old: &Value, new: &Value) -> Value {
    update("status", (spec, old), (spec, new))
}

/// Builds the request that updates a Job's main resource.
pub fn spec_update(old: &Value, new: &Value, status: &Value) -> Value {
    update("", (old, status), (new, status))
}

fn update(sub_resource: &str, old: (&Value, &Value), new: (&Value, &Value)) -> Value {
    let job = |(spec, status): (&Value, &Value)| {
        json!({
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": "pi", "namespace": "default"},
            "spec": spec, "status": status,
        })
    };
    json!({
        "kind": {"group": "batch", "version": "v1", "kind": "Job"},
        "resource": {"group": "batch", "version": "v1", "resource": "jobs"},
        "operation": "UPDATE", "subResource": sub_resource,
        "name": "pi", "namespace": "default",
        "oldObject": job(old), "object": job(new),
    })
}
