//! Differential tests of the module and of typed Jobs against the library's responses in `target/expected.ndjson`.
//!
//! The CLI, the npm package, the Go package, PolicyServer and kwctl have tests of their own for the same file.

use k8s_openapi::api::batch::v1::{Job, JobStatus};
use managed_by::{Finding, JobChecker, ReleaseSet, Settings};
use managed_by_testing::expected::{FindingRows, compare_all, finding_rows};
use managed_by_testing::{Policy, admission};
use serde_json::{Value, json};

use crate::support::module;

/// The policy returns the library's responses, and the module of the Go package its findings.
#[test]
fn module_matches_the_library() {
    let policy = Policy::load(&module("annotated-policy.wasm")).unwrap();
    let with_findings = Policy::load_unannotated(&module("go/managedby/module.wasm")).unwrap();
    let releases = json!(ReleaseSet::all());
    let compared = compare_all("module", |line| {
        let payload = admission::payload(&line.request().unwrap(), &line.settings);
        let response = policy.call("validate", &payload).unwrap();
        let response: Value = serde_json::from_slice(&response).unwrap();
        assert_eq!(response, line.response, "{}: {}", line.name, line.request);
        if line.evaluation.is_null() {
            return Some(0);
        }
        let review = std::str::from_utf8(&payload).unwrap();
        let input = format!(r#"{{"releases":{releases},"review":{review}}}"#);
        let evaluation = with_findings.call("evaluate", input.as_bytes()).unwrap();
        let evaluation: Value = serde_json::from_slice(&evaluation).unwrap();
        assert_eq!(
            evaluation, line.evaluation,
            "{}: {}",
            line.name, line.request
        );
        Some(finding_rows(&evaluation["findings"]).len())
    });
    assert!(compared.unwrap().0 > 1000);
}

#[test]
fn typed_jobs_match_the_library() {
    let compared = compare_all("typed Rust", |line| {
        let request = line.request().unwrap();
        let evaluation = line.evaluation.as_object()?;
        let kind = &json!({"group": "batch", "version": "v1", "kind": "Job"});
        let object = typed(&request["object"])?;
        let is_job = request["kind"] == *kind
            && request
                .get("requestKind")
                .is_none_or(|request_kind| request_kind == kind);
        let is_same_namespace =
            request["namespace"].as_str() == object.metadata.namespace.as_deref();
        if !is_job || !is_same_namespace {
            return None;
        }
        let user = &request["userInfo"];
        let groups = user["groups"].as_array().into_iter().flatten();
        let groups: Vec<&str> = groups.map(|group| group.as_str().unwrap()).collect();
        let settings = line.settings.to_string();
        let checker = JobChecker::new(ReleaseSet::all())
            .with_settings(Settings::from_json(settings.as_bytes()).unwrap())
            .with_user(user["username"].as_str().unwrap(), &groups);
        let old = || typed(&request["oldObject"]);
        let (status, empty) = (object.status.as_ref(), JobStatus::default());
        let findings = match (
            request["operation"].as_str()?,
            request["subResource"].as_str(),
        ) {
            ("CREATE", None | Some("")) if status.is_none_or(|status| *status == empty) => {
                checker.create(&object)
            }
            ("CREATE", None | Some("")) => checker.stored(&object),
            ("UPDATE", None | Some("")) => checker.update(&old()?, &object),
            ("UPDATE", Some("status")) => checker.status_update(&old()?, &object),
            _ => return None,
        };
        let rows: FindingRows = findings.iter().flat_map(rows).collect();
        assert_eq!(
            rows,
            finding_rows(&evaluation["findings"]),
            "{}: {}",
            line.name,
            line.request
        );
        Some(rows.len())
    });
    assert!(compared.unwrap().1 > 1000);
}

/// Decodes a typed Job, or returns `None` if the type would lose a value.
fn typed(object: &Value) -> Option<Job> {
    let job: Job = serde_json::from_value(object.clone()).ok()?;
    let encoded = serde_json::to_value(&job).ok()?;
    contains(&encoded, object).then_some(job)
}

/// Returns true if `all` contains every value of `some`. Lists must have the same length.
fn contains(all: &Value, some: &Value) -> bool {
    match (all, some) {
        (Value::Object(all), Value::Object(some)) => {
            let mut members = some.iter();
            members.all(|(key, value)| all.get(key).is_some_and(|other| contains(other, value)))
        }
        (Value::Array(all), Value::Array(some)) => {
            all.len() == some.len() && all.iter().zip(some).all(|(all, some)| contains(all, some))
        }
        _ => all == some,
    }
}

/// Returns a row for each release that reports the finding.
fn rows(finding: &Finding) -> Vec<[String; 5]> {
    let (rule, level) = (finding.rule.id(), finding.enforcement.as_str());
    let texts = finding.texts().into_iter();
    let rows = texts.flat_map(|(releases, text)| {
        let path = &*finding.path;
        let releases = releases.iter().collect::<Vec<_>>().into_iter();
        releases.map(move |release| [release.as_str(), rule, level, path, text].map(str::to_owned))
    });
    rows.collect()
}
