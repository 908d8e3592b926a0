//! `managed-by diff`: evaluates the updates between two files or folders, or since a commit.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use managed_by::UserInfo;
use managed_by_offline::manifest::{self, Object};
use managed_by_offline::replay::ObjectName;
use managed_by_offline::{Document, Judge, MalformedText};
use rayon::prelude::*;

use super::objects::{At, for_each_object, user};
use super::pairs::{Entry, content, pairs};
use super::settings::Chosen;
use super::unchecked::unchecked;
use crate::args::{Diff, Manifests};
use crate::diagnostic::{Diagnostic, Kind};
use crate::error::CliError;
use crate::files::Chooser;
use crate::git::{self, Compared, Side};
use crate::input::Input;
use crate::report::{self, Report};

/// Evaluates the updates between two sides. New objects are evaluated as creates; deleted objects are listed.
pub(super) fn run(asked: &Diff) -> Result<Report, CliError> {
    let Manifests {
        folders,
        who,
        judging,
        ..
    } = &asked.manifests;
    let chosen = Chosen::new(judging)?;
    let chooser = Chooser::new(folders)?;
    let compared = match (&asked.new, &asked.git) {
        (None, Some(commit)) => git::compared(commit, &asked.old, &chooser)?,
        (new, _) => Compared {
            old: side(&asked.old, &chooser)?,
            new: side(new.as_deref().unwrap_or(Path::new("")), &chooser)?,
            skipped: Vec::new(),
        },
    };
    let comparison = Comparison {
        judge: chosen.judge()?,
        namespace: who.namespace(),
        user: user(who),
        is_status: asked.status,
        is_history: asked.git.is_some(),
    };
    Ok(comparison.report(compared))
}

/// Returns the files of one side. As in git, `/dev/null` is empty, so that all objects of the other side are new or
/// deleted.
fn side(path: &Path, chooser: &Chooser) -> Result<Side, CliError> {
    if path.as_os_str() == "/dev/null" {
        return Ok(Vec::new());
    }
    if path.as_os_str() != "-" && !path.exists() {
        return Err(
            Diagnostic::new(&Input::new(path).name, MalformedText::whole("no such file")).into(),
        );
    }
    let relative = |file: &Result<Input, Diagnostic>| -> Option<PathBuf> {
        let file = file.as_ref().ok()?.path()?;
        file.strip_prefix(path).ok().map(Path::to_owned)
    };
    let files = chooser.files(&[path.to_owned()]).into_iter();
    Ok(files
        .map(|file| (relative(&file).unwrap_or_default(), file))
        .collect())
}

type File = Result<Input, Diagnostic>;

/// An unreadable part of a file.
struct Unread<'f> {
    path: &'f Path,
    errors: Vec<Diagnostic>,
    /// Hash of the file, if it is neither YAML nor JSON.
    content: Option<u64>,
}

impl<'f> Unread<'f> {
    fn new(path: &'f Path, file: &File, report: Report) -> Self {
        let errors = report.unjudged;
        let mut unreadable = errors.iter().filter(|error| error.kind == Kind::Unreadable);
        let bytes = unreadable
            .next()
            .and_then(|_| file.as_ref().ok()?.bytes().ok());
        Self {
            path,
            content: bytes.map(|bytes| content(&bytes)),
            errors,
        }
    }

    /// Returns a key that is equal for files with equal errors.
    fn key(&self) -> Option<(&'f Path, u64)> {
        Some((self.path, self.content?))
    }
}

/// Options of a comparison.
struct Comparison<'c> {
    judge: Judge<'c>,
    namespace: &'c str,
    user: UserInfo<'c>,
    /// True if only the status is updated.
    is_status: bool,
    /// True if the old side is a commit, whose errors the change may fix.
    is_history: bool,
}

/// An old object.
struct Stored {
    json: String,
    /// The error in the object, with its position.
    unjudged: Option<Diagnostic>,
}

impl Comparison<'_> {
    fn report(&self, compared: Compared) -> Report {
        let Compared { old, new, skipped } = compared;
        let mut report = Report {
            kind: report::Kind::Diff,
            notes: skipped,
            ..Report::default()
        };
        let of_files = old.par_iter().map(|(path, file)| self.stored(path, file));
        let (entries, unread): (Vec<_>, Vec<_>) = of_files.unzip();
        let (old, stored): (Vec<_>, Vec<_>) = entries.into_iter().flatten().unzip();
        let of_files = new.par_iter().map(|(path, file)| self.entries(path, file));
        let (entries, new_unread): (Vec<_>, Vec<_>) = of_files.unzip();
        let counts: Vec<usize> = entries.iter().map(Vec::len).collect();
        let new_entries: Vec<Entry<'_>> = entries.into_iter().flatten().collect();
        let pairs = pairs(&old, &new_entries);

        // An unreadable file with unchanged contents is not a change.
        let new_unread: BTreeSet<_> = new_unread.iter().filter_map(Unread::key).collect();
        let mut unchanged = BTreeSet::new();
        for unread in &unread {
            match unread.key().filter(|key| new_unread.contains(key)) {
                Some((path, _)) => _ = unchanged.insert(path),
                None => unread
                    .errors
                    .iter()
                    .for_each(|error| report.add(error.clone())),
            }
        }
        let mut rest = &*pairs;
        let mut work = Vec::with_capacity(new.len());
        for ((path, file), count) in new.iter().zip(counts) {
            let (own, others) = rest.split_at_checked(count).unwrap_or_default();
            work.push((file, own, unchanged.contains(&**path)));
            rest = others;
        }
        let reports = work.par_iter().map(|(file, pairs, is_unchanged)| {
            let mut report = self.judged(file, pairs, &stored);
            if *is_unchanged {
                report.forgive(Kind::Unreadable);
                report.skipped = 1;
            }
            report
        });
        let reports: Vec<Report> = reports.collect();
        for other in reports {
            report.append(other);
        }

        let mut is_gone = vec![true; old.len()];
        for place in pairs.into_iter().flatten() {
            if let Some(is_gone) = is_gone.get_mut(place) {
                *is_gone = false;
            }
        }
        for ((entry, stored), is_gone) in old.into_iter().zip(stored).zip(is_gone) {
            if !is_gone {
                stored
                    .unjudged
                    .into_iter()
                    .for_each(|unjudged| report.add(unjudged));
            } else if self.knows(&entry.name) {
                report.gone.push(entry.name);
            }
        }
        report
    }

    fn knows(&self, name: &ObjectName) -> bool {
        self.judge.knows(&name.group, &name.version, &name.kind)
    }

    /// Returns the name of an object, unless its kind is unsupported in all versions.
    fn name(&self, object: &Object<'_>) -> Option<ObjectName> {
        let name = object.full_name(self.namespace);
        let mut kinds = managed_by::kinds().iter();
        let is_known = kinds.any(|kind| kind.group() == name.group && kind.name() == name.kind);
        (is_known || self.knows(&name)).then_some(name)
    }

    /// Returns the old objects of a file, and its unreadable parts.
    fn stored<'f>(&self, path: &'f Path, file: &File) -> (Vec<(Entry<'f>, Stored)>, Unread<'f>) {
        let mut report = Report::default();
        let mut objects = Vec::new();
        let kind = |diagnostic: Diagnostic| {
            if self.is_history {
                diagnostic.of(Kind::OldState)
            } else {
                diagnostic
            }
        };
        for_each_object_of(file, &mut report, |at, _| {
            let Some(name) = self.name(at.object) else {
                return;
            };
            let malformed = at.object.check().err().filter(|_| self.knows(&name));
            let stored = Stored {
                json: at.object.json().to_owned(),
                unjudged: malformed.map(|malformed| kind(at.unjudged(&name, &malformed))),
            };
            objects.push((Entry::new(path, name, &stored.json), stored));
        });
        let mut unread = Unread::new(path, file, report);
        unread.errors = unread.errors.into_iter().map(kind).collect();
        (objects, unread)
    }

    /// Returns the new objects of a file, and its unreadable parts.
    fn entries<'f>(&self, path: &'f Path, file: &File) -> (Vec<Entry<'f>>, Unread<'f>) {
        let mut entries = Vec::new();
        let mut report = Report::default();
        for_each_object_of(file, &mut report, |at, _| {
            let name = self.name(at.object);
            entries.extend(name.map(|name| Entry::new(path, name, at.object.json())));
        });
        (entries, Unread::new(path, file, report))
    }

    /// Evaluates the new objects of a file, each with its old counterpart.
    fn judged(&self, file: &File, pairs: &[Option<usize>], stored: &[Stored]) -> Report {
        let mut report = Report::default();
        report
            .files
            .extend(file.iter().map(|input| Arc::clone(&input.name)));
        let mut pairs = pairs.iter();
        for_each_object_of(file, &mut report, |at, report| {
            let pair = self
                .name(at.object)
                .and_then(|_| pairs.next().copied())
                .flatten();
            let Some(name) = at.known(&self.judge, self.namespace, report) else {
                return;
            };
            let judged = report.results.len();
            let before = pair.and_then(|place| stored.get(place));
            if before.is_none_or(|before| before.json != at.object.json()) {
                let request = at.object.alone(self.namespace, &self.user);
                at.warn_of_unknown_fields(&self.judge, &request, &name, report);
            }
            match before {
                Some(before) if before.unjudged.is_none() => self.update(at, &name, before, report),
                // An object that the API server could not store did not exist.
                Some(_) if !self.is_history => {
                    let malformed = at.object.check().err();
                    report
                        .unjudged
                        .extend(malformed.map(|malformed| at.unjudged(&name, &malformed)));
                }
                before => {
                    if before.is_none() {
                        report.created.push(name.clone());
                    }
                    at.add(
                        &self.judge,
                        &at.object.alone(self.namespace, &self.user),
                        name,
                        report,
                    );
                }
            }
            at.except(judged, report);
        });
        report
    }

    /// Evaluates the update of an object.
    fn update(&self, at: &At<'_, '_>, name: &ObjectName, before: &Stored, report: &mut Report) {
        // A change of the spec and the status is two requests, with an intermediate state that mixes both objects. Check
        // the new object first, so that its errors are reported at their positions.
        if let Err(malformed) = at.object.check() {
            return report.add(at.unjudged(name, &malformed));
        }
        let judged = report.results.len();
        let documents = Document::all(&before.json);
        let objects = documents.iter().flatten().flat_map(manifest::objects);
        for old in objects.flatten() {
            for request in
                manifest::updates(&old, at.object, self.is_status, self.namespace, &self.user)
            {
                at.add(&self.judge, &request, name.clone(), report);
            }
            // The first request changes the spec.
            if let Some(first) = report.results.get_mut(judged)
                && !self.is_status
            {
                first.unchecked = unchecked(&old, at.object);
            }
        }
    }
}

/// Applies a function to each object of a file, if there is a file.
fn for_each_object_of(
    file: &File,
    report: &mut Report,
    each: impl FnMut(&At<'_, '_>, &mut Report),
) {
    let read = file.as_ref().map_err(Clone::clone);
    match read.and_then(|input| Ok((input, input.bytes()?))) {
        Ok((input, bytes)) => for_each_object(input, &bytes, report, each),
        Err(unjudged) => report.add(unjudged),
    }
}
