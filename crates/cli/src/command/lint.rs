//! `managed-by lint`: evaluates manifests as creates, or as stored objects.

use std::borrow::Cow;
use std::sync::Arc;

use managed_by_offline::{ValueLocation, decode};
use rayon::prelude::*;

use super::objects::{Context, LocatedObject, for_each_object};
use super::settings::ResolvedSettings;
use crate::args::LintArgs;
use crate::diagnostic::Diagnostic;
use crate::exit::CliError;
use crate::files::FileSelector;
use crate::fix::{self, Edit};
use crate::input::Input;
use crate::report::Report;
use crate::suppression::exceptions;

pub(super) fn run(args: &LintArgs) -> Result<Report, CliError> {
    let settings = ResolvedSettings::new(&args.manifests.evaluation)?;
    let context = Context::new(&settings, &args.manifests)?;
    let files = FileSelector::new(&args.manifests.directories)?.files(&args.paths);
    // Reports keep the order of the files.
    let reports: Vec<Report> = files
        .par_iter()
        .map(|input| lint(input, args.fix, &context))
        .collect();
    let mut all = Report::default();
    all.append(reports);
    Ok(all)
}

fn lint(input: &Input, should_fix: bool, context: &Context<'_>) -> Report {
    let mut report = Report::default();
    report.files.push(Arc::clone(&input.name));
    if should_fix && let Err(error) = fix(input, context, &mut report) {
        report.diagnostics.push(error);
        return report;
    }
    for_each_object(input, &mut report, |located, report| {
        if let Some(name) = located.supported_name(context, report) {
            let evaluated = report.results.len();
            located.warn_about_unknown_fields(context, &name, report);
            let request = located.object.request(context.namespace, &context.user);
            located.evaluate(context, &request, name, report);
            located.apply_exceptions(evaluated, report);
        }
    });
    report
}

/// Applies suggested fixes, of rules and for unknown fields, to a file in place.
fn fix(input: &Input, context: &Context<'_>, report: &mut Report) -> Result<(), Diagnostic> {
    let mut edits = Vec::new();
    // Parse errors are reported when the file is evaluated.
    for_each_object(input, &mut Report::default(), |located, _| {
        for (value, new) in suggestions(located, context) {
            match Edit::new(located.text, &value, new) {
                Ok(edit) => edits.push(edit),
                Err(reason) => report.add_hint(format!("not fixed: {reason}"), || {
                    format!("{}:{}:{}", input.name, value.line, value.column)
                }),
            }
        }
    });
    if edits.is_empty() {
        return Ok(());
    }
    let bytes = input.bytes()?;
    let edited = match decode(&bytes) {
        Ok(Cow::Borrowed(text)) => fix::apply(text, &mut edits)
            .map(|edited| (edited, bytes.len().saturating_sub(text.len())))
            .ok_or("the fixes would also change other parts of the file"),
        Ok(Cow::Owned(_)) | Err(_) => Err("the file is not UTF-8"),
    };
    let (edited, mark) = match edited {
        Ok(edited) => edited,
        Err(reason) => {
            report.add_hint(format!("not fixed: {reason}"), || input.name.to_string());
            return Ok(());
        }
    };
    // Keep the byte order mark before the text.
    let mark = bytes.get(..mark).unwrap_or_default();
    input.write(&[mark, edited.as_bytes()].concat())?;
    report.fixed = edits.len();
    Ok(())
}

/// Returns the positions of an object's values and keys that should change, and the new texts.
fn suggestions(
    located: &LocatedObject<'_, '_>,
    context: &Context<'_>,
) -> Vec<(ValueLocation, String)> {
    let (object, document) = (&located.object, located.document);
    let request = object.request(context.namespace, &context.user);
    let evaluator = &context.evaluator;
    let evaluated = request.with_request(|request| {
        let unknown = evaluator.unknown_fields(object, request);
        (evaluator.evaluate(request).findings, unknown)
    });
    let Ok((findings, unknown)) = evaluated else {
        return Vec::new();
    };
    let exceptions = exceptions(object.json()).unwrap_or_default();
    let findings = findings.into_iter();
    let values = findings
        .filter(|finding| !exceptions.contains_key(finding.rule.id()))
        .filter_map(|finding| {
            let value = document.locate(&object.document_path(&finding.path));
            Some((value, finding.suggestion?))
        });
    let keys = unknown.iter().filter_map(|field| {
        let key = document.locate_key(&object.document_path(&field.path));
        Some((key, field.suggestion?.to_owned()))
    });
    values.chain(keys).collect()
}
