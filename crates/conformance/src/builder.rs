//! Evaluates recorded writes for every release, and collects the results for the report.

use std::collections::{BTreeMap, BTreeSet};

use managed_by::{
    AdmissionRequest, Decision, Enforcement, Finding, Kind, NoCluster, Reconciler, ReleaseSet,
    Settings, resolve,
};
use managed_by_offline::Operation;
use managed_by_offline::profile::{CORE, Profile, Transitions, profile};
use managed_by_offline::replay::RejectedWrite;
use serde_json::Value;

use super::coverage::{Coverage, profile_results};
use super::report::{
    ConformanceOutcome, ConformanceReport, DeniedWrites, Provenance, Rejection, UnfinishedObject,
};
use super::rule_results::RuleResults;
use super::tracked_object::TrackedObject;
use super::writes::{WriteLocation, WriteObjects, recorded_write};

/// Maximum number of objects whose denied writes are listed.
const MAX_OBJECTS: usize = 100;
/// Builder of a report about a controller's writes.
#[derive(Debug, Default)]
pub(crate) struct ReportBuilder<'s> {
    controller: String,
    settings: Settings<'s>,
    pub(crate) provenance: Provenance,
    /// Releases of the report.
    pub(crate) releases: ReleaseSet,
    /// Profiles that the controller claims, besides [`CORE`].
    pub(crate) claimed: Vec<&'static Profile>,
    writes: u64,
    status_writes: u64,
    denied_writes: u64,
    rejected_writes: u64,
    transient_rejections: u64,
    /// Number of skipped writes to objects of other controllers, by controller. The name is empty if the controller is unknown.
    other_controller_writes: BTreeMap<String, u64>,
    /// Number of records that could not be evaluated, such as truncated lines.
    pub(crate) skipped: u64,
    rule_results: RuleResults,
    /// Denied and rejected writes to each written object.
    listed_writes: BTreeMap<String, DeniedWrites>,
    /// The controller's objects, by their identity in the recording.
    objects: BTreeMap<String, TrackedObject>,
    /// Identity of the last object with a name, of this controller.
    identities: BTreeMap<String, String>,
    /// Names of other controllers' objects.
    other_objects: BTreeSet<String>,
    transitions: Transitions,
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
            ..Self::default()
        }
    }

    /// Adds a write: `request` is the decoded admission request, `value` the same request as JSON, and `identity` distinguishes the
    /// object from others with its name. Writes to objects of other controllers are skipped.
    pub(crate) fn add(
        &mut self,
        request: &AdmissionRequest<'_>,
        value: &Value,
        identity: &str,
        location: &WriteLocation,
    ) -> Result<(), String> {
        let write = WriteObjects::from_request(value);
        let Some(object) = self.evaluate(request, &write, location, None)? else {
            return Ok(());
        };
        self.writes = self.writes.saturating_add(1);
        if write.is_status {
            self.status_writes = self.status_writes.saturating_add(1);
        }
        let tracked = self.objects.entry(identity.to_owned()).or_default();
        tracked.kind = value.get("kind").cloned().unwrap_or_default();
        // There is no write behind the first state of an object.
        if tracked.is_job() && !write.old.is_null() {
            tracked.transitions.add(write.old, write.new);
            self.transitions.extend(&tracked.transitions);
        }
        tracked.name.clone_from(&object);
        tracked.last.clone_from(write.new);
        tracked.last_location.clone_from(&location.position);
        tracked.rejections = 0;
        self.identities.insert(object, identity.to_owned());
        Ok(())
    }

    /// Adds a write that the API server rejected, with its request, decoded and as JSON, if the recording has both states.
    pub(crate) fn add_rejected(
        &mut self,
        rejected: &RejectedWrite<'_>,
        request: Option<(&AdmissionRequest<'_>, &Value)>,
        location: &WriteLocation,
    ) -> Result<(), String> {
        // Users create and delete the objects.
        if matches!(rejected.operation, Operation::Create | Operation::Delete) {
            return Ok(());
        }
        let name = rejected.object.to_string();
        if self.other_objects.contains(&name) {
            return Ok(());
        }
        let tracked = self
            .identities
            .get(&name)
            .and_then(|identity| self.objects.get_mut(identity));
        if rejected.is_transient() {
            if tracked.is_some() {
                self.transient_rejections = self.transient_rejections.saturating_add(1);
            }
            return Ok(());
        }
        let Some(tracked) = tracked else {
            return Err("rejected write to an object without an earlier record".to_owned());
        };
        tracked.rejections = tracked.rejections.saturating_add(1);
        tracked.last_location.clone_from(&location.position);
        self.rejected_writes = self.rejected_writes.saturating_add(1);
        let rejection = Rejection {
            code: rejected.code,
            message: rejected.message.clone(),
        };
        let last = tracked.last.clone();
        let evaluated = match request {
            Some((request, value)) => {
                let write = WriteObjects::from_request(value);
                self.evaluate(request, &write, location, Some(rejection.clone()))
            }
            None => Ok(None),
        };
        if !matches!(evaluated, Ok(Some(_))) {
            let write = WriteObjects {
                old: &last,
                new: &last,
                is_status: rejected.operation == Operation::UpdateStatus,
            };
            let write = recorded_write(&write, location, &[], Some(rejection));
            self.listed_writes.entry(name).or_default().add(write);
        }
        evaluated.map(drop)
    }

    /// Evaluates a write, and adds the results. Returns the name of the object if it is the controller's.
    fn evaluate(
        &mut self,
        request: &AdmissionRequest<'_>,
        write: &WriteObjects<'_>,
        location: &WriteLocation,
        rejection: Option<Rejection>,
    ) -> Result<Option<String>, String> {
        let (evaluation, object, rules) = resolve(request, &self.settings, |resolved| {
            let object = resolved.kind().map(|kind| {
                let name = object_name(kind, request);
                // A status update ignores changes of the spec, and a rejected write changes nothing.
                let is_old = write.is_status || rejection.is_some();
                let stored = if is_old { write.old } else { write.new };
                (name, reconciler_of(kind, stored, &self.controller))
            });
            let evaluation = resolved.evaluate(Some(self.releases), &NoCluster);
            (evaluation, object, resolved.exercised_rules())
        });
        if let Decision::Denied { code: 400, message } = &evaluation.verdict.decision {
            return Err(message.clone());
        }
        // Ignore unknown kinds, and custom kinds whose declaration is invalid.
        let Some((object, owner)) = object else {
            return Ok(None);
        };
        if let Err(other) = owner {
            let count = self.other_controller_writes.entry(other).or_default();
            *count = count.saturating_add(1);
            self.other_objects.insert(object);
            return Ok(None);
        }
        self.other_objects.remove(&object);
        let findings = evaluation.findings.iter();
        let denials: Vec<&Finding> = findings
            .filter(|finding| {
                finding.enforcement == Enforcement::Deny
                    && rules.iter().any(|(rule, _)| *rule == finding.rule)
            })
            .collect();
        let is_rejected = rejection.is_some();
        self.rule_results
            .count(self.releases, &rules, &denials, is_rejected);
        if !denials.is_empty() && rejection.is_none() {
            self.denied_writes = self.denied_writes.saturating_add(1);
        }
        if write.is_status && !is_rejected {
            self.rule_results
                .count_warnings(&evaluation, &object, location);
        }
        let listed = self.listed_writes.entry(object.clone()).or_default();
        if !denials.is_empty() || is_rejected {
            listed.add(recorded_write(write, location, &denials, rejection));
        }
        Ok(Some(object))
    }

    /// Returns true if no write was evaluated.
    pub(crate) fn is_empty(&self) -> bool {
        self.writes == 0 && self.rejected_writes == 0
    }

    /// Returns the controllers of skipped objects, sorted by name, each with the number of writes.
    pub(crate) fn other_controller_writes(&self) -> impl Iterator<Item = (&str, u64)> + Clone {
        let all = self.other_controller_writes.iter();
        let all = all.map(|(name, writes)| (&**name, *writes));
        all.filter(|(name, _)| !name.is_empty())
    }

    /// Returns the controller's objects that are live at the end of the recording but did not reach an end.
    fn unfinished_objects(&self, is_live: impl Fn(&str) -> bool) -> Vec<UnfinishedObject> {
        let live = self
            .objects
            .iter()
            .filter(|(identity, _)| is_live(identity));
        let unfinished = live.filter_map(|(_, object)| {
            Some(UnfinishedObject {
                object: object.name.clone(),
                problem: object.problem()?,
                last_write: object.last_location.clone(),
            })
        });
        unfinished.collect()
    }

    /// Returns the report. `is_live` returns true if the object with an identity exists at the end of the recording.
    pub(crate) fn finish(self, is_live: impl Fn(&str) -> bool) -> ConformanceReport {
        let mut unfinished_objects = self.unfinished_objects(is_live);
        let unfinished = u64::try_from(unfinished_objects.len()).unwrap_or(u64::MAX);
        unfinished_objects.truncate(MAX_OBJECTS);
        let has_job = self.objects.values().any(TrackedObject::is_job);
        let (rules, warnings) = self.rule_results.finish();
        let releases_with = |outcome: ConformanceOutcome| -> ReleaseSet {
            let releases = self.releases.iter().enumerate();
            let has_outcome = releases.filter(|(index, _)| {
                let results = rules.iter().filter_map(|rule| rule.results.get(*index));
                results.map(|result| result.outcome).any(|o| o == outcome)
            });
            has_outcome.map(|(_, release)| release).collect()
        };
        let denied_by = releases_with(ConformanceOutcome::Denied);
        let claimed = self.claimed.iter().copied();
        let required: Vec<&Profile> = profile(CORE)
            .filter(|_| has_job)
            .into_iter()
            .chain(claimed.filter(|profile| profile.name != CORE))
            .collect();
        let coverage = Coverage {
            releases: self.releases,
            rules: &rules,
            transitions: &self.transitions,
        };
        let profiles = profile_results(&required, &coverage);
        let covered = profiles
            .iter()
            .filter(|profile| profile.is_required)
            .fold(releases_with(ConformanceOutcome::Passed), |all, profile| {
                all.intersection(profile.exercised_in)
            });
        let conforms_to = if self.skipped == 0 && self.rejected_writes == 0 && unfinished == 0 {
            covered.difference(denied_by)
        } else {
            ReleaseSet::default()
        };
        let objects = u64::try_from(self.listed_writes.len()).unwrap_or(u64::MAX);
        let mut denied_objects: Vec<DeniedWrites> = self
            .listed_writes
            .into_iter()
            .filter(|(_, listed)| !listed.writes.is_empty())
            .map(|(object, listed)| DeniedWrites { object, ..listed })
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
            denied_writes: self.denied_writes,
            rejected_writes: self.rejected_writes,
            transient_rejections: self.transient_rejections,
            other_controller_writes: self
                .other_controller_writes
                .values()
                .copied()
                .fold(0, u64::saturating_add),
            skipped: self.skipped,
            denied_by,
            conforms_to,
            profiles,
            rules,
            warnings,
            denied_objects,
            omitted_objects: u64::try_from(omitted_objects).unwrap_or(u64::MAX),
            unfinished,
            unfinished_objects,
        }
    }
}

/// Returns the name of the written object, such as `Job.batch team-a/pi`.
fn object_name(kind: &Kind<'_>, request: &AdmissionRequest<'_>) -> String {
    let mut object = kind.name().to_owned();
    if !kind.group().is_empty() {
        object.extend([".", kind.group()]);
    }
    object.push(' ');
    if !request.namespace().is_empty() {
        object.extend([request.namespace(), "/"]);
    }
    object.push_str(request.name());
    object
}

/// Checks that the controller reconciles the written object. The error is the name of the one that does, empty if it is unknown.
fn reconciler_of(kind: &Kind<'_>, object: &Value, controller: &str) -> Result<(), String> {
    let pointer = format!("/{}", kind.managed_by_path().replace('.', "/"));
    let managed_by = object.pointer(&pointer);
    let owner = match kind.reconciler(managed_by.and_then(Value::as_str)) {
        Reconciler::Delegated(name) => name,
        Reconciler::BuiltIn => kind.reserved_value().ok_or_else(String::new)?,
    };
    if owner == controller {
        Ok(())
    } else {
        Err(owner.to_owned())
    }
}
