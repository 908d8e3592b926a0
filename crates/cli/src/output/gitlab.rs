//! GitLab Code Quality reports, a subset of the Code Climate format.
//!
//! Source: "Code Quality" in GitLab's documentation, "Code Quality report format".

use std::collections::BTreeMap;
use std::io::{self, Write};

use managed_by::Enforcement;
use serde_json::{Value, json};

use super::plain::plain;
use crate::diagnostic::Level;
use crate::report::Report;

/// Prints a violation for each finding. Its fingerprint identifies it across pipelines.
pub(crate) fn write(out: &mut impl Write, report: &Report) -> io::Result<()> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut violation =
        |file: &str, line: usize, check: &str, level: Level, text: &str, path: &str| -> Value {
            let what = format!("{file}\n{check}\n{path}");
            let times = seen.entry(what.clone()).or_default();
            *times = times.saturating_add(1);
            json!({
                "description": plain(text), "check_name": check,
                "fingerprint": fingerprint(&format!("{what}\n{times}")),
                "severity": match level {
                    Level::Error => "critical",
                    Level::Warning => "major",
                    Level::Note => "info",
                },
                "location": {"path": file, "lines": {"begin": line.max(1)}},
            })
        };
    let mut all = Vec::new();
    for outcome in &report.results {
        for finding in outcome.counted() {
            let found = &finding.found;
            let level = match found.enforcement {
                Enforcement::Deny => Level::Error,
                Enforcement::Warn | Enforcement::Off => Level::Warning,
            };
            let place = finding.place.as_ref().or(outcome.place.as_ref());
            let line = place.map_or(1, |place| place.line);
            let text = format!("{}: {}", outcome.object, outcome.text_of(found));
            let path = format!("{} {}", outcome.object, found.path);
            all.push(violation(
                &outcome.file,
                line,
                found.rule.id(),
                level,
                &text,
                &path,
            ));
        }
    }
    for diagnostic in report.diagnostics() {
        let (file, text) = (&*diagnostic.file, &*diagnostic.text);
        let kind = diagnostic.kind;
        all.push(violation(
            file,
            diagnostic.line,
            kind.as_str(),
            kind.level(),
            text,
            text,
        ));
    }
    writeln!(out, "{:#}", Value::from(all))
}

/// Returns the FNV-1a hash, which is stable across versions.
fn fingerprint(text: &str) -> String {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", text.bytes().fold(0xcbf2_9ce4_8422_2325, step))
}
