//! Rules about the text of a manifest: `managed-by/unknown-field` in every kind, and workloads that `MultiKueue` never runs.

use managed_by::{AdmissionRequest, Finding, Settings, evaluate, kinds};
use serde_json::{Value, json};

/// Returns the findings of a rule about a manifest.
fn findings(rule: &str, object: &Value, settings: &str) -> Vec<Finding> {
    let api_version = object["apiVersion"].as_str().unwrap();
    let (group, version) = api_version.split_once('/').unwrap();
    let kind = json!({"group": group, "version": version, "kind": object["kind"]});
    let request = json!({"operation": "CREATE", "kind": kind, "object": object}).to_string();
    let request = AdmissionRequest::from_json(request.as_bytes()).unwrap();
    let settings = Settings::from_json(settings.as_bytes()).unwrap();
    let request = request.with_manifests();
    let mut findings = evaluate(&request, &settings, None).findings;
    findings.retain(|finding| finding.rule.id() == rule);
    findings
}

/// Returns the unknown fields of a manifest, each with the intended path and the suggested key.
fn found(json: &str, settings: &str) -> Vec<String> {
    let object = serde_json::from_str(json).unwrap();
    let findings = findings("managed-by/unknown-field", &object, settings);
    let text = |finding: &Finding| {
        let suggestion = finding.suggestion.as_deref().unwrap_or("-");
        let (_, intended) = finding.detail.split_once("; did you mean \"").unwrap();
        let intended = intended.trim_end_matches("\"?");
        format!("{} {intended} {suggestion}", finding.path)
    };
    findings.iter().map(text).collect()
}

#[test]
fn each_kind_has_its_own_path() {
    for kind in kinds() {
        let path = kind.managed_by_path();
        let (parent, _) = path.rsplit_once('.').unwrap();
        let object = |parent: &str, key: &str| {
            let mut json = format!("{{\"{key}\": \"a.io/x\"}}");
            for segment in parent.rsplit('.').filter(|segment| !segment.is_empty()) {
                json = format!("{{\"{segment}\": {json}}}");
            }
            let (group, version, name) = (kind.group(), kind.versions()[0], kind.name());
            let head = format!("{{\"apiVersion\": \"{group}/{version}\", \"kind\": \"{name}\", ");
            json.replacen('{', &head, 1)
        };
        assert_eq!(found(&object(parent, "managedBy"), "{}"), [""; 0], "{path}");
        for key in [
            "managedby",
            "ManagedBy",
            "managed-by",
            "managed_by",
            "mangedBy",
            "managdBy",
        ] {
            let expected = format!("{parent}.{key} {path} managedBy");
            assert_eq!(found(&object(parent, key), "{}"), [expected]);
        }
        for place in [
            "",
            "metadata",
            &format!("{parent}.template.spec"),
            &format!("{parent}.runPolicy"),
        ] {
            let written = format!("{place}.managedBy");
            let written = written.trim_start_matches('.');
            let expected = format!("{written} {path} -");
            assert_eq!(found(&object(place, "managedBy"), "{}"), [expected]);
        }
        let own_keys = format!("{parent}.metadata");
        for place in [
            "metadata.labels",
            "metadata.annotations",
            "data",
            own_keys.trim_start_matches('.'),
        ] {
            assert_eq!(found(&object(place, "managedBy"), "{}"), [""; 0], "{place}");
        }
    }
}

#[test]
fn custom_kinds_are_only_checked_for_siblings() {
    let declared = "{\"custom_kinds\": [{\"group\": \"a.io\", \"versions\": [\"v1\"], \"kind\": \"Run\", \"plural\": \"runs\", \"managed_by_path\": \"spec.run.managedBy\"}]}";
    let object = |kind: &str, rest: &str| {
        format!("{{\"apiVersion\": \"a.io/v1\", \"kind\": \"{kind}\", {rest}}}")
    };
    let other = object("Other", "\"spec\": {\"managedby\": \"x\"}");
    assert_eq!(found(&other, declared), [""; 0]);
    let own = object(
        "Run",
        "\"managedBy\": 1, \"spec\": {\"managedBy\": 1, \"run\": {\"managedby\": 1, \"manager\": 1}}",
    );
    assert_eq!(
        found(&own, declared),
        ["spec.run.managedby spec.run.managedBy managedBy"]
    );
}

#[test]
fn existing_field_is_not_suggested() {
    let job = "{\"apiVersion\": \"batch/v1\", \"kind\": \"Job\", \"spec\": {\"managedBy\": \"a.io/x\", \"managedby\": 1}}";
    assert_eq!(found(job, "{}"), ["spec.managedby spec.managedBy -"]);
}

/// Most specs of a Job were created in two clusters with Kueue 0.19.2: those without a finding ran. `overhead` and `runtimeClassName` were not.
#[test]
fn pods_for_multikueue_request_resources() {
    let found = |api_version: &str, kind: &str, spec: Value| {
        let mut object = json!({"apiVersion": api_version, "kind": kind, "spec": spec});
        object["spec"]["managedBy"] = json!("kueue.x-k8s.io/multikueue");
        let findings = findings("delegation/no-requests", &object, "{}");
        findings.first().map(|finding| finding.path.clone())
    };
    let one_cpu = json!({"resources": {"requests": {"cpu": "1"}}});
    let job = |spec: Value| found("batch/v1", "Job", json!({"template": {"spec": spec}}));
    for spec in [
        json!({"containers": [{}]}),
        json!({"containers": [{"resources": {"requests": {}}}, {"resources": null}]}),
    ] {
        let path = job(spec).unwrap();
        assert_eq!(path, "spec.template.spec.containers[0].resources.requests");
    }
    for spec in [
        json!({}),
        json!({"containers": [{}, one_cpu]}),
        json!({"containers": [{}], "initContainers": [one_cpu]}),
        json!({"containers": [{"resources": {"limits": {"cpu": "1"}}}]}),
        json!({"containers": [{"resources": {"requests": {"cpu": 0}}}]}),
        json!({"containers": [{}], "resources": {"requests": {"cpu": "1"}}}),
        json!({"containers": [{}], "runtimeClassName": "gvisor"}),
        json!({"containers": [{}], "overhead": {"cpu": "1"}}),
    ] {
        assert_eq!(job(spec.clone()), None, "{spec}");
    }
    let job_set = |second: &Value| {
        let job = |container| json!({"template": {"spec": {"template": {"spec": {"containers": [container]}}}}});
        let jobs = json!({"replicatedJobs": [job(json!({})), job(second.clone())]});
        found("jobset.x-k8s.io/v1alpha2", "JobSet", jobs)
    };
    let path = job_set(&json!({})).unwrap();
    assert!(path.starts_with("spec.replicatedJobs[0].template.spec.template.spec."));
    assert_eq!(job_set(&one_cpu), None);
    // The runtime has its pods, or KubeRay adds one.
    let pods = json!({"template": {"spec": {"containers": [{}]}}});
    let trainer = found("trainer.kubeflow.org/v1alpha1", "TrainJob", pods.clone());
    assert_eq!(trainer, None);
    assert_eq!(found("ray.io/v1", "RayJob", pods), None);
}

#[test]
fn fields_with_which_multikueue_runs_no_ray_job() {
    let both = json!({"managedBy": "kueue.x-k8s.io/multikueue", "clusterSelector": {"a": "b"}, "deletionStrategy": {"deletionRules": [{}]}});
    let unset = json!({"managedBy": "kueue.x-k8s.io/multikueue", "clusterSelector": {}, "deletionStrategy": {"deletionRules": []}});
    let other = json!({"managedBy": "ray.io/kuberay-operator", "clusterSelector": {"a": "b"}});
    for (spec, expected) in [(both, 2), (unset, 0), (other, 0)] {
        let job = json!({"apiVersion": "ray.io/v1", "kind": "RayJob", "spec": spec});
        let cron =
            json!({"apiVersion": "ray.io/v1", "kind": "RayCronJob", "spec": {"jobTemplate": spec}});
        for object in [job, cron] {
            let found = findings("delegation/unsupported-field", &object, "{}");
            assert_eq!(found.len(), expected, "{object}");
        }
    }
}
