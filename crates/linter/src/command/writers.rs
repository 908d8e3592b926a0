//! `managed-by settings writers`: proposes lists of status writers from audit logs, as YAML for the settings.

use std::io::Write as _;

use managed_by::Settings;
use managed_by_console::escape::escape_control;
use managed_by_console::exit::{CliError, ExitStatus};
use managed_by_console::format::{counts, pluralize};
use managed_by_console::recording::{Errors, Recording};
use managed_by_console::settings::ResolvedSettings;
use managed_by_console::stderr;
use managed_by_offline::StatusWriterCollector;
use managed_by_offline::replay::{ObjectRef, StatusWriter, WriterTotals};
use serde_json::{Value, json};

use crate::args::WritersArgs;

/// Label of writes that the policy denied, or would deny in mode `protect`.
const WITH_FINDINGS: &str = "with findings";

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
    let comment = |writer: &StatusWriter| {
        let file = recording.files.get(writer.first.source);
        let file = escape_control(file.map_or("", |file| file));
        let findings = counts(&[(writer.with_findings, WITH_FINDINGS)]);
        let count = pluralize(writer.writes, "write");
        format!("# {count}{findings}, first {file}:{}", writer.first.line)
    };
    let mut yaml = Vec::new();
    if found.totals.writes > 0 {
        yaml.push("# Read each line before you copy it: these users wrote a status, or tried to. You decide who may write it.\n".to_owned());
    }
    let controllers = "# `controllers` is also the allow-list: with it, nothing can be delegated to other controllers.\ncontrollers:\n";
    for (mut heading, key, indent, lists) in [
        ("builtin_status_writers:\n", "", "    ", found.builtin),
        (
            controllers,
            "    status_writers:\n",
            "      ",
            found.delegated,
        ),
    ] {
        for (name, writers) in lists {
            let (mut accepted, mut lines) = (Vec::new(), Vec::new());
            for writer in writers {
                let user = scalar(&writer.user);
                lines.push(format!("{indent}- {user} {}\n", comment(&writer)));
                accepted.push(writer.user);
                if let Some(error) = rejection(&settings, key.is_empty(), &name, &accepted) {
                    stderr!(
                        "warning: {user} is not proposed: {}\n",
                        escape_control(&error)
                    );
                    accepted.pop();
                    lines.pop();
                }
            }
            if !lines.is_empty() {
                let (name, lines) = (scalar(&name), lines.concat());
                yaml.push(format!("{heading}  {name}:\n{key}{lines}"));
                heading = "";
            }
        }
    }
    write!(anstream::stdout(), "{}", yaml.concat())?;
    let totals = &found.totals;
    report(totals, quiet);
    let is_complete =
        errors.reported.is_empty() && totals.unknown_reconciler == 0 && totals.writes > 0;
    Ok(ExitStatus::first([(!is_complete, ExitStatus::Error)]))
}

/// Prints what is missing, and the totals, on standard error.
fn report(totals: &WriterTotals, quiet: bool) {
    if totals.unknown_reconciler > 0 {
        let writes = pluralize(totals.unknown_reconciler, "status write");
        stderr!(
            "error: {writes} in audit events that do not show whether the object is delegated: raise the audit level to RequestResponse, or apply \
             the policy to these kinds (mode monitor is sufficient)\n"
        );
    }
    if totals.writes == 0 {
        stderr!("error: no status writes of workloads, so there are no writers to propose\n");
    }
    if !quiet {
        let skipped = totals.skipped.values().copied();
        let others = counts(&[
            (totals.with_findings, WITH_FINDINGS),
            (skipped.fold(0, u64::saturating_add), "could not be read"),
            (totals.unknown_reconciler, "with unknown delegation"),
            (totals.rejected, "rejected by the API server"),
            (totals.other, "of other kinds"),
        ]);
        let documents = pluralize(totals.documents, "document");
        let writes = pluralize(totals.writes, "status write");
        stderr!("{documents}, {writes}{others}\n");
    }
}

/// Returns the reason why the settings reject the last user of a list. Invalid settings would stop PolicyServer.
fn rejection(settings: &Value, is_builtin: bool, name: &str, users: &[String]) -> Option<String> {
    let (section, list) = if is_builtin {
        ("builtin_status_writers", json!(users))
    } else {
        ("controllers", json!({"status_writers": users}))
    };
    let custom_kinds = settings.get("custom_kinds");
    let settings = json!({"custom_kinds": custom_kinds, section: {name: list}}).to_string();
    let problems = Settings::from_json(settings.as_bytes()).err()?;
    problems.as_slice().first().map(ToString::to_string)
}

/// Formats a string as a YAML scalar. Characters other than printable ASCII are escaped, so that lookalike names differ visibly, and `#`,
/// because `##[` starts a command of GitHub Actions anywhere in a line.
fn scalar(text: &str) -> String {
    let json = Value::from(text).to_string();
    let escaped = json.chars().map(|c| match c {
        '\u{10000}'.. => format!("\\U{:08x}", u32::from(c)),
        ' '..='~' if c != '#' => c.to_string(),
        c => format!("\\u{:04x}", u32::from(c)),
    });
    escaped.collect()
}

#[cfg(test)]
mod tests {
    use managed_by_offline::Document;

    use super::scalar;

    /// Checks that two YAML parsers, one of them equivalent to kubectl's, read back the original string in any context.
    #[test]
    fn scalar_is_one_string_on_one_line() {
        let every = (0..0x3000)
            .chain(0xd7f0..0xe010)
            .chain(0xfe00..0x1_0010)
            .chain([0x1_f600, 0x10_ffff]);
        let each = every.filter_map(char::from_u32).map(|c| format!("a{c}b"));
        let short = ["", " ", "a ", "- a", "a: b", "\\n", "a\r\n- system:masters"];
        for text in each.chain(short.map(str::to_owned)) {
            let scalar = scalar(&text);
            let is_plain = scalar.bytes().all(|b| (b' '..=b'~').contains(&b));
            assert!(is_plain && !scalar.contains('#'), "{scalar}");
            let yaml = format!("k:\n  - {scalar} # a comment\n{scalar}: x\n");
            let expected = serde_json::json!({"k": [&text], &text: "x"});
            let read: serde_json::Value = serde_yaml_ng::from_str(&yaml).unwrap();
            assert_eq!(read, expected, "{yaml}");
            let document = Document::parse_all(&yaml).remove(0).unwrap();
            let read: serde_json::Value = serde_json::from_str(document.json()).unwrap();
            assert_eq!(read, expected, "{yaml}");
        }
    }
}
