//! Implements `replay`: reviews a recorded history chunk by chunk.

use managed_by::{Evaluation, Settings};
use managed_by_offline::replay::{ObjectRef, RecordPosition, StepResult};
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
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS), ts(optional_fields))]
#[serde(rename_all = "camelCase")]
pub struct ReplayStep {
    /// Position of the document.
    #[serde(flatten)]
    pub position: RecordPosition,
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

/// Totals of a history so far.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS))]
pub struct ReplayTotals<'r> {
    #[serde(flatten)]
    tally: &'r Tally,
    /// Lines.
    lines: u64,
    /// Objects that were not deleted.
    live: usize,
    /// Notes about the option `releases`: versions that are newer than each known patch release.
    notes: &'r [String],
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
        self.replay.with_dependent(|_, replay| {
            crate::encode(&Ok(ReplayTotals {
                tally: replay.tally(),
                lines: self.lines,
                live: replay.live_objects(),
                notes: &self.notes,
            }))
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
            position: step.position,
            object: step.object,
            ..Self::default()
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
