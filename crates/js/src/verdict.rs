//! The answers, as plain objects.

use managed_by::{Malformed, Release, ReleaseSet};
use managed_by_offline::{Found, Judgement, Located};
use serde::{Serialize, Serializer};

/// The answer to an admission request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS), ts(rename = "Verdict"))]
#[serde(rename_all = "camelCase")]
pub struct ReviewVerdict {
    /// Whether the request may go on.
    pub allowed: bool,
    /// HTTP status of a denial: 422 for an invalid object, 403 for one that may not be written here or by this user, 400 for a
    /// request that makes no sense.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "package", ts(optional))]
    pub code: Option<u16>,
    /// What the client reads when denied: kube-apiserver's text.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "package", ts(optional))]
    pub message: Option<String>,
    /// Shown to the client either way; at most 256 bytes each.
    pub warnings: Vec<String>,
    /// For the audit log: `mode`, `controller`, and with their paths the rules that `denied`, `warned`, or are `exempted`.
    #[serde(serialize_with = "as_map")]
    #[cfg_attr(feature = "package", ts(type = "Record<string, string>"))]
    pub audit_annotations: Vec<(&'static str, String)>,
    /// What the rules found, in the order of `rules()`.
    pub findings: Vec<Finding>,
}

/// What one rule found at one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS))]
pub struct Finding {
    /// The rule, and what it says.
    #[serde(flatten)]
    pub found: Found,
    /// Where it stands in the text, of `lint` and `diff`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "package", ts(optional))]
    pub place: Option<TextPlace>,
}

/// Where something stands in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS), ts(rename = "Place"))]
pub struct TextPlace {
    /// Where it begins, as JavaScript counts: `text.slice(from, to)` is what stands there.
    pub from: usize,
    /// Where it ends.
    pub to: usize,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// Whether this is the value itself. Otherwise that is missing, and this is the key of what it would stand in.
    pub exact: bool,
}

impl ReviewVerdict {
    /// The policy's answer if the argument is not a request.
    pub(crate) fn malformed(reason: &Malformed) -> Self {
        Self::of(Judgement::malformed(reason))
    }

    /// What the library said.
    pub(crate) fn of(judgement: Judgement) -> Self {
        let findings = judgement.findings.into_iter();
        let findings = findings.map(|found| Finding { found, place: None });
        Self {
            allowed: judgement.decision.is_allowed(),
            code: judgement.decision.code(),
            message: judgement.decision.message().map(str::to_owned),
            warnings: judgement.warnings,
            audit_annotations: judgement.audit_annotations,
            findings: findings.collect(),
        }
    }
}

/// Pairs as the members of an object. A map of them would double what the module has of sorting.
fn as_map<S: Serializer>(
    pairs: &[(&'static str, String)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(key, value)| (key, value)))
}

/// The releases of a set, oldest first.
pub(crate) fn names(set: ReleaseSet) -> Vec<&'static str> {
    set.iter().map(Release::as_str).collect()
}

impl TextPlace {
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

    /// A line and a column, both from 1, or 0 for the whole text or line.
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

/// The length of a text as JavaScript counts.
fn utf_16(text: &str) -> usize {
    text.chars()
        .map(char::len_utf16)
        .fold(0, usize::saturating_add)
}
