//! Takes writes, asks every release about each, and keeps the sums.

use std::collections::BTreeMap;

use managed_by::{
    AdmissionRequest, Enforcement, JudgedFinding, Kind, Mode, Release, ReleaseSet, Rule, Settings,
    exercised, judge, rules, with_kind,
};
use serde_json::Value;

use crate::report::{Cell, Denial, Report, Row, State, Step, Timeline};

/// Accepted writes of an object that are kept, in case that a later one is denied.
const KEPT: usize = 10;
/// Denied writes of an object that are shown.
const SHOWN: usize = 20;
/// Objects whose writes are shown.
const TIMELINES: usize = 100;

/// Where a write was recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordedAt {
    /// The file.
    pub source: String,
    /// Its line, from 1.
    pub line: u64,
    /// When, if the record says.
    pub time: Option<String>,
}

/// The writes of a controller, as far as they have been added.
#[derive(Debug)]
pub struct Recording<'s> {
    controller: String,
    settings: Settings<'s>,
    /// The releases that are asked, oldest first.
    releases: &'static [Release],
    writes: u64,
    status_writes: u64,
    /// Writes to objects of other controllers, by the controller; empty where nobody can tell.
    passed_over: BTreeMap<String, u64>,
    unjudged: u64,
    /// By rule: the kinds that it judges were seen, and what each release made of it.
    sums: BTreeMap<&'static str, Vec<Cell>>,
    objects: BTreeMap<String, History>,
}

#[derive(Debug, Default)]
struct History {
    steps: Vec<Step>,
    left_out: u64,
    denied: usize,
}

impl Recording<'static> {
    /// Of the objects that a controller reconciles: its name in `managedBy`, or the reserved value of a kind for the objects
    /// that are not delegated.
    pub fn of(controller: impl Into<String>) -> Self {
        Self::with_settings(controller, &Settings::default())
    }
}

impl<'s> Recording<'s> {
    /// The same, judged with a policy's settings, such as those that declare kinds. The release that they choose does not count:
    /// all are asked.
    pub fn with_settings(controller: impl Into<String>, settings: &Settings<'s>) -> Self {
        Self {
            controller: controller.into(),
            settings: settings.clone().for_tools(),
            releases: Release::ALL,
            writes: 0,
            status_writes: 0,
            passed_over: BTreeMap::new(),
            unjudged: 0,
            sums: BTreeMap::new(),
            objects: BTreeMap::new(),
        }
    }

    /// The same, of a release and the newer ones alone.
    #[must_use]
    pub fn since(mut self, oldest: Release) -> Self {
        let first = Release::ALL.partition_point(|release| *release < oldest);
        self.releases = Release::ALL.get(first..).unwrap_or_default();
        self
    }

    /// Adds a write: an admission request, as the library reads it and as a value. One of an object that another controller
    /// reconciles is passed over.
    pub fn add(&mut self, request: &AdmissionRequest<'_>, value: &Value, place: &RecordedAt) {
        let write = Write::of(value);
        let object = with_kind(request, &self.settings, |kind| {
            reconciled(kind, &write, request, &self.controller)
        });
        // A kind that nobody knows says nothing of a controller.
        let (Ok(Some(object)), Ok(rules)) = (object, exercised(request, &self.settings)) else {
            return;
        };
        let object = match object {
            Ok(object) => object,
            Err(other) => {
                let count = self.passed_over.entry(other).or_default();
                *count = count.saturating_add(1);
                return;
            }
        };
        self.writes = self.writes.saturating_add(1);
        if write.is_status {
            self.status_writes = self.status_writes.saturating_add(1);
        }
        let judgement = judge(
            request,
            &self.settings,
            Some(self.releases.iter().copied().collect()),
        );
        let findings = judgement.findings().iter();
        let found: Vec<&JudgedFinding<'_>> = findings
            .filter(|found| {
                found.enforcement() == Enforcement::Deny
                    && rules.iter().any(|(rule, _)| *rule == found.rule())
            })
            .collect();
        for (rule, exercised) in rules {
            let cells = self
                .sums
                .entry(rule.id())
                .or_insert_with(|| vec![Cell::default(); self.releases.len()]);
            count(cells.iter_mut().zip(self.releases), rule, exercised, &found);
        }
        self.objects
            .entry(object)
            .or_default()
            .add(step(&write, place, &found));
    }

    /// Notes records that could not be judged, such as lines that were cut.
    pub fn note_unjudged(&mut self, records: u64) {
        self.unjudged = self.unjudged.saturating_add(records);
    }

    /// Whether nothing was added that counts.
    pub fn is_empty(&self) -> bool {
        self.writes == 0
    }

    /// The controllers of the objects that were passed over, in the order of their names, each with the number of writes.
    pub fn others(&self) -> impl Iterator<Item = (&str, u64)> + Clone {
        let all = self.passed_over.iter();
        let all = all.map(|(name, writes)| (&**name, *writes));
        all.filter(|(name, _)| !name.is_empty())
    }

    /// The sums.
    pub fn finish(self) -> Report {
        let rows: Vec<Row> = rules()
            .iter()
            .filter_map(|rule| {
                let cells = self.sums.get(rule.id())?;
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
            self.unjudged == 0 && is_tested && states.all(|state| state != State::Denied)
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
                left_out: history.left_out,
            })
            .collect();
        let left_out = denied.len().saturating_sub(TIMELINES);
        denied.truncate(TIMELINES);
        Report {
            format: 1,
            controller: self.controller,
            releases: releases().collect(),
            objects,
            writes: self.writes,
            status_writes: self.status_writes,
            passed_over: self
                .passed_over
                .values()
                .copied()
                .fold(0, u64::saturating_add),
            unjudged: self.unjudged,
            conforms_to: conforming.map(|(_, release)| release).collect(),
            rows,
            timelines: denied,
            timelines_left_out: u64::try_from(left_out).unwrap_or(u64::MAX),
        }
    }
}

/// Counts a write in the cells of a rule.
fn count<'c>(
    cells: impl Iterator<Item = (&'c mut Cell, &'static Release)>,
    rule: &'static Rule,
    exercised: bool,
    found: &[&JudgedFinding<'_>],
) {
    let of_rule = found.iter().filter(|found| found.rule() == rule);
    let denying = of_rule.fold(ReleaseSet::default(), |all, found| {
        all.union(found.releases())
    });
    for (cell, &release) in cells {
        if !rule.holds_in(release) {
            cell.state = State::Absent;
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

/// A write, as its two objects.
struct Write<'v> {
    /// The object as stored; `null` if it is created.
    old: &'v Value,
    /// The object as it is to become.
    new: &'v Value,
    /// Whether the subresource `status` was written.
    is_status: bool,
}

impl<'v> Write<'v> {
    /// The write that an admission request asks for.
    fn of(request: &'v Value) -> Self {
        let member = |name: &str| request.get(name).unwrap_or(&Value::Null);
        Self {
            old: member("oldObject"),
            new: member("object"),
            is_status: member("subResource") == "status",
        }
    }
}

/// The object that was written, as in `Job.batch team-a/pi`, if the controller reconciles it.
///
/// # Errors
/// The name of the other controller, if one reconciles the object; empty if nobody can tell.
fn reconciled(
    kind: &Kind<'_>,
    write: &Write<'_>,
    request: &AdmissionRequest<'_>,
    controller: &str,
) -> Result<String, String> {
    let pointer = format!("/{}", kind.managed_by_path().replace('.', "/"));
    let spec_holder = if write.is_status {
        write.old
    } else {
        write.new
    };
    let managed_by = spec_holder.pointer(&pointer);
    let reconciles = match kind.mode(managed_by.and_then(Value::as_str)) {
        Mode::Delegated(name) => name,
        Mode::Standard => kind.reserved_value().ok_or_else(String::new)?,
    };
    if reconciles != controller {
        return Err(reconciles.to_owned());
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

impl History {
    /// Keeps a write: all that are denied up to a number, and of the accepted ones the last before.
    fn add(&mut self, step: Step) {
        if step.denials.is_empty() {
            let is_accepted = |step: &Step| step.denials.is_empty();
            let kept = self.steps.iter().rev().take_while(|step| is_accepted(step));
            let kept = kept.count();
            if kept >= KEPT {
                let first = self.steps.len().saturating_sub(kept);
                self.steps.remove(first);
                self.left_out = self.left_out.saturating_add(1);
            }
        } else {
            self.denied = self.denied.saturating_add(1);
            if self.denied > SHOWN {
                self.left_out = self.left_out.saturating_add(1);
                return;
            }
        }
        self.steps.push(step);
    }
}

fn step(write: &Write<'_>, place: &RecordedAt, found: &[&JudgedFinding<'_>]) -> Step {
    let denials: Vec<Denial> = found
        .iter()
        .map(|found| Denial {
            rule: found.rule().id(),
            releases: found.releases().to_string(),
            text: found.text(),
        })
        .collect();
    let what = match (write.old.is_null(), write.is_status) {
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
        place: format!("{}:{}", place.source, place.line),
        time: place.time.clone(),
        what,
        denials,
        before_and_after,
    }
}
