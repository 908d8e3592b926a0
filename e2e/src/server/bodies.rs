//! Bodies that no API server sends.

use anyhow::{Result, ensure};
use managed_by::Offline;
use serde_json::{Value, json};

use super::{expected, same};
use crate::policy_server::{PolicyServer, review};
use crate::report::Report;

const JSON: &str = "application/json";

/// PolicyServer's own limit.
const LIMIT: usize = 2 * 1024 * 1024;

pub(super) fn run(report: &mut Report, server: &PolicyServer) {
    for (what, path, content_type, body, code) in [
        ("no JSON", "default", JSON, "{", 400),
        ("nothing", "default", JSON, "", 400),
        ("bytes", "default", JSON, "\u{0}\u{1}", 400),
        (
            "a request without its review",
            "default",
            JSON,
            r#"{"uid":"1"}"#,
            422,
        ),
        (
            "a review without a request",
            "default",
            JSON,
            r#"{"kind":"AdmissionReview"}"#,
            422,
        ),
        ("another content type", "default", "text/plain", "{}", 415),
        ("an unknown policy", "nobody", JSON, r#"{"request":{}}"#, 0),
    ] {
        let text = format!("a body that is wrong: {what}");
        let path = format!("/validate/{path}");
        report.check(&text, refused(server, &path, content_type, body, code));
    }
    report.check("lists as deep as 10,000", deep(server));
    report.check(
        "fields of a wrong type: denied with 400, and nothing of them repeated",
        malformed(server),
    );
    report.check("2 MiB: judged like any other", large(server));
    report.check("above 2 MiB: 413", {
        let body = " ".repeat(LIMIT + 1);
        refused(server, "/validate/default", JSON, &body, 413)
    });
    report.check("and it goes on answering", {
        let request = created(&json!("acme.io/runner"), 0);
        judged(server, &request)
    });
}

fn refused(
    server: &PolicyServer,
    path: &str,
    content_type: &str,
    body: &str,
    code: u16,
) -> Result<()> {
    let mut body = body.as_bytes().to_vec();
    if code == 0 {
        body = serde_json::to_vec(&review(&created(&json!("a.io/x"), 0)))?;
    }
    let code = if code == 0 { 404 } else { code };
    let answer = server.post(path, content_type, body)?;
    ensure!(answer.code == code, "{} {}", answer.code, answer.body);
    Ok(())
}

/// PolicyServer's JSON reader has a limit of its own, which it must not fall over.
fn deep(server: &PolicyServer) -> Result<()> {
    let lists = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let marked = review(&created(&json!("a.io/x"), 0)).to_string();
    let body = marked.replace("\"a.io/x\"", &lists);
    let answer = server.post("/validate/default", JSON, body.into_bytes())?;
    ensure!(answer.code == 400, "{} {}", answer.code, answer.body);
    Ok(())
}

fn malformed(server: &PolicyServer) -> Result<()> {
    for value in [
        json!(5),
        json!({"secret": "x"}),
        json!(["secret"]),
        json!(true),
    ] {
        let request = created(&value, 0);
        let answer = server.review("/validate/default", &request)?;
        let said = &answer["status"];
        ensure!(
            answer["allowed"] == false && said["code"] == 400,
            "{answer}"
        );
        ensure!(!answer.to_string().contains("secret"), "{answer}");
        same(
            "malformed",
            &answer,
            &expected(&request, &json!({}), &Offline),
        )?;
    }
    Ok(())
}

fn large(server: &PolicyServer) -> Result<()> {
    let empty = review(&created(&json!("acme.io/runner"), 0))
        .to_string()
        .len();
    let request = created(&json!("acme.io/runner"), LIMIT - empty);
    ensure!(review(&request).to_string().len() == LIMIT);
    judged(server, &request)
}

fn judged(server: &PolicyServer, request: &Value) -> Result<()> {
    let answer = server.review("/validate/default", request)?;
    same("a Job", &answer, &expected(request, &json!({}), &Offline))
}

/// A new Job with that field, and an annotation of that length.
fn created(managed_by: &Value, padding: usize) -> Value {
    let metadata =
        json!({"name": "pi", "namespace": "team-a", "annotations": {"a": "x".repeat(padding)}});
    json!({
        "uid": "00000000-0000-4000-8000-000000000000",
        "kind": {"group": "batch", "version": "v1", "kind": "Job"},
        "resource": {"group": "batch", "version": "v1", "resource": "jobs"},
        "operation": "CREATE",
        "userInfo": {"username": "ana"},
        "name": "pi",
        "namespace": "team-a",
        "object": {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"managedBy": managed_by}},
    })
}
