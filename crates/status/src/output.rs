//! Prints the status of workloads.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::{self, Write};

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use clap::ValueEnum as _;
use managed_by_console::escape::{
    escape_control, escape_values, json_document, markdown_cell, markdown_code,
};
use managed_by_console::exit::{CliError, ExitStatus};
use managed_by_console::format::{number, pluralize};
use managed_by_console::stderr;
use managed_by_console::table::table;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::args::{StatusArgs, StatusOutput};
use crate::assessment::{ObjectStatus, StatusVerdict, duration};

#[derive(Debug)]
pub(crate) struct StatusReport {
    pub(crate) now: DateTime<Utc>,
    pub(crate) after: TimeDelta,
    pub(crate) objects: Vec<ObjectStatus>,
    pub(crate) unchecked: Vec<UnreadResource>,
    /// Controllers that the settings list, or that the library knows.
    pub(crate) known_controllers: BTreeSet<String>,
    /// True if one workload was selected by its name.
    pub(crate) has_name: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct UnreadResource {
    /// Resource, with a space and the name if only one object of it could not be read.
    pub(crate) resource: String,
    pub(crate) reason: String,
    /// True if workloads of this resource are missing in the report.
    #[serde(rename = "workloads")]
    pub(crate) has_workloads: bool,
    /// Group and kind of these workloads.
    #[serde(skip)]
    pub(crate) group_kind: (String, String),
    /// True if it does not exist, which no permission changes.
    #[serde(skip)]
    pub(crate) is_absent: bool,
}

impl StatusReport {
    /// Returns true if a workload could not be read, or has no verdict.
    pub(crate) fn is_incomplete(&self) -> bool {
        self.unchecked.iter().any(|unread| unread.has_workloads)
            || self.count(StatusVerdict::Unchecked) > 0
    }

    /// Returns the exit status. Problems that are published elsewhere do not fail the run.
    pub(crate) fn exit_status(&self, args: &StatusArgs) -> ExitStatus {
        let is_published = args.reports || args.push_metrics.is_some();
        let mut objects = self.objects.iter();
        let has_problem = objects.any(|row| row.verdict.is_problem());
        ExitStatus::first([
            (self.is_incomplete(), ExitStatus::Error),
            (has_problem && !is_published, ExitStatus::Denied),
            (
                self.objects.is_empty() && !args.allow_empty && !is_published,
                ExitStatus::NothingEvaluated,
            ),
        ])
    }

    fn count(&self, verdict: StatusVerdict) -> usize {
        let rows = self.objects.iter();
        rows.filter(|row| row.verdict == verdict).count()
    }

    /// Formats the counts: `3 workloads: 1 orphaned, 2 healthy`.
    fn summary(&self) -> String {
        let counts = StatusVerdict::value_variants()
            .iter()
            .map(|verdict| (self.count(*verdict), verdict));
        let counts = counts.filter(|(count, _)| *count > 0);
        let counts: Vec<_> = counts
            .map(|(count, verdict)| format!("{} {}", number(count), verdict))
            .collect();
        let all = pluralize(self.objects.len(), "workload");
        match &*counts {
            [] => all,
            counts => format!("{all}: {}", counts.join(", ")),
        }
    }

    fn json(&self, rows: &[&ObjectStatus]) -> Value {
        let mut summary = Map::new();
        summary.insert("workloads".to_owned(), self.objects.len().into());
        for verdict in StatusVerdict::value_variants() {
            summary.insert(verdict.to_string(), self.count(*verdict).into());
        }
        json!({
            "format": 1, "command": "status",
            "time": self.now.to_rfc3339_opts(SecondsFormat::Secs, true), "after": duration(self.after),
            "summary": summary, "objects": rows, "unchecked": self.unchecked,
        })
    }

    fn age(&self, time: Option<DateTime<Utc>>) -> String {
        let age = time.map(|time| duration(self.now.signed_duration_since(time)));
        age.unwrap_or_else(|| "<none>".to_owned())
    }
}

pub(crate) fn print(report: &StatusReport, args: &StatusArgs, quiet: bool) -> Result<(), CliError> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let rows = report.objects.iter();
    let rows = rows.filter(|row| !args.problems || row.verdict.is_problem());
    let rows: Vec<_> = rows.collect();
    match args.output {
        StatusOutput::Json => {
            writeln!(out, "{}", json_document(&report.json(&rows)))?;
        }
        StatusOutput::Yaml => {
            if args.watch {
                writeln!(out, "---")?;
            }
            let mut json = report.json(&rows);
            escape_values(&mut json);
            let yaml = serde_yaml_ng::to_string(&json);
            let yaml = yaml.map_err(|e| CliError::Error(e.to_string()))?;
            out.write_all(yaml.as_bytes())?;
        }
        StatusOutput::Markdown => out.write_all(markdown(report).as_bytes())?,
        StatusOutput::Metrics => out.write_all(metrics(report).as_bytes())?,
        StatusOutput::Table if report.has_name => {
            for row in &report.objects {
                out.write_all(tree(report, row).as_bytes())?;
            }
        }
        StatusOutput::Table | StatusOutput::Wide => {
            if !rows.is_empty() {
                let text = rows_as_table(report, &rows, args);
                out.write_all(text.as_bytes())?;
            }
        }
    }
    out.flush()?;
    for UnreadResource {
        resource, reason, ..
    } in &report.unchecked
    {
        let (resource, reason) = (escape_control(resource), escape_control(reason));
        stderr!("unchecked: {resource}: {reason}\n");
    }
    if args.is_table() && !quiet && !report.has_name {
        stderr!("{}\n", report.summary());
    }
    Ok(())
}

fn name(row: &ObjectStatus) -> String {
    format!(
        "{}/{}",
        row.object.kind.to_ascii_lowercase(),
        row.object.name
    )
}

fn controller(row: &ObjectStatus) -> &str {
    if row.delegated {
        &row.controller
    } else {
        "<built-in>"
    }
}

fn rows_as_table(report: &StatusReport, rows: &[&ObjectStatus], args: &StatusArgs) -> String {
    let cells = rows.iter().map(|row| {
        let write = row.last_status_write.as_ref();
        let last_write = match write {
            Some(write) => format!("{} ({})", report.age(Some(write.time)), write.manager),
            None => "<none>".to_owned(),
        };
        [
            row.object.namespace.clone(),
            name(row),
            controller(row).to_owned(),
            row.state.to_owned(),
            last_write,
            report.age(row.created),
            row.verdict.to_string(),
            row.reason.clone(),
            row.action.clone(),
        ]
    });
    let shown = |heading, is_shown| if is_shown { heading } else { "" };
    let header = [
        shown("NAMESPACE", args.all_namespaces),
        "NAME",
        "CONTROLLER",
        "STATE",
        "LAST STATUS WRITE",
        "AGE",
        "VERDICT",
        "REASON",
        shown("ACTION", args.output == StatusOutput::Wide),
    ];
    table(header, cells)
}

/// Formats one workload as a tree, with the objects that it depends on.
fn tree(report: &StatusReport, row: &ObjectStatus) -> String {
    let created = report.age(row.created);
    let mut lines = vec![format!(
        "{} {}   {}, {created} old, run by {}",
        row.object.kind,
        row.object.namespaced_name(),
        row.state,
        if row.delegated {
            &row.controller
        } else {
            "its built-in controller"
        },
    )];
    let last = row.chain.len();
    lines.extend(row.chain.iter().enumerate().map(|(index, link)| {
        let branch = if index.saturating_add(1) == last {
            "└─"
        } else {
            "├─"
        };
        format!("{branch} {} {}   {}", link.kind, link.name, link.state)
    }));
    let write = match &row.last_status_write {
        Some(write) => format!("{} ago by {}", report.age(Some(write.time)), write.manager),
        None => "<none>".to_owned(),
    };
    lines.push(format!("last status write: {write}"));
    let colon = if row.reason.is_empty() { "" } else { ": " };
    lines.push(format!("{}{colon}{}", row.verdict, row.reason));
    if !row.action.is_empty() {
        lines.push(format!("to do: {}", row.action));
    }
    let lines = lines
        .iter()
        .map(|line| format!("{}\n", escape_control(line)));
    lines.collect()
}

/// Formats the problems and the totals, for the page of a CI job.
fn markdown(report: &StatusReport) -> String {
    let mut text = format!("{}\n", report.summary());
    let problems = report.objects.iter().filter(|row| row.verdict.is_problem());
    for (index, row) in problems.enumerate() {
        if index == 0 {
            text.push_str("\n| workload | controller | age | verdict | reason | to do |\n| --- | --- | --- | --- | --- | --- |\n");
        }
        let cells = [
            format!("{} {}", row.object.kind, row.object.namespaced_name()),
            controller(row).to_owned(),
            report.age(row.created),
            row.verdict.to_string(),
            row.reason.clone(),
            row.action.clone(),
        ];
        let cells = cells.map(|cell| match &*cell {
            "" => cell,
            cell => markdown_cell(cell),
        });
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    for unread in &report.unchecked {
        let _ = write!(
            text,
            "\nUnchecked: {}: {}\n",
            markdown_code(&unread.resource),
            markdown_code(&unread.reason)
        );
    }
    text
}

/// Formats the numbers of workloads for Prometheus. Users choose the names of controllers, so unknown ones have the label `other`: the
/// number of time series stays bounded.
///
/// Source: "Exposition formats" in Prometheus' documentation, "Text-based format".
pub(crate) fn metrics(report: &StatusReport) -> String {
    let mut counts: BTreeMap<(&str, String, StatusVerdict), usize> = BTreeMap::new();
    for row in &report.objects {
        let controller = match &*row.controller {
            "" => "built-in",
            name if report.known_controllers.contains(name) => name,
            _ => "other",
        };
        let kind = row.object.kind_and_group();
        let count = counts.entry((controller, kind, row.verdict));
        let count = count.or_default();
        *count = count.saturating_add(1);
    }
    let unread = report.unchecked.iter().filter(|unread| !unread.is_absent);
    let unread = unread.count();
    if counts.is_empty() {
        // A Pushgateway keeps the samples of a metric that it does not get.
        let none = ("built-in", "Job.batch".to_owned(), StatusVerdict::Healthy);
        counts.insert(none, 0);
    }
    let time = report.now.timestamp();
    let mut text = "# HELP managed_by_objects Workloads by controller, kind and verdict of managed-by status.\n\
        # TYPE managed_by_objects gauge\n"
        .to_owned();
    // Writing to a String cannot fail.
    for ((controller, kind, verdict), count) in counts {
        let _ = writeln!(
            text,
            "managed_by_objects{{controller=\"{controller}\",kind=\"{kind}\",verdict=\"{verdict}\"}} {count}"
        );
    }
    let _ = write!(
        text,
        "# HELP managed_by_status_unread_resources Resources that managed-by status could not read.\n\
         # TYPE managed_by_status_unread_resources gauge\n\
         managed_by_status_unread_resources {unread}\n\
         # HELP managed_by_status_timestamp_seconds Time at which managed-by status read the cluster.\n\
         # TYPE managed_by_status_timestamp_seconds gauge\n\
         managed_by_status_timestamp_seconds {time}\n"
    );
    text
}
