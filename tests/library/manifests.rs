//! `managed-by/unknown-field` in manifests of every kind.

use managed_by::{AdmissionRequest, Finding, Settings, evaluate, kinds};
use serde_json::{Value, json};

/// Returns the unknown fields of a manifest, each with the intended path and the suggested key.
fn found(json: &str, settings: &str) -> Vec<String> {
    let object: Value = serde_json::from_str(json).unwrap();
    let api_version = object["apiVersion"].as_str().unwrap();
    let (group, version) = api_version.split_once('/').unwrap();
    let kind = json!({"group": group, "version": version, "kind": object["kind"]});
    let request = json!({"operation": "CREATE", "kind": kind, "object": object}).to_string();
    let request = AdmissionRequest::from_json(request.as_bytes()).unwrap();
    let settings = Settings::from_json(settings.as_bytes()).unwrap();
    let request = request.with_manifests();
    let mut findings = evaluate(&request, &settings, None).findings;
    findings.retain(|finding| finding.rule.id() == "managed-by/unknown-field");
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
