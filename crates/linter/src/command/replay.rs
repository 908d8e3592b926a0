//! `managed-by replay`: evaluates the requests in a recording.

use std::io::{self, Write as _};
use std::sync::Arc;

use managed_by_console::diagnostic::Span;
use managed_by_console::exit::{CliError, ExitStatus};
use managed_by_console::format::pluralize;
use managed_by_console::input::Input;
use managed_by_console::interrupt;
use managed_by_console::print::print_diagnostics;
use managed_by_console::recording::{Errors, Recording};
use managed_by_offline::Replay;
use managed_by_offline::replay::{Step, StepResult};

use super::resolve;
use crate::args::{Output, ReplayArgs};
use crate::output;
use crate::recording::ReplaySummary;
use crate::result::RequestResult;

pub fn run(args: &ReplayArgs, quiet: bool) -> Result<ExitStatus, CliError> {
    let evaluation = &args.evaluation;
    let format = evaluation.output;
    let settings = resolve(evaluation)?;
    print_diagnostics(&settings.remarks);
    let mut replay = Replay::new(settings.evaluator(true)?);
    interrupt::handle_signals();
    let recording = Recording::new(&args.files, quiet);
    let mut summary = ReplaySummary {
        release: settings.release(),
        releases: settings.releases(),
        files: recording.files.clone(),
        ..ReplaySummary::default()
    };
    let mut errors = Errors::new(&recording.files, format != Output::Github);
    let bar = &recording.bar;
    // Results from a pipe are printed as they arrive, because the pipe may stay open.
    let is_live = format == Output::Text && recording.inputs.iter().any(Input::is_stdin);
    let limit = match args.show {
        _ if format == Output::Ndjson => usize::MAX,
        Some(limit) => limit,
        None if is_live => usize::MAX,
        None => 0,
    };
    let mut shown = 0_usize;
    recording.read(&mut errors, evaluation.allow_empty, |batch, errors| {
        let mut steps = Vec::new();
        let held_back =
            replay.evaluate_documents(&batch.documents(), batch.reorder_window, |step| {
                steps.push(step);
            });
        for step in steps {
            let Some(result) = bar.suspend(|| to_request_result(step, &recording.files, errors))
            else {
                continue;
            };
            if shown >= limit {
                continue;
            }
            shown = shown.saturating_add(1);
            if format == Output::Ndjson || is_live {
                bar.suspend(|| print(&result, format))?;
            } else {
                summary.shown.push(result);
            }
        }
        let objects = pluralize(replay.live_objects(), "object");
        let denials = pluralize(replay.tally().denied, "denial");
        bar.set_message(format!("{objects}, {denials}"));
        Ok(held_back)
    })?;
    summary.tally = replay.tally().clone();
    summary.errors = errors.reported;
    output::print_replay(&summary, format, quiet, evaluation.allow_empty)?;
    Ok(summary.exit_status(evaluation))
}

/// Converts a request with findings, or reports a skipped record.
fn to_request_result(step: Step, files: &[Arc<str>], errors: &mut Errors) -> Option<RequestResult> {
    let request = match step.result {
        StepResult::Skipped(skipped) => {
            errors.report_skipped(&step.position, &step.object, &skipped);
            return None;
        }
        // The totals count rejected writes, and `conformance` shows them.
        StepResult::Rejected(_) => return None,
        StepResult::Evaluated(request) => request,
    };
    let file = files.get(step.position.source)?;
    let line = usize::try_from(step.position.line).unwrap_or(usize::MAX);
    Some(RequestResult {
        user: request.user,
        time: step.position.time,
        span: Some(Span::line(line)),
        ..RequestResult::new(file, step.object, request.operation, request.report, |_| {
            None
        })
    })
}

fn print(result: &RequestResult, format: Output) -> io::Result<()> {
    if format == Output::Ndjson {
        return output::json::write_line(&mut io::stdout().lock(), "result", result);
    }
    let mut out = anstream::AutoStream::auto(io::stdout()).lock();
    output::text::write_result(&mut out, result)?;
    out.flush()
}
