//! Publishes the verdicts for other programs: as reports next to the reports of Kubewarden's audit scanner, and as metrics.

use std::collections::{BTreeMap, BTreeSet};

use managed_by_console::escape::escape_control;
use managed_by_console::exit::CliError;
use managed_by_console::format::set;
use managed_by_console::stderr;
use serde_json::{Value, json};

use crate::args::StatusArgs;
use crate::assessment::{ObjectStatus, StatusVerdict};
use crate::client::{Client, ReadError, push};
use crate::output::{StatusReport, UnreadResource, metrics};
use crate::resources::Resource;

/// API groups of reports, in the order of preference, each with its resource and kind. Their objects have the same fields.
const GROUPS: [(&str, &str, &str); 2] = [
    ("openreports.io", "reports", "Report"),
    ("wgpolicyk8s.io", "policyreports", "PolicyReport"),
];

/// The label that distinguishes these reports from others.
const LABEL: &str = "app.kubernetes.io/managed-by";
const PROGRAM: &str = "managed-by";

/// Publishes what the arguments ask for: the metrics first, because there may be many reports.
pub(super) async fn publish(
    client: &Client,
    args: &StatusArgs,
    report: &StatusReport,
    namespace: Option<&str>,
) -> Result<(), CliError> {
    let mut errors = Vec::new();
    if let Some(url) = &args.push_metrics {
        let pushed = push(url, metrics(report)).await;
        let host = url.host().unwrap_or_default();
        let failed = |text| format!("{host}{}: {text}", url.path());
        errors.extend(pushed.map_err(failed).err());
    }
    if args.reports {
        errors.extend(write_reports(client, report, namespace).await.err());
    }
    if errors.is_empty() {
        return Ok(());
    }
    Err(CliError::Error(errors.join("; ")))
}

/// Writes a report for each problem unless it is there already, and deletes the reports about workloads without a problem.
async fn write_reports(
    client: &Client,
    report: &StatusReport,
    namespace: Option<&str>,
) -> Result<(), String> {
    let served = client.served_groups().await.map_err(|e| e.to_string())?;
    let found = GROUPS.iter().find_map(|(group, plural, kind)| {
        let version = served.get(*group)?.first()?;
        Some((Resource::new(group, version, plural), *kind))
    });
    let Some((reports, kind)) = found else {
        let text =
            "the cluster serves neither reports.openreports.io nor policyreports.wgpolicyk8s.io";
        return Err(text.to_owned());
    };
    let mut missing = BTreeMap::new();
    let mut kept = BTreeSet::new();
    for row in &report.objects {
        let name = format!("{PROGRAM}-{}", row.uid);
        let path = reports.path(Some(&row.object.namespace), &name);
        if row.verdict == StatusVerdict::Unchecked {
            kept.insert(path);
        } else if row.verdict.is_problem() && row.object.namespace.is_empty() {
            stderr!(
                "no report about {}: it has no namespace\n",
                escape_control(&row.object.to_string())
            );
        } else if row.verdict.is_problem() {
            missing.insert(path.clone(), body(&reports, kind, &name, row));
            kept.insert(path);
        }
    }
    let mut outdated = BTreeSet::new();
    let label = format!("{LABEL}={PROGRAM}");
    let selectors = [("labelSelector", &*label)];
    let listed = client.list(&reports, namespace, &selectors, |_, items| {
        for item in items {
            let stored: Value = serde_json::from_str(item.get()).unwrap_or_default();
            let text = |path: &str| stored.pointer(path).and_then(Value::as_str);
            let name = text("/metadata/name").unwrap_or_default();
            let path = reports.path(text("/metadata/namespace"), name);
            if missing
                .get(&path)
                .is_some_and(|body| contains(&stored, body))
            {
                missing.remove(&path);
            }
            let group = text("/scope/apiVersion").and_then(|version| version.split_once('/'));
            let scope = text("/scope/kind").map(|kind| (group.unwrap_or_default().0, kind));
            let place = text("/scope/namespace").unwrap_or_default();
            let object = format!("{place}/{}", text("/scope/name").unwrap_or_default());
            let is_unread = |unread: &UnreadResource| {
                let (group, kind) = &unread.group_kind;
                let one = unread.resource.split_once(' ');
                unread.has_workloads
                    && scope.is_none_or(|scope| scope == (group, kind))
                    && one.is_none_or(|(_, unread)| unread == object)
            };
            if !kept.contains(&path) && !report.unchecked.iter().any(is_unread) {
                outdated.insert(path);
            }
        }
    });
    // A namespace that is being deleted accepts no report. That must not keep the others from being written.
    let mut errors: Vec<_> = listed
        .await
        .err()
        .iter()
        .map(ReadError::to_string)
        .collect();
    for (path, body) in &missing {
        if let Err(error) = client.apply(path, PROGRAM, body).await {
            let namespace = body.pointer("/metadata/namespace").and_then(Value::as_str);
            errors.push(format!("in {}: {error}", namespace.unwrap_or_default()));
        }
    }
    for path in outdated {
        match client.delete(&path).await {
            Ok(()) | Err(ReadError::NotFound) => {}
            Err(error) => errors.push(format!("delete: {error}")),
        }
    }
    match &*errors {
        [] => Ok(()),
        [first] => Err(format!("{reports} {first}")),
        [first, ..] => Err(format!("{reports}: {} errors, first {first}", errors.len())),
    }
}

/// Returns true if a stored value contains the fields of another.
fn contains(stored: &Value, applied: &Value) -> bool {
    match (stored, applied) {
        (Value::Object(stored), Value::Object(applied)) => applied.iter().all(|(name, value)| {
            let stored = stored.get(name);
            stored.is_some_and(|stored| contains(stored, value))
        }),
        (Value::Array(stored), Value::Array(applied)) => {
            let pairs = || stored.iter().zip(applied);
            stored.len() == applied.len() && pairs().all(|(a, b)| contains(a, b))
        }
        _ => stored == applied,
    }
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
            "rule": row.verdict,
            "category": "Workload status",
            "severity": "medium",
            "result": "fail",
            "scored": true,
            "message": escape_control(&row.reason),
            "properties": {
                "controller": escape_control(&row.controller), "state": row.state, "action": escape_control(&row.action),
            },
        }],
        "summary": {"pass": 0, "fail": 1, "warn": 0, "error": 0, "skip": 0},
    })
}
