//! Runs the library natively, and defines [`ValidationResponse`], the form in which tests compare the responses of all entry points.

use std::collections::BTreeMap;

use managed_by::{
    AdmissionRequest, AdmissionReview, Cluster, Lookup, LookupError, QueueCluster, QueueKind, Rule,
    Settings, Verdict, queue_rule, resolve, review,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Response of any entry point. Its JSON has the module's member names, and empty members are omitted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ValidationResponse {
    /// True if the request is accepted.
    #[serde(rename = "accepted")]
    pub allowed: bool,
    /// HTTP status of a denial.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Warnings for the client.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Annotations for the audit log.
    #[serde(rename = "audit_annotations")]
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

impl ValidationResponse {
    /// Returns the rules that denied, each with its path: `managed-by/format spec.managedBy`.
    pub fn denied(&self) -> Vec<&str> {
        self.fired("denied")
    }

    /// Returns the rules that warned, each with its path.
    pub fn warned(&self) -> Vec<&str> {
        self.fired("warned")
    }

    /// Returns the rules that would have denied if the user were not exempt, each with its path.
    pub fn exempted(&self) -> Vec<&str> {
        self.fired("exempted")
    }

    /// Returns the response as the `response` of an `AdmissionReview`, as kwctl and PolicyServer write it.
    ///
    /// Missing warnings and annotations are `null`.
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

    /// Splits the rule list of an audit annotation.
    fn fired(&self, key: &str) -> Vec<&str> {
        let list = self.annotations.get(key);
        list.map(|l| l.split(", ").collect()).unwrap_or_default()
    }

    /// Returns the message of a denial, or an empty string.
    pub fn message(&self) -> &str {
        self.message.as_deref().unwrap_or_default()
    }
}

impl From<Verdict> for ValidationResponse {
    fn from(verdict: Verdict) -> Self {
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

/// Reviews the example of a rule in the cluster of the documentation's examples, as a manifest if the rule is about manifests, and as the
/// pods policy does if the rule looks up queues.
pub fn validate_example(rule: &Rule, request: &Value, settings: &Value) -> ValidationResponse {
    if *rule == *queue_rule() {
        return review_lookups_in(
            &DocumentedCluster,
            &request.to_string(),
            &settings.to_string(),
        );
    }
    if !rule.is_for_manifests() {
        return validate(request, settings);
    }
    let (request, settings) = (request.to_string(), settings.to_string());
    review_json(&request, &settings, |request, settings| {
        review(&request.with_manifests(), settings).into()
    })
}

/// Reviews a request in a cluster. Request and settings are JSON texts.
pub fn validate_in(cluster: &impl Cluster, request: &str, settings: &str) -> ValidationResponse {
    review_json(request, settings, |request, settings| {
        resolve(&request, settings, |resolved| resolved.review(cluster)).into()
    })
}

/// Reviews a request with the rules that look up objects in a cluster, like the pods policy.
pub fn review_lookups_in(
    cluster: &impl QueueCluster,
    request: &str,
    settings: &str,
) -> ValidationResponse {
    review_json(request, settings, |request, settings| {
        resolve(&request, settings, |resolved| {
            resolved.review_lookups(cluster)
        })
        .into()
    })
}

fn review_json(
    request: &str,
    settings: &str,
    review: impl FnOnce(AdmissionRequest<'_>, &Settings<'_>) -> ValidationResponse,
) -> ValidationResponse {
    let document = format!(r#"{{"request":{request},"settings":{settings}}}"#);
    let request = AdmissionRequest::from_json(request.as_bytes()).map_err(|e| e.within("request"));
    let document = AdmissionReview::from_json(document.as_bytes());
    match (request, document.map(|review| review.settings())) {
        (Err(reason), _) | (_, Err(reason)) => Verdict::malformed(&reason).into(),
        (_, Ok(Err(problems))) => Verdict::misconfigured(&problems).into(),
        (Ok(request), Ok(Ok(settings))) => review(request, &settings),
    }
}

/// Reviews a payload of the module: a JSON object with `request` and `settings`.
pub fn validate_payload(payload: &[u8]) -> ValidationResponse {
    let review = match AdmissionReview::from_json(payload) {
        Ok(review) => review,
        Err(reason) => return Verdict::malformed(&reason).into(),
    };
    match review.settings() {
        Ok(settings) => managed_by::review(&review.request, &settings).into(),
        Err(problems) => Verdict::misconfigured(&problems).into(),
    }
}

/// Reviews a request in the cluster of the documentation's examples.
pub fn validate(request: &Value, settings: &Value) -> ValidationResponse {
    validate_in(
        &DocumentedCluster,
        &request.to_string(),
        &settings.to_string(),
    )
}

/// Returns the error message for invalid settings, or `None` if they are valid.
pub fn settings_error(settings: &Value) -> Option<String> {
    let settings = settings.to_string();
    let problems = Settings::from_json(settings.as_bytes()).err();
    problems.map(|problems| problems.to_string())
}

/// Returns the only Job in [`DocumentedCluster`].
pub fn documented_job() -> Value {
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "pi", "namespace": "team-a", "uid": "0e6f1f6d-5d5c-4f0e-9a3b-2c3d4e5f6a7b"},
        "spec": {"managedBy": "kueue.x-k8s.io/multikueue"},
    })
}

/// Cluster of the documentation's examples.
pub struct DocumentedCluster;

impl Cluster for DocumentedCluster {
    fn job(&self, namespace: &str, name: &str, _: bool) -> Result<Lookup, LookupError> {
        Ok(match (namespace, name) {
            ("team-a", "pi") => Lookup::Found(documented_job().to_string().into_bytes()),
            _ => Lookup::NotFound,
        })
    }
}

/// `LocalQueue` `team-queue` leads to a worker cluster.
impl QueueCluster for DocumentedCluster {
    fn queue_object(
        &self,
        kind: QueueKind,
        _: Option<&str>,
        name: &str,
    ) -> Result<Lookup, LookupError> {
        let object = match (kind, name) {
            (QueueKind::LocalQueue, "team-queue") => json!({"spec": {"clusterQueue": "queue"}}),
            (QueueKind::ClusterQueue, "queue") => {
                json!({"spec": {"admissionChecksStrategy": {"admissionChecks": [{"name": "multikueue"}]}}})
            }
            (QueueKind::AdmissionCheck, "multikueue") => {
                json!({"spec": {"controllerName": "kueue.x-k8s.io/multikueue"}})
            }
            _ => return Ok(Lookup::NotFound),
        };
        Ok(Lookup::Found(object.to_string().into_bytes()))
    }
}
