//! `managed-by lint`: manifests, judged as if they were created, or as they are stored.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use managed_by::{Malformed, UserInfo};
use managed_by_offline::manifest::{self, Object};
use managed_by_offline::replay::ObjectName;
use managed_by_offline::{Document, Found, Judge, MalformedText, Request, decode};
use rayon::prelude::*;

use super::settings::Chosen;
use crate::args::{Lint, Manifests, Who};
use crate::diagnostic::{Diagnostic, Kind, Source, Span, place};
use crate::error::CliError;
use crate::excuse::{EXCEPT, exceptions};
use crate::input::{Input, files};
use crate::report::Excuse;
use crate::report::{Outcome, Report};
use crate::{fix, hint};

/// Judges the manifests of paths.
pub(super) fn run(asked: &Lint) -> Result<Report, CliError> {
    let Manifests {
        folders,
        who,
        judging,
        ..
    } = &asked.manifests;
    let chosen = Chosen::new(judging)?;
    let judge = chosen.judge()?;
    let user = user(who);
    // The order of the files is kept.
    let reports: Vec<Report> = files(&asked.paths, folders)?
        .par_iter()
        .map(|file| match file {
            Ok(input) => lint(input, asked.fix, &judge, who.namespace(), &user),
            Err(unjudged) => Report {
                unjudged: vec![unjudged.clone()],
                ..Report::default()
            },
        })
        .collect();
    let mut all = Report::default();
    for report in reports {
        all.append(report);
    }
    if folders.skip_unreadable {
        all.skip_unreadable();
    }
    Ok(all)
}

/// The user of the arguments.
pub(super) fn user(who: &Who) -> UserInfo<'_> {
    let groups = who.groups.iter();
    UserInfo {
        username: Cow::Borrowed(&who.user),
        groups: groups.map(|group| Cow::Borrowed(&**group)).collect(),
    }
}

fn lint(
    input: &Input,
    is_fixed: bool,
    judge: &Judge<'_>,
    namespace: &str,
    user: &UserInfo<'_>,
) -> Report {
    let mut report = Report::default();
    report.files.push(Arc::clone(&input.name));
    let bytes = input.bytes().and_then(|bytes| {
        if is_fixed {
            let bytes = bytes.into_owned();
            fixed(input, bytes, judge, namespace, user, &mut report).map(Cow::Owned)
        } else {
            Ok(bytes)
        }
    });
    let bytes = match bytes {
        Ok(bytes) => bytes,
        Err(unjudged) => {
            report.unjudged.push(unjudged);
            return report;
        }
    };
    for_each_object(&input.name, &bytes, &mut report, |at, report| {
        if let Some(name) = at.known(judge, namespace, report) {
            let judged = report.results.len();
            at.add(judge, &at.object.alone(namespace, user), name, report);
            at.except(judged, report);
        }
    });
    report
}

/// The bytes of a file in which what was probably meant is written, and the file with them.
fn fixed(
    input: &Input,
    mut bytes: Vec<u8>,
    judge: &Judge<'_>,
    namespace: &str,
    user: &UserInfo<'_>,
    report: &mut Report,
) -> Result<Vec<u8>, Diagnostic> {
    let mut edits = Vec::new();
    // What cannot be read is told when the file is judged.
    let mut first = Report::default();
    for_each_object(&input.name, &bytes, &mut first, |at, _| {
        let object = at.object;
        let request = object.alone(namespace, user);
        let judged = request.read(|request| judge.review(request));
        let excepted = exceptions(object.json()).unwrap_or_default();
        let is_excepted = |found: &Found| excepted.iter().any(|(rule, _)| *rule == found.rule.id());
        let found = judged.iter().flat_map(|judgement| &judgement.findings);
        for found in found.filter(|found| !is_excepted(found)) {
            match fix::edit(at.text, at.document, &object.path_of(&found.path), found) {
                Some(Ok(edit)) => edits.push(edit),
                Some(Err(why)) => {
                    let (place, _) = at.place(&found.path);
                    let place = format!("{}:{}:{}", input.name, place.line, place.column);
                    report.hint(format!("not fixed: {why}"), || place);
                }
                None => {}
            }
        }
    });
    if edits.is_empty() {
        return Ok(bytes);
    }
    let text = decode(&bytes).unwrap_or_default();
    let Some(edited) = fix::apply(text, &mut edits) else {
        let text = "not fixed: more than the values would be different".to_owned();
        report.hint(text, || input.name.to_string());
        return Ok(bytes);
    };
    // What stands before the text, a byte order mark, stays.
    bytes.truncate(bytes.len().saturating_sub(text.len()));
    bytes.extend_from_slice(edited.as_bytes());
    input.write(&bytes)?;
    report.fixed = edits.len();
    Ok(bytes)
}

/// Does something with each object of a file. What is none is noted.
pub(super) fn for_each_object(
    file: &Arc<str>,
    bytes: &[u8],
    report: &mut Report,
    mut each: impl FnMut(&At<'_, '_>, &mut Report),
) {
    for_each_document(file, bytes, report, |text, document, report| {
        let judged = report.results.len();
        for object in manifest::objects(document) {
            let object = match &object {
                Ok(object) => object,
                Err(malformed) => {
                    let unjudged = Diagnostic::new(file, malformed.clone());
                    report.unjudged.push(unjudged);
                    continue;
                }
            };
            let at = At {
                file,
                text,
                document,
                object,
            };
            each(&at, report);
        }
        // In files about other things, nobody looks for them.
        if report.results.len() > judged {
            let repeated = document.repeated_keys().iter().cloned();
            let warnings = repeated.map(|key| Diagnostic::new(file, key).of(Kind::RepeatedKey));
            report.warnings.extend(warnings);
        }
    });
}

/// Does something with each document of a file. What cannot be read is noted.
pub(super) fn for_each_document(
    name: &Arc<str>,
    bytes: &[u8],
    report: &mut Report,
    mut each: impl FnMut(&str, &Document<'_>, &mut Report),
) {
    let text = match decode(bytes) {
        Ok(text) if text.trim().is_empty() => {
            let malformed = MalformedText::whole("is empty");
            report
                .unjudged
                .push(Diagnostic::new(name, malformed).of(Kind::Unreadable));
            return;
        }
        Ok(text) => text,
        Err(malformed) => {
            report
                .unjudged
                .push(Diagnostic::new(name, malformed).of(Kind::Unreadable));
            return;
        }
    };
    let mut unjudged = Vec::new();
    Document::each(text, |document| match document {
        Ok(document) => each(text, &document, report),
        Err(malformed) => unjudged.push(Diagnostic::new(name, malformed).of(Kind::Unreadable)),
    });
    if let Some(first) = unjudged.first_mut().filter(|_| is_template(text)) {
        first.text = format!(
            "is a Helm template: render it with `helm template {} | managed-by lint` ({})",
            chart_of(name),
            first.text
        );
        unjudged.truncate(1);
    }
    report.unjudged.append(&mut unjudged);
}

/// Whether a text that cannot be read is a template of Helm.
fn is_template(text: &str) -> bool {
    text.split("{{").skip(1).any(|rest| rest.contains("}}"))
}

/// The folder of the chart that a file is of, as it must be named to the program.
fn chart_of(file: &str) -> String {
    let mut folders = Path::new(file).ancestors().skip(1);
    let chart = folders.find(|folder| folder.join("Chart.yaml").is_file());
    match chart.map(|chart| chart.display().to_string()) {
        Some(chart) if chart.is_empty() => ".".to_owned(),
        Some(chart) => chart,
        None => "CHART".to_owned(),
    }
}

/// An object in a document of a file.
pub(super) struct At<'a, 't> {
    pub(super) file: &'a Arc<str>,
    pub(super) text: &'a str,
    pub(super) document: &'a Document<'t>,
    pub(super) object: &'a Object<'a>,
}

impl At<'_, '_> {
    /// Where a path of the object stands, and the line to show.
    fn place(&self, path: &str) -> (Span, Option<Source>) {
        place(self.text, self.document, &self.object.path_of(path))
    }

    /// The name of the object, if its kind is judged. Others are counted.
    pub(super) fn known(
        &self,
        judge: &Judge<'_>,
        namespace: &str,
        report: &mut Report,
    ) -> Option<ObjectName> {
        let object = self.object;
        let (group, version, kind) = (object.group(), object.version(), object.kind());
        let name = object.full_name(namespace);
        if judge.knows(group, version, kind) {
            return Some(name);
        }
        let hint = if kind.is_empty() {
            hint::of_no_kind(object.json())
        } else {
            hint::of_kind(group, Some(version), kind)
        };
        if let Some(hint) = hint {
            report.hint(hint, || {
                let (place, _) = self.place("kind");
                format!("{}:{}", self.file, place.line)
            });
        }
        let of_kind = if kind.is_empty() {
            String::new()
        } else {
            name.kind_and_group()
        };
        report.count_unknown(of_kind, 1);
        None
    }

    /// Applies the exceptions that the object names to what was judged of it: the results from a number on.
    pub(super) fn except(&self, first: usize, report: &mut Report) {
        let outcomes = report.results.get_mut(first..).unwrap_or_default();
        let Some(name) = outcomes.first().map(|outcome| outcome.object.to_string()) else {
            return;
        };
        let at = |text: String| {
            let path = format!("metadata.annotations[\"{EXCEPT}\"]");
            let (place, source) = self.place(&path);
            Diagnostic::at(self.file, &place, source, format!("{name}: {text}"))
        };
        match exceptions(self.object.json()) {
            Ok(exceptions) => {
                for (rule, reason) in exceptions {
                    let mut is_used = false;
                    for outcome in &mut *outcomes {
                        outcome.excuse(|finding| {
                            let is_of_rule = finding.found.rule.id() == rule;
                            is_used |= is_of_rule;
                            let reason = reason.clone();
                            is_of_rule.then_some(Excuse::Exception { reason })
                        });
                    }
                    if !is_used {
                        let text = format!("{EXCEPT}: {rule} finds nothing here, remove the line");
                        report.warnings.push(at(text).of(Kind::UnusedException));
                    }
                }
            }
            Err(text) => report.unjudged.push(at(text)),
        }
    }

    /// Adds what the library says about a request on the object.
    pub(super) fn add(
        &self,
        judge: &Judge<'_>,
        request: &Request<'_>,
        name: ObjectName,
        report: &mut Report,
    ) {
        match request.read(|request| (judge.review(request), judge.dropped_by(request))) {
            Ok((judgement, dropped_by)) => {
                let locate = |found: &Found| Some(self.place(&found.path));
                let mut outcome = Outcome::new(self.file, name, request.asks, judgement, locate);
                outcome.remark = request.remark;
                outcome.dropped_by = dropped_by;
                outcome.place = Some(self.place("kind").0);
                report.results.push(outcome);
            }
            Err(malformed) => report.unjudged.push(self.unjudged(&name, &malformed)),
        }
    }

    /// The object, with what is wrong with it where that stands.
    pub(super) fn unjudged(&self, name: &ObjectName, malformed: &Malformed) -> Diagnostic {
        let text = malformed.to_string();
        let text = text.strip_prefix("object.").unwrap_or(&text);
        // The path is of the request.
        let path = malformed.path().unwrap_or_default();
        let path = path.strip_prefix("object.").unwrap_or_default();
        let (place, source) = self.place(path);
        Diagnostic::at(self.file, &place, source, format!("{name}: {text}"))
    }
}
