//! Prints proposed status writers as YAML for the settings.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::Arc;

use managed_by_console::escape::escape_control;
use managed_by_console::exit::CliError;
use managed_by_console::format::{counts, number, pluralize};
use managed_by_console::stderr;
use managed_by_offline::replay::{StatusWriter, WriterTotals};

use crate::recording::{WriterList, WritersProposal};

/// Prints a proposal on standard output, and its totals on standard error.
pub(crate) fn print(proposal: &WritersProposal, quiet: bool) -> Result<(), CliError> {
    let mut out = anstream::AutoStream::auto(io::stdout()).lock();
    write!(out, "{}", yaml(proposal))?;
    if proposal.totals.unknown_reconciler > 0 {
        let writes = pluralize(proposal.totals.unknown_reconciler, "status write");
        stderr!(
            "error: {writes} in audit events that do not show whether the object is delegated: raise the audit level to RequestResponse, or apply \
             the policy to these kinds (mode monitor is sufficient)\n"
        );
    }
    if proposal.totals.writes == 0 {
        stderr!("error: no status writes of workloads, so there are no writers to propose\n");
    }
    if !quiet {
        stderr!("{}\n", totals(&proposal.totals));
    }
    Ok(())
}

fn totals(totals: &WriterTotals) -> String {
    let skipped = totals.skipped.values().copied();
    let others = counts(&[
        (skipped.fold(0, u64::saturating_add), "could not be read"),
        (totals.unknown_reconciler, "with unknown delegation"),
        (totals.rejected, "rejected by the API server"),
        (totals.other, "of other kinds"),
    ]);
    let (denied, would_be_denied) = (totals.denied, totals.would_be_denied);
    let documents = pluralize(totals.documents, "document");
    let writes = pluralize(totals.writes, "status write");
    format!(
        "{documents}, {writes}: {denied} denied by the policy, {would_be_denied} would be denied{others}"
    )
}

/// Formats the YAML to copy. Entries that the settings reject are commented out.
fn yaml(proposal: &WritersProposal) -> String {
    let mut text = String::new();
    if proposal.totals.writes == 0 {
        return text;
    }
    let writes = pluralize(proposal.totals.writes, "status write");
    let files = match &*proposal.files {
        [file] => escape_control(file),
        files => format!("{} files", files.len()).into(),
    };
    let times = proposal.totals.times.as_ref();
    let times = times
        .map(|(first, last)| format!(", {} to {}", escape_control(first), escape_control(last)));
    let times = times.unwrap_or_default();
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "# From {writes} in {files}{times}.\n# Read each line before you copy it: these users wrote a status, or tried to. You decide who may write it."
    );
    let files = &*proposal.files;
    section(
        &mut text,
        "builtin_status_writers",
        &proposal.builtin,
        None,
        files,
    );
    if !proposal.delegated.is_empty() {
        text.push_str(
            "# `controllers` is also the allow-list: with it, nothing can be delegated to other controllers.\n",
        );
    }
    let key = Some("status_writers");
    section(&mut text, "controllers", &proposal.delegated, key, files);
    text
}

/// Writes the lists of a settings section, each under its name or under a nested key.
fn section(
    text: &mut String,
    name: &str,
    lists: &[WriterList],
    nested_key: Option<&str>,
    files: &[Arc<str>],
) {
    let mut line = |is_accepted: bool, depth: usize, content: &str| {
        let mark = if is_accepted { "" } else { "# " };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{mark}{}{content}", "  ".repeat(depth));
    };
    if !lists.is_empty() {
        let is_accepted = lists.iter().any(WriterList::is_accepted);
        line(is_accepted, 0, &format!("{name}:"));
    }
    for list in lists {
        let is_accepted = list.is_accepted();
        let error = list
            .error
            .as_deref()
            .map(|error| format!(" # {}", rejection(error)));
        line(
            is_accepted,
            1,
            &format!("{}:{}", scalar(&list.name), error.unwrap_or_default()),
        );
        if let Some(key) = nested_key {
            line(is_accepted, 2, &format!("{key}:"));
        }
        let depth = if nested_key.is_some() { 3 } else { 2 };
        for (writer, error) in &list.writers {
            let comment = comment(writer, error.as_deref(), nested_key.is_some(), files);
            let is_accepted = is_accepted && error.is_none();
            line(
                is_accepted,
                depth,
                &format!("- {} # {comment}", scalar(&writer.user)),
            );
        }
    }
}

impl WriterList {
    /// Returns true if the settings accept any entry.
    fn is_accepted(&self) -> bool {
        self.error.is_none() && self.writers.iter().any(|(_, error)| error.is_none())
    }
}

fn comment(
    writer: &StatusWriter,
    error: Option<&str>,
    with_kinds: bool,
    files: &[Arc<str>],
) -> String {
    let person = if looks_like_person(&writer.user) {
        "a person? "
    } else {
        ""
    };
    let mut text = format!("{person}{}", pluralize(writer.writes, "write"));
    if with_kinds {
        let kinds: Vec<_> = writer
            .kinds
            .iter()
            .map(|kind| escape_control(kind))
            .collect();
        text.extend([" to ", &kinds.join(", ")]);
    }
    for (count, label) in [
        (writer.denied, "denied by the policy"),
        (writer.would_be_denied, "would be denied by the policy"),
    ] {
        // Writing to a String cannot fail.
        let _ = match (count, writer.writes) {
            (0, _) => Ok(()),
            (_, 1) => write!(text, ", {label}"),
            _ => write!(text, ", {} of them {label}", number(count)),
        };
    }
    let file = files
        .get(writer.first.source)
        .map(|file| escape_control(file));
    let _ = write!(
        text,
        ", first {}:{}",
        file.unwrap_or_default(),
        writer.first.line
    );
    if let Some(time) = &writer.first.time {
        text.extend([", ", &escape_control(time)]);
    }
    if let Some(error) = error {
        text.extend(["; ", &rejection(error)]);
    }
    text
}

/// Formats the reason why an entry is rejected.
fn rejection(error: &str) -> String {
    format!("rejected by the settings: {}", escape_control(error))
}

/// Returns true unless the name starts with `system:`, as for service accounts and Kubernetes components. Also returns true for
/// `system:admin`, the admin user of some distributions, and for `system:anonymous`.
fn looks_like_person(user: &str) -> bool {
    !user.starts_with("system:") || ["system:admin", "system:anonymous"].contains(&user)
}

/// Formats a string as an unambiguous YAML scalar. Characters other than printable ASCII are escaped, so that lookalike
/// names differ visibly.
fn scalar(text: &str) -> Cow<'_, str> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "._/@:-".contains(c);
    let words = ["y", "n", "yes", "no", "true", "false", "on", "off", "null"];
    if text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(is_name)
        && !text.ends_with(':')
        && !words.contains(&&*text.to_ascii_lowercase())
    {
        return text.into();
    }
    let mut quoted = String::from("\"");
    for c in text.chars() {
        // Writing to a String cannot fail.
        let _ = match c {
            '"' | '\\' => write!(quoted, "\\{c}"),
            // `##[` starts a GitHub Actions command anywhere in a line.
            ' '..='~' if c != '#' => write!(quoted, "{c}"),
            '\u{10000}'.. => write!(quoted, "\\U{:08x}", u32::from(c)),
            c => write!(quoted, "\\u{:04x}", u32::from(c)),
        };
    }
    quoted.push('"');
    quoted.into()
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
        let short = [
            "", " ", "a ", " a", "#a", "a #b", "a: b", "a:", ": a", "- a", "'a'", "\"a\"",
            "a\"b'c", "a\\b", "\\", "{a}", "[a]", "&a", "*a", "!a", "|", ">", "%a", "@a", "`a",
            "a\nb", "---", "...", "~", "null", "Null", "NO", "yes", "on", "y", "true", "0x1f",
            "010", "1_0", "1:30", "1e3", ".inf", "<<", "=", "a,b", "\0", "1", "a\\nb", "ä", "аna",
        ];
        let long = [
            "a\r\n- system:masters",
            "2026-11-22",
            "system:serviceaccount:kube-system:job-controller",
            "ana@acme.io",
            "a\u{2028}b",
            "a\u{2028}- b",
            "\u{feff}a",
            "a\u{202e}b",
        ];
        let ugly = short.iter().chain(&long).map(ToString::to_string);
        for text in each.chain(ugly) {
            let scalar = scalar(&text);
            assert!(
                scalar.bytes().all(|b| (b' '..=b'~').contains(&b)),
                "{scalar}"
            );
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
