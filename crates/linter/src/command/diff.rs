//! `managed-by diff`: evaluates the updates between two files or directories, or since a commit.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use managed_by_console::diagnostic::{Diagnostic, DiagnosticKind};
use managed_by_console::exit::{CliError, ExitStatus};
use managed_by_console::input::Input;
use managed_by_offline::Document;
use managed_by_offline::manifest;
use managed_by_offline::replay::ObjectRef;
use rayon::prelude::*;

use super::ManifestResults;
use super::objects::{Context, LocatedObject, for_each_object};
use super::pairs::{Entry, pairs};
use super::resolve;
use crate::args::DiffArgs;
use crate::files::FileSelector;
use crate::report::{Report, ReportKind};
use crate::working_tree::{self, Side, Sides};

/// Evaluates the updates between two sides, without unchanged files. New objects are evaluated as creates; deleted objects
/// are listed.
pub fn run(args: &DiffArgs, quiet: bool) -> Result<ExitStatus, CliError> {
    let settings = resolve(&args.manifests.evaluation)?;
    let selector = FileSelector::new(&args.manifests.directories)?;
    let mut sides = match (&args.git, &*args.paths) {
        (Some(commit), []) => working_tree::changes(commit, &[PathBuf::from(".")], &selector)?,
        (Some(commit), paths) => working_tree::changes(commit, paths, &selector)?,
        (None, [old, new]) => Sides {
            old: side(old, &selector)?,
            new: side(new, &selector)?,
            skipped: Vec::new(),
        },
        (None, _) => {
            let text = "diff: expected the old and the new path, or --git COMMIT";
            return Err(CliError::Error(text.to_owned()));
        }
    };
    // With --status, each object is an update, even if nothing changes.
    let has_unchanged = !args.status && remove_unchanged(&mut sides);
    let comparison = Comparison {
        context: Context::new(&settings, &args.manifests)?,
        is_status: args.status,
        old_is_commit: args.git.is_some(),
    };
    let mut report = comparison.report(sides);
    report.may_be_empty = comparison.old_is_commit || has_unchanged;
    report.diagnostics.extend(settings.remarks.iter().cloned());
    ManifestResults::new(&args.manifests, report).finish(quiet)
}

/// Returns the files of one side. As in git, `/dev/null` is empty, so that all objects of the other side are new or
/// deleted.
fn side(path: &Path, selector: &FileSelector) -> Result<Side, CliError> {
    if path.as_os_str() == "/dev/null" {
        return Ok(Side::new());
    }
    if path.as_os_str() != "-" && !path.exists() {
        return Err(Diagnostic::of_file(&Input::new(path).name, "no such file").into());
    }
    let files = selector.files(&[path.to_owned()]).into_iter().map(|file| {
        let relative = file.path().and_then(|file| file.strip_prefix(path).ok());
        (relative.unwrap_or(Path::new("")).to_owned(), file)
    });
    Ok(files.collect())
}

/// Removes files with the same path and contents on both sides. Their objects would be paired with themselves. Returns
/// true if there are any.
fn remove_unchanged(Sides { old, new, .. }: &mut Sides) -> bool {
    let unchanged = old.par_iter().filter(|(path, old)| {
        let new = new.get(*path).map(Input::bytes);
        matches!((old.bytes(), new), (Ok(old), Some(Ok(new))) if old == new)
    });
    let unchanged: Vec<PathBuf> = unchanged.map(|(path, _)| path.clone()).collect();
    for path in &unchanged {
        old.remove(path);
        new.remove(path);
    }
    !unchanged.is_empty()
}

struct Comparison<'c> {
    context: Context<'c>,
    /// True if only the status is updated.
    is_status: bool,
    /// True if the old side is a commit, whose errors the change may fix.
    old_is_commit: bool,
}

struct OldObject {
    json: String,
    /// The error in the object, with its position.
    error: Option<Diagnostic>,
}

impl Comparison<'_> {
    fn report(&self, sides: Sides) -> Report {
        let mut report = Report {
            kind: ReportKind::Diff,
            diagnostics: sides.skipped,
            ..Report::default()
        };
        let old_files = sides
            .old
            .par_iter()
            .map(|(path, file)| self.old_objects(path, file));
        let (old, reports): (Vec<_>, Vec<_>) = old_files.unzip();
        let (old_entries, old_objects): (Vec<_>, Vec<_>) = old.into_iter().flatten().unzip();
        for old in reports {
            report.append(old);
        }
        let new_files = sides
            .new
            .par_iter()
            .map(|(path, file)| self.entries(path, file));
        let new_files: Vec<Vec<Entry<'_>>> = new_files.collect();
        let counts: Vec<usize> = new_files.iter().map(Vec::len).collect();
        let new_entries: Vec<_> = new_files.into_iter().flatten().collect();
        let pairs = pairs(&old_entries, &new_entries);

        let mut rest = pairs.iter().copied();
        let files = sides.new.values().zip(counts);
        let work: Vec<(_, Vec<_>)> = files
            .map(|(file, count)| (file, rest.by_ref().take(count).collect()))
            .collect();
        let reports = work
            .par_iter()
            .map(|(file, pairs)| self.evaluate_file(file, pairs, &old_objects));
        let reports: Vec<Report> = reports.collect();
        for new in reports {
            report.append(new);
        }

        let paired: BTreeSet<usize> = pairs.into_iter().flatten().collect();
        for (index, (entry, object)) in old_entries.into_iter().zip(old_objects).enumerate() {
            if paired.contains(&index) {
                report.diagnostics.extend(object.error);
            } else if self.context.supports(&entry.name) {
                report.deleted.push(entry.name);
            }
        }
        report
    }

    /// Returns the name of an object, unless its kind is unsupported in all versions.
    fn name(&self, located: &LocatedObject<'_, '_>) -> Option<ObjectRef> {
        let name = located.object.full_name(self.context.namespace);
        self.context.evaluator.knows(&name).then_some(name)
    }

    /// Returns the old objects of a file, and the errors of its unreadable parts.
    fn old_objects<'f>(
        &self,
        path: &'f Path,
        file: &Input,
    ) -> (Vec<(Entry<'f>, OldObject)>, Report) {
        let mut report = Report::default();
        let mut objects = Vec::new();
        let with_kind = |error: Diagnostic| {
            match error.kind {
                _ if self.old_is_commit => error.with_kind(DiagnosticKind::BaseRevisionError),
                // The update cannot be evaluated.
                DiagnosticKind::Malformed => error.with_kind(DiagnosticKind::NotEvaluated),
                _ => error,
            }
        };
        for_each_object(file, &mut report, |located, _| {
            let Some(name) = self.name(located) else {
                return false;
            };
            let json = located.object.json().to_owned();
            let malformed = located.object.check(&self.context.evaluator).err();
            let malformed = malformed.filter(|_| self.context.supports(&name));
            let error = malformed.map(|malformed| with_kind(located.error(&name, &malformed)));
            objects.push((Entry::new(path, name, &json), OldObject { json, error }));
            false
        });
        report.empty = 0;
        report.diagnostics = report.diagnostics.into_iter().map(with_kind).collect();
        (objects, report)
    }

    /// Returns the new objects of a file. Errors are reported when the file is evaluated.
    fn entries<'f>(&self, path: &'f Path, file: &Input) -> Vec<Entry<'f>> {
        let mut entries = Vec::new();
        for_each_object(file, &mut Report::default(), |located, _| {
            let name = self.name(located);
            entries.extend(name.map(|name| Entry::new(path, name, located.object.json())));
            false
        });
        entries
    }

    /// Evaluates the new objects of a file, each with its old counterpart.
    fn evaluate_file(&self, file: &Input, pairs: &[Option<usize>], old: &[OldObject]) -> Report {
        let context = &self.context;
        let mut report = Report::default();
        let mut pairs = pairs.iter();
        for_each_object(file, &mut report, |located, report| {
            let pair = self
                .name(located)
                .and_then(|_| pairs.next().copied())
                .flatten();
            let Some(name) = located.supported_name(context, report) else {
                return false;
            };
            let evaluated = report.results.len();
            let old = pair.and_then(|index| old.get(index));
            match (old, located.object.check(&context.evaluator)) {
                // Report errors in the new object before its update is split: an intermediate state mixes both objects.
                (Some(_), Err(malformed)) => {
                    report.diagnostics.push(located.error(&name, &malformed));
                }
                (Some(old), Ok(())) if old.error.is_none() => {
                    self.evaluate_update(located, &name, old, report);
                }
                (Some(_), Ok(())) if !self.old_is_commit => {}
                // The API server cannot have stored a malformed old object, so evaluate the new object as a create.
                _ => {
                    if old.is_none() {
                        report.created.push(name.clone());
                    }
                    let request = located.object.request(context.namespace, &context.user);
                    located.evaluate(context, &request, name, report);
                }
            }
            located.apply_exceptions(evaluated, report);
            report.results.len() > evaluated
        });
        report
    }

    fn evaluate_update(
        &self,
        located: &LocatedObject<'_, '_>,
        name: &ObjectRef,
        old: &OldObject,
        report: &mut Report,
    ) {
        let Context {
            namespace, user, ..
        } = &self.context;
        let documents = Document::parse_all(&old.json);
        let objects = documents.iter().flatten().flat_map(manifest::objects);
        for old in objects.flatten() {
            let new = &located.object;
            for request in manifest::updates(&old, new, self.is_status, namespace, user) {
                located.evaluate(&self.context, &request, name.clone(), report);
            }
        }
    }
}
