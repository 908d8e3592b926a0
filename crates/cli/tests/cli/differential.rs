//! Compares the program with the library for each release: `lint` and `diff` on the objects of the requests in
//! `target/expected.ndjson`, `review` on the requests.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::time::Instant;

use managed_by::{AdmissionRequest, ReleaseSet, Settings, evaluate, rule};
use managed_by_testing::expected::{self, ExpectedResult, FindingRows, compare_all, finding_rows};
use serde_json::{Map, Value, json};

use crate::formats::check_evaluation;
use crate::support::run;

/// Runs `lint` or `diff` on the objects of a request, and returns the JSON output.
fn lint_or_diff(directory: &std::path::Path, request: &Value, settings: &str) -> Value {
    let write = |name: &str, text: &str| {
        let file = directory.join(name);
        fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let user = request["userInfo"]["username"].as_str().unwrap_or_default();
    let namespace = request["namespace"].as_str().unwrap_or_default();
    let settings = write("settings.json", settings);
    let new = write("new.json", &request["object"].to_string());
    let old = write("old.json", &request["oldObject"].to_string());
    let mut args = match request["operation"].as_str().unwrap() {
        "CREATE" => vec!["lint", &new],
        _ => vec!["diff", &old, &new],
    };
    if request["subResource"] == "status" {
        args.push("--status");
    }
    args.extend(["--kubernetes", "all", "-o", "json", "--settings", &settings]);
    args.extend(["--as", user, "--namespace", namespace]);
    for group in request["userInfo"]["groups"]
        .as_array()
        .into_iter()
        .flatten()
    {
        args.extend(["--as-group", group.as_str().unwrap()]);
    }
    let ran = run(&args, b"");
    serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}: {args:?} {ran:?}"))
}

/// Returns true if the objects represent the whole request for `lint` and `diff`. Manifests cannot represent a deletion, a
/// conversion to another version, a status in a create, an update without a change of its own part, or a subresource other than
/// `status`. The namespace must be valid and match the request, and the name and namespace the old object.
fn is_derived_from_objects(request: &Value) -> bool {
    let object = &request["object"];
    let (kind, version) = (&request["kind"], object["apiVersion"].as_str());
    let group = kind["group"].as_str().filter(|group| !group.is_empty());
    let prefix = group.map_or(String::new(), |group| format!("{group}/"));
    let has_request_kind = version
        == Some(&*format!("{prefix}{}", kind["version"].as_str().unwrap()))
        && object["kind"] == kind["kind"]
        && request
            .get("requestKind")
            .is_none_or(|requested| requested == kind);
    let has_status = object["status"].as_object().is_some_and(|s| !s.is_empty());
    let sub_resource = request["subResource"].as_str().unwrap_or("");
    // `diff` evaluates a change of the status alone as an update of the status.
    let own_part = |object: &Value| {
        let mut object = object.clone();
        if let (Some(members), "") = (object.as_object_mut(), sub_resource) {
            members.remove("status");
        }
        object
    };
    let has_own_operation = match request["operation"].as_str().unwrap() {
        "CREATE" => !has_status,
        operation => operation == "UPDATE" && own_part(object) != own_part(&request["oldObject"]),
    };
    let (metadata, old) = (&object["metadata"], &request["oldObject"]["metadata"]);
    let is_same_object = request["operation"] == "CREATE"
        || (&metadata["name"], &metadata["namespace"]) == (&old["name"], &old["namespace"]);
    let has_request_namespace =
        metadata["namespace"].is_null() || metadata["namespace"] == request["namespace"];
    let namespace = request["namespace"].as_str().unwrap_or_default();
    let has_valid_namespace = !namespace.contains(|c: char| c.is_uppercase());
    has_request_kind
        && has_valid_namespace
        && has_own_operation
        && is_same_object
        && has_request_namespace
        && ["", "status"].contains(&sub_resource)
}

#[test]
fn findings_equal_the_library() {
    let (requests, findings) = compare_all("lint and diff", |line| {
        let request = line.request().unwrap();
        if line.evaluation.is_null() || !is_derived_from_objects(&request) {
            return None;
        }
        check_evaluation(&line.evaluation);
        let directory = tempfile::tempdir().unwrap();
        let document = lint_or_diff(directory.path(), &request, &line.settings.to_string());
        // Only requests of an API server have a placeholder as a value.
        let error = document["errors"][0]["message"]
            .as_str()
            .unwrap_or_default();
        // An API server checks the types of labels before it calls the policy.
        let has_invalid_label = ["object", "oldObject"].iter().any(|object| {
            let labels = request[object]["metadata"]["labels"].as_object();
            labels
                .into_iter()
                .flat_map(Map::values)
                .any(|value| !value.is_string())
        });
        if error.contains("is a placeholder")
            || has_invalid_label && error.contains("metadata.labels[")
        {
            return None;
        }
        let results = document["results"].as_array().unwrap();
        // For an update, `diff` evaluates a changed status in a separate request.
        let sub_resource =
            |value: &Value| value["subResource"].as_str().unwrap_or_default().to_owned();
        let own = results
            .iter()
            .filter(|result| sub_resource(result) == sub_resource(&request));
        let mut actual: FindingRows = own
            .flat_map(|result| finding_rows(&result["findings"]))
            .collect();
        let mut expected = finding_rows(&line.evaluation["findings"]);
        // A request of an API server has no manifests.
        for rows in [&mut actual, &mut expected] {
            rows.retain(|row| rule(&row[1]).is_some_and(|rule| !rule.is_for_manifests()));
        }
        assert_eq!(
            actual, expected,
            "{}: {} {document:#}",
            line.name, line.request
        );
        Some(actual.len())
    })
    .unwrap();
    assert!(requests > 1000 && findings > 1000, "{requests} {findings}");
}

/// Returns the `response` of `review` for each request.
fn reviewed(lines: &[ExpectedResult], args: &[&str]) -> Vec<Value> {
    let mut stdin = String::new();
    for line in lines {
        writeln!(stdin, "{}", line.request).unwrap();
    }
    let ran = run(
        &[&["review", "-o", "ndjson"], args].concat(),
        stdin.as_bytes(),
    );
    let responses = ran.out.lines().map(|line| {
        let mut response: Value = serde_json::from_str(line).unwrap();
        assert_eq!(response["kind"], "AdmissionReview");
        assert_eq!(response["apiVersion"], "admission.k8s.io/v1");
        response["response"].take()
    });
    let responses: Vec<_> = responses.collect();
    assert_eq!(responses.len(), lines.len(), "{}", ran.err);
    responses
}

/// Checks that `review` returns the policy's response, and with `--kubernetes all` the library's decision for all releases.
#[test]
#[expect(
    clippy::print_stdout,
    reason = "the report of `make differential-test`"
)]
fn reviews_equal_the_library() {
    let start = Instant::now();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("settings.json");
    let file = file.to_str().unwrap();
    let mut by_settings: BTreeMap<String, Vec<ExpectedResult>> = BTreeMap::new();
    for line in expected::lines().unwrap() {
        let mut line = line.unwrap();
        // Free the memory: the recorded results are most of it.
        line.evaluation = Value::Null;
        by_settings
            .entry(line.settings.to_string())
            .or_default()
            .push(line);
    }
    let (mut requests, mut version_dependent) = (0, 0);
    for (settings, lines) in &by_settings {
        fs::write(file, settings).unwrap();
        for (line, actual) in lines.iter().zip(reviewed(lines, &["--settings", file])) {
            let mut expected = line.response(&line.request().unwrap()["uid"]).unwrap();
            // The program omits members that kwctl writes as `null`.
            expected
                .as_object_mut()
                .unwrap()
                .retain(|_, value| !value.is_null());
            assert_eq!(actual, expected, "{}: {}", line.name, line.request);
            requests += 1;
        }
    }
    let lines = &by_settings["{}"];
    for (line, actual) in lines.iter().zip(reviewed(lines, &["--kubernetes", "all"])) {
        let Ok(read) = AdmissionRequest::from_json(line.request.as_bytes()) else {
            continue;
        };
        let settings = Settings::default();
        let evaluation = evaluate(&read, &settings, Some(ReleaseSet::all()));
        let verdict = &evaluation.verdict;
        let actual = (&actual["allowed"], actual["status"]["message"].as_str());
        let allowed = json!(verdict.decision.is_allowed());
        let expected = (&allowed, verdict.decision.message());
        assert_eq!(actual, expected, "{}", line.name);
        version_dependent += usize::from(evaluation.release_verdicts.len() > 1);
    }
    let seconds = start.elapsed().as_secs_f64();
    println!("review: {requests} requests, none differ, {seconds:.1} s");
    assert!(
        requests > 1000 && version_dependent > 10,
        "{requests} {version_dependent}"
    );
}
