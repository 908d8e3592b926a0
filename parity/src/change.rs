//! Compares the library with upstream's code on changes from one manifest of a Job to another one.

use std::fmt;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use managed_by::{AdmissionRequest, Enforcement, Release, Settings, evaluate};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::generate::{Generator, set_member};
use crate::oracle;
use crate::vector::{Case, FieldError, directory, read_lines, to_lines};

/// Upstream's errors on a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangeResult {
    pub name: String,
    /// Reason why the old manifest cannot be stored.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub invalid: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    panic: String,
    /// The stored object, which is not in the sample.
    #[serde(default, skip_serializing)]
    stored: Value,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    apply: Vec<FieldError>,
    /// Errors if kubectl did not apply the old manifest.
    #[serde(default, skip_serializing)]
    first_apply: Vec<FieldError>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    replace: Vec<FieldError>,
}

/// Releases of the committed sample, and of the random run in CI.
pub const RELEASES: [Release; 3] = [Release::V1_30, Release::V1_34, Release::V1_37];

/// File of the committed sample, with upstream's results for [`RELEASES`] per line. The changes are generated again.
pub const SAMPLE: &str = "job-spec-changes.ndjson";

/// Number of changes in the committed sample.
const SAMPLE_SIZE: u64 = 300;

const MOST_MISTAKES: usize = 20;

const SAMPLE_SEED: u64 = 72;

/// The library's result for a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeOutcome {
    /// The old manifest cannot be stored.
    Invalid,
    /// Neither errors nor unchecked parts, and upstream accepts it.
    Accepted,
    /// Errors, and upstream returns them too.
    Denied,
    /// No errors, but unchecked parts.
    Unchecked,
    /// Neither errors nor unchecked parts, but upstream denies it.
    FalseGreen,
    /// Errors that upstream does not return.
    FalseDenial,
}

/// A change with a false verdict.
pub type Mistake = (Case, ChangeResult, ChangeOutcome);

/// Number of changes with each outcome.
#[derive(Debug, Clone, Copy, Default)]
pub struct ChangeCounts([u64; 6]);

impl ChangeCounts {
    pub fn add(&mut self, outcome: ChangeOutcome) {
        if let Some(count) = self.0.get_mut(outcome as usize) {
            *count = count.saturating_add(1);
        }
    }

    /// Returns the number of false verdicts.
    pub const fn mistakes(&self) -> u64 {
        let [.., greens, denials] = self.0;
        greens.saturating_add(denials)
    }

    /// Returns the unchecked part in per mille.
    pub fn unchecked(&self) -> u64 {
        let [_, accepted, denied, unchecked, ..] = self.0;
        let valid = accepted.saturating_add(denied).saturating_add(unchecked);
        unchecked
            .saturating_mul(1000)
            .checked_div(valid)
            .unwrap_or_default()
    }
}

impl fmt::Display for ChangeCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [invalid, accepted, denied, unchecked, greens, denials] = self.0;
        let share = self.unchecked();
        write!(
            f,
            "{accepted} accepted, {denied} denied, {unchecked} unchecked ({}.{} %), {greens} false greens, {denials} false denials; \
             {invalid} invalid",
            share / 10,
            share % 10
        )
    }
}

impl fmt::Display for ChangeResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts = |errors: &[FieldError]| {
            let texts: Vec<_> = errors.iter().map(|error| error.error.as_str()).collect();
            texts.join(", ")
        };
        write!(
            f,
            "apply: {}; first apply: {}; replace: {}",
            texts(&self.apply),
            texts(&self.first_apply),
            texts(&self.replace)
        )
    }
}

impl ChangeResult {
    /// Judges the library's result for one release.
    pub fn judge(&self, case: &Case, release: Release) -> ChangeOutcome {
        self.judge_by(case, release, [&self.apply, &self.replace])
    }

    /// Judges the library's result for one release if the old manifest is the stored object, which kubectl applied or another client
    /// created.
    fn judge_stored(&self, case: &Case, release: Release) -> [ChangeOutcome; 2] {
        let mut created = case.clone();
        created.old_object = Some(self.stored.clone());
        let mut applied = created.clone();
        let metadata = applied
            .old_object
            .as_mut()
            .and_then(|stored| stored.get_mut("metadata"));
        if let (Some(metadata), Some(manifest)) = (metadata, &case.old_object) {
            let annotation = "kubectl.kubernetes.io/last-applied-configuration";
            set_member(
                metadata,
                "annotations",
                json!({annotation: manifest.to_string()}),
            );
        }
        // The stored object does not show whether its generated selector was empty in the manifest.
        let mut replace = self.replace.clone();
        let selects = case.object.pointer("/spec/selector").is_some();
        replace.retain(|error| error.field != "spec.selector" || selects);
        [
            self.judge_by(&applied, release, [&self.apply, &self.replace]),
            self.judge_by(&created, release, [&self.first_apply, &replace]),
        ]
    }

    fn judge_by(
        &self,
        case: &Case,
        release: Release,
        results: [&Vec<FieldError>; 2],
    ) -> ChangeOutcome {
        // kubectl applies no change at all if an element of a list lacks its key.
        let mut texts = self.apply.iter().map(|error| &error.error);
        let is_invalid = !self.invalid.is_empty() || !self.panic.is_empty();
        if is_invalid || texts.any(|text| text.contains("declared merge key")) {
            return ChangeOutcome::Invalid;
        }
        let (errors, unchecked) = library_result(case, release);
        let denies = |results: &&Vec<FieldError>| {
            // kubectl or the decoder rejects the manifest, before its fields are compared.
            let is_rejected = results.iter().any(|error| error.field.is_empty());
            is_rejected
                || errors
                    .iter()
                    .all(|error| results.iter().any(|result| result.error == *error))
        };
        match (errors.is_empty(), unchecked.is_empty()) {
            (false, _) if results.iter().all(denies) => ChangeOutcome::Denied,
            (false, _) => ChangeOutcome::FalseDenial,
            (true, false) => ChangeOutcome::Unchecked,
            (true, true) if results.iter().all(|errors| errors.is_empty()) => {
                ChangeOutcome::Accepted
            }
            (true, true) => ChangeOutcome::FalseGreen,
        }
    }
}

/// Returns the texts of the library's errors on the spec, and the unchecked paths.
pub fn library_result(case: &Case, release: Release) -> (Vec<String>, Vec<String>) {
    let settings = Settings::for_release(release).for_tools();
    let case = Case {
        operation: "UPDATE".to_owned(),
        ..case.clone()
    };
    let text = case.request().to_string();
    let Ok(request) = AdmissionRequest::from_json(text.as_bytes()) else {
        return (Vec::new(), vec!["malformed".to_owned()]);
    };
    let evaluation = evaluate(&request.with_manifests(), &settings, None);
    let findings = evaluation.findings.into_iter();
    let findings = findings.filter(|f| f.enforcement == Enforcement::Deny && f.rule.is_upstream());
    let unchecked = evaluation
        .unchecked
        .into_iter()
        .map(|unchecked| unchecked.path);
    (
        findings.map(|finding| finding.message).collect(),
        unchecked.collect(),
    )
}

/// Returns the changes of the committed sample.
pub fn sample_cases() -> Vec<Case> {
    let mut generator = Generator::new(SAMPLE_SEED);
    (0..SAMPLE_SIZE)
        .map(|number| generator.change(number))
        .collect()
}

/// Returns the path and the text of the committed sample, with upstream's code.
pub fn upstream_sample() -> Result<(PathBuf, String)> {
    let mut sample = vec![Vec::new(); sample_cases().len()];
    for release in RELEASES {
        let mut results = sample.iter_mut();
        oracle::each_line(
            release,
            sample_cases().into_iter(),
            |_, mut result: ChangeResult| {
                // Nothing is expected of a change from an invalid manifest.
                if !result.invalid.is_empty() {
                    "yes".clone_into(&mut result.invalid);
                }
                results
                    .next()
                    .context("more results than cases")?
                    .push(result);
                Ok(())
            },
        )?;
    }
    Ok((directory().join(SAMPLE), to_lines(&sample)?))
}

/// Reads the committed sample.
pub fn sample() -> Result<Vec<Vec<ChangeResult>>> {
    read_lines(&directory().join(SAMPLE))
}

/// Counts the outcomes of `cases` generated changes to manifests: from other ones, from objects that kubectl applied, and from objects
/// that another client created. Returns the first mistakes too.
pub fn run(release: Release, cases: u64, seed: u64) -> Result<([ChangeCounts; 3], Vec<Mistake>)> {
    let mut counts = [ChangeCounts::default(); 3];
    let mut mistakes = Vec::new();
    let mut generator = Generator::new(seed);
    let generated = (0..cases).map(move |number| generator.change(number));
    oracle::each_line(release, generated, |case, result: ChangeResult| {
        let [applied, created] = result.judge_stored(&case, release);
        let outcomes = [result.judge(&case, release), applied, created];
        for (counts, outcome) in counts.iter_mut().zip(outcomes) {
            counts.add(outcome);
            if outcome >= ChangeOutcome::FalseGreen && mistakes.len() < MOST_MISTAKES {
                mistakes.push((case.clone(), result.clone(), outcome));
            }
        }
        Ok(())
    })?;
    Ok((counts, mistakes))
}
