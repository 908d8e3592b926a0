//! Prints status writers as YAML for the settings and as JSON.

use std::fmt::Write as _;
use std::io::{self, BufWriter, Write};
use std::sync::Arc;

use managed_by_offline::MalformedText;
use managed_by_offline::replay::{StatusWriter, WriterSums};
use serde_json::{Map, Value, json};

use super::json::{FORMAT, by_reason, seen};
use super::plain::plain;
use super::text;
use crate::args::WritersOutput;
use crate::diagnostic::Diagnostic;
use crate::error::CliError;
use crate::proposal::{List, Listed, Proposal};
use crate::words::{count_of, counts, number};

/// Names that look like components but are not: the admin user of some distributions, and the anonymous user.
const NO_PROGRAMS: [&str; 2] = ["system:admin", "system:anonymous"];

/// Prints a proposal on standard output, and omitted entries on standard error.
pub(crate) fn print(
    proposal: &Proposal,
    format: WritersOutput,
    quiet: bool,
) -> Result<(), CliError> {
    let mut out = BufWriter::new(anstream::AutoStream::auto(io::stdout()).lock());
    match format {
        WritersOutput::Yaml => write!(out, "{}", yaml(proposal))?,
        WritersOutput::Json => writeln!(out, "{:#}", json(proposal))?,
    }
    out.flush()?;
    if let Some(unjudged) = undecided(proposal) {
        anstream::eprint!("{}", text::diagnostic(&unjudged));
    }
    if proposal.sums.writes == 0 {
        anstream::eprintln!("error: nothing to propose: no status write of a workload counts");
    }
    if !quiet {
        anstream::eprintln!("{}", sums(&proposal.sums));
    }
    Ok(())
}

/// Returns a note about writes to objects that may or may not be delegated.
fn undecided(proposal: &Proposal) -> Option<Diagnostic> {
    let first = proposal.sums.first_undecided.as_ref()?;
    let writes = match proposal.sums.undecided {
        1 => "1 status write says".to_owned(),
        count => format!(
            "{} status writes, the first of them here, say",
            number(count)
        ),
    };
    let text = format!(
        "{writes} neither that the object is delegated nor that it is not: raise the audit level to RequestResponse, or put \
         the policy in mode monitor first"
    );
    let line = usize::try_from(first.line).unwrap_or(usize::MAX);
    let file = proposal.files.get(first.source)?;
    Some(Diagnostic::new(file, MalformedText::at(line, 0, text)))
}

/// Formats the totals as one line.
fn sums(sums: &WriterSums) -> String {
    let unjudged = sums.unjudged.iter().map(|(_, count)| *count);
    let others = counts(&[
        (unjudged.fold(0, u64::saturating_add), "could not be read"),
        (sums.undecided, "undecided"),
        (sums.refused, "refused by the API server"),
        (sums.other, "of other kinds"),
    ]);
    let (denied, found) = (sums.denied, sums.found);
    let documents = count_of(sums.documents, "document");
    let writes = count_of(sums.writes, "status write");
    format!("{documents}, {writes}: {denied} denied by the policy, {found} would be{others}")
}

/// Formats the YAML to copy. Entries that the settings reject are commented out.
fn yaml(proposal: &Proposal) -> String {
    let mut text = String::new();
    if proposal.sums.writes == 0 {
        return text;
    }
    let writes = count_of(proposal.sums.writes, "status write");
    let files = match &*proposal.files {
        [file] => plain(file),
        files => format!("{} files", files.len()).into(),
    };
    let times = proposal.sums.times.as_ref();
    let times = times.and_then(|(first, last)| {
        let (first, last) = (second(first)?, second(last)?);
        Some(format!(", {first} to {last}"))
    });
    let times = times.unwrap_or_default();
    // Writing to a String cannot fail.
    let _ = writeln!(text, "# From {writes} in {files}{times}.");
    text.push_str(
        "# Read each line before you copy it: it says who wrote, or tried to, not who should.\n",
    );
    let files = &*short_names(&proposal.files);
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
    let inner = Some("status_writers");
    section(&mut text, "controllers", &proposal.delegated, inner, files);
    text
}

/// Returns file names without folders, unless names collide: each API server writes an `audit.log`.
fn short_names(files: &[Arc<str>]) -> Vec<Arc<str>> {
    let short = |file: &Arc<str>| Arc::from(file.rsplit('/').next().unwrap_or_default());
    let names: Vec<Arc<str>> = files.iter().map(short).collect();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    sorted.dedup();
    if sorted.len() == names.len() {
        names
    } else {
        files.to_owned()
    }
}

/// Writes the lists of a settings section, each under its name or under a nested key.
fn section(text: &mut String, name: &str, lists: &[List], inner: Option<&str>, files: &[Arc<str>]) {
    if lists.is_empty() {
        return;
    }
    let mut line = |is_setting: bool, depth: usize, what: &str| {
        let mark = if is_setting { "" } else { "# " };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{mark}{}{what}", "  ".repeat(depth));
    };
    line(lists.iter().any(List::is_setting), 0, &format!("{name}:"));
    for list in lists {
        let is_setting = list.is_setting();
        let why = list.refused.as_deref().map(refusal).unwrap_or_default();
        let why = if why.is_empty() {
            why
        } else {
            format!(" #{why}")
        };
        line(is_setting, 1, &format!("{}:{why}", scalar(&list.name)));
        let mut depth = 2;
        if let Some(inner) = inner {
            line(is_setting, depth, &format!("{inner}:"));
            depth = 3;
        }
        for listed in &list.writers {
            let user = scalar(&listed.writer.user);
            let about = about(listed, inner.is_some(), files);
            let is_setting = is_setting && listed.refused.is_none();
            line(is_setting, depth, &format!("- {user} # {about}"));
        }
    }
}

impl List {
    /// Returns true if the settings accept any entry.
    fn is_setting(&self) -> bool {
        self.refused.is_none() && self.writers.iter().any(|listed| listed.refused.is_none())
    }
}

/// Returns the comment about a writer.
fn about(listed: &Listed, with_kinds: bool, files: &[Arc<str>]) -> String {
    let StatusWriter {
        user,
        kinds,
        writes,
        denied,
        found,
        first,
    } = &listed.writer;
    let mut text = String::new();
    if looks_like_person(user) {
        text.push_str("a person? ");
    }
    text.push_str(&count_of(*writes, "write"));
    if with_kinds {
        let kinds: Vec<_> = kinds.iter().map(|kind| plain(kind)).collect();
        text.extend([" to ", &kinds.join(", ")]);
    }
    for (count, what) in [
        (*denied, "denied by the policy"),
        (*found, "would be denied by the policy"),
    ] {
        // Writing to a String cannot fail.
        let _ = match (count, writes) {
            (0, _) => Ok(()),
            (_, 1) => write!(text, ", {what}"),
            _ => write!(text, ", {} of them {what}", number(count)),
        };
    }
    let file = files.get(first.source).map(|file| plain(file));
    let _ = write!(text, ", first {}:{}", file.unwrap_or_default(), first.line);
    if let Some(time) = first.time.as_deref().and_then(second) {
        text.extend([", ", &time]);
    }
    if let Some(why) = &listed.refused {
        text.push(';');
        text.push_str(&refusal(why));
    }
    text
}

/// Formats the reason why an entry is rejected.
fn refusal(why: &str) -> String {
    format!(" the settings refuse it: {}", plain(why))
}

/// Returns true for a user that is neither a service account nor a Kubernetes component.
fn looks_like_person(user: &str) -> bool {
    !user.starts_with("system:") || NO_PROGRAMS.contains(&user)
}

/// Returns the time of an audit event without its fraction, or [`None`] if it is malformed.
fn second(time: &str) -> Option<String> {
    let is_time = |c: char| c.is_ascii_digit() || "-:TZ.".contains(c);
    let (whole, _) = time
        .strip_suffix('Z')?
        .split_once('.')
        .unwrap_or((time, ""));
    let whole = whole.strip_suffix('Z').unwrap_or(whole);
    (whole.len() <= 30 && whole.chars().all(is_time)).then(|| format!("{whole}Z"))
}

/// Formats a string as an unambiguous YAML scalar. Characters other than printable ASCII are escaped, so that lookalike
/// names differ visibly.
fn scalar(text: &str) -> String {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "._/@:-".contains(c);
    let words = ["y", "n", "yes", "no", "true", "false", "on", "off", "null"];
    if text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(is_name)
        && !text.ends_with(':')
        && !words.contains(&&*text.to_ascii_lowercase())
    {
        return text.to_owned();
    }
    let mut quoted = String::from("\"");
    for c in text.chars() {
        // Writing to a String cannot fail.
        let _ = match c {
            '"' | '\\' => write!(quoted, "\\{c}"),
            // `##[` starts a GitHub Actions command anywhere in a line.
            '#' => quoted.write_str("\\x23"),
            ' '..='~' => write!(quoted, "{c}"),
            '\u{10000}'.. => write!(quoted, "\\U{:08x}", u32::from(c)),
            c => write!(quoted, "\\u{:04x}", u32::from(c)),
        };
    }
    quoted.push('"');
    quoted
}

/// Returns the proposal as JSON that matches `docs/cli.schema.json`.
fn json(proposal: &Proposal) -> Value {
    let sums = &proposal.sums;
    let files = &proposal.files;
    let builtin = proposal.builtin.iter();
    let builtin = builtin.map(|list| (list.name.clone(), writers(list, files)));
    let delegated = proposal.delegated.iter().map(|list| {
        let mut controller = json!({"status_writers": writers(list, files)});
        add_refusal(&mut controller, list.refused.as_deref());
        (list.name.clone(), controller)
    });
    let (from, to) = sums.times.clone().unzip();
    json!({
        "format": FORMAT,
        "command": "settings writers",
        "summary": {
            "documents": sums.documents, "writes": sums.writes, "denied": sums.denied, "wouldBeDenied": sums.found, "from": from, "to": to,
            "refused": sums.refused, "other": sums.other, "undecided": sums.undecided,
            "unjudged": by_reason(&sums.unjudged),
        },
        "builtin_status_writers": builtin.collect::<Map<_, _>>(),
        "controllers": delegated.collect::<Map<_, _>>(),
        "unjudged": proposal.unreadable,
    })
}

fn writers(list: &List, files: &[Arc<str>]) -> Value {
    let writer = |listed: &Listed| {
        let writer = &listed.writer;
        let mut value = json!({
            "user": writer.user, "kinds": writer.kinds, "writes": writer.writes, "denied": writer.denied,
            "wouldBeDenied": writer.found, "isPerson": looks_like_person(&writer.user), "first": seen(&writer.first, files),
        });
        add_refusal(&mut value, listed.refused.as_deref());
        value
    };
    list.writers.iter().map(writer).collect()
}

fn add_refusal(value: &mut Value, refused: Option<&str>) {
    if let (Value::Object(members), Some(why)) = (value, refused) {
        members.insert("refused".to_owned(), why.into());
    }
}

#[cfg(test)]
mod tests {
    use managed_by_offline::Document;

    use super::{scalar, second};

    /// Checks that two YAML parsers, one of them equivalent to kubectl's, read back the original string in any context.
    #[test]
    fn a_scalar_is_one_string_on_one_line() {
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
            let document = Document::all(&yaml).remove(0).unwrap();
            let read: serde_json::Value = serde_json::from_str(document.json()).unwrap();
            assert_eq!(read, expected, "{yaml}");
        }
    }

    #[test]
    fn times_lose_their_fraction() {
        for (time, expected) in [
            ("2026-11-22T13:10:37.429806Z", Some("2026-11-22T13:10:37Z")),
            ("2026-11-22T13:10:37Z", Some("2026-11-22T13:10:37Z")),
            ("2026-11-22\n- ana:Z", None),
            ("yesterday", None),
            ("", None),
        ] {
            assert_eq!(second(time).as_deref(), expected, "{time}");
        }
    }
}
