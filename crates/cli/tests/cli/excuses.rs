//! Findings that do not count: exceptions with a reason, and a baseline.

use std::fs;

use serde_json::{Value, json};

use crate::formats::{check, own_schema};
use crate::support::run_in;

/// A Job whose field breaks a rule, and another one that warns.
fn job(name: &str, value: &str, except: &str) -> String {
    let annotations = match except {
        "" => String::new(),
        text => format!("  annotations:\n    managed-by-policy.github.io/except: {text}\n"),
    };
    format!(
        "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: {name}\n{annotations}spec:\n  managedBy: {value}\n"
    )
}

/// What lint prints in a format of one file, and how it ends.
fn lint(text: &str, args: &[&str]) -> (i32, String, String) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("job.yaml"), text).unwrap();
    let args = [&["lint", "job.yaml"][..], args].concat();
    let ran = run_in(folder.path(), &args, b"");
    (ran.code, ran.out, ran.err)
}

#[test]
fn an_exception_lets_one_rule_not_count_for_one_object() {
    let excepted = job(
        "a",
        "runner",
        "'managed-by/format: until the fleet is gone'",
    );
    let (code, out, err) = lint(&excepted, &[]);
    assert_eq!((code, &*out), (0, ""), "{err}");
    assert_eq!(
        err,
        "1 object judged: 0 denied, 0 with warnings; 1 excepted\n"
    );
    // The object beside it is none of its business, and neither is another rule.
    let both = format!("{excepted}---\n{}", job("b", "runner", ""));
    let (code, _, err) = lint(&both, &[]);
    assert_eq!(code, 1);
    assert!(
        err.ends_with("2 objects judged: 1 denied, 0 with warnings; 1 excepted\n"),
        "{err}"
    );
    let other = job("a", "kubernetes.io/x", "'managed-by/format: x'");
    let (code, out, err) = lint(&other, &[]);
    assert_eq!(code, 0);
    assert!(out.contains("warning[managed-by/reserved-domain]"), "{out}");
    assert!(err.contains("warning: Job.batch default/a: managed-by-policy.github.io/except: managed-by/format finds nothing here, remove the line\n --> job.yaml:6:"), "{err}");
    // JSON may escape the slash.
    let json = r#"{"apiVersion": "batch/v1", "kind": "Job", "spec": {"managedBy": "runner"}, "metadata": {"name": "a", "annotations": {"managed-by-policy.github.io\/except": "managed-by\/format: x"}}}"#;
    assert_eq!(lint(json, &[]).0, 0);
    // Two rules, one a line.
    let two = job(
        "a",
        "kubernetes.io/A",
        "|\n      managed-by/reserved-domain: ours\n\n      managed-by/format: ours too",
    );
    let (code, out, err) = lint(
        &two,
        &["--rule", "managed-by/format=deny", "--deny-warnings"],
    );
    assert!(!out.contains("reserved-domain]"), "{code} {out} {err}");
}

#[test]
fn an_exception_without_reason_or_rule_is_an_error() {
    for (except, expected) in [
        (
            "'managed-by/format'",
            "no reason is given, expected managed-by/format: REASON",
        ),
        (
            "'managed-by/format: '",
            "no reason is given, expected managed-by/format: REASON",
        ),
        (
            "'managed-by/formt: x'",
            "no rule is called managed-by/formt; did you mean managed-by/format?",
        ),
        ("' '", "expected a line RULE: REASON for each rule"),
        ("1", "expected a line RULE: REASON for each rule"),
    ] {
        let (code, out, err) = lint(&job("a", "runner", except), &[]);
        assert_eq!(code, 2, "{except}: {err}");
        // The finding counts as ever.
        assert!(out.contains("error[managed-by/format]"), "{out}");
        let expected = format!(
            "error: Job.batch default/a: managed-by-policy.github.io/except: {expected}\n --> job.yaml:6:"
        );
        assert!(err.contains(&expected), "{err}");
    }
}

/// Every format counts what it does not show.
#[test]
fn every_format_counts_exceptions() {
    let text = job("a", "runner", "'managed-by/format: old, see T-1'");
    let print = |format: &str| {
        let (code, out, err) = lint(&text, &["-o", format, "--kubernetes", "all"]);
        assert_eq!(code, 0, "{format}: {err}");
        out
    };
    let json: Value = serde_json::from_str(&print("json")).unwrap();
    check(&own_schema(), &json);
    assert_eq!(json["summary"]["excepted"], 1);
    assert_eq!(json["summary"]["denied"], 0);
    let result = &json["results"][0];
    assert_eq!(result["allowed"], true);
    assert_eq!(result["message"], Value::Null);
    assert_eq!(result["releases"]["denied"], json!([]));
    let excused = json!({"by": "exception", "reason": "old, see T-1"});
    assert_eq!(result["findings"][0]["excused"], excused);
    let lines = print("ndjson");
    let last: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    assert_eq!(last["excepted"], 1);
    let sarif: Value = serde_json::from_str(&print("sarif")).unwrap();
    let suppressed = json!([{"kind": "inSource", "justification": "old, see T-1"}]);
    assert_eq!(sarif["runs"][0]["results"][0]["suppressions"], suppressed);
    assert_eq!(print("github"), "::notice title=managed-by::1 excepted\n");
    let junit = quick_junit::Report::deserialize_from_str(&print("junit")).unwrap();
    assert_eq!((junit.tests, junit.failures), (1, 0));
    let said = junit.test_suites[0].test_cases[0]
        .system_out
        .clone()
        .unwrap();
    assert!(
        said.starts_with("excepted (old, see T-1): spec.managedBy: "),
        "{said:?}"
    );
}

/// An update of the status and of the rest is two requests, and an exception of either counts.
#[test]
fn a_change_is_excepted_by_its_new_object() {
    let folder = tempfile::tempdir().unwrap();
    for (name, value) in [("old.yaml", "acme.io/a"), ("new.yaml", "acme.io/b")] {
        let text = job("a", value, "'managed-by/immutable: it is gone anyway'");
        fs::write(folder.path().join(name), text).unwrap();
    }
    let ran = run_in(folder.path(), &["diff", "old.yaml", "new.yaml"], b"");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(
        ran.err,
        "1 object judged: 0 denied, 0 with warnings; 1 excepted\n"
    );
    let ran = run_in(folder.path(), &["diff", "old.yaml", "old.yaml"], b"");
    assert!(
        ran.err.contains("managed-by/immutable finds nothing here"),
        "{ran:?}"
    );
}

#[test]
fn a_baseline_counts_old_findings_and_tells_what_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let jobs = folder.path().join("jobs");
    fs::create_dir(&jobs).unwrap();
    let write = |name: &str, text: &str| fs::write(jobs.join(name), text).unwrap();
    let lint = |args: &[&str]| {
        let ran = run_in(folder.path(), &[&["lint"][..], args].concat(), b"");
        (ran.code, ran.out, ran.err)
    };
    write("a.yaml", &job("a", "runner", ""));
    write("b.yaml", &job("b", "kubernetes.io/x", ""));
    let (code, _, err) = lint(&["jobs", "--baseline", "old.json"]);
    assert_eq!(
        (code, &*err),
        (
            2,
            "error: old.json: no such file, --write-baseline makes one\n"
        )
    );
    let written = lint(&[
        "jobs",
        "--baseline",
        "old.json",
        "--write-baseline",
        "--deny-warnings",
    ]);
    let sums = "2 objects judged: 0 denied, 0 with warnings; 2 in the baseline\n";
    assert_eq!(written, (0, String::new(), sums.to_owned()));
    let old = fs::read_to_string(folder.path().join("old.json")).unwrap();
    let old: Value = serde_json::from_str(&old).unwrap();
    assert_eq!(
        old["findings"][0],
        json!({"file": "jobs/a.yaml", "object": "Job.batch default/a", "rule": "managed-by/format", "path": "spec.managedBy"})
    );
    // Lines may move and values may change; from another folder the files are the same.
    write(
        "a.yaml",
        &format!("# a comment\n{}", job("a", "walker", "")),
    );
    let ran = run_in(&jobs, &["lint", ".", "--baseline", "../old.json"], b"");
    assert_eq!((ran.code, &*ran.err), (0, sums));
    // What is new counts, and what is gone is told, but not of files that were not read.
    write(
        "a.yaml",
        &format!(
            "{}---\n{}",
            job("a", "acme.io/a", ""),
            job("c", "runner", "")
        ),
    );
    let (code, out, err) = lint(&["jobs/a.yaml", "--baseline", "old.json"]);
    assert_eq!(code, 1, "{out}{err}");
    assert!(out.contains("CREATE of Job.batch default/c"), "{out}");
    let stale = "warning: old.json: jobs/a.yaml: Job.batch default/a: spec.managedBy [managed-by/format] is not found any more, --write-baseline removes it\n";
    assert_eq!(err.matches("warning: ").count(), 1, "{err}");
    assert!(err.contains(stale), "{err}");
    fs::remove_file(jobs.join("b.yaml")).unwrap();
    let (_, _, err) = lint(&["jobs/a.yaml", "--baseline", "old.json"]);
    assert!(err.contains("jobs/b.yaml: Job.batch default/b"), "{err}");
    // Written again, it has what there is.
    write("d.yaml", &job("d", "runner", ""));
    lint(&["jobs", "--baseline", "old.json", "--write-baseline"]);
    write("a.yaml", &job("c", "acme.io/a", ""));
    let (code, _, err) = lint(&["jobs/a.yaml", "--baseline", "old.json", "--write-baseline"]);
    assert_eq!((code, err.contains("warning: ")), (0, false), "{err}");
    assert_eq!(lint(&["jobs", "--baseline", "old.json"]).0, 0);
}

#[test]
fn a_baseline_that_is_none_is_an_error() {
    for (text, args, expected) in [
        (
            "{}",
            &["--baseline", "old.json"][..],
            "error: old.json:1:2: is no baseline: missing field `format`",
        ),
        (
            "[",
            &["--baseline", "old.json", "--write-baseline"],
            "error: old.json:1:1: is no baseline: ",
        ),
        (
            "{\"format\": 2, \"findings\": []}",
            &["--baseline", "old.json"],
            "is no baseline: format 2, expected 1",
        ),
        (
            "",
            &["--write-baseline"],
            "error: --write-baseline: expected --baseline FILE, which is to be written\n",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("old.json"), text).unwrap();
        fs::write(folder.path().join("job.yaml"), job("a", "runner", "")).unwrap();
        let ran = run_in(
            folder.path(),
            &[&["lint", "job.yaml"][..], args].concat(),
            b"",
        );
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.err.contains(expected), "{}", ran.err);
    }
}
