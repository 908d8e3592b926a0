//! Evaluates recorded writes for every release, and collects the results for the report.

use std::collections::BTreeMap;

use managed_by::{
    AdmissionRequest, Enforcement, Kind, MergedFinding, Reconciler, Release, ReleaseSet, Rule,
    Settings, evaluate, exercised_rules, rules, with_kind,
};
use serde_json::Value;

use crate::report::{Cell, Denial, Report, Row, State, Step, Timeline};

/// Maximum number of accepted writes in a timeline before each denied one.
const MAX_ACCEPTED_STEPS: usize = 10;
/// Maximum number of denied writes in a timeline.
const MAX_DENIED_STEPS: usize = 20;
/// Maximum number of timelines.
const MAX_TIMELINES: usize = 100;

/// Location of a write in a recording.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WriteLocation {
    /// File name.
    pub source: String,
    /// Line number, from 1.
    pub line: u64,
    /// Time of the write, if recorded.
    pub time: Option<String>,
}

/// Builder of a report about a controller's writes.
#[derive(Debug)]
pub struct ReportBuilder<'s> {
    controller: String,
    settings: Settings<'s>,
    /// Releases to evaluate, oldest first.
    releases: &'static [Release],
    writes: u64,
    status_writes: u64,
    /// Number of skipped writes to objects of each other controller. The name is empty if the controller is unknown.
    other_controllers: BTreeMap<String, u64>,
    skipped: u64,
    /// One cell per release, for each rule that applies to a recorded kind.
    cells: BTreeMap<&'static str, Vec<Cell>>,
    objects: BTreeMap<String, TimelineBuilder>,
}

#[derive(Debug, Default)]
struct TimelineBuilder {
    steps: Vec<Step>,
    omitted: u64,
    denied: usize,
}

impl ReportBuilder<'static> {
    /// Creates a builder for the writes to the objects of one controller.
    ///
    /// `controller` is the value of `managedBy`, or the reserved value of a kind for objects that are not delegated.
    pub fn new(controller: impl Into<String>) -> Self {
        Self::with_settings(controller, &Settings::default())
    }
}

impl<'s> ReportBuilder<'s> {
    /// Creates a builder with the settings of a policy, for example with custom kinds. `kubernetes_version` is ignored.
    pub fn with_settings(controller: impl Into<String>, settings: &Settings<'s>) -> Self {
        Self {
            controller: controller.into(),
            settings: settings.clone().for_tools(),
            releases: Release::ALL,
            writes: 0,
            status_writes: 0,
            other_controllers: BTreeMap::new(),
            skipped: 0,
            cells: BTreeMap::new(),
            objects: BTreeMap::new(),
        }
    }

    /// Restricts the report to a release and newer ones.
    #[must_use]
    pub fn since(mut self, oldest: Release) -> Self {
        let first = Release::ALL.partition_point(|release| *release < oldest);
        self.releases = Release::ALL.get(first..).unwrap_or_default();
        self
    }

    /// Adds a write: `request` is the decoded admission request, and `value` the same request as JSON. Writes to objects of other
    /// controllers are skipped.
    pub fn add(&mut self, request: &AdmissionRequest<'_>, value: &Value, location: &WriteLocation) {
        let write = Write::of(value);
        let object = with_kind(request, &self.settings, |kind| {
            reconciled_object(kind, &write, request, &self.controller)
        });
        // Unknown kinds are ignored.
        let (Ok(Some(object)), Ok(rules)) = (object, exercised_rules(request, &self.settings))
        else {
            return;
        };
        let object = match object {
            Ok(object) => object,
            Err(other) => {
                let count = self.other_controllers.entry(other).or_default();
                *count = count.saturating_add(1);
                return;
            }
        };
        self.writes = self.writes.saturating_add(1);
        if write.is_status {
            self.status_writes = self.status_writes.saturating_add(1);
        }
        let evaluation = evaluate(
            request,
            &self.settings,
            Some(self.releases.iter().copied().collect()),
        );
        let findings = evaluation.findings().iter();
        let found: Vec<&MergedFinding<'_>> = findings
            .filter(|found| {
                found.enforcement() == Enforcement::Deny
                    && rules.iter().any(|(rule, _)| *rule == found.rule())
            })
            .collect();
        for (rule, exercised) in rules {
            let cells = self
                .cells
                .entry(rule.id())
                .or_insert_with(|| vec![Cell::default(); self.releases.len()]);
            count(cells.iter_mut().zip(self.releases), rule, exercised, &found);
        }
        self.objects
            .entry(object)
            .or_default()
            .add(step(&write, location, &found));
    }

    /// Counts records that could not be evaluated, such as truncated lines.
    pub fn add_skipped(&mut self, records: u64) {
        self.skipped = self.skipped.saturating_add(records);
    }

    /// Returns true if no write was evaluated.
    pub fn is_empty(&self) -> bool {
        self.writes == 0
    }

    /// Returns the controllers of skipped objects, sorted by name, each with the number of writes.
    pub fn other_controllers(&self) -> impl Iterator<Item = (&str, u64)> + Clone {
        let all = self.other_controllers.iter();
        let all = all.map(|(name, writes)| (&**name, *writes));
        all.filter(|(name, _)| !name.is_empty())
    }

    /// Returns the report.
    pub fn finish(self) -> Report {
        let rows: Vec<Row> = rules()
            .iter()
            .filter_map(|rule| {
                let cells = self.cells.get(rule.id())?;
                Some(Row {
                    rule: rule.id(),
                    title: rule.documentation().title,
                    is_upstream: rule.is_upstream(),
                    cells: cells.clone(),
                })
            })
            .collect();
        let conforms = |index: usize| {
            let cells = rows.iter().filter_map(|row| row.cells.get(index));
            let mut states = cells.map(|cell| cell.state);
            let is_tested = states.clone().any(|state| state == State::Passed);
            self.skipped == 0 && is_tested && states.all(|state| state != State::Denied)
        };
        let releases = || self.releases.iter().map(ToString::to_string);
        let conforming = releases().enumerate().filter(|(index, _)| conforms(*index));
        let objects = u64::try_from(self.objects.len()).unwrap_or(u64::MAX);
        let mut denied: Vec<Timeline> = self
            .objects
            .into_iter()
            .filter(|(_, history)| history.denied > 0)
            .map(|(object, history)| Timeline {
                object,
                steps: history.steps,
                omitted: history.omitted,
            })
            .collect();
        let omitted = denied.len().saturating_sub(MAX_TIMELINES);
        denied.truncate(MAX_TIMELINES);
        Report {
            format: 1,
            controller: self.controller,
            releases: releases().collect(),
            objects,
            writes: self.writes,
            status_writes: self.status_writes,
            other_controllers: self
                .other_controllers
                .values()
                .copied()
                .fold(0, u64::saturating_add),
            skipped: self.skipped,
            conforms_to: conforming.map(|(_, release)| release).collect(),
            rows,
            timelines: denied,
            omitted_timelines: u64::try_from(omitted).unwrap_or(u64::MAX),
        }
    }
}

/// Counts a write in the cells of a rule.
fn count<'c>(
    cells: impl Iterator<Item = (&'c mut Cell, &'static Release)>,
    rule: &'static Rule,
    exercised: bool,
    found: &[&MergedFinding<'_>],
) {
    let findings = found.iter().filter(|found| found.rule() == rule);
    let denying = findings.fold(ReleaseSet::default(), |all, found| {
        all.union(found.releases())
    });
    for (cell, &release) in cells {
        if !rule.exists_in(release) {
            cell.state = State::NotInRelease;
            continue;
        }
        if exercised {
            cell.exercised = cell.exercised.saturating_add(1);
            if cell.state == State::Untested {
                cell.state = State::Passed;
            }
        }
        if denying.contains(release) {
            cell.denied = cell.denied.saturating_add(1);
            cell.state = State::Denied;
        }
    }
}

/// The objects of a write.
struct Write<'v> {
    /// Stored object; `null` for a create.
    old: &'v Value,
    /// New object.
    new: &'v Value,
    /// True for the subresource `status`.
    is_status: bool,
}

impl<'v> Write<'v> {
    /// Reads the objects of an admission request.
    fn of(request: &'v Value) -> Self {
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
fn reconciled_object(
    kind: &Kind<'_>,
    write: &Write<'_>,
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
    let owner = match kind.mode(managed_by.and_then(Value::as_str)) {
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

impl TimelineBuilder {
    /// Adds a write to the timeline within the limits, and drops the oldest accepted one if there are too many.
    fn add(&mut self, step: Step) {
        if step.denials.is_empty() {
            let is_accepted = |step: &Step| step.denials.is_empty();
            let accepted = self.steps.iter().rev().take_while(|step| is_accepted(step));
            let accepted = accepted.count();
            if accepted >= MAX_ACCEPTED_STEPS {
                let first = self.steps.len().saturating_sub(accepted);
                self.steps.remove(first);
                self.omitted = self.omitted.saturating_add(1);
            }
        } else {
            self.denied = self.denied.saturating_add(1);
            if self.denied > MAX_DENIED_STEPS {
                self.omitted = self.omitted.saturating_add(1);
                return;
            }
        }
        self.steps.push(step);
    }
}

fn step(write: &Write<'_>, location: &WriteLocation, found: &[&MergedFinding<'_>]) -> Step {
    let denials: Vec<Denial> = found
        .iter()
        .map(|found| Denial {
            rule: found.rule().id(),
            releases: found.releases().to_string(),
            text: found.message(),
        })
        .collect();
    let operation = match (write.old.is_null(), write.is_status) {
        (true, _) => "created",
        (false, true) => "status updated",
        (false, false) => "spec updated",
    };
    let part = if write.is_status || write.old.is_null() {
        "status"
    } else {
        "spec"
    };
    let pretty = |object: &Value| {
        let part = object.get(part).unwrap_or(&Value::Null);
        serde_json::to_string_pretty(part).unwrap_or_default()
    };
    let before_and_after = (!denials.is_empty()).then(|| (pretty(write.old), pretty(write.new)));
    Step {
        location: format!("{}:{}", location.source, location.line),
        time: location.time.clone(),
        operation,
        denials,
        before_and_after,
    }
}
