//! Validates machine formats against their schemas.

use std::sync::LazyLock;

use boon::{Compiler, SchemaIndex, Schemas};
use managed_by_testing::root;
use serde_json::{Value, json};

pub(crate) struct Schema(Schemas, SchemaIndex);

/// The schema of the program's own output.
pub(crate) static CLI_SCHEMA: LazyLock<Schema> =
    LazyLock::new(|| compile(schema("cli.schema.json")));

/// The schema of the SARIF standard.
static SARIF: LazyLock<Schema> = LazyLock::new(|| {
    compile(serde_json::from_str(include_str!("schemas/sarif-2.1.0.json")).unwrap())
});

/// The schema of GitLab's Code Quality reports.
pub(crate) static GITLAB: LazyLock<Schema> = LazyLock::new(|| {
    compile(serde_json::from_str(include_str!("schemas/gitlab-code-quality.json")).unwrap())
});

static EVALUATION: LazyLock<Schema> = LazyLock::new(|| compile(schema("evaluation.schema.json")));

fn compile(schema: Value) -> Schema {
    let mut compiler = Compiler::new();
    let id = schema["$id"].as_str().unwrap_or("schema.json").to_owned();
    // `cli.schema.json` refers to `evaluation.schema.json` with a `$ref` relative to its `$id`.
    for schema in [schema, self::schema("evaluation.schema.json")] {
        let id = schema["$id"].as_str().unwrap_or("schema.json").to_owned();
        compiler.add_resource(&id, schema).unwrap();
    }
    let mut schemas = Schemas::new();
    let index = compiler.compile(&id, &mut schemas).unwrap();
    Schema(schemas, index)
}

fn schema(name: &str) -> Value {
    let text = std::fs::read_to_string(root("docs").join(name)).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Fails unless a document matches a schema.
pub(crate) fn check(Schema(schemas, index): &Schema, document: &Value) {
    if let Err(e) = schemas.validate(document, *index) {
        panic!("{e}\n{document:#}");
    }
}

/// Fails unless a document matches the schema of an evaluation.
pub(crate) fn check_evaluation(evaluation: &Value) {
    check(&EVALUATION, evaluation);
}

/// Fails unless a document is valid SARIF, each rule links to its page, and each result's index refers to its rule.
pub(crate) fn check_sarif(document: &Value) {
    check(&SARIF, document);
    let run = &document["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    for rule in rules.iter().take(managed_by::rules().len()) {
        let page = rule["helpUri"].as_str().unwrap();
        assert_eq!(page.rsplit('.').next(), Some("md"));
    }
    for result in run["results"].as_array().unwrap() {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], result["ruleId"]);
    }
}

/// Checks that the schema of the program's own output rejects invalid documents.
#[test]
fn schema_rejects_invalid_documents() {
    let Schema(schemas, index) = &*CLI_SCHEMA;
    for wrong in [
        json!({}),
        json!({"format": 2, "command": "lint"}),
        json!([{}]),
    ] {
        assert!(schemas.validate(&wrong, *index).is_err(), "{wrong}");
    }
}
