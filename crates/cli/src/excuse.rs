//! Suppresses findings by exceptions in an object, each with a reason, and by a baseline of old findings.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use managed_by::rule;
use managed_by_offline::MalformedText;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::args::{Known, unknown_rule};
use crate::diagnostic::{Diagnostic, Kind};
use crate::error::CliError;
use crate::input::Input;
use crate::report::{Excuse, Finding, Report};

/// The annotation that lists an object's exceptions. Its domain is the domain of the project's pages.
pub(crate) const EXCEPT: &str = "managed-by-policy.github.io/except";

/// The part of the annotation that JSON cannot escape, in contrast to the slash after it.
const DOMAIN: &str = "managed-by-policy.github.io";

/// Returns the rules that an object excepts, each with its reason, or an error in the annotation.
pub(crate) fn exceptions(object: &str) -> Result<Vec<(&'static str, String)>, String> {
    // Exceptions are rare, and parsing every object takes time.
    if !object.contains(DOMAIN) {
        return Ok(Vec::new());
    }
    let object: Value = serde_json::from_str(object).unwrap_or_default();
    let annotations = object.pointer("/metadata/annotations");
    let Some(value) = annotations.and_then(|annotations| annotations.get(EXCEPT)) else {
        return Ok(Vec::new());
    };
    let text = value.as_str().unwrap_or_default();
    let mut lines = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .peekable();
    if lines.peek().is_none() {
        return Err(format!(
            "{EXCEPT}: expected a line RULE: REASON for each rule"
        ));
    }
    let mut exceptions = BTreeMap::new();
    for line in lines {
        let (id, reason) = line.split_once(':').unwrap_or((line, ""));
        let id = id.trim();
        let rule = rule(id).ok_or_else(|| format!("{EXCEPT}: {}", unknown_rule(id)))?;
        let reason = reason.trim();
        if reason.is_empty() {
            return Err(format!(
                "{EXCEPT}: no reason is given, expected {id}: REASON"
            ));
        }
        if exceptions.insert(rule.id(), reason.to_owned()).is_some() {
            return Err(format!(
                "{EXCEPT}: {id} is given twice, expected one line for each rule"
            ));
        }
    }
    Ok(exceptions.into_iter().collect())
}

/// Known findings, in a file next to the manifests.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Baseline {
    #[serde(deserialize_with = "format")]
    format: u32,
    findings: BTreeSet<Old>,
    /// The folder that file names are relative to.
    #[serde(skip)]
    folder: PathBuf,
}

/// A known finding. It has neither line nor value, so that both may change.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Old {
    file: String,
    object: String,
    rule: String,
    path: String,
}

/// Deserializes the version of the format, which must be 1.
fn format<'d, D: Deserializer<'d>>(json: D) -> Result<u32, D::Error> {
    match u32::deserialize(json)? {
        1 => Ok(1),
        other => Err(D::Error::custom(format!("format {other}, expected 1"))),
    }
}

impl Old {
    fn of(file: &str, object: &str, finding: &Finding) -> Self {
        Self {
            file: file.to_owned(),
            object: object.to_owned(),
            rule: finding.found.rule.id().to_owned(),
            path: finding.found.path.clone(),
        }
    }
}

/// Excuses the findings in the baseline, or writes all findings to it.
pub(crate) fn apply(known: &Known, report: &mut Report) -> Result<(), CliError> {
    let Some(path) = &known.baseline else {
        let text = "--write-baseline: expected --baseline FILE, which is to be written";
        let is_wrong = known
            .write_baseline
            .then(|| CliError::Error(text.to_owned()));
        return is_wrong.map_or(Ok(()), Err);
    };
    let cannot = |e| CliError::Error(format!("{}: {e}", path.display()));
    let mut baseline = if known.write_baseline && !path.exists() {
        Baseline {
            format: 1,
            ..Baseline::default()
        }
    } else {
        Baseline::read(path)?
    };
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    baseline.folder = folder
        .unwrap_or(Path::new("."))
        .canonicalize()
        .map_err(cannot)?;
    if known.write_baseline {
        let read = baseline.files(report);
        let of_others =
            |old: &Old| !read.contains(&old.file) && baseline.folder.join(&old.file).exists();
        let mut findings = baseline.findings.clone();
        findings.retain(of_others);
        for outcome in &report.results {
            let (file, object) = (baseline.name(&outcome.file), outcome.object.to_string());
            let counted = outcome.counted();
            findings.extend(counted.map(|finding| Old::of(&file, &object, finding)));
        }
        baseline.findings = findings;
        let text = serde_json::to_string_pretty(&baseline).unwrap_or_default();
        fs::write(path, text + "\n").map_err(cannot)?;
    }
    baseline.excuse(&Input::new(path), report);
    Ok(())
}

impl Baseline {
    fn read(path: &Path) -> Result<Self, CliError> {
        let input = Input::new(path);
        let stop = |unjudged| CliError::Diagnostics(vec![unjudged]);
        let bytes = input.bytes().map_err(|mut unjudged| {
            if !path.exists() {
                unjudged.text.push_str(", --write-baseline makes one");
            }
            stop(unjudged)
        })?;
        let read: Result<Self, _> = serde_json::from_slice(&bytes);
        read.map_err(|e| {
            // serde's messages contain the name of the Rust type.
            let text = e.to_string().replace("struct Baseline", "an object");
            let text = format!("is no baseline: {text}");
            stop(Diagnostic::new(
                &input.name,
                MalformedText::at(e.line(), e.column(), text),
            ))
        })
    }

    /// Returns a file name relative to the folder of the baseline.
    fn name(&self, file: &str) -> String {
        let real = Path::new(file).canonicalize();
        let real = real.unwrap_or_else(|_| PathBuf::from(file));
        let name = real.strip_prefix(&self.folder).unwrap_or(&real);
        name.display().to_string().replace('\\', "/")
    }

    /// Returns the files that were evaluated completely.
    fn files(&self, report: &Report) -> BTreeSet<String> {
        let read: BTreeSet<&str> = report.files.iter().map(|file| &**file).collect();
        let unjudged: BTreeSet<&str> = report
            .unjudged
            .iter()
            .map(|unjudged| &*unjudged.file)
            .collect();
        read.difference(&unjudged)
            .map(|file| self.name(file))
            .collect()
    }

    fn excuse(&self, input: &Input, report: &mut Report) {
        let mut met = BTreeSet::new();
        for outcome in &mut report.results {
            let (file, object) = (self.name(&outcome.file), outcome.object.to_string());
            outcome.excuse(|finding| {
                let old = Old::of(&file, &object, finding);
                let is_old = self.findings.contains(&old);
                if is_old {
                    met.insert(old);
                }
                is_old.then_some(Excuse::Baseline)
            });
        }
        let read = self.files(report);
        let is_stale = |old: &&Old| {
            !met.contains(*old)
                && (read.contains(&old.file) || !self.folder.join(&old.file).exists())
        };
        for old in self.findings.iter().filter(is_stale) {
            let Old {
                file,
                object,
                rule,
                path,
            } = old;
            let text = format!(
                "{file}: {object}: {path} [{rule}] is not found any more, --write-baseline removes it"
            );
            let malformed = MalformedText::whole(text);
            report
                .warnings
                .push(Diagnostic::new(&input.name, malformed).of(Kind::UnusedException));
        }
    }
}
