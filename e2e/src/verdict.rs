//! What the library says natively, in the form in which PolicyServer answers.

use anyhow::{Result, anyhow, ensure};
use managed_by::{AdmissionRequest, Cluster, Offline, Settings, Verdict, review_in};
use serde_json::{Value, json};

/// The `response` that a PolicyServer in mode `protect` must give.
pub(crate) fn expected(request: &Value, settings: &Value) -> Result<Value> {
    expected_in(request, settings, &Offline)
}

/// The same with a cluster to ask.
pub(crate) fn expected_in(
    request: &Value,
    settings: &Value,
    cluster: &dyn Cluster,
) -> Result<Value> {
    let (bytes, settings) = (request.to_string(), settings.to_string());
    let settings = Settings::from_json(settings.as_bytes()).map_err(|e| anyhow!("{e}"))?;
    let uid = &request["uid"];
    Ok(match AdmissionRequest::from_json(bytes.as_bytes()) {
        Ok(request) => response(uid, &review_in(&request, &settings, cluster)),
        Err(reason) => response(uid, &Verdict::malformed(&reason.within("request"))),
    })
}

fn response(uid: &Value, verdict: &Verdict<'_>) -> Value {
    let annotations = verdict.audit_annotations.iter();
    let annotations: Value = annotations.map(|(k, v)| (*k, v.as_str())).collect();
    let mut response = json!({
        "uid": uid,
        "allowed": verdict.allowed,
        // PolicyServer says null where there is none.
        "auditAnnotations": if verdict.audit_annotations.is_empty() { Value::Null } else { annotations },
        "warnings": if verdict.warnings.is_empty() { Value::Null } else { json!(verdict.warnings) },
    });
    if !verdict.allowed {
        response["status"] = json!({"message": verdict.message, "code": verdict.code});
    }
    response
}

/// Both responses, where they differ.
pub(crate) fn same(name: &str, answer: &Value, expected: &Value) -> Result<()> {
    ensure!(
        answer == expected,
        "{name}\nPolicyServer: {answer}\nthe library:  {expected}"
    );
    Ok(())
}
