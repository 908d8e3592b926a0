//! Machine formats, held to their schemas.

use std::sync::LazyLock;

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::{Value, json};
use xtask::root;

use crate::support::run;

/// A schema that is ready to judge documents.
pub(crate) struct Schema(Schemas, SchemaIndex);

/// The schema of what the program prints.
pub(crate) static OWN: LazyLock<Schema> = LazyLock::new(|| compile(schema("cli.schema.json")));

/// The schema of the standard SARIF.
pub(crate) static SARIF: LazyLock<Schema> = LazyLock::new(|| {
    compile(serde_json::from_str(include_str!("schemas/sarif-2.1.0.json")).unwrap())
});

static JUDGEMENT: LazyLock<Schema> = LazyLock::new(|| compile(schema("judgement.schema.json")));

fn compile(schema: Value) -> Schema {
    let judgement = self::schema("judgement.schema.json");
    let mut compiler = Compiler::new();
    for (name, schema) in [
        ("schema.json", schema),
        ("judgement.schema.json", judgement),
    ] {
        compiler.add_resource(name, schema).unwrap();
    }
    let mut schemas = Schemas::new();
    let index = compiler.compile("schema.json", &mut schemas).unwrap();
    Schema(schemas, index)
}

fn schema(name: &str) -> Value {
    let text = std::fs::read_to_string(root("docs").join(name)).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Fails unless a document follows a schema.
pub(crate) fn check(Schema(schemas, index): &Schema, document: &Value) {
    if let Err(e) = schemas.validate(document, *index) {
        panic!("{e}\n{document:#}");
    }
}

/// Fails unless a document is a judgement.
pub(crate) fn check_judgement(judgement: &Value) {
    check(&JUDGEMENT, judgement);
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
    let schema = &*OWN;
    for more in [&[][..], &["--kubernetes", "all"]] {
        let document: Value = serde_json::from_str(&lint("json", more)).unwrap();
        check(schema, &document);
        assert_eq!(document["summary"]["denied"], 1);
        assert_eq!(document["summary"]["warned"], 2);
        let lines = lint("ndjson", more);
        let lines: Vec<Value> = lines
            .lines()
            .map(|l| serde_json::from_str(l).unwrap())
            .collect();
        for line in &lines {
            check(schema, line);
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
            check(schema, document);
        }
        let last = documents.last().unwrap();
        assert_eq!(last["summary"]["denied"], 22, "{last}");
    }
    let bad = run(&["settings", "check", "-o", "json", "-"], b"rool: x");
    check(schema, &serde_json::from_str(&bad.out).unwrap());
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
        check(schema, &documents[0]);
    }
    // A schema that takes anything would prove nothing.
    for wrong in [
        json!({}),
        json!({"format": 2, "command": "lint"}),
        json!([{}]),
    ] {
        assert!(schema.0.validate(&wrong, schema.1).is_err(), "{wrong}");
    }
}

#[test]
fn sarif_follows_the_standard_s_schema() {
    let schema = &*SARIF;
    for more in [&[][..], &["--kubernetes", "all"]] {
        let sarif: Value = serde_json::from_str(&lint("sarif", more)).unwrap();
        check(schema, &sarif);
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
    check(schema, &serde_json::from_str(&replayed.out).unwrap());
}
