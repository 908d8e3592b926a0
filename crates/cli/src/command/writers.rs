//! `managed-by settings writers`: generates lists of status writers from audit logs.

use std::sync::Arc;

use managed_by::Settings;
use managed_by_offline::StatusWriters;
use managed_by_offline::replay::{ObjectName, StatusWriter};
use serde_json::{Map, Value, json};

use super::replay::{Told, bar};
use super::settings::Chosen;
use crate::args::{self, Output};
use crate::error::CliError;
use crate::exit::Exit;
use crate::input::Input;
use crate::output;
use crate::proposal::{List, Listed, Proposal};
use crate::stream::each_batch;
use crate::words::count_of;

pub(super) fn run(asked: &args::Writers, quiet: bool) -> Result<Exit, CliError> {
    let chosen = Chosen::of_file(asked.settings.as_deref())?;
    let mut writers = StatusWriters::new(chosen.json())
        .map_err(|problems| CliError::Error(problems.to_string()))?;
    let inputs: Vec<Input> = asked.files.iter().map(|file| Input::new(file)).collect();
    let files: Vec<_> = inputs.iter().map(|input| Arc::clone(&input.name)).collect();
    let bar = bar(&inputs, quiet);
    let (mut told, mut unreadable) = (Told::default(), Vec::new());
    each_batch(&inputs, &bar, |batch| {
        let batch = match batch {
            Ok(batch) => batch,
            Err(malformed) => {
                bar.suspend(|| output::tell_unjudged(&malformed, Output::Text));
                unreadable.push(malformed);
                return Ok(Vec::new());
            }
        };
        writers.parts(&batch.parts(), |seen, unjudged| {
            if let Some(file) = files.get(seen.source) {
                let nothing = ObjectName::default();
                bar.suspend(|| told.tell(file, &seen, &nothing, &unjudged, Output::Text));
            }
        });
        bar.set_message(count_of(writers.writes(), "status write"));
        Ok(Vec::new())
    })?;
    bar.finish_and_clear();
    told.tell_the_rest(&files, Output::Text);
    let written = writers.finish();
    let checker = Checker::of(chosen.json());
    let proposal = Proposal {
        builtin: checker.lists(written.builtin, "builtin_status_writers"),
        delegated: checker.lists(written.delegated, "controllers"),
        sums: written.sums,
        files,
        unreadable,
    };
    output::writers::print(&proposal, asked.output, quiet)?;
    Ok(Exit::first([(!proposal.is_whole(), Exit::Unjudged)]))
}

/// Checks that the settings accept lists. A rejected list would stop PolicyServer.
struct Checker {
    /// `custom_kinds` of the settings.
    declared: Value,
}

impl Checker {
    fn of(settings: &str) -> Self {
        let settings: Value = serde_json::from_str(settings).unwrap_or_default();
        let declared = settings.get("custom_kinds").cloned();
        Self {
            declared: declared.unwrap_or_default(),
        }
    }

    /// Returns the lists of a settings section, each with its errors.
    fn lists(&self, written: Vec<(String, Vec<StatusWriter>)>, section: &str) -> Vec<List> {
        let list = |(name, writers)| self.list(name, writers, section);
        written.into_iter().map(list).collect()
    }

    fn list(&self, name: String, writers: Vec<StatusWriter>, section: &str) -> List {
        let of_users = |users: &[Value]| {
            let value = match section {
                "controllers" => json!({"status_writers": users}),
                _ => json!(users),
            };
            self.refusal(section, json!({&*name: value}))
        };
        let refused = of_users(&["ana".into()]);
        let mut users: Vec<Value> = Vec::new();
        let mut listed = Vec::new();
        for writer in writers {
            users.push((&*writer.user).into());
            // An error in the name of the list is reported there.
            let wrong = refused.is_none().then(|| of_users(&users)).flatten();
            if wrong.is_some() {
                users.pop();
            }
            let refused = wrong;
            listed.push(Listed { writer, refused });
        }
        List {
            name,
            refused,
            writers: listed,
        }
    }

    /// Returns the library's error about a section, without its path.
    fn refusal(&self, section: &str, value: Value) -> Option<String> {
        let mut settings = Map::new();
        settings.insert("custom_kinds".to_owned(), self.declared.clone());
        settings.insert(section.to_owned(), value);
        let settings = Value::Object(settings).to_string();
        let problems = Settings::from_json(settings.as_bytes()).err()?;
        let problem = problems.as_slice().first()?;
        let text = problem.to_string();
        let place = format!("{}: ", problem.path());
        Some(text.strip_prefix(&place).unwrap_or(&text).to_owned())
    }
}
