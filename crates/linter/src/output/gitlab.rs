//! GitLab Code Quality reports, a subset of the Code Climate format.
//!
//! Source: "Code Quality" in GitLab's documentation, "Code Quality report format".

use std::collections::BTreeMap;
use std::io::{self, Write};

use managed_by_console::diagnostic::Level;
use managed_by_console::escape::{escape_control, json_document};
use serde_json::{Value, json};

use crate::report::Report;

/// Prints a violation for each finding and diagnostic. Its fingerprint identifies it across pipelines.
pub(crate) fn write(out: &mut impl Write, report: &Report) -> io::Result<()> {
    let mut occurrences: BTreeMap<String, usize> = BTreeMap::new();
    let annotations = report
        .annotations()
        .filter(|annotation| !annotation.is_suppressed());
    let violations = annotations.map(|annotation| {
        let (file, id) = (annotation.file, &annotation.id);
        let key = match annotation.finding {
            Some((result, finding)) => format!("{} {}", result.object, finding.reported.path),
            None => annotation.text.clone(),
        };
        let key = format!("{file}\n{id}\n{key}");
        let occurrence = occurrences.entry(key.clone()).or_default();
        *occurrence = occurrence.saturating_add(1);
        json!({
            "description": escape_control(&annotation.text), "check_name": id,
            "fingerprint": fingerprint(&format!("{key}\n{occurrence}")),
            "severity": match annotation.level {
                Level::Error => "critical",
                Level::Warning => "major",
                Level::Note => "info",
            },
            "location": {
                "path": file,
                "lines": {"begin": annotation.span.map_or(1, |span| span.line)},
            },
        })
    });
    let violations: Vec<Value> = violations.collect();
    writeln!(out, "{}", json_document(&violations))
}

/// Returns the FNV-1a hash, which is stable across versions.
fn fingerprint(text: &str) -> String {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", text.bytes().fold(0xcbf2_9ce4_8422_2325, step))
}
