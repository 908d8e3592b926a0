//! The library on this machine, asked for a verdict, and one form for the answers of all front ends.

use std::collections::BTreeMap;

use managed_by::{AdmissionRequest, AdmissionReview, Settings, Verdict, review_in};
use managed_by::{Cluster, FoundJob, Offline, Unanswered};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// An answer, whichever front end gave it. As JSON it is in the words of the module, and what is empty is left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// Whether the request may go on.
    #[serde(rename = "accepted")]
    pub allowed: bool,
    /// HTTP status of a denial.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<u16>,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Shown to the client.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// For the audit log.
    #[serde(rename = "audit_annotations")]
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

impl Answer {
    /// The rules that denied, each with its path: `managed-by/format spec.managedBy`.
    pub fn denied(&self) -> Vec<&str> {
        self.fired("denied")
    }

    /// The rules that warned.
    pub fn warned(&self) -> Vec<&str> {
        self.fired("warned")
    }

    /// The rules that would have denied.
    pub fn exempted(&self) -> Vec<&str> {
        self.fired("exempted")
    }

    /// The answer as kwctl and PolicyServer give it to a request of that UID: the `response` of an `AdmissionReview`, with `null` where
    /// there are no warnings or annotations.
    pub fn response(&self, uid: &Value) -> Value {
        let annotations = (!self.annotations.is_empty()).then_some(&self.annotations);
        let warnings = (!self.warnings.is_empty()).then_some(&self.warnings);
        let status = json!({"message": self.message, "code": self.code});
        let members = [
            ("uid", uid.clone()),
            ("allowed", self.allowed.into()),
            ("auditAnnotations", json!(annotations)),
            ("warnings", json!(warnings)),
        ];
        let status = (!self.allowed).then_some(("status", status));
        members.into_iter().chain(status).collect()
    }

    /// As listed in an annotation.
    fn fired(&self, key: &str) -> Vec<&str> {
        let list = self.annotations.get(key);
        list.map(|l| l.split(", ").collect()).unwrap_or_default()
    }

    /// Why not, or nothing.
    pub fn message(&self) -> &str {
        self.message.as_deref().unwrap_or_default()
    }
}

impl From<Verdict<'_>> for Answer {
    fn from(verdict: Verdict<'_>) -> Self {
        let annotations = verdict.audit_annotations.into_iter();
        Self {
            allowed: verdict.decision.is_allowed(),
            code: verdict.decision.code(),
            message: verdict.decision.message().map(str::to_owned),
            warnings: verdict.warnings,
            annotations: annotations.map(|(k, v)| (k.to_owned(), v)).collect(),
        }
    }
}

/// The library's answer to a request, as text, in a cluster.
pub fn judge_in(cluster: &impl Cluster, request: &str, settings: &str) -> Answer {
    let document = format!(r#"{{"request":{request},"settings":{settings}}}"#);
    let request = AdmissionRequest::from_json(request.as_bytes()).map_err(|e| e.within("request"));
    let review = AdmissionReview::from_json(document.as_bytes());
    match (request, review.map(|review| review.settings())) {
        (Err(reason), _) | (_, Err(reason)) => Verdict::malformed(&reason).into(),
        (_, Ok(Err(problems))) => Verdict::misconfigured(&problems).into(),
        (Ok(request), Ok(Ok(settings))) => review_in(&request, &settings, cluster).into(),
    }
}

/// The library's answer to what the module gets: a request and its settings, as bytes.
pub fn review_of(payload: &[u8]) -> Answer {
    let review = match AdmissionReview::from_json(payload) {
        Ok(review) => review,
        Err(reason) => return Verdict::malformed(&reason).into(),
    };
    match review.settings() {
        Ok(settings) => review_in(&review.request, &settings, &Offline).into(),
        Err(problems) => Verdict::misconfigured(&problems).into(),
    }
}

/// The library's answer to a request in the cluster of the documentation.
pub fn judge(request: &Value, settings: &Value) -> Answer {
    judge_in(&Documented, &request.to_string(), &settings.to_string())
}

/// What the library says about settings that it refuses.
pub fn refusal(settings: &Value) -> Option<String> {
    let settings = settings.to_string();
    let problems = Settings::from_json(settings.as_bytes()).err();
    problems.map(|problems| problems.to_string())
}

/// The Job of the examples in the documentation, which its cluster has.
pub fn documented_job() -> Value {
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "pi", "namespace": "team-a", "uid": "0e6f1f6d-5d5c-4f0e-9a3b-2c3d4e5f6a7b"},
        "spec": {"managedBy": "kueue.x-k8s.io/multikueue"},
    })
}

/// The cluster of the documentation.
pub struct Documented;

impl Cluster for Documented {
    fn job(&self, namespace: &str, name: &str) -> Result<FoundJob, Unanswered> {
        Ok(match (namespace, name) {
            ("team-a", "pi") => FoundJob::Found(documented_job().to_string().into_bytes()),
            _ => FoundJob::NotFound,
        })
    }
}
