//! `managed-by lint`: evaluates manifests as creates, or as stored objects.

use std::borrow::Cow;
use std::sync::Arc;

use managed_by::UserInfo;
use managed_by_offline::{Found, Judge, decode};
use rayon::prelude::*;

use super::objects::{for_each_object, user};
use super::settings::Chosen;
use crate::args::{Lint, Manifests};
use crate::diagnostic::Diagnostic;
use crate::error::CliError;
use crate::excuse::exceptions;
use crate::files::Chooser;
use crate::fix;
use crate::input::Input;
use crate::report::Report;

/// Evaluates the manifests at paths.
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
    // Reports keep the order of the files.
    let reports: Vec<Report> = Chooser::new(folders)?
        .files(&asked.paths)
        .par_iter()
        .map(|file| match file {
            Ok(input) => lint(input, asked.fix, &judge, who.namespace(), &user),
            Err(diagnostic) => {
                let mut report = Report::default();
                report.add(diagnostic.clone());
                report
            }
        })
        .collect();
    let mut all = Report::default();
    for report in reports {
        all.append(report);
    }
    Ok(all)
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
    for_each_object(input, &bytes, &mut report, |at, report| {
        if let Some(name) = at.known(judge, namespace, report) {
            let judged = report.results.len();
            let request = at.object.alone(namespace, user);
            at.warn_of_unknown_fields(judge, &request, &name, report);
            at.add(judge, &request, name, report);
            at.except(judged, report);
        }
    });
    report
}

/// Returns the bytes of a file with suggestions applied, and the updated input.
fn fixed(
    input: &Input,
    mut bytes: Vec<u8>,
    judge: &Judge<'_>,
    namespace: &str,
    user: &UserInfo<'_>,
    report: &mut Report,
) -> Result<Vec<u8>, Diagnostic> {
    let mut edits = Vec::new();
    // Parse errors are reported when the file is evaluated.
    let mut first = Report::default();
    for_each_object(input, &bytes, &mut first, |at, _| {
        let object = at.object;
        let request = object.alone(namespace, user);
        let Ok((judgement, unknown)) =
            request.read(|request| (judge.review(request), judge.unknown_fields(object, request)))
        else {
            return;
        };
        let excepted = exceptions(object.json()).unwrap_or_default();
        let is_excepted =
            |found: &&Found| excepted.iter().any(|(rule, _)| *rule == found.rule.id());
        let found = judgement
            .findings
            .iter()
            .filter(|found| !is_excepted(found));
        let values = found.filter_map(|found| {
            let located = at.document.locate(&object.path_of(&found.path));
            Some((located, found.suggestion.clone()?))
        });
        let keys = unknown.iter().filter_map(|field| {
            let located = at.document.locate_key(&object.path_of(&field.path));
            Some((located, field.suggestion?.to_owned()))
        });
        for (located, new) in values.chain(keys) {
            match fix::edit(at.text, &located, new) {
                Ok(edit) => edits.push(edit),
                Err(why) => {
                    let place = format!("{}:{}:{}", input.name, located.line, located.column);
                    report.hint(format!("not fixed: {why}"), || place);
                }
            }
        }
    });
    if edits.is_empty() {
        return Ok(bytes);
    }
    let text = decode(&bytes).unwrap_or_default();
    let edited = match &text {
        Cow::Borrowed(text) => fix::apply(text, &mut edits),
        // UTF-16 would need to be encoded again.
        Cow::Owned(_) => None,
    };
    let Some(edited) = edited else {
        let text = "not fixed: more than the values would be different".to_owned();
        report.hint(text, || input.name.to_string());
        return Ok(bytes);
    };
    // Keep the byte order mark before the text.
    let length = bytes.len().saturating_sub(text.len());
    bytes.truncate(length);
    bytes.extend_from_slice(edited.as_bytes());
    input.write(&bytes)?;
    report.fixed = edits.len();
    Ok(bytes)
}
