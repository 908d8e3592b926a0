//! What was stored, what is created, and what changes in two parts.

use serde_json::Value;

use super::formats::{check, own_schema};
use crate::support::run;

/// A Job that finished before kube-apiserver had the rules of 1.31.
const STATUS: &str = r#"{"conditions":[{"type":"Complete","status":"True"}],"startTime":"2026-11-21T05:00:00Z","completionTime":"2026-11-21T05:01:00Z"}"#;
const RULE: &str = "job-status/complete-without-success-criteria-met";

fn job(metadata: &str) -> String {
    format!(
        r#"{{"apiVersion":"batch/v1","kind":"Job","metadata":{{"name":"pi"{metadata}}},"spec":{{}},"status":{STATUS}}}"#
    )
}

/// What `-o json` prints follows the schema.
fn json(args: &[&str], stdin: &str, code: i32) -> Value {
    let ran = run(
        &[args, &["-o", "json", "--kubernetes", "1.37"]].concat(),
        stdin.as_bytes(),
    );
    assert_eq!(ran.code, code, "{ran:?}");
    let document = serde_json::from_str(&ran.out).unwrap();
    check(&own_schema(), &document);
    document
}

#[test]
fn a_create_says_that_its_status_is_dropped() {
    let text = run(&["lint"], job("").as_bytes());
    assert_eq!(text.code, 0, "{text:?}");
    assert!(
        text.out
            .starts_with("note: the API server drops the status of a create\n--> stdin:1:"),
        "{}",
        text.out
    );
    let document = json(&["lint"], &job(""), 0);
    let result = &document["results"][0];
    assert_eq!(
        result["remark"],
        "the API server drops the status of a create"
    );
    assert_eq!(
        (&result["findings"], result.get("stored")),
        (&Value::Array(vec![]), None)
    );
    // It is no warning.
    assert_eq!(
        run(&["lint", "--deny-warnings"], job("").as_bytes()).code,
        0
    );
}

#[test]
fn what_kubectl_prints_is_judged_as_it_is_stored() {
    let stored = job(r#","uid":"u","resourceVersion":"5""#);
    let document = json(&["lint"], &stored, 1);
    let result = &document["results"][0];
    assert_eq!(
        (&result["stored"], &result["allowed"]),
        (&true.into(), &false.into())
    );
    assert_eq!(result["findings"][0]["rule"], RULE);
    let text = run(&["lint", "--kubernetes", "1.37"], stored.as_bytes());
    assert!(
        text.out
            .contains("= note: Job.batch default/pi, as it is stored\n"),
        "{}",
        text.out
    );
    // Settings that choose no release tell which deny it.
    let ran = run(&["lint", "-o", "json"], stored.as_bytes());
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    let finding = &document["results"][0]["findings"][0];
    let releases = finding["releases"].as_array().unwrap();
    assert_eq!(
        (&finding["enforcement"], &releases[0]),
        (&"warn".into(), &"1.31".into())
    );
}

#[test]
fn a_replay_denies_nobody_for_what_was_stored() {
    let stored = format!(
        "{{\"type\":\"ADDED\",\"object\":{}}}\n",
        job(r#","uid":"u""#)
    );
    let document = json(&["replay", "--show", "1"], &stored, 0);
    let sums = &document["summary"];
    assert_eq!((&sums["judged"], &sums["denied"]), (&0.into(), &0.into()));
    assert_eq!(
        (&sums["stored"], &sums["storedFound"]),
        (&1.into(), &1.into())
    );
    let (row, result) = (&document["rows"][0], &document["results"][0]);
    assert_eq!((&row["rule"], &row["stored"]), (&RULE.into(), &true.into()));
    assert_eq!(
        (&result["allowed"], &result["stored"]),
        (&true.into(), &true.into())
    );
    let text = run(&["replay", "--kubernetes", "1.37"], stored.as_bytes());
    assert!(
        text.out.contains(&format!("{RULE}   stored ")),
        "{}",
        text.out
    );
    let sums = "1 documents, 0 requests judged: 0 denied, 0 with warnings; 1 object stored before, 1 with findings";
    assert!(text.err.contains(sums), "{}", text.err);
    let strict = run(
        &["replay", "--kubernetes", "1.37", "--deny-warnings"],
        stored.as_bytes(),
    );
    assert_eq!(strict.code, 1);
    for (format, denied) in [
        ("junit", "<failure"),
        ("sarif", "\"level\": \"error\",\n          \"locations\""),
        ("github", "::error"),
    ] {
        let args = ["replay", "--kubernetes", "1.37", "-o", format];
        let ran = run(&args, stored.as_bytes());
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(ran.out.contains(RULE), "{}", ran.out);
        assert!(!ran.out.contains(denied), "{}", ran.out);
        // The same as a request is denied.
        let created = stored
            .replace(STATUS, "{}")
            .replace("{},", "{\"managedBy\":\"x\"},");
        let ran = run(&args, created.as_bytes());
        assert_eq!(ran.code, 1, "{ran:?}");
        assert!(ran.out.contains(denied), "{}", ran.out);
    }
}
