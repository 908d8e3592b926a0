//! The one differential test of the module and of typed Jobs: each request of `target/answers.ndjson` gets the library's answer. The
//! command line, the npm package, the Go package, PolicyServer and kwctl have one each, over the same file.

use k8s_openapi::api::batch::v1::{Job, JobStatus};
use managed_by::{JobChecker, JudgedFinding, ReleaseSet, Settings};
use managed_by_testing::answers::{Told, every_line, told};
use managed_by_testing::{Policy, admission};
use serde_json::{Value, json};

use crate::support::module;

/// The module answers as the library does, and the module of the Go package has its findings.
#[test]
fn the_module_answers_as_the_library_does() {
    let policy = Policy::load(&module("annotated-policy.wasm")).unwrap();
    let with_findings = Policy::load_unannotated(&module("go/managedby/module.wasm")).unwrap();
    let releases = json!(ReleaseSet::all());
    let asked = every_line("module", |line| {
        let payload = admission::payload(&line.request().unwrap(), &line.settings);
        let answer = policy.call("validate", &payload).unwrap();
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        assert_eq!(answer, line.answer, "{}: {}", line.name, line.request);
        if line.judgement.is_null() {
            return Some(0);
        }
        let review = std::str::from_utf8(&payload).unwrap();
        let input = format!(r#"{{"releases":{releases},"review":{review}}}"#);
        let judgement = with_findings.call("judge", input.as_bytes()).unwrap();
        let judgement: Value = serde_json::from_slice(&judgement).unwrap();
        assert_eq!(judgement, line.judgement, "{}: {}", line.name, line.request);
        Some(told(&judgement["findings"]).len())
    });
    assert!(asked.unwrap().0 > 1000);
}

#[test]
fn typed_jobs_are_judged_as_their_json_is() {
    let asked = every_line("typed Rust", |line| {
        let request = line.request().unwrap();
        let judgement = line.judgement.as_object()?;
        let kind = &json!({"group": "batch", "version": "v1", "kind": "Job"});
        let object = typed(&request["object"])?;
        let is_job =
            request["kind"] == *kind && request.get("requestKind").is_none_or(|is| is == kind);
        let is_of_object = request["namespace"].as_str() == object.metadata.namespace.as_deref();
        if !is_job || !is_of_object {
            return None;
        }
        let user = &request["userInfo"];
        let groups = user["groups"].as_array().into_iter().flatten();
        let groups: Vec<&str> = groups.map(|group| group.as_str().unwrap()).collect();
        let settings = line.settings.to_string();
        let checker = JobChecker::default()
            .with_settings(Settings::from_json(settings.as_bytes()).unwrap())
            .as_user(user["username"].as_str().unwrap(), &groups);
        let old = || typed(&request["oldObject"]);
        let found = match (
            request["operation"].as_str()?,
            request["subResource"].as_str(),
        ) {
            ("CREATE", None | Some("")) if object.status == Some(JobStatus::default()) => {
                checker.create(&object)
            }
            ("CREATE", None | Some("")) => checker.stored(&object),
            ("UPDATE", None | Some("")) => checker.update(&old()?, &object),
            ("UPDATE", Some("status")) => checker.status_update(&old()?, &object),
            _ => return None,
        };
        let ours: Told = found.iter().flat_map(of_each_release).collect();
        assert_eq!(
            ours,
            told(&judgement["findings"]),
            "{}: {}",
            line.name,
            line.request
        );
        Some(ours.len())
    });
    assert!(asked.unwrap().1 > 1000);
}

/// The object as a typed Job, if that holds all of it.
fn typed(object: &Value) -> Option<Job> {
    let job: Job = serde_json::from_value(object.clone()).ok()?;
    let again = serde_json::to_value(&job).ok()?;
    holds(&again, object).then_some(job)
}

/// Whether a document has every value of another one, and nothing else in a list.
fn holds(all: &Value, some: &Value) -> bool {
    match (all, some) {
        (Value::Object(all), Value::Object(some)) => {
            let mut members = some.iter();
            members.all(|(key, value)| all.get(key).is_some_and(|is| holds(is, value)))
        }
        (Value::Array(all), Value::Array(some)) => {
            all.len() == some.len() && all.iter().zip(some).all(|(all, some)| holds(all, some))
        }
        _ => all == some,
    }
}

fn of_each_release(finding: &JudgedFinding<'_>) -> Vec<[String; 5]> {
    let (rule, level) = (finding.rule().id(), finding.enforcement().as_str());
    let texts = finding.texts().into_iter();
    let of_each = texts.flat_map(|said| {
        let (path, text) = (finding.path(), said.text.clone());
        let releases = said.releases.iter().collect::<Vec<_>>().into_iter();
        releases.map(move |release| [release.as_str(), rule, level, path, &text].map(str::to_owned))
    });
    of_each.collect()
}
