//! The command line says what the library says, of each release: `lint` and `diff` to what a request asks for, `review` to the
//! request. The Go package and the npm package are held to the same judgements.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use managed_by::{AdmissionRequest, Release, ReleaseSet, Settings, judge};
use managed_by_conformance::{cases, trace, vector};
use rayon::prelude::*;
use serde_json::{Value, json};
use xtask::examples;

use crate::formats::check_judgement;
use crate::support::run;

/// Release, rule, level, path, text.
type Told = BTreeSet<[String; 5]>;

/// What findings say, in the form of `docs/judgement.schema.json`.
fn told(findings: &Value) -> Told {
    let mut told = Told::new();
    for finding in findings.as_array().unwrap() {
        let mut texts = vec![finding];
        if let Some(of_each) = finding["texts"].as_array() {
            texts = of_each.iter().collect();
        }
        for text in texts {
            for release in text["releases"].as_array().unwrap() {
                let words = [
                    release,
                    &finding["rule"],
                    &finding["enforcement"],
                    &finding["path"],
                    &text["text"],
                ];
                told.insert(words.map(|word| word.as_str().unwrap().to_owned()));
            }
        }
    }
    told
}

/// A request with its settings: every example, vector and recorded request.
fn requests() -> Vec<(String, Value, Value)> {
    let mut all = Vec::new();
    for example in examples::all().unwrap() {
        all.push((example.name, example.request, example.settings));
    }
    for (file, _) in cases::files() {
        let vectors = vector::read(file).unwrap().into_iter();
        all.extend(vectors.map(|v| (v.case.name.clone(), v.case.request(), json!({}))));
    }
    for stream in trace::JOBS.iter().chain(&trace::CUSTOM) {
        let cases = trace::requests(stream).unwrap().into_iter();
        all.extend(cases.map(|case| (case.name.clone(), case.request(), json!({}))));
    }
    all
}

/// What `lint` or `diff` finds in the objects of a request.
fn found(folder: &std::path::Path, request: &Value, settings: &str) -> Value {
    let write = |name: &str, text: &str| {
        let file = folder.join(name);
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

#[test]
fn every_request_is_judged_as_by_the_library() {
    let seen: Vec<(usize, usize)> = requests()
        .par_iter()
        .map(|(name, request, settings)| {
            let (json, settings) = (request.to_string(), settings.to_string());
            let rules = Settings::from_json(settings.as_bytes())
                .unwrap()
                .for_tools();
            let Ok(read) = AdmissionRequest::from_json(json.as_bytes()) else {
                return (0, 0);
            };
            let judgement = judge(&read, &rules, Some(ReleaseSet::all()));
            let judgement = serde_json::to_value(&judgement).unwrap();
            check_judgement(&judgement);
            let expected = told(&judgement["findings"]);

            // A manifest has no deletion, no other version than its own, and as a create no status.
            let object = &request["object"];
            let (kind, version) = (&request["kind"], object["apiVersion"].as_str());
            let of_group = kind["group"].as_str().filter(|group| !group.is_empty());
            let dot = of_group.map_or(String::new(), |group| format!("{group}/"));
            let is_own = version == Some(&*format!("{dot}{}", kind["version"].as_str().unwrap()))
                && object["kind"] == kind["kind"]
                && request.get("requestKind").is_none_or(|asked| asked == kind);
            let is_stored = object["status"].as_object().is_some_and(|s| !s.is_empty());
            let is_asked = match request["operation"].as_str().unwrap() {
                "CREATE" => !is_stored,
                operation => operation == "UPDATE",
            };
            if !is_own
                || !is_asked
                || !["", "status"].contains(&request["subResource"].as_str().unwrap_or(""))
            {
                return (0, 0);
            }
            let folder = tempfile::tempdir().unwrap();
            let document = found(folder.path(), request, &settings);
            let results = document["results"].as_array().unwrap();
            let ours: Told = results
                .iter()
                .flat_map(|result| told(&result["findings"]))
                .collect();
            // Where the main resource is updated, the status of the new object is none of the client's: `diff` says so by a
            // request of its own.
            let ours: Told = match &**results {
                [_, _] => told(&results[0]["findings"]),
                _ => ours,
            };
            assert_eq!(ours, expected, "{name}: {document:#}");
            (1, ours.len())
        })
        .collect();
    let requests: usize = seen.iter().map(|(requests, _)| requests).sum();
    let findings: usize = seen.iter().map(|(_, findings)| findings).sum();
    assert!(requests > 3000 && findings > 3000, "{requests} {findings}");
}

/// What `review` answers is what the judgement answers for all releases.
#[test]
fn every_review_is_answered_as_by_the_library() {
    let requests = requests();
    let default: Vec<_> = requests
        .iter()
        .filter(|(_, _, settings)| *settings == json!({}))
        .collect();
    let mut stdin = String::new();
    for (_, request, _) in &default {
        writeln!(stdin, "{request}").unwrap();
    }
    let ran = run(
        &["review", "-o", "ndjson", "--kubernetes", "all"],
        stdin.as_bytes(),
    );
    let answers: Vec<Value> = ran
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(answers.len(), default.len(), "{}", ran.err);
    let mut disputed = 0;
    for ((name, request, _), answer) in default.iter().zip(&answers) {
        let json = request.to_string();
        let Ok(read) = AdmissionRequest::from_json(json.as_bytes()) else {
            continue;
        };
        let settings = Settings::default();
        let judgement = judge(
            &read,
            &settings,
            Some(Release::ALL.iter().copied().collect()),
        );
        let (verdict, response) = (judgement.verdict(), &answer["response"]);
        assert_eq!(response["allowed"], verdict.allowed, "{name}");
        assert_eq!(
            response["status"]["message"].as_str(),
            verdict.message.as_deref(),
            "{name}"
        );
        disputed += usize::from(judgement.opinions().len() > 1);
    }
    assert!(disputed > 100, "{disputed}");
}
