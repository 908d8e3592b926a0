//! Evaluates recorded writes for every release, and collects the results for the report.

use std::collections::BTreeMap;

use managed_by::{
    AdmissionRequest, Decision, Enforcement, Kind, MergedFinding, Reconciler, ReleaseSet, Settings,
    evaluate, exercised_rules, rules, with_kind,
};
use serde_json::Value;

use super::report::{
    ConformanceReport, Denial, FieldChange, ObjectHistory, Outcome, Provenance, RecordedWrite,
    ReleaseResult, RuleResult,
};

/// Maximum number of allowed writes in a history before each denied one.
const MAX_ALLOWED_WRITES: usize = 10;
/// Maximum number of denied writes in a history.
const MAX_DENIED_WRITES: usize = 20;
/// Maximum number of objects with a history.
const MAX_OBJECTS: usize = 100;

/// Location of a write in a recording.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct WriteLocation {
    /// File name.
    pub(crate) source: String,
    /// Line number, from 1.
    pub(crate) line: u64,
    /// Time of the write, if recorded.
    pub(crate) time: Option<String>,
}

/// Builder of a report about a controller's writes.
#[derive(Debug)]
pub(crate) struct ReportBuilder<'s> {
    controller: String,
    settings: Settings<'s>,
    provenance: Provenance,
    releases: ReleaseSet,
    writes: u64,
    status_writes: u64,
    /// Number of skipped writes to objects of other controllers, by controller. The name is empty if the controller is unknown.
    other_controller_writes: BTreeMap<String, u64>,
    skipped: u64,
    /// One result per release, for each rule that applies to a recorded kind.
    results: BTreeMap<&'static str, Vec<ReleaseResult>>,
    histories: BTreeMap<String, HistoryBuilder>,
}

#[derive(Debug, Default)]
struct HistoryBuilder {
    writes: Vec<RecordedWrite>,
    omitted: u64,
    denied: usize,
}

impl<'s> ReportBuilder<'s> {
    /// Creates a builder for the writes to the objects of one controller.
    ///
    /// `controller` is the value of `managedBy`, or the reserved value of a kind for objects that are not delegated. The settings may
    /// declare custom kinds; `kubernetes_version` is ignored.
    pub(crate) fn new(controller: impl Into<String>, settings: &Settings<'s>) -> Self {
        Self {
            controller: controller.into(),
            settings: settings.clone().for_tools(),
            provenance: Provenance {
                version: env!("CARGO_PKG_VERSION"),
                ..Provenance::default()
            },
            releases: ReleaseSet::all(),
            writes: 0,
            status_writes: 0,
            other_controller_writes: BTreeMap::new(),
            skipped: 0,
            results: BTreeMap::new(),
            histories: BTreeMap::new(),
        }
    }

    /// Restricts the report to some releases.
    #[must_use]
    pub(crate) fn releases(mut self, releases: ReleaseSet) -> Self {
        self.releases = releases;
        self
    }

    /// Sets the time of the report, in RFC 3339.
    #[must_use]
    pub(crate) fn generated_at(mut self, time: impl Into<String>) -> Self {
        self.provenance.generated_at = Some(time.into());
        self
    }

    /// Sets the file names of the recordings.
    #[must_use]
    pub(crate) fn recordings(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.provenance.recordings = names.into_iter().map(Into::into).collect();
        self
    }

    /// Adds a write: `request` is the decoded admission request, and `value` the same request as JSON. Writes to objects of other
    /// controllers are skipped.
    ///
    /// # Errors
    /// Fails with a message if the object is malformed. Objects of custom kinds are decoded here.
    pub(crate) fn add(
        &mut self,
        request: &AdmissionRequest<'_>,
        value: &Value,
        location: &WriteLocation,
    ) -> Result<(), String> {
        let evaluation = evaluate(request, &self.settings, Some(self.releases));
        if let Decision::Denied { code: 400, message } = &evaluation.verdict().decision {
            return Err(message.clone());
        }
        let write = WriteObjects::from_request(value);
        let object = with_kind(request, &self.settings, |kind| {
            reconciled_object_name(kind, &write, request, &self.controller)
        });
        // Ignore unknown kinds, and custom kinds whose declaration is invalid.
        let (Ok(Some(object)), Ok(rules)) = (object, exercised_rules(request, &self.settings))
        else {
            return Ok(());
        };
        let object = match object {
            Ok(object) => object,
            Err(other) => {
                let count = self.other_controller_writes.entry(other).or_default();
                *count = count.saturating_add(1);
                return Ok(());
            }
        };
        self.writes = self.writes.saturating_add(1);
        if write.is_status {
            self.status_writes = self.status_writes.saturating_add(1);
        }
        let findings = evaluation.findings().iter();
        let denials: Vec<&MergedFinding<'_>> = findings
            .filter(|finding| {
                finding.enforcement() == Enforcement::Deny
                    && rules.iter().any(|(rule, _)| *rule == finding.rule())
            })
            .collect();
        for (rule, is_exercised) in rules {
            let results = self
                .results
                .entry(rule.id())
                .or_insert_with(|| vec![ReleaseResult::default(); self.releases.iter().count()]);
            let denying = denials.iter().filter(|finding| finding.rule() == rule);
            let denying = denying.fold(ReleaseSet::default(), |all, finding| {
                all.union(finding.releases())
            });
            for (result, release) in results.iter_mut().zip(self.releases.iter()) {
                let exists = rule.exists_in(release);
                result.count_write(exists, is_exercised, denying.contains(release));
            }
        }
        self.histories
            .entry(object)
            .or_default()
            .add(recorded_write(&write, location, &denials));
        Ok(())
    }

    /// Counts records that could not be evaluated, such as truncated lines.
    pub(crate) fn add_skipped(&mut self, records: u64) {
        self.skipped = self.skipped.saturating_add(records);
    }

    /// Returns true if no write was evaluated.
    pub(crate) fn is_empty(&self) -> bool {
        self.writes == 0
    }

    /// Returns the controllers of skipped objects, sorted by name, each with the number of writes.
    pub(crate) fn other_controller_writes(&self) -> impl Iterator<Item = (&str, u64)> + Clone {
        let all = self.other_controller_writes.iter();
        let all = all.map(|(name, writes)| (&**name, *writes));
        all.filter(|(name, _)| !name.is_empty())
    }

    /// Returns the report.
    pub(crate) fn finish(self) -> ConformanceReport {
        let rules: Vec<RuleResult> = rules()
            .iter()
            .filter_map(|rule| {
                Some(RuleResult {
                    rule: rule.id(),
                    title: rule.documentation().title,
                    is_upstream: rule.is_upstream(),
                    results: self.results.get(rule.id())?.clone(),
                })
            })
            .collect();
        let releases_with = |outcome: Outcome| -> ReleaseSet {
            let releases = self.releases.iter().enumerate();
            let has_outcome = releases.filter(|(index, _)| {
                let results = rules.iter().filter_map(|rule| rule.results.get(*index));
                results.map(|result| result.outcome).any(|o| o == outcome)
            });
            has_outcome.map(|(_, release)| release).collect()
        };
        let denied_by = releases_with(Outcome::Denied);
        let conforms_to = if self.skipped == 0 {
            releases_with(Outcome::Passed).difference(denied_by)
        } else {
            ReleaseSet::default()
        };
        let objects = u64::try_from(self.histories.len()).unwrap_or(u64::MAX);
        let denied_writes = self.histories.values().map(|history| history.denied);
        let denied_writes = denied_writes.fold(0, usize::saturating_add);
        let mut denied_objects: Vec<ObjectHistory> = self
            .histories
            .into_iter()
            .filter(|(_, history)| history.denied > 0)
            .map(|(object, history)| ObjectHistory {
                object,
                writes: history.writes,
                omitted_writes: history.omitted,
            })
            .collect();
        let omitted_objects = denied_objects.len().saturating_sub(MAX_OBJECTS);
        denied_objects.truncate(MAX_OBJECTS);
        ConformanceReport {
            format_version: 1,
            controller: self.controller,
            provenance: self.provenance,
            releases: self.releases,
            objects,
            writes: self.writes,
            status_writes: self.status_writes,
            denied_writes: u64::try_from(denied_writes).unwrap_or(u64::MAX),
            other_controller_writes: self
                .other_controller_writes
                .values()
                .copied()
                .fold(0, u64::saturating_add),
            skipped: self.skipped,
            denied_by,
            conforms_to,
            rules,
            denied_objects,
            omitted_objects: u64::try_from(omitted_objects).unwrap_or(u64::MAX),
        }
    }
}

impl ReleaseResult {
    /// Counts a write to which the rule applies.
    fn count_write(&mut self, exists: bool, is_exercised: bool, is_denied: bool) {
        if !exists {
            self.outcome = Outcome::NotInRelease;
            return;
        }
        if is_exercised {
            self.exercised = self.exercised.saturating_add(1);
            if self.outcome == Outcome::Untested {
                self.outcome = Outcome::Passed;
            }
        }
        if is_denied {
            self.denied = self.denied.saturating_add(1);
            self.outcome = Outcome::Denied;
        }
    }
}

/// The objects of a write.
struct WriteObjects<'v> {
    /// Stored object; `null` for a create.
    old: &'v Value,
    /// New object.
    new: &'v Value,
    /// True for the subresource `status`.
    is_status: bool,
}

impl<'v> WriteObjects<'v> {
    /// Reads the objects of an admission request.
    fn from_request(request: &'v Value) -> Self {
        let member = |name: &str| request.get(name).unwrap_or(&Value::Null);
        Self {
            old: member("oldObject"),
            new: member("object"),
            is_status: member("subResource") == "status",
        }
    }
}

/// Returns the name of the written object, such as `Job.batch team-a/pi`, if the controller reconciles it.
///
/// # Errors
/// Returns the name of the controller that reconciles the object, or an empty name if it is unknown.
fn reconciled_object_name(
    kind: &Kind<'_>,
    write: &WriteObjects<'_>,
    request: &AdmissionRequest<'_>,
    controller: &str,
) -> Result<String, String> {
    let pointer = format!("/{}", kind.managed_by_path().replace('.', "/"));
    // A status update ignores changes of the spec.
    let object = if write.is_status {
        write.old
    } else {
        write.new
    };
    let managed_by = object.pointer(&pointer);
    let owner = match kind.reconciler(managed_by.and_then(Value::as_str)) {
        Reconciler::Delegated(name) => name,
        Reconciler::BuiltIn => kind.reserved_value().ok_or_else(String::new)?,
    };
    if owner != controller {
        return Err(owner.to_owned());
    }
    let mut object = kind.name().to_owned();
    if !kind.group().is_empty() {
        object.extend([".", kind.group()]);
    }
    object.push(' ');
    if !request.namespace().is_empty() {
        object.extend([request.namespace(), "/"]);
    }
    object.push_str(request.name());
    Ok(object)
}

impl HistoryBuilder {
    /// Adds a write to the history within the limits, and drops the oldest allowed one if there are too many.
    fn add(&mut self, write: RecordedWrite) {
        if write.denials.is_empty() {
            let is_allowed = |write: &&RecordedWrite| write.denials.is_empty();
            let allowed = self.writes.iter().rev().take_while(is_allowed).count();
            if allowed >= MAX_ALLOWED_WRITES {
                let first = self.writes.len().saturating_sub(allowed);
                self.writes.remove(first);
                self.omitted = self.omitted.saturating_add(1);
            }
        } else {
            self.denied = self.denied.saturating_add(1);
            if self.denied > MAX_DENIED_WRITES {
                self.omitted = self.omitted.saturating_add(1);
                return;
            }
        }
        self.writes.push(write);
    }
}

fn recorded_write(
    write: &WriteObjects<'_>,
    location: &WriteLocation,
    denials: &[&MergedFinding<'_>],
) -> RecordedWrite {
    let is_in_status = denials
        .iter()
        .any(|finding| finding.path().starts_with("status"));
    let denials: Vec<Denial> = denials
        .iter()
        .map(|finding| Denial {
            rule: finding.rule().id(),
            releases: finding.releases(),
            message: finding.message(),
        })
        .collect();
    let operation = match (write.old.is_null(), write.is_status) {
        (true, _) => "created",
        (false, true) => "status updated",
        (false, false) => "updated",
    };
    let field = if write.is_status || is_in_status {
        "status"
    } else {
        "spec"
    };
    let value = |object: &Value| object.get(field).cloned().unwrap_or_default();
    let change = (!denials.is_empty()).then(|| FieldChange {
        field,
        before: value(write.old),
        after: value(write.new),
    });
    RecordedWrite {
        location: format!("{}:{}", location.source, location.line),
        time: location.time.clone(),
        operation,
        denials,
        change,
    }
}
