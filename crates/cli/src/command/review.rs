//! `managed-by review`: answers admission requests as the policy does.

use std::collections::BTreeMap;
use std::io::{self, Write as _};

use managed_by::{Decision, Verdict};
use managed_by_offline::replay::ObjectName;
use managed_by_offline::{Asks, ObjectReport};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::objects::for_each_document;
use super::settings::Chosen;
use crate::args::{Output, Review};
use crate::diagnostic::{Diagnostic, place};
use crate::error::CliError;
use crate::exit::Exit;
use crate::input::Input;
use crate::output;
use crate::report::{Kind, Outcome, Report};

/// Answers the requests in files.
pub(super) fn run(asked: &Review, quiet: bool) -> Result<Exit, CliError> {
    let judging = &asked.judging;
    let chosen = Chosen::new(judging)?;
    let judge = chosen.policy()?;
    let mut report = Report {
        kind: Kind::Review,
        ..Report::default()
    };
    let mut answers = Vec::new();
    for file in &asked.files {
        let input = Input::new(file);
        let bytes = match input.bytes() {
            Ok(bytes) => bytes,
            Err(unjudged) => {
                report.unjudged.push(unjudged);
                continue;
            }
        };
        for_each_document(&input, &bytes, &mut report, |text, document, report| {
            if let Some(repeated) = document.repeated_keys().first() {
                let repeated = Diagnostic::new(&input.name, repeated.clone());
                report.unjudged.push(repeated);
                return;
            }
            let (json, prefix) = request_in(document.json());
            let answer = judge.ask(json.as_bytes());
            let about = Asked::of(json);
            answers.push(admission_review(&about.uid, &answer));
            let path = |path: &str| {
                managed_by_offline::Path::parse(prefix).join(&managed_by_offline::Path::parse(path))
            };
            match answer {
                Ok(judgement) => {
                    let locate = |found: &managed_by_offline::Found| {
                        let in_request = format!("object.{}", found.path);
                        Some(place(text, document, &path(&in_request)))
                    };
                    let mut outcome =
                        Outcome::new(&input.name, about.object, about.asks, judgement, locate);
                    outcome.user = about.user;
                    outcome.place = Some(place(text, document, &path("object")).0);
                    report.results.push(outcome);
                }
                Err(malformed) => {
                    let of = path(malformed.path().unwrap_or_default());
                    let (place, source) = place(text, document, &of);
                    let denial = Verdict::malformed(&malformed).decision;
                    let what = denial.message().unwrap_or_default().to_owned();
                    let unjudged = Diagnostic::at(&input.name, &place, source, what);
                    report.unjudged.push(unjudged);
                }
            }
        });
    }
    report.judge_by(judging);
    let exit = report.exit(judging);
    match asked.printing.output {
        format @ (Output::Json | Output::Ndjson) => {
            let mut out = io::stdout().lock();
            match (format, &*answers) {
                (Output::Json, []) => {}
                (Output::Json, [answer]) => writeln!(out, "{answer:#}")?,
                (Output::Json, answers) => writeln!(out, "{:#}", json!(answers))?,
                (_, answers) => {
                    for answer in answers {
                        writeln!(out, "{answer}")?;
                    }
                }
            }
            output::print_diagnostics(&report);
        }
        format => output::print(&report, format, quiet, judging.allow_empty)?,
    }
    Ok(exit)
}

/// Returns the request in a document, and its path. As in the API server, the last of several equal keys wins.
fn request_in(json: &str) -> (&str, &'static str) {
    let members: BTreeMap<String, &RawValue> = serde_json::from_str(json).unwrap_or_default();
    match members.get("request") {
        Some(request) if !members.contains_key("operation") => (request.get(), "request"),
        _ => (json, ""),
    }
}

/// Summary of a request, for human-readable output.
struct Asked {
    uid: String,
    object: ObjectName,
    asks: Asks,
    user: Option<String>,
}

impl Asked {
    /// Reads the members. A member of the wrong type is read as missing; the library reports it.
    fn of(json: &str) -> Self {
        let request: Value = serde_json::from_str(json).unwrap_or_default();
        let text = |pointer: &str| {
            let text = request.pointer(pointer).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        let or = |first: String, second: &str| {
            if first.is_empty() {
                text(second)
            } else {
                first
            }
        };
        let user = text("/userInfo/username");
        Self {
            uid: text("/uid"),
            object: ObjectName {
                group: text("/kind/group"),
                version: text("/kind/version"),
                kind: text("/kind/kind"),
                namespace: or(text("/namespace"), "/object/metadata/namespace"),
                name: or(text("/object/metadata/name"), "/name"),
            },
            asks: match &*text("/operation") {
                "UPDATE" if text("/subResource") == "status" => Asks::UpdateStatus,
                "UPDATE" => Asks::Update,
                "DELETE" => Asks::Delete,
                _ => Asks::Create,
            },
            user: Some(user).filter(|user| !user.is_empty()),
        }
    }
}

/// Returns the response as an `AdmissionReview`.
fn admission_review(uid: &str, answer: &Result<ObjectReport, managed_by::Malformed>) -> Value {
    let mut response = Map::new();
    response.insert("uid".to_owned(), uid.into());
    // The path is relative to the document, which contains the request.
    let judgement = answer.clone();
    let judgement = judgement.unwrap_or_else(|e| ObjectReport::malformed(&e.within("request")));
    response.insert("allowed".to_owned(), judgement.decision.is_allowed().into());
    if let Decision::Denied { code, message } = judgement.decision {
        response.insert(
            "status".to_owned(),
            json!({"code": code, "message": message}),
        );
    }
    if !judgement.warnings.is_empty() {
        response.insert("warnings".to_owned(), json!(judgement.warnings));
    }
    let annotations = judgement.audit_annotations.into_iter();
    let annotations: Map<_, _> = annotations
        .map(|(key, value)| (key.to_owned(), value.into()))
        .collect();
    if !annotations.is_empty() {
        response.insert("auditAnnotations".to_owned(), annotations.into());
    }
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
}
