//! Every release asked at once: nothing of what one of them finds is lost, and each format says which releases find it.

use serde_json::{Value, json};

use crate::support::run;

fn results(ran: &str) -> Vec<Value> {
    let document: Value = serde_json::from_str(ran).unwrap();
    document["results"].as_array().unwrap().clone()
}

/// One rule finds three things at one path: two that are invalid, and that the value is too long.
#[test]
fn several_findings_of_a_rule_at_one_path_stay_apart() {
    let value = format!("Foo.example.com/{} y", "x".repeat(70));
    let job = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "pi"}, "spec": {"managedBy": value},
    });
    let found = |release: &str| -> Vec<(String, String)> {
        let args = ["lint", "-o", "json", "--kubernetes", release, "-"];
        let results = results(&run(&args, job.to_string().as_bytes()).out);
        let findings = results[0]["findings"].as_array().unwrap();
        let denials = findings
            .iter()
            .filter(|found| found["enforcement"] == "deny");
        let text = |found: &Value, key: &str| found[key].as_str().unwrap().to_owned();
        denials
            .map(|f| (text(f, "type"), text(f, "text")))
            .collect()
    };
    let newest = found("1.37");
    let types: Vec<_> = newest.iter().map(|(error_type, _)| &**error_type).collect();
    assert_eq!(types, ["Invalid value", "Invalid value", "Too long"]);
    for (error_type, text) in &newest {
        assert!(text.contains(error_type), "{text}");
    }
    assert_eq!(found("1.36"), newest);
    assert_eq!(found("all"), newest);
}

/// A status update that every release denies for one thing, and 1.30 for two more.
fn status_update() -> Vec<u8> {
    let job = |status: Value| json!({"metadata": {"name": "pi"}, "spec": {"managedBy": "acme.io/runner"}, "status": status});
    json!({
        "kind": {"group": "batch", "version": "v1", "kind": "Job"}, "operation": "UPDATE", "subResource": "status",
        "oldObject": job(json!({"failed": 2})),
        "object": job(json!({"failed": 1, "conditions": [{"type": "SuccessCriteriaMet", "status": "True"}]})),
    })
    .to_string()
    .into_bytes()
}

fn review(format: &str, release: &str) -> String {
    let args = ["review", "-o", format, "--kubernetes", release, "-"];
    run(&args, &status_update()).out
}

#[test]
fn the_message_tells_what_older_releases_find() {
    let message = |release: &str| -> String {
        let answer: Value = serde_json::from_str(&review("json", release)).unwrap();
        let message = answer["response"]["status"]["message"].as_str();
        message.unwrap().to_owned()
    };
    let newest = message("1.37");
    let (envelope, decreased) = newest.split_once("is invalid: ").unwrap();
    assert!(decreased.starts_with("status.failed: "), "{newest}");
    let all = message("all");
    assert!(
        all.starts_with(&format!("{envelope}is invalid: [")),
        "{all}"
    );
    assert!(all.contains(decreased), "{all}");
    assert!(all.contains("status.conditions: "), "{all}");
}

#[test]
fn formats_for_machines_say_which_releases_deny() {
    for format in ["sarif", "junit", "github", "text"] {
        let told = review(format, "all");
        let count = told
            .matches("accepted from 1.31 on, denied by 1.30")
            .count();
        assert_eq!(count, 2, "{format}: {told}");
    }
}
