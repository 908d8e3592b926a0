//! `managed-by conformance`: reports on the writes of a controller.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use indicatif::ProgressBar;
use managed_by::nearest_name;
use managed_by_offline::{Judge, Replay, Unjudged, Why};
use managed_by_report::{RecordedAt, Recording, Report};

use super::replay::Told;
use super::settings::Chosen;
use crate::args::{Conformance, ListOutput, Output};
use crate::diagnostic::Kind;
use crate::error::CliError;
use crate::exit::Exit;
use crate::input::Input;
use crate::output::{self, plain::plain};
use crate::stream::each_batch;
use crate::words::{count_of, number};

/// Reports on the writes in recordings.
pub(super) fn run(asked: &Conformance, quiet: bool) -> Result<Exit, CliError> {
    let controller = &*asked.controller;
    let chosen = Chosen::of_file(asked.settings.as_deref())?;
    let settings = chosen.settings()?;
    let mut recording = Recording::with_settings(controller, &settings);
    if let Some(since) = asked.since {
        recording = recording.since(since);
    }
    let mut replay = Replay::new(Judge::new(settings, None));
    let mut told = Told::default();
    let inputs: Vec<Input> = asked.traces.iter().map(|file| Input::new(file)).collect();
    let files: Vec<_> = inputs.iter().map(|input| Arc::clone(&input.name)).collect();
    each_batch(&inputs, &ProgressBar::hidden(), |batch| {
        let batch = match batch {
            Ok(batch) => batch,
            Err(empty) if empty.kind == Kind::Empty && asked.allow_empty => return Ok(Vec::new()),
            Err(malformed) => {
                told.add(malformed, Output::Text);
                return Ok(Vec::new());
            }
        };
        let waiting = replay.requests(&batch.parts(), batch.held, |seen, request| {
            let Some(file) = files.get(seen.source) else {
                return;
            };
            let request = match request {
                Ok(request) => request,
                Err((object, unjudged)) => {
                    return told.tell(file, &seen, object, unjudged, Output::Text);
                }
            };
            let place = RecordedAt {
                source: file.to_string(),
                line: seen.line,
                time: seen.time.clone(),
            };
            // A parsed request can be serialized.
            let value = serde_json::to_value(request).unwrap_or_default();
            if let Err(e) = request.read(|asked| recording.add(asked, &value, &place)) {
                let unjudged = Unjudged::new(Why::Malformed, e.to_string());
                told.tell(file, &seen, &request.object(), &unjudged, Output::Text);
            }
        });
        Ok(waiting)
    })?;
    let unjudged = told.count();
    told.tell_the_rest(&files, Output::Text);
    recording.note_skipped(unjudged);
    let nothing = recording
        .is_empty()
        .then(|| nothing(&recording, controller));
    let report = recording.finish();
    write(asked.html.as_deref(), || report.html())?;
    match (&asked.badge, report.badge()) {
        (Some(path), None) => anstream::eprintln!("note: {}: not written", path.display()),
        (path, badge) => write(path.as_deref(), || badge.unwrap_or_default())?,
    }
    match asked.output {
        ListOutput::Json => {
            let mut out = io::stdout().lock();
            serde_json::to_writer_pretty(&mut out, &report)
                .map_err(|e| CliError::from(io::Error::from(e)))?;
            writeln!(out)?;
        }
        ListOutput::Text if !quiet && nothing.is_none() => summary(&report)?,
        ListOutput::Text => {}
    }
    if let Some(nothing) = &nothing {
        let level = output::level_of_nothing(asked.allow_empty);
        anstream::eprintln!("{level}: {}", plain(nothing));
    }
    Ok(Exit::first([
        (unjudged > 0, Exit::Unjudged),
        (!report.timelines.is_empty(), Exit::Denied),
        (nothing.is_some() && !asked.allow_empty, Exit::Nothing),
    ]))
}

/// Returns the message for a controller without writes.
fn nothing(recording: &Recording<'_>, controller: &str) -> String {
    let others = recording.others();
    let mut text = format!("no recorded write is to an object of {controller}");
    match nearest_name(controller, others.clone().map(|(name, _)| name)) {
        Some(near) => _ = write!(text, ", did you mean {near}?"),
        None => text.push('.'),
    }
    let named: Vec<_> = others
        .map(|(name, writes)| format!("{name} ({})", count_of(writes, "write")))
        .collect();
    let named = match named.len() {
        0 => "no controller".to_owned(),
        _ => named.join(", "),
    };
    let _ = write!(text, " There are writes to objects of {named}");
    text
}

fn write(path: Option<&Path>, make: impl FnOnce() -> String) -> Result<(), CliError> {
    let Some(path) = path else { return Ok(()) };
    let failed = |e: io::Error| CliError::Error(format!("{}: {e}", path.display()));
    fs::write(path, make()).map_err(failed)
}

/// Prints the main results: the badge, denied writes, untested rules.
fn summary(report: &Report) -> Result<(), CliError> {
    let mut out = io::stdout().lock();
    let controller = plain(&report.controller);
    let (writes, objects) = (
        count_of(report.writes, "write"),
        count_of(report.objects, "object"),
    );
    writeln!(out, "{controller}: {writes} to {objects}")?;
    writeln!(out, "{}", report.badge_text())?;
    for row in &report.rows {
        let denying = row.cells.iter().zip(&report.releases);
        let denying = denying.filter(|(cell, _)| cell.denied > 0);
        let releases = denying
            .clone()
            .filter_map(|(_, release)| release.parse().ok());
        let releases: managed_by::ReleaseSet = releases.collect();
        let most = denying.map(|(cell, _)| cell.denied).max();
        if let Some(most) = most {
            let (rule, title) = (row.rule, row.title);
            writeln!(
                out,
                "  {rule}: {releases} would have denied {}: {title}",
                number(most)
            )?;
        }
    }
    let untested: Vec<_> = report.untested().map(|row| row.rule).collect();
    if !untested.is_empty() {
        writeln!(out, "untested, so not passed:")?;
        for rule in untested {
            writeln!(out, "  {rule}")?;
        }
    }
    Ok(())
}
