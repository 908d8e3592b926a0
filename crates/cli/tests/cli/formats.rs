//! Machine formats, held to their schemas.

use boon::{Compiler, Schemas};
use serde_json::{Value, json};
use xtask::root;

use crate::support::{run, run_in};

/// Fails unless a document follows a schema.
pub(crate) fn check(schema: &Value, document: &Value) {
    let mut compiler = Compiler::new();
    compiler
        .add_resource("schema.json", schema.clone())
        .unwrap();
    compiler
        .add_resource(
            "judgement.schema.json",
            self::schema("judgement.schema.json"),
        )
        .unwrap();
    let mut schemas = Schemas::new();
    let index = compiler.compile("schema.json", &mut schemas).unwrap();
    if let Err(e) = schemas.validate(document, index) {
        panic!("{e}\n{document:#}");
    }
}

fn schema(name: &str) -> Value {
    let text = std::fs::read_to_string(root("docs").join(name)).unwrap();
    serde_json::from_str(&text).unwrap()
}

pub(crate) fn own_schema() -> Value {
    schema("cli.schema.json")
}

/// Fails unless a document is a judgement.
pub(crate) fn check_judgement(judgement: &Value) {
    check(&schema("judgement.schema.json"), judgement);
}

/// Something of everything: a denial, a warning, an object of another kind, a list, and what cannot be judged.
const LINTED: [&str; 5] = [
    "examples/manifests/chart.yaml",
    "examples/manifests/job.yaml",
    "examples/manifests/list.yaml",
    "examples/manifests/accepted.yaml",
    "no/such.yaml",
];

fn lint(format: &str, more: &[&str]) -> String {
    let args = [&["lint", "-o", format], more, &LINTED].concat();
    let ran = run(&args, b"");
    assert_eq!(ran.code, 2, "{}", ran.err);
    ran.out
}

#[test]
fn json_follows_its_schema() {
    let schema = own_schema();
    for more in [&[][..], &["--kubernetes", "all"]] {
        let document: Value = serde_json::from_str(&lint("json", more)).unwrap();
        check(&schema, &document);
        assert_eq!(document["summary"]["denied"], 1);
        assert_eq!(document["summary"]["warned"], 2);
        let lines = lint("ndjson", more);
        let lines: Vec<Value> = lines
            .lines()
            .map(|l| serde_json::from_str(l).unwrap())
            .collect();
        for line in &lines {
            check(&schema, line);
        }
        assert_eq!(
            lines.len(),
            document["results"].as_array().unwrap().len() + 2
        );
    }
    let traces = [
        "conformance/traces/child-jobs.ndjson",
        "conformance/traces/appwrapper-1.2.ndjson",
    ];
    for format in ["json", "ndjson"] {
        let args = [
            &["replay", "-o", format, "--kubernetes", "all", "--show", "3"][..],
            &traces,
        ]
        .concat();
        let ran = run(&args, b"");
        let documents = serde_json::Deserializer::from_str(&ran.out).into_iter::<Value>();
        let documents: Vec<_> = documents.map(Result::unwrap).collect();
        for document in &documents {
            check(&schema, document);
        }
        let last = documents.last().unwrap();
        assert_eq!(last["summary"]["denied"], 22, "{last}");
    }
    let bad = run(&["settings", "check", "-o", "json", "-"], b"rool: x");
    check(&schema, &serde_json::from_str(&bad.out).unwrap());
    // What the other commands print, one document after the other.
    let hub = "conformance/traces/multikueue-0.14-hub.ndjson";
    let child = "conformance/traces/child-jobs.ndjson";
    for args in [
        &["rules"][..],
        &["kinds"],
        &[
            "conformance",
            hub,
            "--controller",
            "kueue.x-k8s.io/multikueue",
        ],
        &[
            "conformance",
            child,
            "--controller",
            "kubernetes.io/job-controller",
        ],
        &[
            "review",
            "examples/field/10-field-changed-after-creation.json",
        ],
        &[
            "review",
            "no/such.json",
            "examples/field/01-created-for-multikueue.json",
        ],
    ] {
        let ran = run(&[args, &["-o", "json"]].concat(), b"");
        let documents = serde_json::Deserializer::from_str(&ran.out).into_iter::<Value>();
        let documents: Vec<_> = documents.map(Result::unwrap).collect();
        assert_eq!(documents.len(), 1, "{args:?}: {}", ran.err);
        check(&schema, &documents[0]);
    }
    // A schema that takes anything would prove nothing.
    let mut compiler = Compiler::new();
    compiler.add_resource("schema.json", schema).unwrap();
    compiler
        .add_resource(
            "judgement.schema.json",
            self::schema("judgement.schema.json"),
        )
        .unwrap();
    let mut schemas = Schemas::new();
    let index = compiler.compile("schema.json", &mut schemas).unwrap();
    for wrong in [
        json!({}),
        json!({"format": 2, "command": "lint"}),
        json!([{}]),
    ] {
        assert!(schemas.validate(&wrong, index).is_err(), "{wrong}");
    }
}

#[test]
fn sarif_follows_the_standard_s_schema() {
    let schema: Value = serde_json::from_str(include_str!("schemas/sarif-2.1.0.json")).unwrap();
    for more in [&[][..], &["--kubernetes", "all"]] {
        let sarif: Value = serde_json::from_str(&lint("sarif", more)).unwrap();
        check(&schema, &sarif);
        let run = &sarif["runs"][0];
        let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
        assert_eq!(rules.len(), managed_by::rules().len() + 2);
        let results = run["results"].as_array().unwrap();
        let (not_judged, results) = results.split_last().unwrap();
        assert_eq!(not_judged["ruleId"], "not-judged");
        assert_eq!(rules[rules.len() - 2]["id"], "not-judged");
        assert_eq!(not_judged["ruleIndex"], rules.len() - 2);
        assert_eq!(run["invocations"][0]["executionSuccessful"], false);
        assert_eq!(results.len(), 3);
        for result in results {
            let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
            assert_eq!(rules[index]["id"], result["ruleId"]);
            let page = rules[index]["helpUri"].as_str().unwrap();
            assert_eq!(page.rsplit('.').next(), Some("md"));
            let region = &result["locations"][0]["physicalLocation"]["region"];
            assert!(region["startLine"].as_u64().unwrap() > 1, "{region}");
        }
        let first = &results[0]["locations"][0]["physicalLocation"];
        assert_eq!(
            first["region"],
            json!({"startLine": 16, "startColumn": 18, "endLine": 16, "endColumn": 28})
        );
    }
    let replayed = run(
        &[
            "replay",
            "-o",
            "sarif",
            "conformance/traces/appwrapper-1.2.ndjson",
        ],
        b"",
    );
    check(&schema, &serde_json::from_str(&replayed.out).unwrap());
}

/// What a recording holds that cannot be judged is where reviewers look: once, at its line.
#[test]
fn what_a_recording_holds_that_cannot_be_judged_is_a_result() {
    let cut = "examples/manifests/cut.ndjson";
    let replay = |format: &str| run(&["replay", "-o", format, cut], b"").out;
    let sarif: Value = serde_json::from_str(&replay("sarif")).unwrap();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    let not_judged: Vec<_> = results
        .iter()
        .filter(|r| r["ruleId"] == "not-judged")
        .collect();
    assert_eq!(not_judged.len(), 1, "{results:?}");
    let region = &not_judged[0]["locations"][0]["physicalLocation"]["region"];
    assert_eq!(region["startLine"], 2);
    let github = replay("github");
    let at =
        format!("::error file={cut},line=2,endLine=2,col=1,endColumn=1,title=not judged::not JSON");
    assert_eq!(github.matches(&at).count(), 1, "{github}");
    let junit = quick_junit::Report::deserialize_from_str(&replay("junit")).unwrap();
    assert_eq!(junit.errors, 1);
    let json: Value = serde_json::from_str(&replay("json")).unwrap();
    check(&own_schema(), &json);
    assert_eq!(json["unjudged"][0]["line"], 2);
}

#[test]
fn junit_is_read_again() {
    let text = lint("junit", &[]);
    let report = quick_junit::Report::deserialize_from_str(&text).unwrap();
    assert_eq!((report.tests, report.failures, report.errors), (7, 1, 1));
    let chart = report
        .test_suites
        .iter()
        .find(|s| s.name.as_str().ends_with("chart.yaml"));
    assert_eq!(chart.unwrap().test_cases.len(), 2);
}

/// Each line is a command, as the runner reads it: `::name key=value,...::text`.
#[test]
fn github_commands_are_well_formed() {
    let text = lint("github", &[]);
    assert_eq!(text.lines().count(), 4, "{text}");
    for line in text.lines() {
        let (head, message) = line.strip_prefix("::").unwrap().split_once("::").unwrap();
        let (name, properties) = head.split_once(' ').unwrap();
        assert!(["error", "warning"].contains(&name), "{line}");
        for property in properties.split(',') {
            let (key, value) = property.split_once('=').unwrap();
            assert!(["file", "line", "endLine", "col", "endColumn", "title"].contains(&key));
            assert!(!value.is_empty() && !value.contains(':'), "{line}");
        }
        assert!(!message.is_empty());
    }
}

/// What is printed does not depend on which core was faster.
#[test]
fn the_order_is_the_order_of_the_files() {
    let folder = tempfile::tempdir().unwrap();
    for index in 0..200 {
        let name = folder.path().join(format!("{index:03}.yaml"));
        let job = format!(
            "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: j{index}}}\nspec: {{managedBy: x}}\n"
        );
        std::fs::write(name, job).unwrap();
    }
    let first = run_in(folder.path(), &["lint", "."], b"");
    assert_eq!(first.code, 1);
    let files: Vec<_> = first
        .out
        .lines()
        .filter(|l| l.trim().starts_with("-->"))
        .collect();
    assert_eq!(files.len(), 200);
    assert!(files.is_sorted(), "{files:?}");
    for _ in 0..5 {
        assert_eq!(run_in(folder.path(), &["lint", "."], b"").out, first.out);
    }
}
