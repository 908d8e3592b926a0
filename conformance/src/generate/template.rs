//! The template of a suspended Job: its scheduling directives, beside the status that says whether they may change.

use serde_json::{Map, Value};

use crate::cases::job;

/// What the controller may have written.
pub(super) const STATUSES: [&str; 10] = [
    "{}",
    r#"{"conditions":[{"type":"Suspended","status":"True"}]}"#,
    r#"{"conditions":[{"type":"Suspended","status":"False"}]}"#,
    r#"{"startTime":"2026-01-01T00:00:00Z"}"#,
    r#"{"startTime":"2026-01-01T00:00:00Z","conditions":[{"type":"Suspended","status":"True"}]}"#,
    r#"{"startTime":"2026-01-01T00:00:00Z","conditions":[{"type":"Suspended","status":"False"},{"type":"Suspended","status":"True"}]}"#,
    r#"{"startTime":"2026-01-01T00:00:00Z","conditions":[{"type":"Suspended","status":"Unknown"}]}"#,
    r#"{"active":1,"startTime":"2026-01-01T00:00:00Z","conditions":[{"type":"Suspended","status":"True"}]}"#,
    r#"{"active":2}"#,
    r#"{"active":1,"ready":1,"conditions":[{"type":"Suspended","status":"True"}]}"#,
];

/// Parts of a template's `spec` that send pods somewhere.
const POOL: &str = r#"{"nodeSelector":{"pool":"a"}}"#;
const TOLERATION: &str =
    r#"{"tolerations":[{"key":"gpu","operator":"Exists","effect":"NoSchedule"}]}"#;
const NODE: &str = r#"{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"pool","operator":"In","values":["a"]}]}]}}}}"#;
const OTHER_NODE: &str = r#"{"affinity":{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1,"preference":{"matchFields":[{"key":"metadata.name","operator":"In","values":["n1"]}]}}]}}}"#;
const POD: &str = r#"{"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"zone","labelSelector":{"matchLabels":{"app":"db"}}}]}}}"#;
const NO_SELECTOR: &str = r#"{"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"zone"}]}}}"#;
const OPEN_SELECTOR: &str = r#"{"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"zone","labelSelector":{}}]}}}"#;
const EMPTY_LISTS: &str = r#"{"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"zone","labelSelector":{"matchLabels":{"app":"db"},"matchExpressions":[]},"namespaces":[]}],"preferredDuringSchedulingIgnoredDuringExecution":[]}}}"#;
const APART: &str = r#"{"affinity":{"podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":5,"podAffinityTerm":{"topologyKey":"host","namespaceSelector":{},"labelSelector":{"matchExpressions":[{"key":"app","operator":"Exists"}]}}}]}}}"#;
const KEYS: &str = r#"{"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"zone","labelSelector":{"matchLabels":{"app":"db"}},"matchLabelKeys":["hash"]}]}}}"#;
const NODE_AND_POD: &str = r#"{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"pool","operator":"Exists"}]}]}},"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"zone","labelSelector":{"matchLabels":{"app":"db"}}}]}}}"#;

/// What pods' specs may hold.
pub(super) const FRAGMENTS: [&str; 22] = [
    "{}",
    "{}",
    POOL,
    r#"{"nodeSelector":{"pool":"b"}}"#,
    r#"{"nodeSelector":{"pool":"","zone":"b"}}"#,
    r#"{"nodeSelector":{},"tolerations":[],"schedulingGates":[],"affinity":null}"#,
    TOLERATION,
    r#"{"tolerations":[{"key":"a","operator":"Exists"},{"key":"b","operator":"Exists","value":""}]}"#,
    r#"{"tolerations":[{"key":"b","operator":"Exists"},{"key":"a","operator":"Exists"}]}"#,
    r#"{"tolerations":[{"key":"a","operator":"Exists","effect":"NoExecute","tolerationSeconds":0}]}"#,
    r#"{"tolerations":[{"key":"a","operator":"Exists","effect":"NoExecute"}]}"#,
    r#"{"schedulingGates":[{"name":"acme.io/wait"}]}"#,
    r#"{"affinity":{}}"#,
    NODE,
    OTHER_NODE,
    POD,
    NO_SELECTOR,
    OPEN_SELECTOR,
    EMPTY_LISTS,
    APART,
    KEYS,
    NODE_AND_POD,
];

/// A Job that is suspended, or not, with a template and a status.
pub(super) fn with_template(suspend: Value, pod: &str, metadata: &Value, status: &str) -> Value {
    let parse = |text: &str| serde_json::from_str::<Map<String, Value>>(text).unwrap_or_default();
    let mut job = job();
    if let Some(spec) = job.pointer_mut("/spec").and_then(Value::as_object_mut) {
        spec.insert("suspend".to_owned(), suspend);
    }
    for (place, members) in [
        ("/spec/template/spec", parse(pod)),
        (
            "/spec/template/metadata",
            metadata.as_object().cloned().unwrap_or_default(),
        ),
    ] {
        if let Some(part) = job.pointer_mut(place).and_then(Value::as_object_mut) {
            part.extend(members);
        }
    }
    if let Some(job) = job.as_object_mut() {
        job.insert("status".to_owned(), parse(status).into());
    }
    job
}
