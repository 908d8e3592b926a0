//! Totals of a history.

use std::borrow::Cow;
use std::collections::BTreeMap;

use managed_by::{Decision, DecodeError, Enforcement, Evaluation, Finding, ReleaseSet};
use serde::{Serialize, Serializer};

use super::step::{EvaluatedRequest, RecordPosition, RejectedRequest, Step, StepResult, Task};
use crate::json::Members;
use crate::object_ref::ObjectRef;
use crate::operation::Operation;
use crate::record::RejectedWrite;
use crate::skipped::{SkipReason, SkippedRecord};

/// Totals of a history.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS), ts(rename = "ReplayTally"))]
#[serde(rename_all = "camelCase")]
pub struct Tally {
    /// Number of documents read.
    pub documents: u64,
    /// Number of evaluated requests.
    pub evaluated: u64,
    /// Number of denied requests.
    pub denied: u64,
    /// Number of requests allowed with a warning.
    pub warned: u64,
    /// Number of objects evaluated as stored. They are not requests, so none of them is denied.
    pub stored: u64,
    /// Number of stored objects with findings.
    pub stored_with_findings: u64,
    /// Number of writes that the API server rejected. They do not count as requests.
    pub rejected: u64,
    /// Number of these rejections for a reason that may have passed: a conflict, a missing object, an overloaded server. They are not
    /// steps.
    pub transient_rejections: u64,
    /// Number of records that could not be evaluated, per reason.
    #[cfg_attr(feature = "package", ts(type = "{ [reason in SkipReason]?: number }"))]
    pub skipped: BTreeMap<SkipReason, u64>,
    /// Number of states per unsupported kind: `Pod`, `Deployment.apps`.
    #[cfg_attr(feature = "package", ts(type = "Record<string, number>"))]
    pub unsupported: BTreeMap<String, u64>,
    /// Findings by kind and rule.
    #[serde(serialize_with = "serialize_rows")]
    #[cfg_attr(feature = "package", ts(as = "Vec<TallyRow>"))]
    pub rows: BTreeMap<TallyRowKey, TallyRow>,
}

/// Key of a tally row.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS), ts(rename = "ReplayRowKey"))]
pub struct TallyRowKey {
    /// Kind and group: `Job.batch`.
    pub kind: String,
    /// Id of the rule.
    #[cfg_attr(feature = "package", ts(type = "RuleId"))]
    pub rule: &'static str,
    /// True if the rule denies (or would deny, for a stored object), false if it warns; in JSON `deny` and `warn`.
    #[serde(rename = "enforcement", serialize_with = "serialize_enforcement")]
    #[cfg_attr(feature = "package", ts(type = "\"deny\" | \"warn\""))]
    pub is_denied: bool,
    /// True if the objects were stored before the history begins, so that no request was denied.
    #[serde(rename = "stored")]
    pub is_stored: bool,
}

/// Findings of one rule on objects of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(
    feature = "package",
    derive(ts_rs::TS),
    ts(rename = "ReplayRow", optional_fields)
)]
pub struct TallyRow {
    /// Key of the row.
    #[serde(flatten)]
    pub key: TallyRowKey,
    /// The first finding.
    #[cfg_attr(feature = "package", ts(type = "Finding"))]
    pub finding: Finding,
    /// Number of findings.
    pub count: u64,
    /// Releases with the finding, unless all releases have it or only one was evaluated.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "package", ts(as = "Option<Vec<String>>"))]
    pub releases: Option<ReleaseSet>,
    /// First occurrence.
    pub first: RecordPosition,
    /// Last occurrence.
    pub last: RecordPosition,
    /// The first object.
    pub object: ObjectRef,
    /// Operation of the first finding.
    #[serde(skip)]
    pub operation: Operation,
    /// User of the first finding, if recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
}

fn serialize_rows<S: Serializer>(
    rows: &BTreeMap<TallyRowKey, TallyRow>,
    json: S,
) -> Result<S::Ok, S::Error> {
    json.collect_seq(rows.values())
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn serialize_enforcement<S: Serializer>(is_denied: &bool, json: S) -> Result<S::Ok, S::Error> {
    json.serialize_str(if *is_denied { "deny" } else { "warn" })
}

impl Tally {
    /// Counts the result of a task. Returns a step if there is something to report.
    pub(super) fn add(
        &mut self,
        result: Option<Result<Box<Evaluation>, DecodeError>>,
        task: &Task<'_>,
        position: impl Fn(Option<String>) -> RecordPosition,
    ) -> Option<Step> {
        let recorded = match task {
            Task::Ignore => return None,
            Task::Rejected(write, request) => {
                let report = match request {
                    Ok(_) => result?.map(|report| *report).map_err(|e| e.to_string()),
                    Err(reason) => Err((*reason).to_owned()),
                };
                let time = write.time.as_deref().map(str::to_owned);
                return self.rejected(write, report, position(time));
            }
            Task::Unsupported(state) => {
                let kind = state.object_ref().kind_and_group();
                increment(self.unsupported.entry(kind).or_default());
                return None;
            }
            Task::Skip(object, skipped) => {
                return Some(self.skip(position(None), object.clone(), skipped.clone()));
            }
            Task::Evaluate(recorded) => recorded,
        };
        let object = recorded.request.object_ref();
        let position = position(recorded.time());
        let mut report = match result? {
            Ok(report) => *report,
            Err(malformed) => {
                let skipped = SkippedRecord::new(SkipReason::Malformed, malformed.to_string());
                return Some(self.skip(position, object, skipped));
            }
        };
        let operation = recorded.request.operation;
        increment(if operation.is_stored() {
            &mut self.stored
        } else {
            &mut self.evaluated
        });
        if report.is_empty() {
            return None;
        }
        if operation.is_stored() {
            // A stored object can have findings, but there is no request to deny.
            report.verdict.decision = Decision::Allowed;
        }
        let request = EvaluatedRequest {
            operation,
            user: recorded.write.and_then(|write| username(write.user?)),
            report,
        };
        self.count(&position, &object, &request);
        Some(Step {
            position,
            object,
            result: StepResult::Evaluated(Box::new(request)),
        })
    }

    /// Counts a rejected write. Returns a step, unless the reason may have passed.
    fn rejected(
        &mut self,
        write: &RejectedWrite<'_>,
        report: Result<Evaluation, String>,
        position: RecordPosition,
    ) -> Option<Step> {
        increment(&mut self.rejected);
        if write.is_transient() {
            increment(&mut self.transient_rejections);
            return None;
        }
        let request = RejectedRequest {
            operation: write.operation,
            user: write.user.and_then(username),
            code: write.code,
            message: write.message.clone(),
            report,
        };
        Some(Step {
            position,
            object: write.object.clone(),
            result: StepResult::Rejected(Box::new(request)),
        })
    }

    fn skip(
        &mut self,
        position: RecordPosition,
        object: ObjectRef,
        skipped: SkippedRecord,
    ) -> Step {
        increment(self.skipped.entry(skipped.reason).or_default());
        Step {
            position,
            object,
            result: StepResult::Skipped(skipped),
        }
    }

    fn count(&mut self, position: &RecordPosition, object: &ObjectRef, request: &EvaluatedRequest) {
        let is_stored = request.operation.is_stored();
        let report = &request.report;
        if !report.verdict.decision.is_allowed() {
            increment(&mut self.denied);
        } else if report.findings.is_empty() && report.verdict.warnings.is_empty() {
            // The step is reported because of parts that were not evaluated.
        } else if is_stored {
            increment(&mut self.stored_with_findings);
        } else {
            increment(&mut self.warned);
        }
        for finding in &report.findings {
            let key = TallyRowKey {
                kind: object.kind_and_group(),
                rule: finding.rule.id(),
                is_denied: finding.enforcement == Enforcement::Deny,
                is_stored,
            };
            let row = self.rows.entry(key.clone()).or_insert_with(|| TallyRow {
                key,
                finding: finding.clone(),
                count: 0,
                releases: finding.releases,
                first: position.clone(),
                last: position.clone(),
                object: object.clone(),
                operation: request.operation,
                user: request.user.clone(),
            });
            increment(&mut row.count);
            row.last = position.clone();
            row.releases = row.releases.zip(finding.releases).map(|(a, b)| a.union(b));
        }
    }

    /// Returns the number of records that could not be evaluated.
    pub fn skipped_count(&self) -> u64 {
        self.skipped.values().copied().fold(0, u64::saturating_add)
    }
}

/// Returns `username` from `userInfo`.
pub(super) fn username(json: &str) -> Option<String> {
    Members::parse(json)?
        .string("username")
        .map(Cow::into_owned)
}

pub(super) fn add(count: u64, more: usize) -> u64 {
    count.saturating_add(u64::try_from(more).unwrap_or(u64::MAX))
}

pub(super) const fn increment(count: &mut u64) {
    *count = count.saturating_add(1);
}
