//! Verdicts on the recorded cluster and its variants, with the real reader.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use managed_by_testing::cluster::StubCluster;
use serde::Deserialize;
use serde_json::{Value, json};

use super::ObjectStatus;
use crate::fake::run;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    #[serde(default)]
    change: BTreeMap<String, Value>,
    settings: Option<Value>,
    args: Option<String>,
    #[serde(default)]
    results: BTreeMap<String, [String; 2]>,
    problems: Option<Vec<String>>,
    /// All resources in `unchecked`.
    unchecked: Option<Vec<String>>,
}

/// Replaces `@61` in a value by a time.
fn with_times(value: &mut Value, cluster: &StubCluster) {
    match value {
        Value::String(text) => {
            if let Some(seconds) = text.strip_prefix('@') {
                let age = TimeDelta::seconds(seconds.parse().unwrap());
                *value = json!(cluster.now.checked_sub_signed(age).unwrap());
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|value| with_times(value, cluster)),
        Value::Object(members) => members
            .values_mut()
            .for_each(|value| with_times(value, cluster)),
        _ => {}
    }
}

fn created(resource: &str, mut object: Value) -> Value {
    if let [group, version, plural] = *resource.split('/').collect::<Vec<_>>() {
        object["apiVersion"] = json!(format!("{group}/{version}"));
        let namespace = (plural != "sites").then_some("team-mk");
        object["metadata"] = json!({"name": format!("new-{plural}"), "namespace": namespace, "uid": plural, "creationTimestamp": "2026-11-28T05:55:17Z"});
    }
    object
}

fn change(cluster: &mut StubCluster, place: &str, mut value: Value) {
    with_times(&mut value, cluster);
    let mut parts = place.split(' ');
    let (resource, name, pointer) = (parts.next().unwrap(), parts.next().unwrap(), parts.next());
    let mut paths = cluster.objects.keys();
    let path = paths.find(|path| path.ends_with(&format!("/{resource}")));
    let path = path.map_or(resource, |path| path).to_owned();
    let list = cluster.objects.entry(path).or_default();
    match name {
        "0" => return list.insert(0, value),
        "-" => return list.push(created(resource, value)),
        _ => {}
    }
    let mut objects = list.iter();
    let index = objects.position(|object| {
        let found = object["metadata"]["name"].as_str().unwrap();
        // The name of a Workload has a suffix.
        let workload = found.rsplit_once('-').filter(|_| resource == "workloads");
        workload.map_or(found, |(name, _)| name) == name
    });
    let index = index.unwrap();
    let Some(pointer) = pointer else {
        match value {
            Value::Null => drop(list.remove(index)),
            value => list[index] = value,
        }
        return;
    };
    let mut operation = json!({"op": "add", "path": pointer, "value": value});
    // In an array, `add` would insert.
    if list[index].pointer(pointer).is_some() {
        operation["op"] = json!(if operation["value"].is_null() {
            "remove"
        } else {
            "replace"
        });
    }
    json_patch::patch(
        &mut list[index],
        &serde_json::from_value::<json_patch::Patch>(json!([operation])).unwrap(),
    )
    .unwrap();
}

fn text(row: &ObjectStatus) -> String {
    let links = row.chain.iter();
    let links: Vec<_> = links.map(|l| format!("{} {}", l.kind, l.state)).collect();
    let (state, reason, action) = (row.state, &row.reason, &row.action);
    format!("{state}: {reason}; to do: {action}; {}", links.join(", "))
}

#[test]
fn cases_have_the_expected_verdicts() {
    let cases: Vec<Case> = serde_yaml_ng::from_str(include_str!("cases.yml")).unwrap();
    for case in cases {
        let name = &case.name;
        let mut cluster = StubCluster::recorded();
        cluster.without_namespace.insert("sites");
        for (place, value) in case.change {
            change(&mut cluster, &place, value);
        }
        let settings = case.settings.unwrap_or(json!({})).to_string();
        let args = case.args.as_deref().unwrap_or("-A");
        let report = run(&cluster, &settings, args).report.unwrap();
        let mut problems = Vec::new();
        for row in &report.objects {
            let is_problem = row.verdict.is_problem();
            assert_eq!(row.action.is_empty(), !is_problem, "{name}: {row:#?}");
            problems.extend(is_problem.then_some(&*row.object.name));
        }
        for (object, [verdict, part]) in case.results {
            let mut rows = report.objects.iter();
            let row = rows.find(|row| row.object.name == object).unwrap();
            assert_eq!(row.verdict.to_string(), verdict, "{name}: {row:#?}");
            assert!(text(row).contains(&part), "{name}: {part}: {row:#?}");
        }
        if let Some(expected) = case.problems {
            assert_eq!(problems, expected, "{name}");
        }
        if let Some(expected) = case.unchecked {
            let unchecked = report.unchecked.iter().map(|unread| &unread.resource);
            assert_eq!(
                unchecked.collect::<Vec<_>>(),
                expected.iter().collect::<Vec<_>>(),
                "{name}"
            );
        }
    }
}

/// Pages have as many objects as fit: 300 of 800 KB need not fit into memory.
#[test]
fn pages_are_bounded_in_bytes() {
    let pages = |count: usize, size: usize| {
        let mut cluster = StubCluster::recorded();
        cluster.page = 500;
        let jobs = cluster.objects.get_mut("batch/v1/jobs").unwrap();
        let mut object = jobs[3].clone();
        object["metadata"]["annotations"] = json!({"a": "x".repeat(size)});
        *jobs = vec![object; count];
        let run = run(&cluster, "{}", "-A");
        assert_eq!(run.report.unwrap().objects.len(), count.saturating_add(4));
        run.limits.into_iter().max().unwrap()
    };
    assert_eq!(pages(40, 800_000), 16);
    assert_eq!(pages(3_000, 10), 500);
}
