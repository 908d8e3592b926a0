//! `managed-by review`: evaluates admission requests like the policy.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::sync::Arc;

use managed_by::{AdmissionRequest, Decision, DecodeError, Evaluation, Finding, Verdict};
use managed_by_console::diagnostic::{Diagnostic, locate};
use managed_by_console::escape::{json_document, json_line};
use managed_by_console::exit::{CliError, ExitStatus};
use managed_by_console::format::set;
use managed_by_console::input::Input;
use managed_by_console::print::print_diagnostics;
use managed_by_offline::replay::ObjectRef;
use managed_by_offline::{Document, Evaluator, Operation, Path};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::objects::for_each_document;
use super::resolve;
use crate::args::{Output, ReviewArgs};
use crate::hint;
use crate::output::{ResultPrinter, print_nothing_evaluated, text};
use crate::report::{Report, ReportKind};
use crate::result::RequestResult;

pub fn run(args: &ReviewArgs, quiet: bool) -> Result<ExitStatus, CliError> {
    let evaluation = &args.evaluation;
    let settings = resolve(evaluation)?;
    let evaluator = settings.evaluator(false)?;
    let mut report = Report {
        kind: ReportKind::Review,
        diagnostics: settings.remarks.clone(),
        ..Report::default()
    };
    let mut responses = Vec::new();
    for file in &args.files {
        let input = Input::new(file);
        for_each_document(&input, &mut report, |text, document, report| {
            if let Some(duplicate) = document.duplicate_fields().first() {
                let duplicate = Diagnostic::new(&input.name, duplicate.clone());
                report.diagnostics.push(duplicate);
            } else {
                let response = review(&evaluator, &input.name, text, document, report);
                responses.push(response);
            }
        });
    }
    report.configure(evaluation);
    let format = evaluation.output;
    if matches!(format, Output::Json | Output::Ndjson) {
        write_responses(&responses, format)?;
        print_diagnostics(report.sorted_diagnostics());
        if report.evaluated_nothing() {
            let text = text::nothing_evaluated(&report);
            print_nothing_evaluated(&text, format, evaluation.allow_empty)?;
        }
    } else {
        ResultPrinter::new(format).finish(&mut report, quiet, evaluation.allow_empty)?;
    }
    Ok(report.exit_status(evaluation))
}

/// Evaluates the request in a document, adds the result to the report, and returns the response.
fn review(
    evaluator: &Evaluator<'_>,
    name: &Arc<str>,
    text: &str,
    document: &Document<'_>,
    report: &mut Report,
) -> Value {
    let (json, prefix) = find_request(document.json());
    let locate = |path: &str| {
        let path = Path::parse(prefix).join(&Path::parse(path));
        locate(text, document, &path)
    };
    let Uid { uid } = serde_json::from_str(json).unwrap_or_default();
    let request = AdmissionRequest::from_json(json.as_bytes());
    let result = request.and_then(|request| {
        let evaluated = evaluator.evaluate(&request)?;
        let user = request.user().username.to_string();
        Ok((evaluated, object_ref(&request), operation(&request), user))
    });
    let response = admission_review(&uid, result.as_ref().map(|(evaluated, ..)| evaluated));
    match result {
        Ok((evaluated, object, operation, user)) => {
            let location = |finding: &Finding| Some(locate(&format!("object.{}", finding.path)));
            report.results.push(RequestResult {
                user: Some(user).filter(|user| !user.is_empty()),
                span: Some(locate("object").0),
                ..RequestResult::new(name, object, operation, evaluated, location)
            });
        }
        Err(malformed) => {
            let location = locate(malformed.path().unwrap_or_default());
            let denial = Verdict::malformed(&malformed).decision;
            let text = || denial.message().unwrap_or_default().to_owned();
            let text = hint::for_manifest(json).unwrap_or_else(text);
            let diagnostic = Diagnostic::at(name, location, text);
            report.diagnostics.push(diagnostic);
        }
    }
    response
}

/// Writes responses as JSON: one without a list, or one per line.
fn write_responses(responses: &[Value], format: Output) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match (format, responses) {
        (Output::Ndjson, responses) => {
            for response in responses {
                writeln!(out, "{}", json_line(response))?;
            }
            Ok(())
        }
        (_, []) => Ok(()),
        (_, [response]) => writeln!(out, "{}", json_document(response)),
        (_, responses) => writeln!(out, "{}", json_document(&responses)),
    }
}

/// Returns the request in a document, and its path. If a key occurs twice, the last one wins, as in the API server.
fn find_request(json: &str) -> (&str, &'static str) {
    let members: BTreeMap<String, &RawValue> = serde_json::from_str(json).unwrap_or_default();
    match members.get("request") {
        Some(request) if !members.contains_key("operation") => (request.get(), "request"),
        _ => (json, ""),
    }
}

fn object_ref(request: &AdmissionRequest<'_>) -> ObjectRef {
    let [group, version, kind] = request.kind().map(str::to_owned);
    ObjectRef {
        group,
        version,
        kind,
        namespace: request.namespace().to_owned(),
        name: request.name().to_owned(),
    }
}

fn operation(request: &AdmissionRequest<'_>) -> Operation {
    match (request.operation(), request.sub_resource()) {
        ("UPDATE", "status") => Operation::UpdateStatus,
        ("UPDATE", _) => Operation::Update,
        ("DELETE", _) => Operation::Delete,
        _ => Operation::Create,
    }
}

/// Member of a request that only the response repeats.
#[derive(Default, Deserialize)]
struct Uid {
    #[serde(default)]
    uid: String,
}

fn admission_review(uid: &str, result: Result<&Evaluation, &DecodeError>) -> Value {
    // As in the policy, the path starts at the payload, whose member `request` is the request.
    let malformed = |e: &DecodeError| Evaluation::malformed(&e.clone().within("request"));
    let report = result.cloned().unwrap_or_else(malformed);
    let mut response = json!({"uid": uid, "allowed": report.verdict.decision.is_allowed()});
    if let Decision::Denied { code, message } = &report.verdict.decision {
        set(
            &mut response,
            "status",
            json!({"code": code, "message": message}),
        );
    }
    if !report.verdict.warnings.is_empty() {
        set(&mut response, "warnings", json!(report.verdict.warnings));
    }
    if !report.verdict.audit_annotations.is_empty() {
        let annotations: BTreeMap<_, _> = report.verdict.audit_annotations.into_iter().collect();
        set(&mut response, "auditAnnotations", json!(annotations));
    }
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
}
