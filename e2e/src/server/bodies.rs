//! Bodies that no API server sends.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::{Case, DELEGATED, expected, named, same};
use crate::policy_server::{PolicyServer, review};
use crate::report;

const JSON: &str = "application/json";

/// PolicyServer's own limit.
const LIMIT: usize = 2 * 1024 * 1024;

pub(super) fn run(server: &PolicyServer, cases: &[Case]) -> Option<()> {
    let request = named(cases, DELEGATED).map(|case| case.request.clone());
    let request = report::need("a request to begin with", request)?;
    let valid = review(&request).to_string();
    // PolicyServer's JSON reader has a limit of its own, which it must not fall over.
    let lists = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let deep = valid.replace("\"kueue.x-k8s.io/multikueue\"", &lists);
    let long = " ".repeat(LIMIT + 1);
    let alone = r#"{"uid":"1"}"#;
    let empty = r#"{"kind":"AdmissionReview"}"#;
    for (what, policy, content_type, body, code) in [
        ("no JSON", "default", JSON, "{", 400),
        ("nothing", "default", JSON, "", 400),
        ("bytes", "default", JSON, "\u{0}\u{1}", 400),
        ("lists as deep as 10,000", "default", JSON, &deep, 400),
        ("more than 2 MiB", "default", JSON, &long, 413),
        ("a request without its review", "default", JSON, alone, 422),
        ("a review without a request", "default", JSON, empty, 422),
        ("another content type", "default", "text/plain", "{}", 415),
        ("an unknown policy", "nobody", JSON, &valid, 404),
    ] {
        let answer = server.post(&format!("/validate/{policy}"), content_type, body.into());
        let refused = answer.and_then(|answer| {
            ensure!(answer.code == code, "{} {}", answer.code, answer.body);
            Ok(())
        });
        report::check(&format!("a body that is wrong: {what}"), refused);
    }
    report::check(
        "fields of a wrong type: denied with 400, and nothing of them repeated",
        malformed(server, &request),
    );
    let mut large = request.clone();
    large["object"]["metadata"]["annotations"] = json!({"a": ""});
    let room = LIMIT - review(&large).to_string().len();
    large["object"]["metadata"]["annotations"] = json!({"a": "x".repeat(room)});
    report::check(
        "2 MiB: judged like any other",
        judged(server, &large).map(drop),
    );
    report::check(
        "and it goes on answering",
        judged(server, &request).map(drop),
    );
    Some(())
}

fn malformed(server: &PolicyServer, request: &Value) -> Result<()> {
    let mut request = request.clone();
    for value in [
        json!(5),
        json!({"secret": "x"}),
        json!(["secret"]),
        json!(true),
    ] {
        request["object"]["spec"]["managedBy"] = value;
        let answer = judged(server, &request)?;
        ensure!(answer["status"]["code"] == 400, "{answer}");
        ensure!(!answer.to_string().contains("secret"), "{answer}");
    }
    Ok(())
}

/// The answer, which must be the library's.
fn judged(server: &PolicyServer, request: &Value) -> Result<Value> {
    let answer = server.review("/validate/default", request)?;
    same("a Job", &answer, &expected(request, &json!({})))?;
    Ok(answer)
}
