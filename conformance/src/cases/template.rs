//! The template of a suspended Job: which of its scheduling directives change, beside the status that says whether they may.

use serde_json::{Map, Value, json};

use super::{Field, job, update};
use crate::vector::Case;

/// What the controller may have written.
pub(crate) const STATUSES: [(&str, &str); 10] = [
    ("nothing written", "{}"),
    (
        "Suspended",
        r#"{"conditions":[{"type":"Suspended","status":"True"}]}"#,
    ),
    (
        "not Suspended",
        r#"{"conditions":[{"type":"Suspended","status":"False"}]}"#,
    ),
    ("started", r#"{"startTime":"2026-01-01T00:00:00Z"}"#),
    (
        "started and Suspended",
        r#"{"startTime":"2026-01-01T00:00:00Z","conditions":[{"type":"Suspended","status":"True"}]}"#,
    ),
    (
        "started and Suspended by one of two entries",
        r#"{"startTime":"2026-01-01T00:00:00Z","conditions":[{"type":"Suspended","status":"False"},{"type":"Suspended","status":"True"}]}"#,
    ),
    (
        "started and Suspended unknown",
        r#"{"startTime":"2026-01-01T00:00:00Z","conditions":[{"type":"Suspended","status":"Unknown"}]}"#,
    ),
    (
        "started, Suspended and active",
        r#"{"active":1,"startTime":"2026-01-01T00:00:00Z","conditions":[{"type":"Suspended","status":"True"}]}"#,
    ),
    ("active", r#"{"active":2}"#),
    (
        "Suspended and active",
        r#"{"active":1,"ready":1,"conditions":[{"type":"Suspended","status":"True"}]}"#,
    ),
];

/// Parts of a template's `spec` that send pods somewhere.
pub(crate) const POOL: &str = r#"{"nodeSelector":{"pool":"a"}}"#;
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
pub(crate) const FRAGMENTS: [&str; 22] = [
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

/// What changes, from one fragment to another.
const CHANGES: [(&str, &str, &str); 22] = [
    ("node selector added", "{}", POOL),
    (
        "node selector changed",
        POOL,
        r#"{"nodeSelector":{"pool":"b"}}"#,
    ),
    ("node selector removed", POOL, "{}"),
    (
        "empty value added",
        POOL,
        r#"{"nodeSelector":{"pool":"a","zone":""}}"#,
    ),
    (
        "empty lists written out",
        "{}",
        r#"{"nodeSelector":{},"tolerations":[],"schedulingGates":[],"affinity":null}"#,
    ),
    ("toleration added", "{}", TOLERATION),
    (
        "tolerations in another order",
        r#"{"tolerations":[{"key":"a","operator":"Exists"},{"key":"b","operator":"Exists"}]}"#,
        r#"{"tolerations":[{"key":"b","operator":"Exists"},{"key":"a","operator":"Exists"}]}"#,
    ),
    (
        "zero seconds of toleration",
        r#"{"tolerations":[{"key":"a","operator":"Exists","effect":"NoExecute"}]}"#,
        r#"{"tolerations":[{"key":"a","operator":"Exists","effect":"NoExecute","tolerationSeconds":0}]}"#,
    ),
    (
        "gate added",
        "{}",
        r#"{"schedulingGates":[{"name":"acme.io/wait"}]}"#,
    ),
    ("node affinity added", "{}", NODE),
    ("node affinity changed", NODE, OTHER_NODE),
    ("node affinity removed", NODE, "{}"),
    (
        "node affinity removed, affinity left",
        NODE,
        r#"{"affinity":{}}"#,
    ),
    ("empty affinity added", "{}", r#"{"affinity":{}}"#),
    ("empty affinity removed", r#"{"affinity":{}}"#, "{}"),
    ("node affinity added beside pod affinity", POD, NODE_AND_POD),
    ("pod affinity added", "{}", POD),
    ("pod affinity removed", POD, "{}"),
    ("pod anti-affinity added", NODE, APART),
    ("open selector added", NO_SELECTOR, OPEN_SELECTOR),
    ("empty lists in pod affinity", POD, EMPTY_LISTS),
    ("keys to match added", POD, KEYS),
];

/// A Job that is suspended, or not, with a template and a status.
pub(crate) fn with_template(suspend: Value, pod: &str, metadata: &Value, status: &str) -> Value {
    let parse = |text: &str| serde_json::from_str::<Map<String, Value>>(text).unwrap_or_default();
    let mut job = job(&Field::Absent);
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

pub(super) fn cases() -> Vec<Case> {
    let nothing = json!({});
    let mut cases = Vec::new();
    for (state, status) in STATUSES {
        for (change, from, to) in CHANGES {
            let old = with_template(true.into(), from, &nothing, status);
            let new = with_template(false.into(), to, &nothing, status);
            cases.push(update(format!("template: {change}, {state}"), old, new));
        }
        for (change, metadata) in [
            (
                "label added",
                json!({"labels": {"app": "pi", "queue": "a"}}),
            ),
            (
                "annotation added",
                json!({"annotations": {"acme.io/a": ""}}),
            ),
            ("empty annotations written out", json!({"annotations": {}})),
        ] {
            let old = with_template(true.into(), "{}", &nothing, status);
            let new = with_template(true.into(), "{}", &metadata, status);
            cases.push(update(format!("template: {change}, {state}"), old, new));
        }
        let old = with_template(true.into(), POOL, &nothing, status);
        let new = with_template(false.into(), POOL, &nothing, "{}");
        cases.push(update(
            format!("template: resumed as it is, {state}"),
            old,
            new,
        ));
    }
    cases.extend(statuses_that_do_not_count());
    cases.extend(unjudged());
    cases
}

/// The status in an update of the main resource is put back before anything is judged.
fn statuses_that_do_not_count() -> Vec<Case> {
    let nothing = json!({});
    let started = r#"{"active":1,"startTime":"2026-01-01T00:00:00Z"}"#;
    [
        ("started by the update", "{}", started),
        ("not started by the update", started, "{}"),
    ]
    .into_iter()
    .map(|(name, before, after)| {
        let old = with_template(true.into(), "{}", &nothing, before);
        let new = with_template(true.into(), POOL, &nothing, after);
        update(format!("template: node selector added, {name}"), old, new)
    })
    .collect()
}

/// What kube-apiserver denies and this project leaves to it.
fn unjudged() -> Vec<Case> {
    let nothing = json!({});
    let mut cases = Vec::new();
    for suspend in [json!(false), Value::Null] {
        let old = with_template(suspend.clone(), "{}", &nothing, "{}");
        let new = with_template(true.into(), POOL, &nothing, "{}");
        let name = format!("unjudged: node selector added, suspend {suspend}");
        cases.push(update(name, old, new));
    }
    let old = with_template(true.into(), "{}", &nothing, "{}");
    let started = r#"{"startTime":"2026-01-01T00:00:00Z"}"#;
    for (name, pod, status) in [
        (
            "image changed",
            r#"{"containers":[{"name":"pi","image":"python"}]}"#,
            "{}",
        ),
        (
            "resources changed",
            r#"{"containers":[{"name":"pi","image":"perl","resources":{"limits":{"cpu":"1"}}}]}"#,
            started,
        ),
    ] {
        let mut old = old.clone();
        let status: Value = serde_json::from_str(status).unwrap_or_default();
        if let Some(old) = old.as_object_mut() {
            old.insert("status".to_owned(), status);
        }
        let new = with_template(true.into(), pod, &nothing, "{}");
        cases.push(update(format!("unjudged: {name}"), old, new));
    }
    cases
}
