//! `managed-by settings writers`: generates lists of status writers from audit logs.

use managed_by::Settings;
use managed_by_console::exit::{CliError, ExitStatus};
use managed_by_console::format::pluralize;
use managed_by_console::recording::{Errors, Recording};
use managed_by_console::settings::ResolvedSettings;
use managed_by_offline::StatusWriterCollector;
use managed_by_offline::replay::{ObjectRef, StatusWriter, WriterTotals};
use serde_json::{Value, json};

use crate::args::WritersArgs;
use crate::output;
use crate::recording::{WriterList, WritersProposal};

pub(super) fn run(args: &WritersArgs, quiet: bool) -> Result<ExitStatus, CliError> {
    let settings = ResolvedSettings::from_file(args.settings.as_deref())?;
    let mut writers = StatusWriterCollector::new(&settings.json)
        .map_err(|problems| CliError::Error(problems.to_string()))?;
    let recording = Recording::new(&args.files, quiet);
    let mut errors = Errors::new(&recording.files, true);
    recording.read(&mut errors, false, |batch, errors| {
        writers.read_documents(&batch.documents(), |position, skipped| {
            let object = ObjectRef::default();
            recording
                .bar
                .suspend(|| errors.report_skipped(&position, &object, &skipped));
        });
        recording
            .bar
            .set_message(pluralize(writers.writes(), "status write"));
        Ok(Vec::new())
    })?;
    let found = writers.finish();
    let settings: Value = serde_json::from_str(&settings.json).unwrap_or_default();
    let custom_kinds = settings.get("custom_kinds").cloned().unwrap_or_default();
    let lists = |lists: Vec<_>, section| -> Vec<WriterList> {
        let lists = lists.into_iter();
        let list = |(name, writers)| list(name, writers, section, &custom_kinds);
        lists.map(list).collect()
    };
    let proposal = WritersProposal {
        builtin: lists(found.builtin, "builtin_status_writers"),
        delegated: lists(found.delegated, "controllers"),
        totals: found.totals,
        files: recording.files,
        errors: errors.reported,
    };
    output::writers::print(&proposal, quiet)?;
    let WriterTotals {
        unknown_reconciler,
        writes,
        ..
    } = proposal.totals;
    let is_complete = proposal.errors.is_empty() && unknown_reconciler == 0 && writes > 0;
    Ok(ExitStatus::first([(!is_complete, ExitStatus::Error)]))
}

/// Builds the writer list of a kind or controller, with validation errors: invalid settings would stop PolicyServer.
fn list(
    name: String,
    writers: Vec<StatusWriter>,
    section: &str,
    custom_kinds: &Value,
) -> WriterList {
    let error_of = |users: &[String]| {
        let list = match section {
            "controllers" => json!({"status_writers": users}),
            _ => json!(users),
        };
        let settings = json!({"custom_kinds": custom_kinds, section: {&*name: list}}).to_string();
        let problems = Settings::from_json(settings.as_bytes()).err()?;
        let problem = problems.as_slice().first()?;
        let (text, path) = (problem.to_string(), format!("{}: ", problem.path()));
        Some(text.strip_prefix(&path).unwrap_or(&text).to_owned())
    };
    let error = error_of(&["ana".to_owned()]);
    let mut accepted: Vec<String> = Vec::new();
    let mut listed = Vec::new();
    for writer in writers {
        accepted.push(writer.user.clone());
        // If the list's name is invalid, every writer would have that error, so report it only for the list.
        let writer_error = error_of(&accepted).filter(|_| error.is_none());
        if writer_error.is_some() {
            accepted.pop();
        }
        listed.push((writer, writer_error));
    }
    WriterList {
        name,
        error,
        writers: listed,
    }
}
