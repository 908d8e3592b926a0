//! Publishes the verdicts for other programs: as reports next to the reports of Kubewarden's audit scanner, and as metrics.

use std::collections::BTreeSet;

use http::Uri;
use managed_by_console::escape::escape_control;
use managed_by_console::exit::CliError;
use managed_by_console::format::set;
use managed_by_console::stderr;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::args::StatusArgs;
use crate::assessment::ObjectStatus;
use crate::client::{Client, ReadError, push};
use crate::output::{StatusReport, metrics};
use crate::resources::Resource;

/// API groups of reports, in the order of preference, each with its resource and kind. Their objects have the same fields.
const GROUPS: [(&str, &str, &str); 2] = [
    ("openreports.io", "reports", "Report"),
    ("wgpolicyk8s.io", "policyreports", "PolicyReport"),
];

/// The label that distinguishes these reports from others.
const LABEL: &str = "app.kubernetes.io/managed-by";
const PROGRAM: &str = "managed-by";

/// Publishes what the arguments ask for.
///
/// # Errors
/// Fails if a report cannot be written or deleted, or the metrics cannot be pushed.
pub(super) async fn publish(
    client: &Client,
    args: &StatusArgs,
    report: &StatusReport,
    namespace: Option<&str>,
) -> Result<(), CliError> {
    if args.reports {
        write_reports(client, report, namespace).await?;
    }
    if let Some(url) = &args.push_metrics {
        let failed = |text| CliError::Error(format!("{}: {text}", display(url)));
        push(url, metrics(report)).await.map_err(failed)?;
    }
    Ok(())
}

/// Formats a URL without its credentials.
fn display(url: &Uri) -> String {
    let host = url.host().unwrap_or_default();
    format!("{host}{}", url.path())
}

/// Writes a report for each problem, and deletes the reports about workloads without a problem.
async fn write_reports(
    client: &Client,
    report: &StatusReport,
    namespace: Option<&str>,
) -> Result<(), CliError> {
    let served = client.served_groups().await?;
    let found = GROUPS.iter().find_map(|(group, plural, kind)| {
        let version = served.get(*group)?.first()?;
        Some((Resource::new(group, version, plural), *kind))
    });
    let Some((reports, kind)) = found else {
        let text =
            "the cluster serves neither reports.openreports.io nor policyreports.wgpolicyk8s.io";
        return Err(CliError::Error(text.to_owned()));
    };
    let problems = report.objects.iter().filter(|row| row.verdict.is_problem());
    let mut current = BTreeSet::new();
    // A namespace that is being deleted accepts no report. That must not keep the others from being written.
    let mut first_error = None;
    for row in problems {
        if row.object.namespace.is_empty() {
            stderr!(
                "no report about {}: it has no namespace\n",
                escape_control(&row.object.to_string())
            );
            continue;
        }
        let name = format!("{PROGRAM}-{}", row.uid);
        let path = reports.path(Some(&row.object.namespace), &name);
        let body = body(&reports, kind, &name, row);
        if let Err(error) = client.apply(&path, PROGRAM, &body).await {
            let namespace = &row.object.namespace;
            first_error.get_or_insert_with(|| failed(&reports, Some(namespace), &error));
        }
        current.insert(path);
    }
    // Workloads that could not be read keep their reports.
    if report.is_incomplete() {
        return first_error.map_or(Ok(()), Err);
    }
    let label = format!("{LABEL}={PROGRAM}");
    let mut outdated = BTreeSet::new();
    let listed = client.list(&reports, namespace, &label, |page| {
        for item in names(page) {
            let path = reports.path(Some(&item.namespace), &item.name);
            if !current.contains(&path) {
                outdated.insert(path);
            }
        }
    });
    listed
        .await
        .map_err(|error| failed(&reports, None, &error))?;
    for path in outdated {
        match client.delete(&path).await {
            Ok(()) | Err(ReadError::NotFound) => {}
            Err(error) => return Err(failed(&reports, None, &error)),
        }
    }
    first_error.map_or(Ok(()), Err)
}

fn failed(resource: &Resource, namespace: Option<&str>, error: &ReadError) -> CliError {
    let place = namespace.map_or_else(String::new, |name| format!(" in {name}"));
    CliError::Error(format!("{resource}{place}: {error}"))
}

/// Returns the report about a workload. It has no time, so that it changes only with the verdict.
fn body(reports: &Resource, kind: &str, name: &str, row: &ObjectStatus) -> Value {
    let object = &row.object;
    let workload = json!({
        "apiVersion": format!("{}/{}", object.group, object.version), "kind": object.kind, "name": object.name, "uid": row.uid,
    });
    let mut scope = workload.clone();
    set(&mut scope, "namespace", object.namespace.clone().into());
    json!({
        "apiVersion": reports.group_version(),
        "kind": kind,
        "metadata": {
            "name": name,
            "namespace": object.namespace,
            "labels": {LABEL: PROGRAM},
            // Kubernetes deletes the report together with the workload.
            "ownerReferences": [workload],
        },
        "scope": scope,
        "results": [{
            "source": PROGRAM,
            "policy": "managed-by-status",
            "rule": row.verdict.as_str(),
            "category": "Workload status",
            "severity": "medium",
            "result": "fail",
            "scored": true,
            "message": row.reason,
            "properties": {"controller": row.controller, "state": row.state, "action": row.action},
        }],
        "summary": {"pass": 0, "fail": 1, "warn": 0, "error": 0, "skip": 0},
    })
}

/// Namespace and name of an object.
#[derive(Deserialize)]
struct ObjectName {
    namespace: String,
    name: String,
}

fn names(list: &str) -> Vec<ObjectName> {
    #[derive(Deserialize)]
    struct List {
        items: Vec<Item>,
    }
    #[derive(Deserialize)]
    struct Item {
        metadata: ObjectName,
    }
    let list = serde_json::from_str::<List>(list).map_or_else(|_| Vec::new(), |list| list.items);
    list.into_iter().map(|item| item.metadata).collect()
}
