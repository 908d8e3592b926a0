//! `managed-by lint`: evaluates manifests as creates, or as stored objects.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::mpsc::{self, SyncSender};

use managed_by_console::diagnostic::Diagnostic;
use managed_by_console::exit::{CliError, ExitStatus};
use managed_by_console::input::Input;
use managed_by_offline::{ValueLocation, decode};
use similar::TextDiff;

use super::ManifestResults;
use super::objects::{Context, LocatedObject, for_each_object};
use super::resolve;
use crate::args::LintArgs;
use crate::exception::exceptions;
use crate::files::FileSelector;
use crate::fix::{self, Edit, is_slip};
use crate::report::Report;

/// Maximum number of times that `--fix` evaluates a file.
const MAX_ROUNDS: usize = 8;

/// Number of results after which a file's results so far are printed.
const BATCH: usize = 1024;

/// Number of files that are evaluated at most before the results of the first are printed.
const MAX_AHEAD: usize = 64;

pub fn run(args: &LintArgs, quiet: bool) -> Result<ExitStatus, CliError> {
    let settings = resolve(&args.manifests.evaluation)?;
    let context = Context::new(&settings, &args.manifests)?;
    let files = FileSelector::new(&args.manifests.directories)?.files(&args.paths);
    let report = Report {
        diagnostics: settings.remarks.clone(),
        ..Report::default()
    };
    let mut results = ManifestResults::new(&args.manifests, report);
    // Results are not printed if there is a diff.
    results.is_streamed = !args.diff;
    let context = &context;
    // Files are evaluated in parallel, and their results are printed in order.
    rayon::in_place_scope_fifo(|scope| {
        let mut rest = files.iter();
        let mut running = VecDeque::new();
        loop {
            let more = MAX_AHEAD.saturating_sub(running.len());
            for input in rest.by_ref().take(more) {
                let (to, from) = mpsc::sync_channel(1);
                // The first file is always one of those that run, so the others may wait for it.
                scope.spawn_fifo(move |_| lint(input, args, context, &to));
                running.push_back(from);
            }
            let Some(file) = running.pop_front() else {
                return Ok(());
            };
            for report in file {
                results.add(report)?;
            }
        }
    })
    .and_then(|()| results.finish(quiet))
}

/// Evaluates a file. With `--fix` or `--diff`, first fixes it. If the receiver is gone, nothing needs the results.
fn lint(input: &Input, args: &LintArgs, context: &Context<'_>, to: &SyncSender<Report>) {
    let mut report = Report::default();
    if (args.fix || args.diff)
        && let Err(error) = fix_file(input, args.diff, context, &mut report)
    {
        report.fixes.clear();
        report.diagnostics.push(error);
        let _ = to.send(report);
        return;
    }
    let mut is_needed = true;
    for_each_object(input, &mut report, |located, report| {
        if !is_needed {
            return false;
        }
        let Some(name) = located.supported_name(context, report) else {
            return false;
        };
        let evaluated = report.results.len();
        let request = located.object.request(context.namespace, &context.user);
        located.evaluate(context, &request, name, report);
        located.apply_exceptions(evaluated, report);
        let is_evaluated = report.results.len() > evaluated;
        if report.results.len() >= BATCH {
            is_needed = to.send(std::mem::take(report)).is_ok();
        }
        is_evaluated
    });
    let _ = to.send(report);
}

/// Applies suggested fixes, of rules and for unknown fields, until there are no more. Then writes the file, or with `is_diff` keeps
/// the diff for `git apply`.
fn fix_file(
    input: &Input,
    is_diff: bool,
    context: &Context<'_>,
    report: &mut Report,
) -> Result<(), Diagnostic> {
    // A pipe can be read only once, so read it before the copy.
    input.bytes()?;
    let mut current = input.clone();
    // A fixed value may have another finding. The limit only protects against suggestions that contradict each other.
    for _ in 0..MAX_ROUNDS {
        let hints = report.hints.clone();
        let Some(edited) = fix_once(&current, context, report)? else {
            break;
        };
        current = Input::from_bytes(&input.name, edited);
        // The next round repeats them.
        report.hints = hints;
    }
    if report.fixes.is_empty() {
        return Ok(());
    }
    if !is_diff {
        return input.write(&current.bytes()?);
    }
    report.fixes.clear();
    let (old, new) = (input.text()?, current.text()?);
    let [old_name, new_name] = ["a", "b"].map(|side| format!("{side}/{}", input.name));
    let diff = TextDiff::from_lines(&*old, &*new);
    report.diff = diff.unified_diff().header(&old_name, &new_name).to_string();
    Ok(())
}

/// Applies the current suggestions. Returns the new contents if there are any.
fn fix_once(
    input: &Input,
    context: &Context<'_>,
    report: &mut Report,
) -> Result<Option<Vec<u8>>, Diagnostic> {
    let mut edits = Vec::new();
    let mut fixes = Vec::new();
    // Parse errors are reported when the file is evaluated.
    for_each_object(input, &mut Report::default(), |located, _| {
        for (at, new, is_key) in suggestions(located, context) {
            let position = || format!("{}:{}:{}", input.name, at.line, at.column);
            let edit = Edit::new(located.text, &at, new).and_then(|edit| {
                let known = context.evaluator.known_controllers();
                if is_key || is_slip(&edit.old, &edit.new, known) {
                    Ok(edit)
                } else {
                    Err("the suggestion is a guess, and may name another controller")
                }
            });
            match edit {
                Ok(edit) => {
                    fixes.push(format!("{}: {} -> {}", position(), edit.old, edit.new));
                    edits.push(edit);
                }
                Err(reason) => report.add_hint(format!("not fixed: {reason}"), position),
            }
        }
        false
    });
    if edits.is_empty() {
        return Ok(None);
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
            return Ok(None);
        }
    };
    // Keep the byte order mark before the text.
    let mark = bytes.get(..mark).unwrap_or_default();
    // Objects that share a value through a YAML alias report it once each.
    fixes.dedup();
    report.fixes.append(&mut fixes);
    Ok(Some([mark, edited.as_bytes()].concat()))
}

/// Returns suggested texts for values and keys: the position, the text, and true for the key of a misspelled field.
fn suggestions(
    located: &LocatedObject<'_, '_>,
    context: &Context<'_>,
) -> Vec<(ValueLocation, String, bool)> {
    let (object, document) = (&located.object, located.document);
    let request = object.request(context.namespace, &context.user);
    let evaluator = &context.evaluator;
    let evaluated = request.with_request(|request| evaluator.evaluate(request));
    let Ok(evaluated) = evaluated.flatten() else {
        return Vec::new();
    };
    let exceptions = exceptions(object.json()).unwrap_or_default();
    let findings = evaluated.findings.into_iter();
    findings
        .filter(|finding| !exceptions.contains_key(finding.rule.id()))
        .filter_map(|finding| {
            let path = object.document_path(&finding.path);
            let is_key = finding.is_about_key();
            let at = if is_key {
                document.locate_key(&path)
            } else {
                document.locate(&path)
            };
            let new = finding.suggestion.filter(|_| at.is_exact)?;
            Some((at, new, is_key))
        })
        .collect()
}
