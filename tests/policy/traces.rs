//! What real controllers did, replayed request by request: a denial would have broken a cluster that works.

use std::collections::BTreeMap;

use managed_by::Release;
use managed_by_conformance::trace::{self, CUSTOM, JOBS, MULTIKUEUE};
use serde_json::{Value, json};

use crate::support::{everywhere, root};

/// Every request on a Job, for every release: the verdict and the words are upstream's.
#[test]
fn upstream_s_verdicts_are_ours() {
    let vectors = trace::vectors().unwrap();
    let mut denied = Release::ALL
        .iter()
        .map(|release| (release.as_str(), 0))
        .collect::<Vec<_>>();
    for vector in &vectors {
        let name = &vector.case.name;
        for (index, release) in Release::ALL.iter().copied().enumerate() {
            let says = |r: &String| r == release.as_str();
            let expected = vector.answers.iter().find(|a| a.releases.iter().any(says));
            let expected = expected.unwrap();
            let ours = everywhere(
                &vector.case.request(),
                &json!({"kubernetes_version": release.as_str()}),
            );
            assert_eq!(ours.message(), expected.message, "{name}");
            assert_eq!(ours.allowed, expected.errors.is_empty(), "{name}");
            if !ours.allowed {
                denied[index].1 += 1;
            }
        }
    }
    assert_eq!(vectors.len(), 730);
    // In 1.30 criteria were those of a success policy alone; in 1.31 a suspended Job had to start before it could be
    // complete. The controller that was recorded is of 1.36.
    let expected = [("1.30", 103), ("1.31", 1)];
    assert_eq!(denied[..2], expected);
    assert!(denied[2..].iter().all(|&(_, count)| count == 0));
}

/// With the release of the cluster nothing is denied, deletions included, and nobody is warned. With default settings nothing
/// is denied either, and the warnings are about older releases.
#[test]
fn nothing_that_the_job_controller_wrote_is_denied() {
    let mut warnings = 0;
    for stream in JOBS {
        let requests = trace::requests(stream).unwrap().into_iter();
        for case in requests.filter(|case| case.object["kind"] == "Job") {
            let answer = everywhere(&case.request(), &json!({"kubernetes_version": "1.36"}));
            assert!(answer.allowed, "{}: {answer:?}", case.name);
            assert_eq!(answer.warnings, Vec::<String>::new(), "{}", case.name);
            let answer = everywhere(&case.request(), &json!({}));
            assert!(answer.allowed, "{}: {answer:?}", case.name);
            for warning in &answer.warnings {
                let is_of_old = ["1.30", "1.31", "1.30 to 1.31"]
                    .iter()
                    .any(|old| warning.contains(&format!("; kube-apiserver {old} denies it, set")));
                assert!(is_of_old, "{}: {warning}", case.name);
                warnings += 1;
            }
        }
    }
    assert!(warnings > 50, "{warnings}");
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
            everywhere(&request, &settings)
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
    // What belongs to a project is a comment with the name of the project in front.
    let text = text.replace("#jobset ", "");
    let mut manifest: Value = serde_yaml_ng::from_str(&text).unwrap();
    let mut settings = manifest["spec"]["settings"].take();
    settings["kubernetes_version"] = "1.36".into();
    settings
}

/// The same without the lists of writers: a watch does not say who wrote, so it cannot show whether they are right.
fn without_writers(file: &str) -> Value {
    let mut settings = with_jobset(file);
    let sections = settings.as_object_mut().unwrap();
    sections.remove("standard_status_writers").unwrap();
    let controllers = sections.get_mut("controllers");
    for (_, controller) in controllers
        .into_iter()
        .flat_map(|c| c.as_object_mut().unwrap())
    {
        controller
            .as_object_mut()
            .unwrap()
            .remove("status_writers")
            .unwrap();
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
            let answer = everywhere(&case.request(), &settings);
            assert!(answer.allowed, "{}: {answer:?}", case.name);
            assert_eq!(answer.warnings, Vec::<String>::new(), "{}", case.name);
            let answer = everywhere(&case.request(), &json!({}));
            assert!(answer.allowed, "{}: {answer:?}", case.name);
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
        let answer = everywhere(request, &without);
        assert_eq!(answer.allowed, *code != 403, "{name}: {answer:?}");
        if !answer.allowed {
            assert_eq!(answer.denied(), ["status-writer/standard status"], "{name}");
            assert_eq!(request["userInfo"]["username"], jobset, "{name}");
            denied += 1;
        }
    }
    assert_eq!((updates.len(), denied), (29, 14));
    for (name, request, _) in &updates {
        let answer = everywhere(request, &settings);
        assert!(answer.allowed, "{name}: {answer:?}");
    }
}

/// What the controllers of custom resources did, deletions included: with default settings nothing is denied. What warns
/// is what is meant to: the traps that were recorded on purpose.
#[test]
fn default_settings_deny_nothing_that_controllers_of_custom_resources_did() {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut warned: BTreeMap<String, usize> = BTreeMap::new();
    let streams = CUSTOM.into_iter().chain(MULTIKUEUE);
    let settings = json!({"kubernetes_version": "1.36"});
    for case in streams.flat_map(|stream| trace::requests(stream).unwrap()) {
        let answer = everywhere(&case.request(), &settings);
        assert!(answer.allowed, "{}: {answer:?}", case.name);
        let kind = case.object["kind"].as_str().unwrap();
        *counts.entry(kind.to_owned()).or_default() += 1;
        for warning in answer.warned() {
            // The traps are in specs. A controller's own status is never warned of.
            assert!(!warning.starts_with("status/"), "{}: {warning}", case.name);
            let name = case.object["metadata"]["name"].as_str().unwrap();
            *warned
                .entry(format!("{kind} {name}: {warning}"))
                .or_default() += 1;
        }
    }
    let counts: Vec<_> = counts.iter().map(|(kind, n)| (&**kind, *n)).collect();
    assert_eq!(
        counts,
        [
            ("AppWrapper", 62),
            ("JAXJob", 57),
            ("Job", 459),
            ("JobSet", 269),
            ("MPIJob", 78),
            ("PaddleJob", 143),
            ("PipelineRun", 323),
            ("PyTorchJob", 209),
            ("RayCluster", 92),
            ("RayJob", 25),
            ("TFJob", 158),
            ("TaskRun", 609),
            ("TrainJob", 20),
            ("XGBoostJob", 166),
        ]
    );
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
