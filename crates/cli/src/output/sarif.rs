//! SARIF 2.1.0, for code scanning.
//!
//! Source: the OASIS standard "Static Analysis Results Interchange Format (SARIF) Version 2.1.0".

use std::fmt::Write as _;
use std::io::{self, Write};

use managed_by::{Enforcement, Rule, rules};
use managed_by_offline::Found;
use serde_json::{Value, json};

use crate::diagnostic::{Diagnostic, Kind, Span};
use crate::report::Excuse;
use crate::report::{Report, page};
use crate::words::words;

pub(crate) fn write(out: &mut impl Write, report: &Report) -> io::Result<()> {
    let results = report.results.iter().flat_map(|outcome| {
        outcome.findings.iter().map(|finding| {
            let found = &finding.found;
            let place = finding.place.as_ref().or(outcome.place.as_ref());
            let index = rules().iter().position(|rule| rule.id() == found.rule.id());
            let suppressions = match &finding.excuse {
                Some(Excuse::Exception { reason }) => {
                    json!([{"kind": "inSource", "justification": reason}])
                },
                Some(Excuse::Baseline) => json!([{"kind": "external"}]),
                None => json!([]),
            };
            json!({
                "ruleId": found.rule.id(),
                "ruleIndex": index,
                "level": level(found.enforcement),
                "message": {"text": format!("{}: {}", outcome.object, outcome.text_of(found))},
                "locations": [{
                    "physicalLocation": location(&outcome.file, place),
                    "logicalLocations": [{"fullyQualifiedName": format!("{}: {}", outcome.object, found.path)}],
                }],
                "suppressions": suppressions,
                "properties": properties(found),
            })
        })
    });
    let results = results.chain(report.diagnostics().map(diagnostic));
    let known = rules().iter().map(|rule| descriptor(rule));
    let known = known.chain(Kind::ALL.map(descriptor_of_kind));
    let document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "managed-by",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "informationUri": env!("CARGO_PKG_REPOSITORY"),
                "rules": known.collect::<Vec<_>>(),
            }},
            "invocations": [{
                "commandLine": format!("managed-by {}", report.kind.as_str()),
                "executionSuccessful": report.unjudged.is_empty(),
            }],
            "columnKind": "unicodeCodePoints",
            "results": results.collect::<Vec<_>>(),
        }],
    });
    writeln!(out, "{document:#}")
}

fn level(enforcement: Enforcement) -> &'static str {
    match enforcement {
        Enforcement::Deny => "error",
        Enforcement::Warn => "warning",
        Enforcement::Off => "none",
    }
}

fn descriptor(rule: &Rule) -> Value {
    let docs = rule.documentation();
    json!({
        "id": rule.id(),
        "shortDescription": {"text": docs.title},
        "fullDescription": {"text": words(docs.text)},
        "help": {"text": words(docs.fix), "markdown": docs.fix},
        "helpUri": page(rule),
        "defaultConfiguration": {"level": level(rule.default_enforcement())},
    })
}

/// Returns the releases with the finding, if they differ or several are evaluated, and the suggested value, if any.
fn properties(found: &Found) -> Value {
    let mut properties = suggestion(found.suggestion.as_ref());
    if let Value::Object(members) = &mut properties {
        members.insert("releases".to_owned(), json!(found.releases));
    }
    properties
}

fn suggestion(suggestion: Option<&String>) -> Value {
    suggestion.map_or_else(|| json!({}), |suggestion| json!({"suggestion": suggestion}))
}

fn location(file: &str, place: Option<&Span>) -> Value {
    let mut location = json!({"artifactLocation": {"uri": uri(file)}});
    if let (Value::Object(members), Some(place)) = (&mut location, place) {
        let region = json!({
            "startLine": place.line, "startColumn": place.column,
            "endLine": place.end_line, "endColumn": place.end_column,
        });
        members.insert("region".to_owned(), region);
    }
    location
}

/// Encodes a path as a relative reference (RFC 3986).
fn uri(file: &str) -> String {
    let mut uri = String::new();
    for byte in file.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte));
            }
            b'\\' => uri.push('/'),
            byte => {
                // Writing to a String cannot fail.
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri
}

fn descriptor_of_kind(kind: Kind) -> Value {
    let [title, fix] = kind.documentation();
    json!({
        "id": kind.as_str(),
        "shortDescription": {"text": title},
        "help": {"text": fix},
        "defaultConfiguration": {"level": kind.level().as_str()},
    })
}

/// Returns a result that no rule reports. Its descriptor follows the descriptors of the rules.
fn diagnostic(diagnostic: &Diagnostic) -> Value {
    let place = Kind::ALL.iter().position(|kind| *kind == diagnostic.kind);
    json!({
        "ruleId": diagnostic.kind.as_str(),
        "ruleIndex": rules().len().saturating_add(place.unwrap_or_default()),
        "level": diagnostic.kind.level().as_str(),
        "message": {"text": diagnostic.text},
        "locations": [{"physicalLocation": location(&diagnostic.file, diagnostic.shown().as_ref())}],
        "properties": suggestion(diagnostic.suggestion.as_ref()),
    })
}
