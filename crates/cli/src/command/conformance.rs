//! `managed-by conformance`: reports on the writes of a controller.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use managed_by::{ReleaseSet, nearest_name};
use managed_by_offline::{Evaluator, Replay, SkipReason, SkippedRecord};
use managed_by_report::{Report, WriteLocation};

use super::recording::{Errors, Recording};
use super::settings::ResolvedSettings;
use crate::args::{ConformanceArgs, ListOutput, Output};
use crate::exit::{CliError, Exit};
use crate::format::{count_of, number};
use crate::output::{self, plain::plain};

pub(super) fn run(args: &ConformanceArgs, quiet: bool) -> Result<Exit, CliError> {
    let controller = &*args.controller;
    let settings = ResolvedSettings::from_file(args.settings.as_deref())?;
    let settings = settings.settings()?;
    let mut writes = managed_by_report::ReportBuilder::with_settings(controller, &settings);
    if let Some(since) = args.since {
        writes = writes.since(since);
    }
    let mut replay = Replay::new(Evaluator::new(settings, None));
    let recording = Recording::new(&args.traces, true);
    let mut errors = Errors::new(&recording.files, Output::Text);
    recording.read(&mut errors, args.allow_empty, |batch, errors| {
        let documents = batch.documents();
        let held = replay.for_each_request(&documents, batch.held, |position, request| {
            let request = match request {
                Ok(request) => request,
                Err((object, skipped)) => return errors.skip(&position, object, skipped),
            };
            let file = recording.files.get(position.source);
            let recorded_at = WriteLocation {
                source: file.map(ToString::to_string).unwrap_or_default(),
                line: position.line,
                time: position.time.clone(),
            };
            // A parsed request can be serialized.
            let value = serde_json::to_value(request).unwrap_or_default();
            let added = request.with_request(|request| writes.add(request, &value, &recorded_at));
            if let Err(e) = added {
                let skipped = SkippedRecord::new(SkipReason::Malformed, e.to_string());
                errors.skip(&position, &request.object(), &skipped);
            }
        });
        Ok(held)
    })?;
    writes.add_skipped(errors.count());
    let nothing = writes.is_empty().then(|| nothing(&writes, controller));
    let report = writes.finish();
    write(args.html.as_deref(), || report.html())?;
    match (&args.badge, report.badge()) {
        (Some(path), None) => anstream::eprintln!("note: {}: not written", path.display()),
        (path, badge) => write(path.as_deref(), || badge.unwrap_or_default())?,
    }
    let mut out = io::stdout().lock();
    match args.output {
        ListOutput::Json => {
            let json = serde_json::to_string_pretty(&report).map_err(io::Error::from)?;
            writeln!(out, "{json}")?;
        }
        ListOutput::Text if !quiet && nothing.is_none() => write_summary(&mut out, &report)?,
        ListOutput::Text => {}
    }
    if let Some(nothing) = &nothing {
        let level = output::level_of_nothing(args.allow_empty);
        anstream::eprintln!("{level}: {}", plain(nothing));
    }
    Ok(Exit::first([
        (errors.count() > 0, Exit::Error),
        (!report.timelines.is_empty(), Exit::Denied),
        (
            nothing.is_some() && !args.allow_empty,
            Exit::NothingEvaluated,
        ),
    ]))
}

/// Returns the message for a controller without writes.
fn nothing(writes: &managed_by_report::ReportBuilder<'_>, controller: &str) -> String {
    let others = writes.other_controllers();
    let near = nearest_name(controller, others.clone().map(|(name, _)| name));
    let hint = near.map_or(".".to_owned(), |near| format!(", did you mean {near}?"));
    let others = others.map(|(name, writes)| format!("{name} ({})", count_of(writes, "write")));
    let mut others = others.collect::<Vec<_>>().join(", ");
    if others.is_empty() {
        others.push_str("no controller");
    }
    format!(
        "no recorded write is to an object of {controller}{hint} There are writes to objects of {others}"
    )
}

fn write(path: Option<&Path>, content: impl FnOnce() -> String) -> Result<(), CliError> {
    let Some(path) = path else { return Ok(()) };
    let error = |e: io::Error| CliError::Error(format!("{}: {e}", path.display()));
    fs::write(path, content()).map_err(error)
}

/// Prints the main results: the badge, denied writes, untested rules.
fn write_summary(out: &mut impl io::Write, report: &Report) -> io::Result<()> {
    let controller = plain(&report.controller);
    let writes = count_of(report.writes, "write");
    let objects = count_of(report.objects, "object");
    writeln!(out, "{controller}: {writes} to {objects}")?;
    writeln!(out, "{}", report.badge_text())?;
    for row in &report.rows {
        let cells = row.cells.iter().zip(&report.releases);
        let denying = cells.filter(|(cell, _)| cell.denied > 0);
        let releases = denying
            .clone()
            .filter_map(|(_, release)| release.parse().ok());
        let releases: ReleaseSet = releases.collect();
        if let Some(most) = denying.map(|(cell, _)| cell.denied).max() {
            let (rule, title, most) = (row.rule, row.title, number(most));
            writeln!(
                out,
                "  {rule}: {releases} would have denied {most}: {title}"
            )?;
        }
    }
    let untested: Vec<_> = report.untested().map(|row| row.rule).collect();
    if !untested.is_empty() {
        writeln!(out, "untested, so not passed:\n  {}", untested.join("\n  "))?;
    }
    Ok(())
}
