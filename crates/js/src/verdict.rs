//! Verdicts, findings and positions in a text, as the package returns them.

use managed_by::{Malformed, Release, ReleaseSet};
use managed_by_offline::{Located, ObjectReport, ReportedFinding};
use serde::{Serialize, Serializer};

/// Verdict on an admission request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS), ts(rename = "Verdict"))]
#[serde(rename_all = "camelCase")]
pub struct ReviewVerdict {
    /// True if the request is allowed.
    pub allowed: bool,
    /// HTTP status of a denial: 422 for an invalid object, 403 for a write that is forbidden in the namespace or to the user, 400 for
    /// a malformed request.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "package", ts(optional))]
    pub code: Option<u16>,
    /// Message for the client if denied, in kube-apiserver's format.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "package", ts(optional))]
    pub message: Option<String>,
    /// Warnings for the client, at most 256 bytes each.
    pub warnings: Vec<String>,
    /// Annotations for the audit log: `mode`, `controller`, and the rules that `denied`, `warned` or are `exempted` with their paths.
    #[serde(serialize_with = "as_map")]
    #[cfg_attr(feature = "package", ts(type = "Record<string, string>"))]
    pub audit_annotations: Vec<(&'static str, String)>,
    /// Findings, in the order of `rules()`.
    pub findings: Vec<Finding>,
}

/// A finding of a rule at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS))]
pub struct Finding {
    /// The finding.
    #[serde(flatten)]
    pub found: ReportedFinding,
    /// Position in the text, for `lint` and `diff`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "package", ts(optional))]
    pub position: Option<Position>,
}

/// A position in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS), ts(rename = "Position"))]
pub struct Position {
    /// Start in UTF-16 code units, for `text.slice(from, to)`.
    pub from: usize,
    /// End in UTF-16 code units.
    pub to: usize,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// True for the value itself, false for the key of the nearest parent if the value is missing.
    pub exact: bool,
}

impl ReviewVerdict {
    /// Returns the policy's verdict on a malformed request.
    pub(crate) fn malformed(reason: &Malformed) -> Self {
        Self::of(ObjectReport::malformed(reason))
    }

    /// Converts a verdict of the library.
    pub(crate) fn of(report: ObjectReport) -> Self {
        let findings = report.findings.into_iter();
        let findings = findings.map(|found| Finding {
            found,
            position: None,
        });
        Self {
            allowed: report.decision.is_allowed(),
            code: report.decision.code(),
            message: report.decision.message().map(str::to_owned),
            warnings: report.warnings,
            audit_annotations: report.audit_annotations,
            findings: findings.collect(),
        }
    }
}

/// Serializes pairs as an object. Collecting them in a map would add a second sort implementation to the module.
fn as_map<S: Serializer>(
    pairs: &[(&'static str, String)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(key, value)| (key, value)))
}

/// Returns the names of the releases in a set, oldest first.
pub(crate) fn names(set: ReleaseSet) -> Vec<&'static str> {
    set.iter().map(Release::as_str).collect()
}

impl Position {
    pub(crate) fn of(text: &str, located: &Located) -> Self {
        let before = text.get(..located.span.start).unwrap_or_default();
        let within = text.get(located.span.clone()).unwrap_or_default();
        let from = utf_16(before);
        Self {
            from,
            to: from.saturating_add(utf_16(within)),
            line: located.line,
            column: located.column,
            exact: located.is_exact,
        }
    }

    /// Returns the position at a line and column, both from 1, or 0 for the whole text or line.
    pub(crate) fn at(text: &str, line: usize, column: usize) -> Self {
        let (line, column) = (line.max(1), column.max(1));
        let mut lines = text.split_inclusive('\n');
        let before = lines.by_ref().take(line.saturating_sub(1));
        let before = before.map(utf_16).fold(0, usize::saturating_add);
        let rest = lines.next().unwrap_or_default().trim_end();
        let in_line: String = rest.chars().take(column.saturating_sub(1)).collect();
        let end = before.saturating_add(utf_16(rest));
        let from = before.saturating_add(utf_16(&in_line));
        Self {
            from,
            to: end.max(from),
            line,
            column,
            exact: false,
        }
    }
}

/// Returns the length of a text in UTF-16 code units.
fn utf_16(text: &str) -> usize {
    text.chars()
        .map(char::len_utf16)
        .fold(0, usize::saturating_add)
}
