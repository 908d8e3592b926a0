//! The answers of `review` are those of the built module in an engine.

use std::fmt::Write as _;
use std::fs;

use managed_by_conformance::{cases, vector};
use managed_by_engine::{Engine, Policy};
use serde_json::{Value, json};
use xtask::{examples, root};

use crate::support::run;

fn policy() -> Policy {
    let wasm = fs::read(root("annotated-policy.wasm"));
    let wasm = wasm.unwrap_or_else(|e| panic!("{e}; `make annotated-policy.wasm` builds it"));
    Policy::load(Engine::ALL[0], &wasm).unwrap()
}

/// What the module says, in the form of a review.
fn answered(policy: &Policy, request: &Value, settings: &Value) -> Value {
    let verdict = policy.validate(request, settings).unwrap();
    let mut response = json!({"uid": request["uid"], "allowed": verdict.accepted});
    if !verdict.accepted {
        response["status"] = json!({"code": verdict.code, "message": verdict.message});
    }
    if let Some(warnings) = verdict.warnings.filter(|warnings| !warnings.is_empty()) {
        response["warnings"] = json!(warnings);
    }
    if let Some(annotations) = verdict.audit_annotations.filter(|a| !a.is_empty()) {
        response["auditAnnotations"] = json!(annotations);
    }
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
}

/// What the program says to requests, by settings.
fn reviewed(requests: &[Value], settings: &Value) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.json");
    fs::write(&file, settings.to_string()).unwrap();
    let mut stdin = String::new();
    for request in requests {
        writeln!(stdin, "{request}").unwrap();
    }
    let args = [
        "review",
        "-o",
        "ndjson",
        "--settings",
        file.to_str().unwrap(),
    ];
    let ran = run(&args, stdin.as_bytes());
    let lines = ran
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let answers: Vec<Value> = lines.collect();
    assert_eq!(answers.len(), requests.len(), "{}", ran.err);
    answers
}

#[test]
fn every_example_is_answered_as_by_the_module() {
    let policy = policy();
    let all = examples::read(&root("examples")).unwrap();
    let mut denied = 0;
    // Pods are for another module, and take a cluster.
    let all: Vec<_> = all.iter().filter(|e| e.topic() != "pods").collect();
    for example in &all {
        let ours = reviewed(std::slice::from_ref(&example.request), &example.settings);
        let expected = answered(&policy, &example.request, &example.settings);
        assert_eq!(ours[0], expected, "{}", example.name);
        denied += usize::from(expected["response"]["allowed"] == false);
    }
    assert!(all.len() > 50 && denied > 20, "{} {denied}", all.len());
}

#[test]
fn every_vector_is_answered_as_by_the_module() {
    let policy = policy();
    let vectors: Vec<_> = cases::files()
        .into_iter()
        .flat_map(|(file, _)| vector::read(file).unwrap())
        .collect();
    let requests: Vec<_> = vectors.iter().map(|vector| vector.case.request()).collect();
    for settings in [json!({}), json!({"kubernetes_version": "1.31"})] {
        let ours = reviewed(&requests, &settings);
        for ((request, ours), vector) in requests.iter().zip(ours).zip(&vectors) {
            let expected = answered(&policy, request, &settings);
            assert_eq!(ours, expected, "{} with {settings}", vector.case.name);
        }
    }
    assert!(requests.len() > 1500, "{}", requests.len());
}
