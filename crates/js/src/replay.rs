//! Implements `replay`: reviews a recorded history chunk by chunk.

use managed_by::{Evaluation, ReleaseSet, Settings};
use managed_by_offline::replay::{ObjectRef, RecordPosition, StepResult, TallyRow, TallyRowKey};
use managed_by_offline::{
    Evaluator, Operation, Replay, SkipReason, Step, Tally, complete_len, split_documents,
};
use self_cell::self_cell;
use serde::Serialize;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::error::Error;
use crate::releases::ReleasesOption;
use crate::settings;

self_cell!(
    /// A replay together with the settings that it borrows.
    struct OwnedReplay {
        owner: String,
        #[not_covariant]
        dependent: Replay,
    }
);

/// State of a replay.
#[wasm_bindgen]
pub struct Replayer {
    replay: OwnedReplay,
    /// Notes about the releases.
    notes: Vec<String>,
    /// Incomplete end of the input.
    buffer: Vec<u8>,
    lines: u64,
}

/// An entry in the result of a replay: a request with findings, a write that the API server rejected, or a document that could not
/// be reviewed.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS), ts(optional_fields))]
#[serde(rename_all = "camelCase")]
pub struct ReplayStep {
    /// First line of the document, from 1.
    pub line: u64,
    /// Time of the request, if recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// Name of the object. Unknown parts are empty.
    pub object: ObjectRef,
    /// Operation of the request; `DELETE` only if the API server rejected it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "package",
        ts(optional, type = "\"CREATE\" | \"UPDATE\" | \"DELETE\"")
    )]
    pub operation: Option<&'static str>,
    /// Subresource of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "package", ts(optional, type = "\"status\""))]
    pub sub_resource: Option<&'static str>,
    /// `true` if the object was stored with its status before the history begins. Such an object is always allowed, because it is
    /// not a request.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "package", ts(optional, type = "true"))]
    pub stored: Option<bool>,
    /// User of the request, if recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub username: Option<String>,
    /// The API server's response to a write that it rejected. `verdict` is then the verdict on the object that the client sent, or
    /// `message` the reason why it could not be reviewed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rejection: Option<Rejection>,
    /// Verdict, if the request could be reviewed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "package", ts(optional, type = "Evaluation"))]
    pub verdict: Option<Evaluation>,
    /// Reason if the document could not be reviewed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<SkipReason>,
    /// Message with this reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Response of the API server to a write that it rejected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS))]
pub struct Rejection {
    /// HTTP status.
    pub code: u16,
    /// Message; empty if the response has none.
    pub message: String,
}

/// Totals of a history.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS), ts(rename = "ReplayTotals"))]
pub struct ReplayTally {
    /// Counts of documents and requests.
    pub counts: ReplayCounts,
    /// Findings by kind and rule.
    pub rows: Vec<ReplayRow>,
    /// Unsupported kinds: `Pod`, `Deployment.apps`.
    pub unsupported: Vec<String>,
    /// Notes about the option `releases`: versions that are newer than each known patch release.
    pub notes: Vec<String>,
}

/// Counts of documents and requests in a history.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ReplayCounts {
    /// Lines.
    pub lines: u64,
    /// Documents.
    pub documents: u64,
    /// Reviewed requests.
    pub evaluated: u64,
    /// Denied requests.
    pub denied: u64,
    /// Requests that were allowed with a warning.
    pub warned: u64,
    /// Objects that were stored with a status before the history begins. They do not count as requests.
    pub stored: u64,
    /// Stored objects with findings.
    pub stored_with_findings: u64,
    /// Documents that could not be reviewed.
    pub skipped: u64,
    /// Writes that the API server rejected. They do not count as requests.
    pub rejected: u64,
    /// Rejections for a reason that may have passed: a conflict, a missing object, an overloaded server. They are not steps.
    pub transient_rejections: u64,
    /// Objects that were not deleted.
    pub live: usize,
}

/// Findings of a rule on objects of a kind.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS), ts(optional_fields))]
#[serde(rename_all = "camelCase")]
pub struct ReplayRow {
    /// Kind and group: `Job.batch`.
    pub kind: String,
    /// Rule id.
    #[cfg_attr(feature = "package", ts(type = "RuleId"))]
    pub rule: &'static str,
    /// Level of the findings.
    #[cfg_attr(feature = "package", ts(type = "\"deny\" | \"warn\""))]
    pub enforcement: &'static str,
    /// True if the objects were stored before the history begins, so that no request was denied.
    pub stored: bool,
    /// Number of findings.
    pub count: u64,
    /// Releases that report the finding, if all were evaluated or releases disagree.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "package", ts(optional, as = "Option<Vec<String>>"))]
    pub releases: Option<ReleaseSet>,
    /// Line of the first finding.
    pub first_line: u64,
    /// Time of this finding, if recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_time: Option<String>,
    /// Line of the last finding.
    pub last_line: u64,
    /// Time of this finding, if recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_time: Option<String>,
    /// First object.
    pub object: ObjectRef,
    /// User who wrote it, if recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub username: Option<String>,
}

#[wasm_bindgen]
impl Replayer {
    /// Starts a replay for the selected releases, or for the release in the settings.
    ///
    /// # Errors
    /// Returns an [`Error`] as JSON: `{"Err": ...}`.
    #[wasm_bindgen(constructor)]
    #[expect(clippy::needless_pass_by_value, reason = "JavaScript moves it")]
    pub fn new(settings: &str, releases: Option<String>) -> Result<Self, String> {
        let owned = || -> Result<(OwnedReplay, Vec<String>), Error> {
            let ReleasesOption { releases, notes } = ReleasesOption::parse(releases.as_deref())?;
            let replay = OwnedReplay::try_new(settings::to_json(settings)?, |json| {
                let settings = Settings::from_json(json.as_bytes());
                let settings =
                    settings.map_err(|p| Error::invalid_argument("settings", &p.to_string()))?;
                Ok(Replay::new(Evaluator::new(settings.for_tools(), releases)))
            });
            Ok((replay?, notes))
        };
        let (replay, notes) = owned().map_err(|malformed| crate::encode::<()>(&Err(malformed)))?;
        Ok(Self {
            replay,
            notes,
            buffer: Vec::new(),
            lines: 0,
        })
    }

    /// Adds bytes, reviews the complete documents, and returns new steps as JSON.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        self.buffer.extend_from_slice(bytes);
        self.evaluate_prefix(complete_len(&self.buffer, false))
    }

    /// Reviews the rest of the input, and returns new steps as JSON.
    pub fn finish(&mut self) -> String {
        self.evaluate_prefix(self.buffer.len())
    }

    /// Returns the current totals as JSON.
    pub fn tally(&self) -> String {
        let lines = self.lines;
        self.replay.with_dependent(|_, replay| {
            let mut tally = ReplayTally::new(replay.tally(), lines, replay.live_objects());
            tally.notes.clone_from(&self.notes);
            crate::encode(&Ok(tally))
        })
    }

    fn evaluate_prefix(&mut self, count: usize) -> String {
        let rest = self.buffer.split_off(count.min(self.buffer.len()));
        let bytes = std::mem::replace(&mut self.buffer, rest);
        let mut steps = Vec::new();
        let lines = self.lines;
        let more = self.replay.with_dependent_mut(|_, replay| {
            let (documents, more) = split_documents(&bytes, 0, lines);
            replay.evaluate_documents(&documents, 0, |step| steps.push(ReplayStep::new(step)));
            more
        });
        self.lines = lines.saturating_add(more);
        crate::encode(&Ok(steps))
    }
}

impl ReplayStep {
    fn new(step: Step) -> Self {
        let mut entry = Self {
            line: step.position.line,
            time: step.position.time,
            object: step.object,
            operation: None,
            sub_resource: None,
            stored: None,
            username: None,
            rejection: None,
            verdict: None,
            skipped: None,
            message: None,
        };
        match step.result {
            StepResult::Evaluated(request) => {
                entry.set_operation(request.operation);
                entry.username = request.user;
                entry.verdict = Some(request.report);
            }
            StepResult::Rejected(request) => {
                entry.set_operation(request.operation);
                entry.username = request.user;
                let (code, message) = (request.code, request.message);
                entry.rejection = Some(Rejection { code, message });
                match request.report {
                    Ok(report) => entry.verdict = Some(report),
                    Err(reason) => entry.message = Some(reason),
                }
            }
            StepResult::Skipped(skipped) => {
                entry.skipped = Some(skipped.reason);
                entry.message = Some(skipped.text);
            }
        }
        entry
    }

    fn set_operation(&mut self, operation: Operation) {
        self.operation = Some(operation.as_str());
        self.stored = operation.is_stored().then_some(true);
        self.sub_resource = Some(operation.subresource()).filter(|sub| !sub.is_empty());
    }
}

impl ReplayTally {
    fn new(tally: &Tally, lines: u64, live: usize) -> Self {
        Self {
            counts: ReplayCounts {
                lines,
                documents: tally.documents,
                evaluated: tally.evaluated,
                denied: tally.denied,
                warned: tally.warned,
                stored: tally.stored,
                stored_with_findings: tally.stored_with_findings,
                skipped: tally.skipped_count(),
                rejected: tally.rejected,
                transient_rejections: tally.transient_rejections,
                live,
            },
            rows: tally.rows.iter().map(ReplayRow::new).collect(),
            unsupported: tally.unsupported.keys().cloned().collect(),
            notes: Vec::new(),
        }
    }
}

impl ReplayRow {
    fn new((key, row): (&TallyRowKey, &TallyRow)) -> Self {
        let TallyRow { first, last, .. } = row;
        let time = |position: &RecordPosition| position.time.clone();
        Self {
            kind: key.kind.clone(),
            rule: key.rule,
            enforcement: if key.is_denied { "deny" } else { "warn" },
            stored: key.is_stored,
            count: row.count,
            releases: row.releases,
            first_line: first.line,
            first_time: time(first),
            last_line: last.line,
            last_time: time(last),
            object: row.object.clone(),
            username: row.user.clone(),
        }
    }
}
