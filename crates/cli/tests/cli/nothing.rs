//! Never green where nothing was judged.

use std::fs;

use serde_json::Value;

use super::formats::{check, own_schema};
use crate::support::{run, run_in};

const JOB: &str = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: pi}\n";
const REVIEW: &str = "examples/field/10-field-changed-after-creation.json";
const WATCH: &str = "conformance/traces/appwrapper-1.2.ndjson";
const AUDIT: &str = "examples/manifests/audit.log";

#[test]
fn where_nothing_was_judged_the_exit_code_says_so() {
    let cut_config_map = "apiVersion: v1\nkind: ConfigMap\n";
    let words = "apiVersion: batch/v1\nkind: job\n---\napiVersion: v1\nkind: Job\n";
    for (args, stdin, expected) in [
        (
            &["lint"][..],
            cut_config_map,
            "nothing was judged, there is only ConfigMap; ",
        ),
        (&["lint"], "# a comment\n", "nothing was judged; "),
        (
            &["lint"],
            "{\"kind\":\"List\",\"apiVersion\":\"v1\",\"items\":[]}",
            "nothing was judged; ",
        ),
        (
            &["lint"],
            words,
            "help: stdin:2: job is not judged, did you mean kind Job?\n",
        ),
        (
            &["lint"],
            words,
            "help: stdin:5: Job of this apiVersion is not judged, did you mean apiVersion batch/v1?\n",
        ),
        (
            &["lint", WATCH],
            "",
            "a watch event: `managed-by replay` reads it (62 times)\n",
        ),
        (
            &["lint", AUDIT],
            "",
            "Event: `managed-by replay` reads it (11 times)\n",
        ),
        (
            &["lint", REVIEW],
            "",
            "AdmissionReview: `managed-by review` reads it\n",
        ),
        (
            &["lint", "deploy/management.yml"],
            "",
            "`managed-by settings check` reads it\n",
        ),
        (
            &["replay", REVIEW],
            "",
            "AdmissionReview: `managed-by review` reads it\n",
        ),
        (
            &["diff", "-", "deploy/management.yml"],
            cut_config_map,
            "nothing was judged, there is only ClusterAdmissionPolicy",
        ),
        (
            &[
                "conformance",
                WATCH,
                "--controller",
                "workload.codeflare.dev/appwraper-controller",
            ],
            "",
            "is to an object of workload.codeflare.dev/appwraper-controller, did you mean workload.codeflare.dev/appwrapper-controller?",
        ),
        (
            &["conformance", "-", "--controller", "x"],
            "{\"kind\":\"List\",\"apiVersion\":\"v1\",\"items\":[]}",
            "There are writes to objects of no controller",
        ),
    ] {
        let ran = run(args, stdin.as_bytes());
        assert_eq!(ran.code, 3, "{args:?}: {ran:?}");
        assert!(ran.err.contains(expected), "{args:?}: {}", ran.err);
        let allowed = run(&[args, &["--allow-empty"]].concat(), stdin.as_bytes());
        assert_eq!(allowed.code, 0, "{args:?}: {allowed:?}");
        assert!(allowed.err.contains("note: no"), "{allowed:?}");
        assert!(!allowed.err.contains("error"), "{allowed:?}");
        // The formats for programs say it too.
        let quiet = run(&[args, &["-o", "json"]].concat(), stdin.as_bytes());
        assert_eq!(quiet.code, 3, "{args:?}: {quiet:?}");
        assert!(quiet.err.contains("error: no"), "{args:?}: {}", quiet.err);
    }
    let ran = run(&["lint", "-o", "github"], cut_config_map.as_bytes());
    let expected = "::error title=not judged::nothing was judged, there is only ConfigMap; ";
    assert!(ran.out.starts_with(expected), "{ran:?}");
    let args = ["lint", "-o", "github", "--allow-empty"];
    let ran = run(&args, cut_config_map.as_bytes());
    let expected = expected.replace("error", "notice");
    assert!(ran.out.starts_with(&expected), "{ran:?}");
}

/// Beside something that is judged a hint remains, and the exit code is of what was judged.
#[test]
fn a_hint_remains_beside_what_is_judged() {
    let ran = run(
        &["lint"],
        format!("{JOB}---\napiVersion: batch/v1beta1\nkind: CronJob\n").as_bytes(),
    );
    assert_eq!(ran.code, 0, "{ran:?}");
    let expected = "help: stdin:6: batch/v1beta1 is not judged for CronJob, expected batch/v1\n1 object judged: 0 denied, 0 with warnings; 1 of other kinds\n";
    assert_eq!(ran.err, expected);
}

#[test]
fn items_have_the_kind_of_their_list() {
    let list = r#"{"kind":"JobList","apiVersion":"batch/v1","items":[
        {"metadata":{"name":"a","uid":"1"},"spec":{"managedBy":"bad"}},
        7,
        {"metadata":{"name":"b","uid":"2"},"spec":{"managedBy":"a.io/b"}}]}"#;
    for command in ["lint", "replay"] {
        let ran = run(&[command, "-o", "json"], list.as_bytes());
        assert_eq!(ran.code, 2, "{ran:?}");
        let document: Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!(document["summary"]["judged"], 2, "{document}");
        assert_eq!(document["summary"]["denied"], 1, "{document}");
    }
    let ran = run(&["lint"], list.as_bytes());
    assert!(
        ran.err
            .starts_with("error: stdin:3:9: expected an object\n"),
        "{}",
        ran.err
    );
}

#[test]
fn folders_are_read_as_people_keep_them() {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in [
        ("good.yaml", JOB),
        ("empty.yaml", ""),
        ("ignored/bad.yaml", "a: ["),
        ("node_modules/bad.yaml", "a: ["),
        ("chart/Chart.yaml", "name: x\n"),
        (
            "chart/templates/job.yaml",
            "kind: Job\nmetadata:\n  name: {{ .Values.name }}\n",
        ),
        (".gitignore", "ignored\n"),
    ] {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    for (args, code, expected) in [
        (
            &["lint", "."][..],
            2,
            "error: chart/templates/job.yaml:3:10: is a Helm template: render it with `helm template chart | managed-by lint` (a key that is no string)\n\
             error: empty.yaml: is empty\n\
             1 object judged: 0 denied, 0 with warnings; 2 could not be judged; 1 of other kinds\n",
        ),
        (
            &["lint", ".", "--skip-unreadable"],
            0,
            "1 object judged: 0 denied, 0 with warnings; 1 of other kinds; 2 skipped, which could not be read\n",
        ),
        (
            &[
                "lint",
                ".",
                "--exclude",
                "chart/templates",
                "--exclude",
                "emp*",
            ],
            0,
            "1 object judged: 0 denied, 0 with warnings; 1 of other kinds\n",
        ),
        (
            &[
                "lint",
                ".",
                "--exclude",
                "chart",
                "--skip-unreadable",
                "--no-ignore",
            ],
            0,
            "; 2 skipped, which could not be read\n",
        ),
        (
            &["lint", ".", "--exclude", "a[", "-q"],
            2,
            "error: --exclude a[: ",
        ),
        (
            &["lint", "good.yaml", "gone.yaml", "--skip-unreadable"],
            2,
            "error: gone.yaml: no such file\n",
        ),
        (
            &["lint", "empty.yaml", "--skip-unreadable"],
            3,
            "error: nothing was judged; 1 skipped, which could not be read; ",
        ),
    ] {
        let ran = run_in(folder.path(), args, b"");
        assert_eq!(ran.code, code, "{args:?}: {ran:?}");
        assert!(ran.err.contains(expected), "{args:?}: {}", ran.err);
    }
}

#[test]
fn a_diff_names_what_it_does_not_judge() {
    let job = |name: &str, spec: &str| {
        format!("apiVersion: batch/v1\nkind: Job\nmetadata: {{name: {name}}}\nspec: {{{spec}}}\n")
    };
    let folder = tempfile::tempdir().unwrap();
    let stored = "completions: 2, completionMode: NonIndexed, selector: {matchLabels: {a: b}}, template: {spec: {containers: [{name: a, image: x, env: []}], restartPolicy: Never}}";
    let policies = "podFailurePolicy: {rules: [{action: FailJob, onPodConditions: [{type: A, status: 'True'}]}]}, successPolicy: {rules: [{succeededCount: 1}]}, backoffLimitPerIndex: 1";
    let all = ["podFailurePolicy", "successPolicy", "backoffLimitPerIndex"];
    let cases: [(&str, &str, &[&str]); 9] = [
        // What the API server defaulted is not mentioned.
        (
            stored,
            "template: {spec: {containers: [{name: a, image: x}]}}",
            &[],
        ),
        (stored, "completions: 3", &["completions"]),
        (
            stored,
            "completionMode: Indexed, selector: {matchLabels: {a: c}}",
            &["completionMode", "selector"],
        ),
        (
            stored,
            "template: {spec: {containers: [{name: a, image: y}]}}",
            &["template"],
        ),
        (
            stored,
            "template: {spec: {containers: [{name: a}, {name: b}]}}",
            &["template"],
        ),
        (policies, policies, &[]),
        (
            policies,
            "podFailurePolicy: {rules: [{action: Ignore}]}, successPolicy: {rules: [{succeededCount: 2}]}, backoffLimitPerIndex: 2",
            &all,
        ),
        // Nobody fills these in.
        (policies, "backoffLimitPerIndex: null", &all),
        ("backoffLimitPerIndex: null", policies, &all),
    ];
    for (stored, new, expected) in cases {
        let old = format!("{}---\n{}", job("pi", stored), job("old", ""));
        fs::write(folder.path().join("old.yaml"), old).unwrap();
        let new = format!("{}---\n{}", job("pi", new), job("new", ""));
        fs::write(folder.path().join("new.yaml"), new).unwrap();
        let ran = run_in(
            folder.path(),
            &["diff", "old.yaml", "new.yaml", "-o", "json"],
            b"",
        );
        assert_eq!(ran.code, 0, "{ran:?}");
        let document: Value = serde_json::from_str(&ran.out).unwrap();
        check(&own_schema(), &document);
        let unchecked = document["results"][0].get("unchecked").cloned();
        let unchecked = unchecked.unwrap_or_else(|| Value::Array(Vec::new()));
        let named: Vec<_> = expected.iter().map(|part| format!("spec.{part}")).collect();
        assert_eq!(unchecked, Value::from(named));
        assert_eq!(document["created"][0]["name"], "new");
        assert_eq!(document["deleted"][0]["name"], "old");
    }
}
