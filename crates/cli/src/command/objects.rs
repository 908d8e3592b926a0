//! Reads the objects in files, selects the supported ones and reports errors.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use managed_by::{Malformed, UserInfo};
use managed_by_offline::manifest::{self, Object};
use managed_by_offline::replay::ObjectName;
use managed_by_offline::{Document, Found, Judge, MalformedText, Request, UnknownField, decode};

use crate::args::Who;
use crate::diagnostic::{Diagnostic, Kind, Source, Span, key_place, place};
use crate::excuse::{EXCEPT, exceptions};
use crate::hint;
use crate::input::Input;
use crate::report::{Excuse, Outcome, Report};

/// Returns the user from the arguments.
pub(super) fn user(who: &Who) -> UserInfo<'_> {
    let groups = who.groups.iter();
    UserInfo {
        username: Cow::Borrowed(&who.user),
        groups: groups.map(|group| Cow::Borrowed(&**group)).collect(),
    }
}

/// Applies a function to each object of a file. Parts that are not objects are reported.
pub(super) fn for_each_object(
    input: &Input,
    bytes: &[u8],
    report: &mut Report,
    mut each: impl FnMut(&At<'_, '_>, &mut Report),
) {
    let file = &input.name;
    for_each_document(input, bytes, report, |text, document, report| {
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
        // In files about other things, hints are unwanted.
        if report.results.len() > judged {
            let repeated = document.repeated_keys().iter().cloned();
            let warnings = repeated.map(|key| Diagnostic::new(file, key).of(Kind::RepeatedKey));
            report.warnings.extend(warnings);
        }
    });
}

/// Applies a function to each document of a file. Unreadable documents are reported.
pub(super) fn for_each_document(
    input: &Input,
    bytes: &[u8],
    report: &mut Report,
    mut each: impl FnMut(&str, &Document<'_>, &mut Report),
) {
    let of = |kind, malformed| Diagnostic::new(&input.name, malformed).of(kind);
    let text = match decode(bytes) {
        Ok(text) => text,
        Err(malformed) => return report.add(of(Kind::Unreadable, malformed)),
    };
    let text = &*text;
    if text.trim().is_empty() {
        if input.is_found() {
            report.empty = report.empty.saturating_add(1);
        } else {
            report.add(of(Kind::Empty, MalformedText::whole("is empty")));
        }
        return;
    }
    let mut unreadable = Vec::new();
    Document::each(text, |document| match document {
        Ok(document) => each(text, &document, report),
        // Skipping text that kubectl accepts would hide it.
        Err(malformed) if malformed.is_refused => report.add(of(Kind::NotJudged, malformed)),
        Err(malformed) => unreadable.push(of(Kind::Unreadable, malformed)),
    });
    if let Some(first) = unreadable.first_mut()
        && let Some(chart) = chart_of(&input.name, text)
    {
        first.text = format!(
            "is a Helm template: render it with `helm template {chart} | managed-by lint` ({})",
            first.text
        );
        unreadable.truncate(1);
    }
    report.unjudged.append(&mut unreadable);
}

/// Returns the chart folder to pass to Helm if an unreadable file is a template: it is in a chart, or it parses without
/// its template actions.
fn chart_of(file: &str, text: &str) -> Option<String> {
    let mut without = String::new();
    let mut rest = text;
    while let Some((before, action)) = rest.split_once("{{") {
        let (_, behind) = action.split_once("}}")?;
        without.push_str(before);
        // An action alone on its line produces the contents of the line.
        let line = without.trim_end_matches(' ');
        let is_alone = line.is_empty() || line.ends_with('\n');
        if !(is_alone && (behind.is_empty() || behind.starts_with('\n'))) {
            without.push('x');
        }
        rest = behind;
    }
    without.push_str(rest);
    if without == text {
        return None;
    }
    let mut folders = Path::new(file).ancestors().skip(1);
    let chart = folders.find(|folder| folder.join("Chart.yaml").is_file());
    match chart.map(|chart| chart.display().to_string()) {
        Some(chart) if chart.is_empty() => Some(".".to_owned()),
        Some(chart) => Some(chart),
        None => {
            let mut is_read = true;
            Document::each(&without, |document| is_read &= document.is_ok());
            is_read.then(|| "CHART".to_owned())
        }
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
    /// Returns the range of a path in the object, and the line to show.
    pub(super) fn place(&self, path: &str) -> (Span, Option<Source>) {
        place(self.text, self.document, &self.object.path_of(path))
    }

    /// Returns the name of the object if its kind is supported; otherwise counts the kind.
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

    /// Applies the object's exceptions to its results, which start at index `first`.
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

    /// Warns of fields that were probably meant to be `managedBy`.
    pub(super) fn warn_of_unknown_fields(
        &self,
        judge: &Judge<'_>,
        request: &Request<'_>,
        name: &ObjectName,
        report: &mut Report,
    ) {
        let found = request.read(|request| judge.unknown_fields(self.object, request));
        for field in found.into_iter().flatten() {
            let path = self.object.path_of(&field.path);
            let (place, source) = key_place(self.text, self.document, &path);
            let UnknownField {
                path,
                meant,
                suggestion,
            } = field;
            let text = format!("{name}: unknown field {path}, did you mean {meant}?");
            report.warnings.push(Diagnostic {
                suggestion: suggestion.map(str::to_owned),
                ..Diagnostic::at(self.file, &place, source, text).of(Kind::UnknownField)
            });
        }
    }

    /// Adds the evaluation of a request on the object.
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

    /// Creates a diagnostic at the position of the error in the object.
    pub(super) fn unjudged(&self, name: &ObjectName, malformed: &Malformed) -> Diagnostic {
        let text = malformed.to_string();
        let text = text.strip_prefix("object.").unwrap_or(&text);
        // The path is relative to the request.
        let path = malformed.path().unwrap_or_default();
        let path = path.strip_prefix("object.").unwrap_or_default();
        let (place, source) = self.place(path);
        Diagnostic::at(self.file, &place, source, format!("{name}: {text}"))
    }
}
