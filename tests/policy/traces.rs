//! Replays recorded requests of real controllers. A denial would have broken a working cluster.
//!
//! `parity/tests/vectors.rs` compares the same Jobs with upstream's verdicts.

use std::collections::BTreeMap;

use managed_by::rules;
use managed_by_parity::trace::{self, CUSTOM, JOBS};
use managed_by_testing::chart;
use serde_json::{Map, Value, json};

use crate::support::{review, root};

/// The mistakes in the recordings, each in one request.
const RECORDED_MISTAKES: [&str; 17] = [
    "AppWrapper delegated: delegation/missing-label metadata.labels[kueue.x-k8s.io/queue-name]",
    "AppWrapper nested: managed-by/template spec.components[0].template.spec.managedBy",
    "AppWrapper typo: managed-by/recommended-format spec.managedBy",
    "Job c-o2: job-conventions/transition-time status.conditions[1].lastTransitionTime",
    "Job c-stuck: job-conventions/transition-time status.conditions[0].lastTransitionTime",
    "Job c-ttl: delegation/short-ttl spec.ttlSecondsAfterFinished",
    "Job delegated: delegation/missing-label metadata.labels[kueue.x-k8s.io/queue-name]",
    "PipelineRun delegated: delegation/missing-label metadata.labels[kueue.x-k8s.io/queue-name]",
    "PipelineRun typo: managed-by/reserved-domain spec.managedBy",
    "RayCluster rc-mk: delegation/missing-label metadata.labels[kueue.x-k8s.io/queue-name]",
    "RayJob rj-mk: delegation/missing-label metadata.labels[kueue.x-k8s.io/queue-name]",
    "RayJob rj-nested: managed-by/template spec.rayClusterSpec.managedBy",
    "TFJob tf-delegated: delegation/missing-label metadata.labels[kueue.x-k8s.io/queue-name]",
    "TaskRun delegated-cancelled: delegation/missing-label metadata.labels[kueue.x-k8s.io/queue-name]",
    "TaskRun delegated: delegation/missing-label metadata.labels[kueue.x-k8s.io/queue-name]",
    "TaskRun empty-name: managed-by/recommended-format spec.managedBy",
    "TaskRun typo: managed-by/reserved-domain spec.managedBy",
];

/// Returns the value of the setting `rules` that turns on the rules about conventions.
fn conventions() -> Map<String, Value> {
    let ids = rules().iter().map(|rule| rule.id());
    let conventions = ids.filter(|id| id.starts_with("job-conventions/"));
    conventions
        .map(|id| (id.to_owned(), "warn".into()))
        .collect()
}

/// Every recorded request is accepted, including deletions.
///
/// With the cluster's release, only the mistakes that were recorded on purpose cause warnings, and MultiKueue's copies from another
/// worker break a convention. With default settings, Jobs also cause warnings for older releases.
#[test]
fn recorded_requests_are_accepted() {
    let mut warned: BTreeMap<String, usize> = BTreeMap::new();
    let mut warnings = 0;
    let recorded = |stream| {
        let requests = trace::requests(stream).unwrap();
        assert!(requests.len() > 5, "{stream}");
        requests
    };
    let settings = json!({"kubernetes_version": "1.36", "rules": conventions()});
    for case in JOBS.into_iter().chain(CUSTOM).flat_map(recorded) {
        let kind = case.object["kind"].as_str().unwrap();
        let response = review(&case.request(), &settings);
        assert!(response.allowed, "{}: {response:?}", case.name);
        assert_eq!(response.warnings.is_empty(), response.warned().is_empty());
        for warning in response.warned() {
            // The recorded mistakes are in specs. A controller's own status never causes a warning.
            assert!(!warning.starts_with("status/"), "{}: {warning}", case.name);
            let name = case.object["metadata"]["name"].as_str().unwrap();
            let entry = format!("{kind} {name}: {warning}");
            *warned.entry(entry).or_default() += 1;
        }
        let response = review(&case.request(), &json!({}));
        assert!(response.allowed, "{}: {response:?}", case.name);
        let warnings_of_jobs = response.warnings.iter().filter(|_| kind == "Job");
        for warning in warnings_of_jobs.filter(|warning| !warning.contains("[delegation/")) {
            let old_releases = [
                "1.30",
                "1.31",
                "1.30 to 1.31",
                "1.30 to 1.32.6, 1.33.0 to 1.33.2",
            ];
            let is_for_old_release = old_releases
                .iter()
                .any(|old| warning.contains(&format!("; kube-apiserver {old} denies it: set")));
            assert!(is_for_old_release, "{}: {warning}", case.name);
            warnings += 1;
        }
    }
    assert!(warnings > 50, "{warnings}");
    let warned: Vec<_> = warned.iter().map(|(entry, n)| (&**entry, *n)).collect();
    assert_eq!(warned, RECORDED_MISTAKES.map(|entry| (entry, 1)));
}

/// With the settings of a management cluster, Kueue can write the recorded statuses. Other users can write only the status of an
/// object that is being deleted.
#[test]
fn management_settings_accept_status_writes_of_kueue_only() {
    let yaml = std::fs::read_to_string(root("examples/settings/management.yml")).unwrap();
    let mut settings: Value = serde_yaml_ng::from_str(&yaml).unwrap();
    settings["kubernetes_version"] = "1.36".into();
    let requests = trace::requests("multikueue-0.14-hub").unwrap().into_iter();
    let (mut requests_reviewed, mut statuses_denied) = (0, 0);
    for case in requests {
        let by = |user: &str| {
            let mut request = case.request();
            request["namespace"] = case.object["metadata"]["namespace"].clone();
            request["userInfo"] = json!({"username": user});
            review(&request, &settings)
        };
        let response = by("system:serviceaccount:kueue-system:kueue-controller-manager");
        assert!(response.allowed, "{}: {response:?}", case.name);
        assert_eq!(response.warnings, Vec::<String>::new(), "{}", case.name);
        requests_reviewed += 1;
        let status = case.request()["subResource"] == "status";
        let is_being_deleted = !case.object["metadata"]["deletionTimestamp"].is_null();
        let other = by("ana");
        assert_eq!(other.allowed, !status || is_being_deleted, "{}", case.name);
        if !other.allowed {
            assert_eq!(
                other.denied(),
                ["status-writer/delegated status"],
                "{}",
                case.name
            );
            statuses_denied += 1;
        }
    }
    assert_eq!((requests_reviewed, statuses_denied), (45, 24));
}

/// Returns the settings that the chart renders for a cluster with all projects, with the recorded release, or `None` without Helm.
fn rendered_settings(name: &str) -> Option<Value> {
    let mut settings = chart::policy(name).unwrap()?["spec"]["settings"].take();
    settings["kubernetes_version"] = "1.36".into();
    Some(settings)
}

/// Removes the lists of status writers, because watch events do not contain the user.
fn without_writers(mut settings: Value) -> Value {
    assert!(settings["builtin_status_writers"].take().is_object());
    if let Some(controllers) = settings.get_mut("controllers") {
        for controller in controllers.as_object_mut().unwrap().values_mut() {
            let limits = controller.as_object_mut().unwrap();
            assert!(limits.remove("status_writers").unwrap().is_array());
            if limits.is_empty() {
                *controller = "any".into();
            }
        }
    }
    settings
}

#[test]
fn manifest_settings_accept_multikueue() {
    // A user created a Job that is deleted three seconds after its end.
    let short_ttl = ["delegation/short-ttl spec.ttlSecondsAfterFinished"];
    for (stream, name, expected, expected_warnings) in [
        ("multikueue-0.14-hub", "management", 45, &[][..]),
        ("multikueue-0.18-hub", "management", 353, &short_ttl[..]),
        ("multikueue-0.18-worker", "worker", 212, &[][..]),
    ] {
        let Some(settings) = rendered_settings(name) else {
            return;
        };
        let settings = without_writers(settings);
        let requests = trace::requests(stream).unwrap();
        let mut warned = Vec::new();
        for case in &requests {
            let response = review(&case.request(), &settings);
            assert!(response.allowed, "{}: {response:?}", case.name);
            warned.extend(response.warned().into_iter().map(str::to_owned));
        }
        assert_eq!(warned, expected_warnings, "{stream}");
        assert_eq!(requests.len(), expected, "{stream}");
    }
}

/// JobSet's controller writes the status of its child Jobs when it resumes them.
///
/// The updates are accepted if the settings list its account. Otherwise the same updates are denied as in the recorded cluster.
#[test]
fn worker_settings_accept_jobset_resuming_its_jobs() {
    let jobset = "system:serviceaccount:jobset-system:jobset-controller-manager";
    let Some(settings) = rendered_settings("worker") else {
        return;
    };
    let mut without = settings.clone();
    let writers = without["builtin_status_writers"]["Job"].as_array_mut();
    writers.unwrap().retain(|writer| writer != jobset);
    let updates = trace::status_updates("jobset-resume-denied").unwrap();
    let mut denied = 0;
    for (name, request, code) in &updates {
        let response = review(request, &without);
        assert_eq!(response.allowed, *code != 403, "{name}: {response:?}");
        if !response.allowed {
            assert_eq!(
                response.denied(),
                ["status-writer/builtin status"],
                "{name}"
            );
            assert_eq!(request["userInfo"]["username"], jobset, "{name}");
            denied += 1;
        }
    }
    assert_eq!((updates.len(), denied), (29, 14));
    for (name, request, _) in &updates {
        let response = review(request, &settings);
        assert!(response.allowed, "{name}: {response:?}");
    }
}
