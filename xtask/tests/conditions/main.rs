//! The conditions in `deploy/`, evaluated on requests, beside what the library says to the same: what they keep away it
//! allows without a warning, the status of what is not delegated aside. They ask about what `expected.rs` says, and about nothing else.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test that panics has failed"
)]

mod expected;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::sync::{LazyLock, Mutex};
use std::{array, env};

use cel::parser::Parser;
use cel::{Context, IdedExpr, Value as Cel};
use expect_test::expect_file;
use managed_by::{Kind, kinds};
use managed_by_conformance::{trace, vector};
use serde::Deserialize as _;
use serde_json::{Value, from_str, json};
use xtask::judge::{Answer, judge};
use xtask::kinds::objects::{request, with};
use xtask::{examples, root};

use expected::{WRITERS, at, is_delegated, is_to_be_judged, kind_of, template};

/// A manifest, by what decides here.
struct Manifest {
    name: &'static str,
    settings: Value,
    conditions: Vec<IdedExpr>,
}

/// The first document of a manifest.
fn document(name: &str) -> Value {
    let text = fs::read_to_string(root(format!("deploy/{name}.yml"))).unwrap();
    let first = serde_yaml_ng::Deserializer::from_str(&text).next().unwrap();
    Value::deserialize(first).unwrap()
}

fn manifest(name: &'static str, settings: Value) -> Manifest {
    let document = document(name);
    let holder = document.pointer("/webhooks/0").unwrap_or(&document["spec"]);
    let conditions = holder["matchConditions"].as_array().unwrap().iter();
    let named: Vec<_> = conditions.clone().map(|c| &c["name"]).collect();
    // The pages name them.
    let expected: &[&str] = match name {
        "pods" => &["a-job-controls-it"],
        _ => &["the-field-changes", "the-status-is-judged"],
    };
    assert_eq!(named, expected, "{name}");
    let parse = |condition: &Value| {
        let parser = Parser::default().enable_optional_syntax(true);
        parser
            .parse(condition["expression"].as_str().unwrap())
            .unwrap()
    };
    Manifest {
        name,
        settings,
        conditions: conditions.map(parse).collect(),
    }
}

/// Those that judge workloads.
fn manifests() -> Vec<Manifest> {
    let own = ["management", "worker", "hybrid", "namespace"].into_iter();
    let mut manifests: Vec<_> = own
        .map(|name| manifest(name, document(name)["spec"]["settings"].clone()))
        .collect();
    // Without any settings.
    manifests.push(manifest("hybrid", json!({})));
    let settings = document("policies")["managed-by"]["settings"].clone();
    manifests.push(manifest("webhook", settings));
    manifests
}

/// Where every question goes with its answer, for upstream's own matcher: `make conditions-upstream`.
static QUESTIONS: LazyLock<Option<Mutex<File>>> = LazyLock::new(|| {
    let path = env::var_os("QUESTIONS")?;
    Some(Mutex::new(File::create(path).unwrap()))
});

impl Manifest {
    /// Whether kube-apiserver asks. An error counts as yes: under `failurePolicy: Fail` the request is refused.
    fn asks(&self, request: &Value) -> bool {
        let asks = self.evaluate(request);
        if let Some(questions) = &*QUESTIONS
            && !is_malformed(request)
        {
            let question = json!({"manifest": self.name, "asks": asks, "request": request});
            let line = format!("{question}\n");
            questions
                .lock()
                .unwrap()
                .write_all(line.as_bytes())
                .unwrap();
        }
        asks
    }

    fn evaluate(&self, request: &Value) -> bool {
        let mut context = Context::default();
        for (name, value) in [
            ("object", &request["object"]),
            ("oldObject", &request["oldObject"]),
            ("request", request),
        ] {
            context.add_variable(name, value).unwrap();
        }
        let holds = |condition: &IdedExpr| match Cel::resolve(condition, &context) {
            Ok(Cel::Bool(holds)) => holds,
            Ok(other) => panic!("{}: {other:?}", self.name),
            Err(error) => {
                assert!(is_malformed(request), "{}: {error}: {request}", self.name);
                true
            }
        };
        self.conditions.iter().all(holds)
    }
}

/// Whether no API server sends this: a schema refuses it first.
fn is_malformed(request: &Value) -> bool {
    judge(request, &json!({})).code == Some(400)
}

/// A request as kube-apiserver sends it: what is empty is left out.
fn sent(mut request: Value) -> Value {
    let kind = request["kind"].clone();
    let members = request.as_object_mut().unwrap();
    if members.get("subResource").is_some_and(|name| name == "") {
        members.remove("subResource");
    }
    members.entry("requestKind").or_insert(kind);
    request
}

/// What a run has seen: how often a manifest asks, and how often it does not.
#[derive(Debug, Default)]
struct Seen {
    asked: usize,
    kept_away: usize,
    denials_kept_away: usize,
}

impl Seen {
    /// A run of too few requests would show nothing.
    fn is_enough(&self) {
        assert!(self.kept_away > 1000 && self.asked > 1000, "{self:?}");
    }

    /// Holds a request, as it is sent under each manifest, to the property.
    fn check(&mut self, manifests: &[Manifest], request: &Value) {
        let Some(kind) = kind_of(request) else {
            return;
        };
        // No manifest has rules for deletions, nor for the status of what has none to judge.
        let status = request.get("subResource").is_some();
        if request["operation"] == "DELETE" || status && !kind.has_status_rules() {
            return;
        }
        let is_malformed = is_malformed(request);
        for manifest in manifests {
            let asks = manifest.asks(request);
            if is_malformed {
                continue;
            }
            let expected = is_to_be_judged(request, kind, manifest.name);
            assert_eq!(asks, expected, "{}: {request}", manifest.name);
            if asks {
                self.asked += 1;
                continue;
            }
            self.kept_away += 1;
            let answer = judge(request, &manifest.settings);
            if is_silent(&answer) {
                continue;
            }
            assert!(
                status && !is_delegated(request, kind),
                "{}: {answer:?}: {request}",
                manifest.name
            );
            self.denials_kept_away += usize::from(!answer.allowed);
            let fired = answer.denied().into_iter().chain(answer.warned());
            let is_about_status =
                |rule: &str| rule.starts_with("job-status/") || rule.starts_with("status/");
            assert!(
                fired.into_iter().all(is_about_status),
                "{}: {answer:?}: {request}",
                manifest.name
            );
        }
    }
}

fn is_silent(answer: &Answer) -> bool {
    answer.allowed && answer.warnings.is_empty() && answer.denied().is_empty()
}

#[test]
fn recorded_requests() {
    let mut manifests = manifests();
    // Without a release the policy warns of what older releases deny.
    for manifest in &mut manifests {
        manifest.settings["kubernetes_version"] = "1.36".into();
    }
    let mut seen = Seen::default();
    for stream in trace::JOBS.into_iter().chain(trace::CUSTOM) {
        for case in trace::requests(stream).unwrap() {
            seen.check(&manifests, &sent(case.request()));
        }
    }
    // Of what controllers wrote of objects that are their own, the policy would have denied nothing.
    assert_eq!(seen.denials_kept_away, 0, "{seen:?}");
    seen.is_enough();
}

#[test]
fn vectors_and_examples() {
    let manifests = manifests();
    let mut seen = Seen::default();
    for file in fs::read_dir(vector::folder()).unwrap() {
        let file = file.unwrap().file_name().into_string().unwrap();
        for vector in vector::read(&file).unwrap() {
            seen.check(&manifests, &sent(vector.case.request()));
        }
    }
    for example in examples::all().unwrap() {
        seen.check(&manifests, &sent(example.request));
    }
    seen.is_enough();
}

/// What the API server asks of what a rule finds, for its page: its rejected example, of an object that is not delegated and of
/// one that is. `UPDATE_EXPECT=1` writes it.
#[test]
fn what_is_asked_of_each_rule() {
    let manifests = manifests();
    let names = |holds: &dyn Fn(&Manifest) -> bool| -> BTreeSet<_> {
        let named = manifests.iter().filter(|manifest| holds(manifest));
        named.map(|m| format!("`{}.yml`", m.name)).collect()
    };
    let all = names(&|_| true);
    let pods = manifest("pods", json!({"role": "management"}));
    let mut table = String::new();
    for rule in managed_by::rules() {
        let docs = rule.documentation();
        let example: Value = from_str(&docs.rejected.full_request()).unwrap();
        let settings: Value = from_str(docs.rejected.settings).unwrap();
        let Some(kind) = kind_of(&example) else {
            assert!(pods.asks(&sent(example)), "{}", rule.id());
            let asks = "With `pods.yml`, the API server asks only about pods that a Job controls";
            writeln!(table, "{}\t{asks}", rule.id()).unwrap();
            continue;
        };
        let of = |is_delegated: bool| {
            let mut request = example.clone();
            for member in ["object", "oldObject"] {
                let is_set = at(&request[member], kind.managed_by_path()) != [None];
                if request[member].is_object() && is_set != is_delegated {
                    let other = Some("kueue.x-k8s.io/multikueue").filter(|_| is_delegated);
                    let name = other.or(kind.reserved_value()).map(ToOwned::to_owned);
                    put(&mut request[member], kind.managed_by_path(), name);
                }
            }
            let answer = judge(&request, &settings);
            let found = [answer.denied(), answer.warned()].concat();
            let is_found = found
                .iter()
                .any(|it| it.split(' ').next() == Some(rule.id()));
            let request = sent(request);
            is_found.then(|| names(&|manifest| manifest.asks(&request)))
        };
        let (standard, delegated) = (of(false), of(true));
        let asking = standard.as_ref().or(delegated.as_ref()).unwrap();
        let rest: Vec<_> = all.difference(asking).map(String::as_str).collect();
        let asks = match &delegated {
            _ if rest.is_empty() => "asks about every such write",
            Some(delegated) if *delegated == all => "asks only about delegated objects",
            Some(delegated) => {
                assert!(delegated.is_empty() && asking.is_empty(), "{}", rule.id());
                "does not ask about such an update, because `managedBy` stays the same"
            }
            None => "asks only about delegated objects, which this rule does not judge",
        };
        let with = match rest.len() {
            0 => "every manifest in `deploy/`".to_owned(),
            _ if asking.is_empty() => "the manifests in `deploy/`".to_owned(),
            _ => rest.join(" and "),
        };
        writeln!(table, "{}\tWith {with}, the API server {asks}", rule.id()).unwrap();
    }
    expect_file!["../../../docs/rules/asked.tsv"].assert_eq(&table);
}

/// Sets what is at a path, making what leads there.
fn put(object: &mut Value, path: &str, value: Option<String>) {
    let Some(value) = value else {
        return;
    };
    match path.split_once("[].") {
        None => path
            .split('.')
            .fold(object, |place, key| &mut place[key])
            .clone_from(&value.into()),
        Some((list, path)) => {
            let mut item = json!({"name": "a"});
            put(&mut item, path, Some(value));
            let list = list.split('.').fold(object, |place, key| &mut place[key]);
            *list = json!([item, {"name": "b"}]);
        }
    }
}

/// Statuses that the rules of some kind read.
fn statuses() -> Vec<Value> {
    let condition = |name: &str, status: &str| json!({"type": name, "status": status});
    let ends = ["Complete", "Completed", "Succeeded", "Failed"]
        .map(|name| json!({"conditions": [condition(name, "True")]}));
    let more = [
        json!({}),
        json!({"conditions": [condition("Failed", "True"), condition("Completed", "True")]}),
        json!({"conditions": [condition("Succeeded", "False")]}),
        json!({"active": 1, "startTime": "2026-11-20T09:00:00Z"}),
        json!({"active": -1, "restarts": -1}),
        json!({"restarts": 3, "failed": 2}),
        json!({"jobDeploymentStatus": "Complete"}),
        json!({"phase": "Failed"}),
        json!({"startTime": "2026-11-20T09:00:00Z", "completionTime": "2026-11-20T08:00:00Z"}),
    ];
    ends.into_iter().chain(more).collect()
}

/// Objects of a kind: without a spec, and with each value of the field and, where there are templates, each in the first of them.
fn objects(kind: &Kind<'_>) -> Vec<Value> {
    let mut values = vec![
        None,
        kind.reserved_value(),
        Some("kueue.x-k8s.io/multikueue"),
    ];
    let in_templates = values.clone();
    values.extend([Some("acme.io/runner"), Some("")]);
    let mut objects = vec![with(kind, None)];
    for value in values {
        let mut object = with(kind, value);
        object["spec"]["suspend"] = true.into();
        let Some(path) = template(kind) else {
            objects.push(object);
            continue;
        };
        for value in &in_templates {
            let mut object = object.clone();
            if kind.name() == "AppWrapper" {
                let job =
                    json!({"apiVersion": "batch/v1", "kind": "Job", "spec": {"managedBy": value}});
                object["spec"]["components"] = json!([{"template": job}]);
            } else {
                put(&mut object, path, value.map(ToOwned::to_owned));
            }
            objects.push(object);
        }
    }
    objects
}

/// Every kind in each of its versions, through each of them: each of its objects created, each changed to each other, and the status
/// of each written.
#[test]
fn every_change_of_every_kind() {
    let manifests = manifests();
    let statuses = statuses();
    let mut seen = Seen::default();
    for kind in kinds() {
        let nested: Vec<_> = kind.nested_paths().collect();
        let known: Vec<_> = template(kind).into_iter().collect();
        assert_eq!(nested, known, "{}", kind.name());
        let versions = || kind.versions().iter();
        for (version, requested) in versions().flat_map(|v| versions().map(move |r| (v, r))) {
            let mut check = |operation, sub_resource, old: &Value, new: &Value| {
                let request = request((kind, version), operation, sub_resource, old, new);
                let mut request = sent(request);
                request["requestKind"]["version"] = (*requested).into();
                seen.check(&manifests, &request);
            };
            let objects = objects(kind);
            for old in &objects {
                check("CREATE", "", &Value::Null, old);
                for new in &objects {
                    check("UPDATE", "", old, new);
                }
                // Each status after the one before it.
                for pair in statuses.windows(2) {
                    let [before, after] = array::from_fn(|place| {
                        let mut object = old.clone();
                        object["status"] = pair[place].clone();
                        object
                    });
                    check("UPDATE", "status", &before, &after);
                }
            }
        }
    }
    seen.is_enough();
}

/// Labels, finalizers and statuses can always be written, whatever the object has where other kinds have the field or a list of
/// templates: the conditions ignore it as long as it does not change.
#[test]
fn odd_objects_can_be_updated() {
    let manifests = manifests();
    let declared = [
        ("argoproj.io", "v1alpha1", "Workflow"),
        ("kubeflow.org", "v1", "Experiment"),
        ("ray.io", "v1", "RayThing"),
    ];
    let known = kinds().iter().flat_map(|kind| {
        let versions = kind.versions().iter();
        let served = versions.filter(|version| !kind.pruned_in().contains(version));
        served.map(|version| (kind.group(), *version, kind.name()))
    });
    let mut asked = 0;
    for (group, version, name) in known.chain(declared) {
        let kind = Kind::find(group, version, name);
        let own = kind.map_or("spec.managedBy", Kind::managed_by_path);
        for odd in [json!("x"), json!(5), json!(["x"]), json!({"a": 1})] {
            let mut spec = json!({});
            for path in [
                "replicatedJobs",
                "components",
                "runPolicy",
                "jobTemplate",
                "rayClusterSpec",
                "rayClusterConfig",
                "trainJobTemplate",
            ] {
                let is_own = own.starts_with(&format!("spec.{path}."))
                    || kind.is_some_and(|kind| {
                        let mut nested = kind.nested_paths();
                        nested.any(|template| template.starts_with(&format!("spec.{path}")))
                    });
                if !is_own {
                    spec[path] = odd.clone();
                }
            }
            let object = json!({"metadata": {"name": "x"}, "spec": spec});
            for sub_resource in ["", "status"] {
                let request = sent(json!({
                    "operation": "UPDATE", "subResource": sub_resource, "kind": {"group": group, "version": version, "kind": name},
                    "object": object, "oldObject": object,
                }));
                for manifest in &manifests {
                    let judges_status = WRITERS.contains(&manifest.name)
                        && kind.is_some_and(Kind::has_status_rules);
                    let expected = sub_resource == "status" && judges_status;
                    assert_eq!(
                        manifest.asks(&request),
                        expected,
                        "{}: {request}",
                        manifest.name
                    );
                    asked += 1;
                }
            }
        }
    }
    assert!(asked > 500, "{asked}");
}

/// The field of an admin's own kind, at the place where most kinds have it, in whatever group.
#[test]
fn a_declared_kind_is_asked_about_where_most_kinds_have_the_field() {
    for group in ["argoproj.io", "kubeflow.org", "ray.io", "jobset.x-k8s.io"] {
        let object = |value: &str| json!({"metadata": {"name": "x"}, "spec": {"managedBy": value}});
        for (sub_resource, new) in [("", "b.io/y"), ("status", "a.io/x")] {
            let request = sent(json!({
                "operation": "UPDATE", "subResource": sub_resource, "kind": {"group": group, "version": "v1", "kind": "Own"},
                "object": object(new), "oldObject": object("a.io/x"),
            }));
            for manifest in manifests() {
                assert!(manifest.asks(&request), "{}: {request}", manifest.name);
            }
        }
    }
}

/// An API server that is asked for pods looks whether a Job controls them: the library asks for the Job of no others.
#[test]
fn pods_of_jobs() {
    let manifest = manifest("pods", json!({"role": "management"}));
    let owner = |kind: &str, controller: Value| json!([{"apiVersion": "batch/v1", "kind": kind, "name": "pi", "uid": "0e6f1f6d-5d5c-4f0e-9a3b-2c3d4e5f6a7b", "controller": controller}]);
    for (owners, asks) in [
        (owner("Job", true.into()), true),
        (owner("Job", false.into()), false),
        (owner("ReplicaSet", true.into()), false),
        (json!([]), false),
        (Value::Null, false),
    ] {
        let mut request = json!({"uid": "1", "operation": "CREATE", "name": "pi-1", "namespace": "team-a",
            "kind": {"group": "", "version": "v1", "kind": "Pod"}, "resource": {"group": "", "version": "v1", "resource": "pods"},
            "userInfo": {"username": "ana"}, "object": {"metadata": {"name": "pi-1"}}});
        if !owners.is_null() {
            request["object"]["metadata"]["ownerReferences"] = owners;
        }
        assert_eq!(manifest.asks(&request), asks, "{request}");
        assert_eq!(
            is_silent(&judge(&request, &manifest.settings)),
            !asks,
            "{request}"
        );
    }
}
