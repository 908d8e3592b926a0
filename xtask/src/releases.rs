//! What each release of kube-apiserver says to a change.

use managed_by::{AdmissionRequest, Enforcement, Malformed, ReleaseSet, Rule, Settings, judge};
use serde_json::{Value, json};

/// A denial, and the releases that have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    /// The releases that deny so.
    pub releases: ReleaseSet,
    /// The rule.
    pub rule: &'static Rule,
    /// Their words.
    pub text: String,
}

impl Denial {
    /// One line: the releases, the words, the rule.
    pub fn line(&self) -> String {
        let (releases, text, id) = (self.releases, &self.text, self.rule.id());
        format!("{releases}: {text} [{id}]")
    }
}

/// What kube-apiserver's rules deny of a request, by all releases.
///
/// # Errors
/// If the request makes no sense.
pub fn denials(request: &Value) -> Result<Vec<Denial>, Malformed> {
    let text = request.to_string();
    let request = AdmissionRequest::from_json(text.as_bytes())?;
    let settings = Settings::default().for_tools();
    let judgement = judge(&request, &settings, Some(ReleaseSet::all()));
    let mut denials: Vec<Denial> = Vec::new();
    for found in judgement.findings() {
        if found.enforcement() == Enforcement::Deny && found.finding().is_upstream() {
            let rule = found.rule();
            let texts = found.texts().into_iter();
            denials.extend(texts.map(|said| Denial {
                releases: said.releases,
                rule,
                text: said.text,
            }));
        }
    }
    denials.sort_by_key(|denial| denial.releases.iter().next());
    Ok(denials)
}

/// The releases that accept a request.
///
/// # Errors
/// As [`denials`].
pub fn accepting(request: &Value) -> Result<ReleaseSet, Malformed> {
    let denials = denials(request)?;
    let denying = denials.iter().map(|denial| denial.releases);
    let denying = denying.fold(ReleaseSet::default(), ReleaseSet::union);
    Ok(ReleaseSet::all().without(denying))
}

/// The request that writes a Job's status.
pub fn status_update(spec: &Value, old: &Value, new: &Value) -> Value {
    update("status", (spec, old), (spec, new))
}

/// The request that writes a Job's main resource.
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
