//! What real controllers did, replayed request by request: a denial would have broken a cluster that works. `conformance.rs` has
//! upstream's verdicts on the same Jobs.

use std::collections::BTreeMap;

use managed_by_conformance::trace::{self, CUSTOM, JOBS};
use serde_json::{Value, json};
use xtask::manifests;

use crate::support::{review, root};

/// With the release of the cluster nothing is denied, deletions included. What warns is what is meant to: the traps that were recorded on
/// purpose. With default settings nothing is denied either, and of Jobs there are warnings for older releases alone.
#[test]
fn nothing_that_controllers_wrote_is_denied() {
    let mut warned: BTreeMap<String, usize> = BTreeMap::new();
    let mut warnings = 0;
    let recorded = |stream| {
        let requests = trace::requests(stream).unwrap();
        assert!(requests.len() > 5, "{stream}");
        requests
    };
    for case in JOBS.into_iter().chain(CUSTOM).flat_map(recorded) {
        let kind = case.object["kind"].as_str().unwrap();
        let answer = review(&case.request(), &json!({"kubernetes_version": "1.36"}));
        assert!(answer.allowed, "{}: {answer:?}", case.name);
        assert_eq!(answer.warnings.is_empty(), answer.warned().is_empty());
        for warning in answer.warned() {
            // The traps are in specs. A controller's own status is never warned of.
            assert!(!warning.starts_with("status/"), "{}: {warning}", case.name);
            let name = case.object["metadata"]["name"].as_str().unwrap();
            let what = format!("{kind} {name}: {warning}");
            *warned.entry(what).or_default() += 1;
        }
        let answer = review(&case.request(), &json!({}));
        assert!(answer.allowed, "{}: {answer:?}", case.name);
        for warning in answer.warnings.iter().filter(|_| kind == "Job") {
            let is_of_old = ["1.30", "1.31", "1.30 to 1.31"]
                .iter()
                .any(|old| warning.contains(&format!("; kube-apiserver {old} denies it, set")));
            assert!(is_of_old, "{}: {warning}", case.name);
            warnings += 1;
        }
    }
    assert!(warnings > 50, "{warnings}");
    let warned: Vec<_> = warned.iter().map(|(what, n)| (&**what, *n)).collect();
    assert_eq!(
        warned,
        [
            (
                "AppWrapper nested: managed-by/nested spec.components[0].template.spec.managedBy",
                1
            ),
            (
                "AppWrapper typo: managed-by/unchecked-format spec.managedBy",
                1
            ),
            (
                "PipelineRun typo: managed-by/reserved-domain spec.managedBy",
                1
            ),
            (
                "RayJob rj-nested: managed-by/nested spec.rayClusterSpec.managedBy",
                1
            ),
            (
                "TaskRun empty-name: managed-by/unchecked-format spec.managedBy",
                1
            ),
            ("TaskRun typo: managed-by/reserved-domain spec.managedBy", 1),
        ]
    );
}

/// MultiKueue's hub under the settings of a management cluster: Kueue writes as it did, and nobody else could have.
#[test]
fn a_hub_works_under_the_settings_of_a_management_cluster() {
    let yaml = std::fs::read_to_string(root("examples/settings/management.yml")).unwrap();
    let mut settings: Value = serde_yaml_ng::from_str(&yaml).unwrap();
    settings["kubernetes_version"] = "1.36".into();
    let requests = trace::requests("multikueue-0.14-hub").unwrap().into_iter();
    let (mut requests_seen, mut statuses_refused) = (0, 0);
    for case in requests {
        let by = |user: &str| {
            let mut request = case.request();
            request["namespace"] = case.object["metadata"]["namespace"].clone();
            request["userInfo"] = json!({"username": user});
            review(&request, &settings)
        };
        let answer = by("system:serviceaccount:kueue-system:kueue-controller-manager");
        assert!(answer.allowed, "{}: {answer:?}", case.name);
        assert_eq!(answer.warnings, Vec::<String>::new(), "{}", case.name);
        requests_seen += 1;
        let status = case.request()["subResource"] == "status";
        let is_leaving = !case.object["metadata"]["deletionTimestamp"].is_null();
        let other = by("ana");
        assert_eq!(other.allowed, !status || is_leaving, "{}", case.name);
        if !other.allowed {
            assert_eq!(
                other.denied(),
                ["status-writer/delegated status"],
                "{}",
                case.name
            );
            statuses_refused += 1;
        }
    }
    assert_eq!((requests_seen, statuses_refused), (45, 24));
}

/// The settings of a manifest of `deploy/` on a cluster with JobSet, of the release that was recorded.
fn with_jobset(file: &str) -> Value {
    let text = std::fs::read_to_string(root("deploy").join(file)).unwrap();
    let text = manifests::taken_in(&text, &["jobset".to_owned()].into());
    let mut manifest: Value = serde_yaml_ng::from_str(&text).unwrap();
    let mut settings = manifest["spec"]["settings"].take();
    settings["kubernetes_version"] = "1.36".into();
    settings
}

/// The same without the lists of writers: a watch does not say who wrote, so it cannot show whether they are right.
fn without_writers(file: &str) -> Value {
    let mut settings = with_jobset(file);
    assert!(settings["standard_status_writers"].take().is_object());
    if let Some(controllers) = settings.get_mut("controllers") {
        for controller in controllers.as_object_mut().unwrap().values_mut() {
            assert!(controller["status_writers"].take().is_array());
        }
    }
    settings
}

/// MultiKueue's hub and worker under the settings of the manifests, but for the writers: nothing is denied, nobody is warned.
#[test]
fn multikueue_works_under_the_settings_of_the_manifests() {
    for (stream, file, expected) in [
        ("multikueue-0.14-hub", "management.yml", 45),
        ("multikueue-0.18-hub", "management.yml", 353),
        ("multikueue-0.18-worker", "worker.yml", 212),
    ] {
        let settings = without_writers(file);
        let requests = trace::requests(stream).unwrap();
        for case in &requests {
            let answer = review(&case.request(), &settings);
            assert!(answer.allowed, "{}: {answer:?}", case.name);
            assert_eq!(answer.warnings, Vec::<String>::new(), "{}", case.name);
        }
        assert_eq!(requests.len(), expected, "{stream}");
    }
}

/// JobSet's controller writes the status of its child Jobs when it resumes them: with its account in the list it may, and
/// without, the policy denies what it denied in the recorded cluster.
#[test]
fn jobset_resumes_its_jobs_under_the_settings_of_a_worker() {
    let jobset = "system:serviceaccount:jobset-system:jobset-controller-manager";
    let settings = with_jobset("worker.yml");
    let mut without = settings.clone();
    let writers = without["standard_status_writers"]["Job"].as_array_mut();
    writers.unwrap().retain(|writer| writer != jobset);
    let updates = trace::status_updates("jobset-resume-denied").unwrap();
    let mut denied = 0;
    for (name, request, code) in &updates {
        let answer = review(request, &without);
        assert_eq!(answer.allowed, *code != 403, "{name}: {answer:?}");
        if !answer.allowed {
            assert_eq!(answer.denied(), ["status-writer/standard status"], "{name}");
            assert_eq!(request["userInfo"]["username"], jobset, "{name}");
            denied += 1;
        }
    }
    assert_eq!((updates.len(), denied), (29, 14));
    for (name, request, _) in &updates {
        let answer = review(request, &settings);
        assert!(answer.allowed, "{name}: {answer:?}");
    }
}
