//! SARIF 2.1.0, for code scanning.
//!
//! Source: the OASIS standard "Static Analysis Results Interchange Format (SARIF) Version 2.1.0".

use std::fmt::Write as _;
use std::io::{self, Write};

use managed_by::{Enforcement, UncheckedReason, rules};
use managed_by_console::diagnostic::{DiagnosticKind, Span};
use managed_by_console::escape::json_document;
use managed_by_console::format::{set, single_line};
use serde_json::{Value, json};

use crate::report::{Annotation, Report};
use crate::result::unchecked_id;

/// Prints the results of a report, before the first the start of the document.
pub(crate) fn write_results(
    out: &mut impl Write,
    report: &Report,
    has_started: &mut bool,
) -> io::Result<()> {
    for annotation in report.result_annotations() {
        write_result(out, &annotation, has_started)?;
    }
    Ok(())
}

fn write_result(
    out: &mut impl Write,
    annotation: &Annotation<'_>,
    has_started: &mut bool,
) -> io::Result<()> {
    let before = if *has_started { "," } else { START };
    *has_started = true;
    write!(
        out,
        "{before}\n        {}",
        indented(&result(annotation), 8)
    )
}

/// The document up to its first result.
const START: &str = r#"{
  "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
  "version": "2.1.0",
  "runs": [
    {
      "columnKind": "unicodeCodePoints",
      "results": ["#;

/// Formats a value whose first line is indented already.
fn indented(value: &Value, columns: usize) -> String {
    json_document(value).replace('\n', &format!("\n{:columns$}", ""))
}

/// Prints the diagnostics of a report, and the end of the document.
pub(crate) fn write_end(
    out: &mut impl Write,
    report: &Report,
    mut has_started: bool,
) -> io::Result<()> {
    for annotation in report.diagnostic_annotations() {
        write_result(out, &annotation, &mut has_started)?;
    }
    if !has_started {
        write!(out, "{START}")?;
    }
    let rule_descriptors = rules().iter().map(|rule| {
        let docs = rule.documentation();
        let level = match rule.default_enforcement() {
            Enforcement::Deny => "error",
            Enforcement::Warn => "warning",
            Enforcement::Off => "none",
        };
        json!({
            "id": rule.id(),
            "shortDescription": {"text": docs.title},
            "fullDescription": {"text": single_line(docs.text)},
            "help": {"text": single_line(docs.fix), "markdown": docs.fix},
            "helpUri": rule.page_url(),
            "defaultConfiguration": {"level": level},
        })
    });
    let diagnostic_descriptors = DiagnosticKind::ALL.iter().map(|(kind, level, title)| {
        json!({
            "id": kind,
            "shortDescription": {"text": title},
            "defaultConfiguration": {"level": level},
        })
    });
    let unchecked_descriptors = UncheckedReason::ALL.iter().map(|reason| {
        json!({
            "id": unchecked_id(*reason),
            "shortDescription": {"text": format!("Not evaluated: {}", reason.description())},
            "defaultConfiguration": {"level": "note"},
        })
    });
    let descriptors = rule_descriptors.chain(diagnostic_descriptors);
    let driver = json!({
        "name": "managed-by",
        "semanticVersion": env!("CARGO_PKG_VERSION"),
        "informationUri": env!("CARGO_PKG_REPOSITORY"),
        "rules": descriptors.chain(unchecked_descriptors).collect::<Vec<_>>(),
    });
    let invocation = json!({
        "commandLine": format!("managed-by {}", report.kind),
        "executionSuccessful": report.errors() == 0,
    });
    let (invocations, tool) = (json!([invocation]), json!({"driver": driver}));
    let (invocations, tool) = (indented(&invocations, 6), indented(&tool, 6));
    write!(out, "\n      ],\n      \"invocations\": {invocations},")?;
    writeln!(out, "\n      \"tool\": {tool}\n    }}\n  ]\n}}")
}

fn result(annotation: &Annotation<'_>) -> Value {
    let ids = rules().iter().map(|rule| rule.id().to_owned());
    let diagnostics = DiagnosticKind::ALL.iter();
    let unchecked = UncheckedReason::ALL.iter();
    let mut ids = ids
        .chain(diagnostics.map(|(kind, ..)| kind.to_string()))
        .chain(unchecked.map(|reason| unchecked_id(*reason)));
    let mut location = json!({
        "physicalLocation": physical_location(annotation.file, annotation.span.as_ref()),
    });
    let mut properties = json!({});
    if let Some(suggestion) = annotation.suggestion {
        set(&mut properties, "suggestion", suggestion.into());
    }
    let mut suppressions = json!([]);
    if let Some((result, finding)) = annotation.finding {
        let name = format!("{}: {}", result.object, finding.reported.path);
        set(
            &mut location,
            "logicalLocations",
            json!([{"fullyQualifiedName": name}]),
        );
        set(
            &mut properties,
            "releases",
            json!(finding.reported.releases),
        );
        if let Some(reason) = &finding.exception {
            suppressions = json!([{"kind": "inSource", "justification": reason}]);
        }
    }
    json!({
        "ruleId": annotation.id,
        "ruleIndex": ids.position(|id| id == annotation.id),
        "level": annotation.level,
        "message": {"text": annotation.text},
        "locations": [location],
        "suppressions": suppressions,
        "properties": properties,
    })
}

fn physical_location(file: &str, span: Option<&Span>) -> Value {
    let mut location = json!({"artifactLocation": {"uri": uri(file)}});
    if let Some(span) = span {
        let region = json!({
            "startLine": span.line, "startColumn": span.column,
            "endLine": span.end_line, "endColumn": span.end_column,
        });
        set(&mut location, "region", region);
    }
    location
}

/// Encodes a path as a relative reference (RFC 3986).
fn uri(file: &str) -> String {
    let mut uri = String::new();
    for byte in file.bytes() {
        match byte {
            b'\\' => uri.push('/'),
            byte if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) => {
                uri.push(char::from(byte));
            }
            // Writing to a String cannot fail.
            byte => _ = write!(uri, "%{byte:02X}"),
        }
    }
    uri
}
