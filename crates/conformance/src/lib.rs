//! `managed-by conformance`: reports on a controller: which recorded writes each release of kube-apiserver would have denied, and which rules the
//! writes did not test.
//!
//! A write *exercises* a rule if the rule applies to it and the write could have broken it. For example, a Job that finishes exercises
//! the rules on finished Jobs. A rule without such a write is *untested*, not passed. A controller *conforms* to a release if its
//! writes exercise every part of the required profiles, no write is denied or was rejected, and every object reached an end.

mod args;
mod builder;
mod coverage;
mod markdown;
mod report;
mod rule_results;
mod tracked_object;
mod writes;

#[cfg(test)]
mod tests;

use std::env;
use std::io::{self, Write as _};
use std::time::{SystemTime, UNIX_EPOCH};

use chrono::{DateTime, SecondsFormat};
use managed_by::{AdmissionRequest, DecodeError, ReleaseSet, did_you_mean, nearest_name};
use managed_by_console::escape::{escape_control, json_document};
use managed_by_console::exit::{CliError, ExitStatus};
use managed_by_console::format::{number, pluralize};
use managed_by_console::print::{nothing_evaluated_level, print_diagnostics};
use managed_by_console::recording::{Errors, Recording};
use managed_by_console::settings::{ResolvedSettings, release_notes};
use managed_by_console::stderr;
use managed_by_offline::replay::{RecordPosition, RecordedChange, RejectedWrite};
use managed_by_offline::{Evaluator, Replay, Request, SkipReason, SkippedRecord};
use serde_json::Value;

use args::ConformanceOutput;
use builder::ReportBuilder;
use report::ConformanceReport;
use writes::WriteLocation;

pub use args::ConformanceArgs;

/// Maximum number of characters of a response.
const MAX_MESSAGE: usize = 500;

/// # Errors
/// Returns an error if the settings or the recording cannot be read, or the output cannot be written.
pub fn run(args: &ConformanceArgs, quiet: bool) -> Result<ExitStatus, CliError> {
    let controller = &*args.controller;
    let settings = ResolvedSettings::from_file(args.settings.as_deref())?;
    print_diagnostics(&settings.remarks);
    let settings = settings.settings()?;
    let recording = Recording::new(&args.recordings, true);
    let mut builder = ReportBuilder::new(controller, &settings);
    builder.claimed.clone_from(&args.profiles);
    builder.provenance.generated_at = generated_at()?;
    builder.provenance.recordings = recording.files.iter().map(ToString::to_string).collect();
    if let Some(kubernetes) = &args.kubernetes {
        print_diagnostics(&release_notes(kubernetes));
        builder.releases = kubernetes.selection.releases();
    }
    let mut replay = Replay::new(Evaluator::new(settings, None));
    let mut errors = Errors::new(&recording.files, true);
    recording.read(&mut errors, args.allow_empty, |batch, errors| {
        let documents = batch.documents();
        let held_back =
            replay.for_each_change(&documents, batch.reorder_window, |position, change| {
                let recorded_at = location(&recording, &position);
                let (object, added) = match change {
                    RecordedChange::Accepted(request) => {
                        let added = add(&mut builder, request, &recorded_at);
                        (request.object_ref(), added)
                    }
                    RecordedChange::Rejected(write, request) => {
                        let added = add_rejected(&mut builder, write, request, &recorded_at);
                        (write.object.clone(), added)
                    }
                    RecordedChange::Skipped(object, skipped) => {
                        return errors.report_skipped(&position, object, skipped);
                    }
                };
                if let Err(message) = added {
                    let skipped = SkippedRecord::new(SkipReason::Malformed, message);
                    errors.report_skipped(&position, &object, &skipped);
                }
            });
        Ok(held_back)
    })?;
    builder.skipped = errors.total;
    let no_writes_message = builder
        .is_empty()
        .then(|| no_writes_message(&builder, controller));
    let report = builder.finish(|identity| replay.is_live(identity));
    let mut out = io::stdout().lock();
    match args.output {
        ConformanceOutput::Json => {
            writeln!(out, "{}", json_document(&report))?;
        }
        ConformanceOutput::Markdown => {
            write!(out, "{}", report.markdown())?;
        }
        ConformanceOutput::Text if !quiet && no_writes_message.is_none() => {
            write_summary(&mut out, &report)?;
        }
        ConformanceOutput::Text => {}
    }
    if let Some(no_writes_message) = &no_writes_message {
        let level = nothing_evaluated_level(args.allow_empty);
        stderr!("{level}: {}\n", escape_control(no_writes_message));
    }
    Ok(ExitStatus::first([
        (errors.total > 0, ExitStatus::Error),
        (
            report.denied_writes > 0 || report.rejected_writes > 0,
            ExitStatus::Denied,
        ),
        (
            no_writes_message.is_some() && !args.allow_empty,
            ExitStatus::NothingEvaluated,
        ),
        (
            no_writes_message.is_none() && report.is_incomplete() && !args.allow_incomplete,
            ExitStatus::NothingEvaluated,
        ),
    ]))
}

fn location(recording: &Recording, position: &RecordPosition) -> WriteLocation {
    let file = recording.files.get(position.source);
    let file = file.map_or("", |file| file);
    WriteLocation {
        position: format!("{file}:{}", position.line),
        time: position.time.clone(),
    }
}

/// Adds a write to the report.
fn add(
    builder: &mut ReportBuilder<'_>,
    request: &Request<'_>,
    location: &WriteLocation,
) -> Result<(), String> {
    let identity = request.identity();
    let added = with_json(request, |request, json| {
        builder.add(request, json, &identity, location)
    });
    added.map_err(|malformed| malformed.to_string()).flatten()
}

/// Adds a rejected write to the report, even if its object is malformed.
fn add_rejected(
    builder: &mut ReportBuilder<'_>,
    write: &RejectedWrite<'_>,
    request: Option<&Request<'_>>,
    location: &WriteLocation,
) -> Result<(), String> {
    let Some(request) = request else {
        return builder.add_rejected(write, None, location);
    };
    let added = with_json(request, |request, json| {
        builder.add_rejected(write, Some((request, json)), location)
    });
    added.unwrap_or_else(|malformed| {
        builder.add_rejected(write, None, location)?;
        Err(malformed.to_string())
    })
}

/// Passes a request to a function, decoded and as JSON.
fn with_json<T>(
    request: &Request<'_>,
    each: impl FnOnce(&AdmissionRequest<'_>, &Value) -> T,
) -> Result<T, DecodeError> {
    // A parsed request can be serialized.
    let json = serde_json::to_value(request).unwrap_or_default();
    request.with_request(|request| each(request, &json))
}

/// Returns the time of the report in RFC 3339: the current time, or `SOURCE_DATE_EPOCH` for a reproducible report.
fn generated_at() -> Result<String, CliError> {
    let seconds = match env::var("SOURCE_DATE_EPOCH") {
        Ok(seconds) => seconds.parse().ok(),
        Err(_) => SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .ok()
            .and_then(|since| i64::try_from(since.as_secs()).ok()),
    };
    let time = seconds.and_then(|seconds| DateTime::from_timestamp(seconds, 0));
    let time = time.map(|time| time.to_rfc3339_opts(SecondsFormat::Secs, true));
    time.ok_or_else(|| CliError::Error("SOURCE_DATE_EPOCH: expected seconds since 1970".to_owned()))
}

fn no_writes_message(builder: &ReportBuilder<'_>, controller: &str) -> String {
    let others = builder.other_controller_writes();
    let near = nearest_name(controller, others.clone().map(|(name, _)| name));
    let hint = near.map_or(".".to_owned(), |near| format!("; {}", did_you_mean(near)));
    let others = others.map(|(name, writes)| format!("{name} ({})", pluralize(writes, "write")));
    let mut others = others.collect::<Vec<_>>().join(", ");
    if others.is_empty() {
        others.push_str("none");
    }
    format!(
        "no recorded writes to objects of {controller}{hint} Controllers with recorded writes: {others}"
    )
}

/// Prints the main results: the headline, denied writes, untested rules.
fn write_summary(out: &mut impl io::Write, report: &ConformanceReport) -> io::Result<()> {
    let controller = escape_control(&report.controller);
    let writes = pluralize(report.writes, "write");
    let objects = pluralize(report.objects, "object");
    writeln!(out, "{controller}: {writes} to {objects}")?;
    writeln!(out, "{}", report.headline())?;
    for rule in report.rules.iter().filter(|rule| rule.is_denied()) {
        let results = rule.results.iter().zip(report.releases.iter());
        let denying: Vec<_> = results.filter(|(result, _)| result.denied > 0).collect();
        let releases: ReleaseSet = denying.iter().map(|(_, release)| *release).collect();
        let denied = denying.iter().map(|(result, _)| result.denied).max();
        let denied = pluralize(denied.unwrap_or_default(), "write");
        let (id, title) = (rule.rule, rule.title);
        writeln!(
            out,
            "  {id}: {releases} would have denied {denied}: {title}"
        )?;
    }
    write_rejected(out, report)?;
    for object in &report.unfinished_objects {
        let (name, problem) = (escape_control(&object.object), object.problem);
        let location = escape_control(&object.last_write);
        writeln!(out, "unfinished: {name}: {problem}, last write {location}")?;
    }
    for warning in &report.warnings {
        let (id, title) = (warning.rule, warning.title);
        let writes = pluralize(warning.writes, "status write");
        let object = escape_control(&warning.object);
        let location = escape_control(&warning.first_write);
        writeln!(
            out,
            "warning: {id}: {writes}: {title}, first {object} in {location}"
        )?;
    }
    let mut reported = Vec::new();
    for profile in report.profiles.iter().filter(|profile| profile.is_required) {
        if !profile.missing.is_empty() {
            writeln!(out, "missing in profile {}:", profile.profile)?;
        }
        for part in &profile.missing {
            write!(out, "  {}: {}", part.id, part.title)?;
            if part.releases != report.releases {
                write!(out, " ({})", part.releases)?;
            }
            writeln!(out)?;
            reported.push(part.id);
        }
    }
    let untested = report.untested_rules().map(|rule| rule.rule);
    let untested: Vec<_> = untested.filter(|id| !reported.contains(id)).collect();
    if !untested.is_empty() {
        writeln!(out, "untested rules:\n  {}", untested.join("\n  "))?;
    }
    Ok(())
}

/// Prints the rejected writes, and the number of rejections that correct controllers get too.
fn write_rejected(out: &mut impl io::Write, report: &ConformanceReport) -> io::Result<()> {
    if report.transient_rejections > 0 {
        let requests = pluralize(report.transient_rejections, "request");
        writeln!(
            out,
            "not counted: {requests} with a conflict, without the object or during an outage"
        )?;
    }
    if report.rejected_writes == 0 {
        return Ok(());
    }
    writeln!(out, "rejected writes: {}", number(report.rejected_writes))?;
    for denied in &report.denied_objects {
        for write in &denied.writes {
            let Some(rejection) = &write.rejected else {
                continue;
            };
            let object = escape_control(&denied.object);
            let location = escape_control(&write.location);
            let (operation, code) = (write.operation, rejection.code);
            let message: String = rejection.message.chars().take(MAX_MESSAGE).collect();
            let answer = format!("{code} {}", escape_control(&message));
            let answer = answer.trim_end();
            write!(out, "  {location}: {object} {operation}: {answer}")?;
            let times = write.repeated.saturating_add(1);
            if times > 1 {
                write!(out, " ({} times)", number(times))?;
            }
            writeln!(out)?;
        }
    }
    Ok(())
}
