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

/// A Job that fails at once. 1.31 wants to hear of it before, and each release wants a start.
fn failed_at_once() -> Vec<u8> {
    let job = |status: Value| json!({"metadata": {"name": "pi"}, "spec": {"managedBy": "acme.io/runner"}, "status": status});
    json!({
        "kind": {"group": "batch", "version": "v1", "kind": "Job"}, "operation": "UPDATE", "subResource": "status",
        "oldObject": job(json!({})),
        "object": job(json!({"conditions": [{"type": "SuccessCriteriaMet", "status": "True"}]})),
    })
    .to_string()
    .into_bytes()
}

#[test]
fn the_message_tells_what_older_releases_find() {
    let ran = run(
        &["review", "-o", "json", "--kubernetes", "all", "-"],
        &failed_at_once(),
    );
    let answer: Value = serde_json::from_str(&ran.out).unwrap();
    let message = answer["response"]["status"]["message"].as_str().unwrap();
    for release in ["1.30", "1.33", "1.37"] {
        let ran = run(
            &["review", "-o", "json", "--kubernetes", release, "-"],
            &failed_at_once(),
        );
        let one: Value = serde_json::from_str(&ran.out).unwrap();
        eprintln!("{release} {}", one["response"]);
    }
    eprintln!("{message}");
}

#[test]
fn formats_for_machines_say_which_releases_deny() {
    for format in ["sarif", "junit", "github", "text"] {
        let ran = run(
            &["review", "-o", format, "--kubernetes", "all", "-"],
            &failed_at_once(),
        );
        eprintln!("{format}: {}", ran.out);
        assert!(ran.out.contains("denied by 1.30"), "{}", ran.out);
    }
}
