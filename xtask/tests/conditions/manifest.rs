//! The policies' match conditions, evaluated as kube-apiserver does.

use std::collections::BTreeMap;
use std::env;
use std::fs::File;
use std::io::Write as _;
use std::sync::{LazyLock, Mutex};

use cel::parser::Parser;
use cel::{Context, IdedExpr, Value as Cel};
use managed_by_testing::{chart, read};
use serde_json::{Value, json};

/// Settings and match conditions of a manifest.
pub(super) struct Manifest {
    pub(super) name: &'static str,
    pub(super) settings: Value,
    conditions: Vec<IdedExpr>,
}

/// The `spec` of each policy that Helm renders, or `None` without Helm.
static RENDERED: LazyLock<Option<BTreeMap<&str, Value>>> = LazyLock::new(|| {
    let names = ["management", "worker", "hybrid", "queues"].into_iter();
    let specs = names.map(|name| Some((name, chart::policy(name).unwrap()?["spec"].take())));
    specs.collect()
});

/// Returns a manifest with other settings, or `None` if Helm must render it and is missing.
pub(super) fn manifest(name: &'static str, settings: Value) -> Option<Manifest> {
    let spec = match name {
        "pods" => {
            let deployed = read("deploy/pods.yml").unwrap();
            chart::policy_in(&deployed).unwrap()["spec"].take()
        }
        _ => RENDERED.as_ref()?[name].clone(),
    };
    let conditions = spec["matchConditions"].as_array().unwrap().iter();
    let names: Vec<_> = conditions.clone().map(|c| &c["name"]).collect();
    // Fails if a condition is added or renamed.
    let expected: &[&str] = match name {
        "pods" => &["controlled-by-job"],
        "queues" => &["has-queue", "not-owned"],
        _ => &["managed-by-changed", "status-update-checked"],
    };
    assert_eq!(names, expected, "{name}");
    let parse = |condition: &Value| {
        let parser = Parser::default().enable_optional_syntax(true);
        parser
            .parse(condition["expression"].as_str().unwrap())
            .unwrap()
    };
    Some(Manifest {
        name,
        settings,
        conditions: conditions.map(parse).collect(),
    })
}

/// Returns `None` without Helm.
pub(super) fn manifests() -> Option<Vec<Manifest>> {
    let rendered = RENDERED.as_ref()?;
    let names = ["management", "worker", "hybrid"].into_iter();
    let with_settings = names.map(|name| manifest(name, rendered[name]["settings"].clone()));
    // And with default settings.
    let all = with_settings.chain([manifest("hybrid", json!({}))]);
    all.collect()
}

/// File for the evaluated requests, which `make match-conditions-upstream` compares with upstream's matcher.
static MATCH_CASES: LazyLock<Option<Mutex<File>>> = LazyLock::new(|| {
    let path = env::var_os("MATCH_CASES")?;
    Some(Mutex::new(File::create(path).unwrap()))
});

impl Manifest {
    /// Returns true if kube-apiserver calls the webhook.
    pub(super) fn matches(&self, request: &Value) -> bool {
        let matches = self.evaluate(request);
        if let Some(cases) = &*MATCH_CASES {
            let case = json!({"manifest": self.name, "matches": matches, "request": request});
            let line = format!("{case}\n");
            cases.lock().unwrap().write_all(line.as_bytes()).unwrap();
        }
        matches
    }

    pub(super) fn evaluate(&self, request: &Value) -> bool {
        let mut context = Context::default();
        for (name, value) in [
            ("object", &request["object"]),
            ("oldObject", &request["oldObject"]),
            ("request", request),
        ] {
            context.add_variable(name, value).unwrap();
        }
        let is_true = |condition: &IdedExpr| match Cel::resolve(condition, &context) {
            Ok(Cel::Bool(value)) => value,
            Ok(other) => panic!("{}: {other:?}", self.name),
            Err(error) => panic!("{}: {error}: {request}", self.name),
        };
        self.conditions.iter().all(is_true)
    }
}
