//! The answers of `review` are those of the examples' files, and those of the built module in an engine.

use std::fmt::Write as _;
use std::fs;

use managed_by_conformance::{cases, vector};
use managed_by_testing::judge::Answer;
use managed_by_testing::{Engine, Policy};
use serde_json::{Value, json};
use xtask::{examples, root};

use crate::support::run;

fn policy() -> Policy {
    let wasm = fs::read(root("annotated-policy.wasm"));
    let wasm = wasm.unwrap_or_else(|e| panic!("{e}; `make annotated-policy.wasm` builds it"));
    Policy::load(Engine::ALL[0], &wasm).unwrap()
}

/// A response in its envelope. The command line leaves out what kwctl writes as `null`.
fn envelope(mut response: Value) -> Value {
    let members = response.as_object_mut().unwrap();
    members.retain(|_, value| !value.is_null());
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
fn every_example_gets_its_answer() {
    for example in examples::all().unwrap() {
        let ours = reviewed(&[example.request], &example.settings);
        assert_eq!(ours, [envelope(example.answer)], "{}", example.name);
    }
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
            let answer = Answer::from(policy.validate(request, &settings).unwrap());
            let expected = envelope(answer.response(&request["uid"]));
            assert_eq!(ours, expected, "{} with {settings}", vector.case.name);
        }
    }
    assert!(requests.len() > 1500, "{}", requests.len());
}
