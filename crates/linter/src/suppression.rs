//! Suppresses findings by exceptions in an object, each with a reason, and by a baseline of known findings.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use managed_by::{Rule, rule};
use managed_by_console::diagnostic::{Diagnostic, DiagnosticKind, Level};
use managed_by_console::exit::CliError;
use managed_by_console::input::Input;
use managed_by_offline::MalformedText;
use managed_by_offline::replay::ObjectRef;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::args::{BaselineArgs, unknown_rule};
use crate::report::Report;
use crate::result::{LocatedFinding, RequestResult, Suppression};

/// The annotation that lists an object's exceptions. Its domain is the domain of the project's pages.
pub(crate) const ANNOTATION: &str = "managed-by-policy.github.io/except";

/// The annotation's domain. It excludes the slash after it, because some JSON encoders escape slashes.
const DOMAIN: &str = "managed-by-policy.github.io";

/// Returns the exceptions in an object's annotation: the reason of each rule. Fails if the annotation is malformed.
pub(crate) fn exceptions(object: &str) -> Result<BTreeMap<&'static str, String>, String> {
    let mut exceptions = BTreeMap::new();
    // Exceptions are rare, and parsing every object takes time.
    if !object.contains(DOMAIN) {
        return Ok(exceptions);
    }
    let object: Value = serde_json::from_str(object).unwrap_or_default();
    let annotations = object.pointer("/metadata/annotations");
    let Some(value) = annotations.and_then(|annotations| annotations.get(ANNOTATION)) else {
        return Ok(exceptions);
    };
    let lines = value.as_str().unwrap_or_default().lines().map(str::trim);
    for line in lines.filter(|line| !line.is_empty()) {
        let (id, reason) = line.split_once(':').unwrap_or((line, ""));
        let (id, reason) = (id.trim(), reason.trim());
        let rule = rule(id).ok_or_else(|| unknown_rule(id))?;
        if reason.is_empty() {
            return Err(format!("missing reason, expected {id}: REASON"));
        }
        if exceptions.insert(rule.id(), reason.to_owned()).is_some() {
            return Err(format!(
                "duplicate rule {id}, expected one line for each rule"
            ));
        }
    }
    if exceptions.is_empty() {
        return Err("expected a line RULE: REASON for each rule".to_owned());
    }
    Ok(exceptions)
}

/// Known findings, in a file.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Baseline {
    /// Always 1.
    format: u32,
    findings: BTreeSet<KnownFinding>,
    /// The directory that file names are relative to.
    #[serde(skip)]
    directory: PathBuf,
}

/// A known finding. It has neither line nor value, so that both may change.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct KnownFinding {
    file: String,
    object: String,
    rule: String,
    path: String,
}

/// Suppresses the findings in the baseline of the arguments. With `--write-baseline`, replaces the entries of evaluated and deleted
/// files.
#[derive(Default)]
pub(crate) struct BaselineFilter {
    /// The file; [`None`] without a baseline.
    path: Option<PathBuf>,
    writes: bool,
    baseline: Baseline,
    /// Entries that a finding matches; with `--write-baseline`, all findings.
    found: BTreeSet<KnownFinding>,
}

impl BaselineFilter {
    pub(crate) fn new(args: &BaselineArgs) -> Result<Self, CliError> {
        if args.baseline.is_none() && args.write_baseline {
            let text = "--write-baseline requires --baseline FILE";
            return Err(CliError::Error(text.to_owned()));
        }
        Ok(Self {
            path: args.baseline.clone(),
            writes: args.write_baseline,
            baseline: Baseline::from_args(args)?,
            found: BTreeSet::new(),
        })
    }

    /// Returns the known findings, as they were before the run.
    pub(crate) fn known(&self) -> Baseline {
        self.baseline.clone()
    }

    /// Suppresses the known findings of results.
    pub(crate) fn suppress(&mut self, results: &mut [RequestResult]) {
        if self.path.is_none() {
            return;
        }
        for result in results.iter_mut().filter(|r| !r.findings.is_empty()) {
            let known = |finding| self.baseline.known_finding(result, finding);
            let mut keys: Vec<_> = if self.writes {
                result.unsuppressed_findings().map(known).collect()
            } else {
                result.findings.iter().map(known).collect()
            };
            if !self.writes {
                keys.retain(|known| self.baseline.findings.contains(known));
            }
            result.suppress(|finding| {
                let is_known = |known: &KnownFinding| {
                    (&*known.rule, &known.path)
                        == (finding.reported.rule.id(), &finding.reported.path)
                };
                keys.iter().any(is_known).then_some(Suppression::Baseline)
            });
            self.found.extend(keys);
        }
    }

    /// Writes the baseline, or reports the entries that nothing matches.
    pub(crate) fn finish(self, report: &mut Report) -> Result<(), CliError> {
        let Self {
            path: Some(path),
            writes,
            mut baseline,
            mut found,
        } = self
        else {
            return Ok(());
        };
        let read = baseline.evaluated_files(report);
        let directory = baseline.directory.clone();
        let exists = |known: &KnownFinding| directory.join(&known.file).exists();
        if writes {
            baseline
                .findings
                .retain(|known| !read.contains(&known.file) && exists(known));
            baseline.findings.append(&mut found);
            let text = serde_json::to_string_pretty(&baseline).unwrap_or_default();
            return fs::write(&path, text + "\n").map_err(|e| file_error(&path, &e));
        }
        let name = Input::new(&path).name;
        for known in baseline.findings.difference(&found) {
            let KnownFinding {
                file,
                object,
                rule,
                path,
            } = known;
            if read.contains(file) || !exists(known) {
                let text = format!(
                    "{file}: {object}: {path} [{rule}]: unused baseline entry, --write-baseline removes it"
                );
                let unused = Diagnostic::of_file(&name, text);
                report
                    .diagnostics
                    .push(unused.with_kind(DiagnosticKind::UnusedSuppression));
            }
        }
        Ok(())
    }
}

fn file_error(path: &Path, error: &io::Error) -> CliError {
    CliError::Error(format!("{}: {error}", path.display()))
}

impl Baseline {
    /// Reads the baseline of the arguments. Without one, it is empty.
    fn from_args(args: &BaselineArgs) -> Result<Self, CliError> {
        let baseline = args.baseline.as_deref();
        baseline.map_or_else(
            || Ok(Self::default()),
            |path| Self::read(path, args.write_baseline),
        )
    }

    /// Returns true if it has an entry for a finding of a rule at a path of an object.
    pub(crate) fn contains(&self, file: &str, object: &ObjectRef, rule: &Rule, path: &str) -> bool {
        !self.findings.is_empty()
            && self.findings.contains(&KnownFinding {
                file: self.relative_name(file),
                object: object.to_string(),
                rule: rule.id().to_owned(),
                path: path.to_owned(),
            })
    }

    /// Reads a file. With `may_be_missing`, a missing file is an empty baseline.
    fn read(path: &Path, may_be_missing: bool) -> Result<Self, CliError> {
        let directory = path
            .parent()
            .filter(|directory| !directory.as_os_str().is_empty());
        let directory = directory.unwrap_or(Path::new(".")).canonicalize();
        if may_be_missing && !path.exists() {
            return Ok(Self {
                format: 1,
                directory: directory.map_err(|e| file_error(path, &e))?,
                ..Self::default()
            });
        }
        let input = Input::new(path);
        let bytes = input.bytes().map_err(|mut error| {
            if !path.exists() {
                error.message.push_str(", --write-baseline creates it");
            }
            error
        })?;
        let error = |line, column, text: &str| {
            // serde's messages contain the name of the Rust type.
            let text = text.replace("struct Baseline", "an object");
            let text = format!("not a baseline: {text}");
            Diagnostic::new(&input.name, MalformedText::at(line, column, text))
        };
        match serde_json::from_slice::<Self>(&bytes) {
            Ok(baseline) if baseline.format == 1 => Ok(Self {
                directory: directory.map_err(|e| file_error(path, &e))?,
                ..baseline
            }),
            Ok(_) => Err(error(0, 0, "expected format 1").into()),
            Err(e) => Err(error(e.line(), e.column(), &e.to_string()).into()),
        }
    }

    /// Returns a file name relative to the directory of the baseline.
    fn relative_name(&self, file: &str) -> String {
        let path = Path::new(file).canonicalize();
        let name = path.map_or_else(|_| PathBuf::from(file), |path| self.relative_path(&path));
        name.display().to_string().replace('\\', "/")
    }

    /// Returns a canonical path relative to the directory of the baseline, with `..` if it is elsewhere.
    fn relative_path(&self, path: &Path) -> PathBuf {
        let (directory, path) = (self.directory.components(), path.components());
        let pairs = directory.clone().zip(path.clone());
        let shared = pairs.take_while(|(a, b)| a == b).count();
        let parents = directory.skip(shared).map(|_| Component::ParentDir);
        parents.chain(path.skip(shared)).collect()
    }

    fn known_finding(&self, result: &RequestResult, finding: &LocatedFinding) -> KnownFinding {
        KnownFinding {
            file: self.relative_name(&result.file),
            object: result.object.to_string(),
            rule: finding.reported.rule.id().to_owned(),
            path: finding.reported.path.clone(),
        }
    }

    /// Returns the files that were evaluated completely.
    fn evaluated_files(&self, report: &Report) -> BTreeSet<String> {
        let failed: BTreeSet<_> = report
            .diagnostics_with_level(Level::Error)
            .map(|error| &error.file)
            .collect();
        let files = report.files.iter().filter(|file| !failed.contains(file));
        files.map(|file| self.relative_name(file)).collect()
    }
}
