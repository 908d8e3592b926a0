//! Judges the reader and its verdicts: with every prefix of the recordings of real controllers, with faults of each request, and with
//! hostile objects. Each test prints what it tried.

#![expect(clippy::print_stdout, reason = "the counts")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::thread;

use chrono::{DateTime, Utc};
use managed_by_testing::cluster::{Fault, KUEUE, StubCluster};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

use crate::assessment::{LEASES, ObjectStatus, StatusVerdict};
use crate::fake::{report, run};
use StatusVerdict::{Contradicting, Finished, Orphaned, Stalled};

/// Returns the recorded cluster with other workloads, the Leases of all controllers, and the queue and the Workload of each delegated object.
fn cluster(now: DateTime<Utc>, stored: &BTreeMap<String, Recorded>) -> StubCluster {
    let mut cluster = StubCluster::recorded();
    cluster.now = now;
    cluster.page = 100;
    let kueue = cluster.objects.iter_mut();
    let lists = kueue.filter(|(path, _)| !path.starts_with(KUEUE) || path.ends_with("/workloads"));
    lists.for_each(|(_, list)| list.clear());
    for lease in LEASES {
        cluster.add_lease(lease.namespace, lease.name);
    }
    for Recorded {
        object,
        resource,
        is_delegated,
    } in stored.values()
    {
        cluster.add(resource, object.clone());
        if !is_delegated {
            continue;
        }
        let metadata = &object["metadata"];
        let (queue, namespace) = (
            &metadata["labels"]["kueue.x-k8s.io/queue-name"],
            &metadata["namespace"],
        );
        cluster.add(&format!("{KUEUE}/localqueues"), json!({"metadata": {"name": queue, "namespace": namespace}, "spec": {"clusterQueue": "cq"}}));
        let owner = json!({"uid": metadata["uid"], "controller": true});
        let condition =
            json!({"type": "QuotaReserved", "status": "True", "lastTransitionTime": now});
        cluster.add(&format!("{KUEUE}/workloads"), json!({
            "metadata": {"name": metadata["name"], "namespace": namespace, "creationTimestamp": now, "ownerReferences": [owner]},
            "spec": {"queueName": queue},
            "status": {"admission": {"clusterQueue": "cq"}, "clusterName": "w1", "admissionChecks": [{"name": "mk"}], "conditions": [condition]},
        }));
    }
    cluster
}

/// Returns the latest time in an object.
fn latest(value: &Value) -> Option<DateTime<Utc>> {
    match value {
        Value::Array(list) => list.iter().filter_map(latest).max(),
        Value::Object(members) => {
            let times = members.iter().filter_map(|(name, value)| {
                let is_time = name.ends_with("Time") || name == "creationTimestamp";
                let time = value.as_str().filter(|_| is_time);
                time.map_or_else(|| latest(value), |time| time.parse().ok())
            });
            times.max()
        }
        _ => None,
    }
}

struct Recorded {
    object: Value,
    resource: String,
    is_delegated: bool,
}

/// Returns an object of a recording with the `managedFields` that the API server had written. `before` is the object before the event.
fn with_managed_fields(mut object: Value, before: Option<&Value>, now: DateTime<Utc>) -> Recorded {
    let kind = object["kind"].as_str().unwrap().to_owned();
    let api_version = object["apiVersion"].as_str().unwrap();
    let kinds = managed_by::kinds().iter();
    let (group, version) = api_version.split_once('/').unwrap();
    let mut kinds = kinds.filter(|k| k.name() == kind && k.group() == group);
    let known = kinds.find(|k| k.versions().contains(&version)).unwrap();
    let resource = format!("{api_version}/{}", known.plural());
    let path = known.managed_by_path().replace('.', "/");
    let managed_by = object.pointer(&format!("/{path}")).and_then(Value::as_str);
    let is_delegated = managed_by == Some("kueue.x-k8s.io/multikueue");
    let manager = match &*kind {
        _ if is_delegated => "kueue",
        "Job" => "kube-controller-manager",
        _ => "manager",
    };
    let old = before.map_or(&Value::Null, |before| &before["metadata"]["managedFields"]);
    let is_new = |field: &str| before.is_none_or(|before| before[field] != object[field]);
    let written = |is_new: bool, index: usize| {
        if is_new {
            json!(now)
        } else {
            old[index]["time"].clone()
        }
    };
    let spec =
        json!({"manager": "kubectl", "operation": "Update", "time": written(is_new("spec"), 0)});
    let status = json!({"manager": manager, "operation": "Update", "subresource": "status", "time": written(is_new("status"), 1)});
    let has_status = object["status"]
        .as_object()
        .is_some_and(|status| !status.is_empty());
    object["metadata"]["managedFields"] = if has_status {
        json!([spec, status])
    } else {
        json!([spec])
    };
    Recorded {
        object,
        resource,
        is_delegated,
    }
}

/// Returns the numbers of prefixes and of workloads that ended, and the false alarms.
fn judge(path: &Path) -> (usize, usize, Vec<String>) {
    let text = fs::read_to_string(path).unwrap();
    let mut now = DateTime::<Utc>::MIN_UTC;
    let mut stored: BTreeMap<String, Recorded> = BTreeMap::new();
    let mut finished = BTreeSet::new();
    let mut problems: BTreeMap<String, (usize, ObjectStatus)> = BTreeMap::new();
    for (line, event) in (1_usize..).zip(text.lines()) {
        let event: Value = serde_json::from_str(event).unwrap();
        let object = event["object"].clone();
        let uid = object["metadata"]["uid"].as_str().unwrap().to_owned();
        now = now.max(latest(&object).unwrap());
        let before = stored.remove(&uid).map(|recorded| recorded.object);
        if event["type"] != "DELETED" {
            stored.insert(uid, with_managed_fields(object, before.as_ref(), now));
        }
        let report = report(&cluster(now, &stored));
        let mut unchecked = report.unchecked.iter();
        let is_known = unchecked.all(|unread| unread.is_absent);
        assert!(is_known, "{}:{line}", path.display());
        for row in report.objects {
            let uid = row.uid.clone();
            if row.verdict == Finished {
                stored.remove(&uid);
                finished.insert(uid);
            } else if matches!(row.verdict, Orphaned | Stalled | Contradicting) {
                problems.entry(uid).or_insert((line, row));
            }
        }
    }
    let file = path.file_name().unwrap().display();
    let problems = problems
        .into_iter()
        .filter(|(uid, _)| finished.contains(uid));
    let alarms = problems.map(|(_, (line, row))| {
        format!(
            "{file}:{line}: {} is {}: {}",
            row.object, row.verdict, row.reason
        )
    });
    (text.lines().count(), finished.len(), alarms.collect())
}

/// A workload that a live controller runs to its end is no problem at any time before.
#[test]
fn no_prefix_of_a_recording_is_a_problem() {
    let directory = managed_by_testing::root("parity/traces");
    let files = fs::read_dir(directory)
        .unwrap()
        .map(|file| file.unwrap().path());
    let mut files: Vec<_> = files
        .filter(|path| {
            path.extension().is_some_and(|e| e == "ndjson") && !path.ends_with("verdicts.ndjson")
        })
        .collect();
    files.sort();
    let (mut prefixes, mut ended, mut alarms) = (0, 0, Vec::new());
    let judged = thread::scope(|scope| {
        let judge = |path| scope.spawn(move || judge(path));
        let threads: Vec<_> = files.iter().map(|path| judge(path)).collect();
        threads
            .into_iter()
            .map(|one| one.join().unwrap())
            .collect::<Vec<_>>()
    });
    for (lines, finished, found) in judged {
        prefixes += lines;
        ended += finished;
        alarms.extend(found);
    }
    println!(
        "{prefixes} prefixes of {} recordings, {ended} workloads that ended, {} false alarms",
        files.len(),
        alarms.len()
    );
    assert_eq!(alarms, [""; 0]);
    assert!(prefixes > 2_000 && ended > 400);
}

const ORPHANS: [&str; 6] = [
    "no-requests",
    "a-noqueue",
    "b-localqueue",
    "c-badqueue",
    "typo",
    "js-typo",
];

/// The documented time is `--after`.
#[test]
fn recorded_orphans_are_found_within_the_documented_time() {
    let mut cluster = StubCluster::recorded();
    // After the creation of the last one.
    cluster.now = "2026-11-28T05:56:18Z".parse().unwrap();
    let report = report(&cluster);
    let problems = report.objects.iter().filter(|row| row.verdict == Orphaned);
    let found: BTreeSet<_> = problems.map(|row| &*row.object.name).collect();
    println!(
        "recorded orphans found: {} of {}",
        found.len(),
        ORPHANS.len()
    );
    assert_eq!(found, ORPHANS.into());
}

/// For each request of a run, and each fault: no verdict is better or worse than `unchecked`, the fault is listed, and all kinds that
/// were read have the same verdicts as without it.
#[test]
fn a_fault_is_unchecked() {
    let cluster = StubCluster::recorded();
    let whole = run(&cluster, "{}", "-A");
    let before: BTreeMap<_, _> = whole
        .report
        .unwrap()
        .objects
        .into_iter()
        .map(|row| (row.object, row.verdict))
        .collect();
    let (mut tried, mut failed) = (0, Vec::new());
    let faults = [403, 404, 429, 500, 503].map(Fault::Code).into_iter();
    for fault in faults.chain([
        Fault::Expired,
        Fault::Reset,
        Fault::Interrupt,
        Fault::Malformed,
    ]) {
        for path in &whole.requests {
            let mut cluster = cluster.clone();
            cluster.faults.insert(path.clone(), fault);
            if fault == Fault::Code(403) && path.ends_with("/leases") {
                // Without the list, it reads each Lease where its project installs it.
                cluster.objects.remove(managed_by_testing::cluster::LEASES);
            }
            let Ok(report) = run(&cluster, "{}", "-A").report else {
                // Without the version and the API groups, there is no report.
                assert!(matches!(&**path, "/version" | "/apis"), "{fault:?} {path}");
                tried += 1;
                continue;
            };
            let is_whole = fault == Fault::Expired
                || (fault == Fault::Interrupt && !path.matches('/').count().ge(&4));
            let changed = report.objects.iter().filter(|row| {
                let is_same = before.get(&row.object) == Some(&row.verdict);
                !is_same && row.verdict != StatusVerdict::Unchecked
            });
            let changed: Vec<_> = changed.map(|row| row.object.to_string()).collect();
            let lost = before.len() - report.objects.len();
            let is_listed = report
                .unchecked
                .iter()
                .any(|unread| lost == 0 || unread.has_workloads);
            if !changed.is_empty() || !(is_listed || is_whole) {
                failed.push(format!(
                    "{fault:?} of {path}: {changed:?}, {lost} lost, {:?}",
                    report.unchecked
                ));
            }
            tried += 1;
        }
    }
    println!(
        "{} of {tried} faults of {} requests handled",
        tried - failed.len(),
        whole.requests.len()
    );
    assert_eq!(failed, [""; 0]);
}

/// Returns the paths of all values in an object.
fn paths(value: &Value, path: &str, paths_of: &mut Vec<String>) {
    paths_of.push(path.to_owned());
    let escape = |name: &str| name.replace('~', "~0").replace('/', "~1");
    match value {
        Value::Array(list) => {
            for (index, value) in list.iter().enumerate() {
                paths(value, &format!("{path}/{index}"), paths_of);
            }
        }
        Value::Object(members) => {
            for (name, value) in members {
                paths(value, &format!("{path}/{}", escape(name)), paths_of);
            }
        }
        _ => {}
    }
}

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => any::<String>().prop_map(Value::from),
        1 => "[0-9]{4,9}-[0-9]{2}-[0-9]{2}T00:00:00Z".prop_map(Value::from),
        1 => (1_usize..200_000).prop_map(|length| Value::from("\u{202e}x".repeat(length))),
        1 => any::<i64>().prop_map(Value::from),
        1 => Just(Value::Null),
        1 => Just(json!([])),
        1 => Just(json!({})),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    /// Whatever one tenant stores in any field of any object of a namespace, the others keep their verdicts.
    #[test]
    fn hostile_objects_change_no_other_row(list in any::<Index>(), object in any::<Index>(), field in any::<Index>(), value in any_value()) {
        let mut cluster = StubCluster::recorded();
        let lists = ["batch/v1/jobs", "jobset.x-k8s.io/v1alpha2/jobsets", "kueue.x-k8s.io/v1beta2/workloads"];
        let name = *list.get(&lists);
        let mut hostile = object.get::<Value>(&cluster.objects[name]).clone();
        hostile["metadata"]["namespace"] = json!("team-evil");
        hostile["metadata"]["name"] = json!("evil");
        let mut fields = Vec::new();
        paths(&hostile, "", &mut fields);
        // The API server itself checks these.
        fields.retain(|path| !matches!(&**path, "" | "/kind" | "/apiVersion" | "/metadata" | "/metadata/name" | "/metadata/namespace"));
        *hostile.pointer_mut(field.get::<String>(&fields)).unwrap() = value;
        let expected: BTreeMap<_, _> = report(&cluster).objects.into_iter().map(|row| (row.object, row.verdict)).collect();
        cluster.add(name, hostile);
        let report = report(&cluster);
        let others = report.objects.iter().filter(|row| row.object.namespace != "team-evil");
        let others: BTreeMap<_, _> = others.map(|row| (row.object.clone(), row.verdict)).collect();
        prop_assert_eq!(others, expected);
        for row in &report.objects {
            prop_assert!(row.reason.chars().count() < 1_000 && row.action.chars().count() < 1_000, "{:?}", row);
        }
    }
}
