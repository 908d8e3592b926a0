//! Evaluates the match conditions of the chart, and checks that the library has no findings on requests that they exclude.
//!
//! The manifests for workloads are rendered for a cluster with all projects. The conditions for pods are in `deploy/pods.yml`. Only
//! the rules about a status may have findings, on status updates of objects that are not delegated.
//!
//! Without Helm, the tests pass and say so. `make match-conditions-upstream` evaluates the same requests with kube-apiserver's code.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test that panics has failed"
)]

mod manifest;
mod objects;

use std::array;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::{env, fs};

use managed_by::{MULTIKUEUE, QUEUE_NAME, kinds};
use managed_by_parity::generate::Generator;
use managed_by_parity::{trace, vector};
use managed_by_testing::examples;
use managed_by_testing::library::{
    DocumentedCluster, ValidationResponse, review_lookups_in, validate,
};
use managed_by_testing::objects::request;
use serde_json::{Value, from_str, json};

use manifest::{Manifest, manifest, manifests};
use objects::{at, corrupt, has_same_values, kind_of, objects, put, statuses};

/// Returns the request as kube-apiserver sends it, without an empty subresource and with `requestKind`.
fn sent(mut request: Value) -> Value {
    let kind = request["kind"].clone();
    let members = request.as_object_mut().unwrap();
    if members.get("subResource").is_some_and(|name| name == "") {
        members.remove("subResource");
    }
    members.entry("requestKind").or_insert(kind);
    request
}

/// Counts of evaluated requests.
#[derive(Debug, Default)]
struct Counts {
    matched: usize,
    excluded: usize,
    excluded_denials: usize,
    excluded_malformed: usize,
}

impl Counts {
    /// Fails if too few requests were matched or excluded.
    fn assert_enough(&self) {
        assert!(self.excluded > 1000 && self.matched > 1000, "{self:?}");
    }

    /// Checks the conditions of each manifest on a request.
    fn check(&mut self, manifests: &[Manifest], request: &Value) {
        let Some(kind) = kind_of(request) else {
            return;
        };
        // The webhook rules contain neither deletions nor the status of kinds without status rules.
        let status = request.get("subResource").is_some();
        if request["operation"] == "DELETE" || status && !kind.has_status_rules() {
            return;
        }
        let stored = at(&request["oldObject"], kind.managed_by_path());
        let name = stored.and_then(Value::as_str);
        let is_built_in = name.is_none() || name == kind.reserved_value();
        for manifest in manifests {
            if manifest.matches(request) {
                self.matched += 1;
                continue;
            }
            self.excluded += 1;
            let response = validate(request, &manifest.settings);
            if response.code == Some(400) {
                // The policy would not accept the object. The write did not change it, so that users can label and delete it.
                let is_unchanged = status && is_built_in || has_same_values(kind, request);
                assert!(is_unchanged, "{}: {response:?}: {request}", manifest.name);
                self.excluded_malformed += 1;
                continue;
            }
            self.excluded_denials += usize::from(!response.allowed);
            let mut fired = response.denied().into_iter().chain(response.warned());
            let is_about_status =
                |rule: &str| rule.starts_with("job-status/") || rule.starts_with("status/");
            assert!(
                has_no_findings(&response) || status && is_built_in && fired.all(is_about_status),
                "{}: {response:?}: {request}",
                manifest.name
            );
        }
    }
}

fn has_no_findings(response: &ValidationResponse) -> bool {
    response.allowed && response.warnings.is_empty() && response.denied().is_empty()
}

#[test]
fn excluded_recorded_requests_have_no_findings() {
    let Some(mut manifests) = manifests() else {
        return;
    };
    // Without a release the policy warns about writes that older releases deny.
    for manifest in &mut manifests {
        manifest.settings["kubernetes_version"] = "1.36".into();
    }
    let mut counts = Counts::default();
    for stream in trace::JOBS.into_iter().chain(trace::CUSTOM) {
        for case in trace::requests(stream).unwrap() {
            counts.check(&manifests, &sent(case.request()));
        }
    }
    // The policy would not have denied any excluded write.
    assert_eq!(counts.excluded_denials, 0, "{counts:?}");
    counts.assert_enough();
}

#[test]
fn excluded_vectors_and_examples_have_no_findings() {
    let Some(manifests) = manifests() else {
        return;
    };
    let mut counts = Counts::default();
    for file in vector::FILES {
        for vector in vector::read(file).unwrap() {
            counts.check(&manifests, &sent(vector.case.request()));
        }
    }
    for example in examples::all().unwrap() {
        counts.check(&manifests, &sent(example.request));
    }
    counts.assert_enough();
}

/// Evaluates the match conditions on the rejected example of each rule, for an object that is delegated and for one that is not. Writes
/// the line about them on the rule's page to the file `WEBHOOK_CALLS`, for `make book`.
#[test]
fn match_conditions_on_rejected_examples_can_be_described() {
    let Some(manifests) = manifests() else {
        return;
    };
    let names = |is_wanted: &dyn Fn(&Manifest) -> bool| -> BTreeSet<_> {
        let wanted = manifests.iter().filter(|manifest| is_wanted(manifest));
        wanted.map(|m| format!("`role: {}`", m.name)).collect()
    };
    let all = names(&|_| true);
    let pods = manifest("pods", json!({"role": "management"})).unwrap();
    let mut table = String::new();
    for rule in managed_by::rules() {
        if rule.is_for_manifests() {
            let tools =
                "Only tools check this rule, in manifests: admission requests lack what it needs";
            writeln!(table, "{}\t{tools}", rule.id()).unwrap();
            continue;
        }
        let docs = rule.documentation();
        let example: Value = from_str(&docs.rejected.full_request()).unwrap();
        let settings: Value = from_str(docs.rejected.settings).unwrap();
        let Some(kind) = kind_of(&example) else {
            assert!(pods.matches(&sent(example)), "{}", rule.id());
            let calls = "The API server calls the webhook only for pods that a Job controls";
            writeln!(table, "{}\t{calls}", rule.id()).unwrap();
            continue;
        };
        let matching = |is_delegated: bool| {
            let mut request = example.clone();
            for member in ["object", "oldObject"] {
                let is_set = at(&request[member], kind.managed_by_path()).is_some();
                if request[member].is_object() && is_set != is_delegated {
                    let other = Some("kueue.x-k8s.io/multikueue").filter(|_| is_delegated);
                    let name = other.or(kind.reserved_value()).map(ToOwned::to_owned);
                    put(&mut request[member], kind.managed_by_path(), name);
                }
            }
            let response = validate(&request, &settings);
            let fired = [response.denied(), response.warned()].concat();
            let has_fired = fired
                .iter()
                .any(|entry| entry.split(' ').next() == Some(rule.id()));
            let request = sent(request);
            has_fired.then(|| names(&|manifest| manifest.matches(&request)))
        };
        let (built_in, delegated) = (matching(false), matching(true));
        let matched = built_in.as_ref().or(delegated.as_ref()).unwrap();
        let rest: Vec<_> = all.difference(matched).map(String::as_str).collect();
        let calls = match &delegated {
            _ if rest.is_empty() => "calls the webhook for every such write",
            Some(delegated) if *delegated == all => "calls the webhook only for delegated objects",
            Some(delegated) => {
                assert!(delegated.is_empty() && matched.is_empty(), "{}", rule.id());
                "does not call the webhook for such an update, because `managedBy` stays the same"
            }
            None => {
                "calls the webhook only for delegated objects, which this rule does not evaluate"
            }
        };
        let with = match rest.len() {
            0 => "every role".to_owned(),
            _ if matched.is_empty() => "every role".to_owned(),
            _ => rest.join(" and "),
        };
        writeln!(table, "{}\tWith {with}, the API server {calls}", rule.id()).unwrap();
    }
    if let Some(file) = env::var_os("WEBHOOK_CALLS") {
        fs::write(file, table).unwrap();
    }
}

/// Creates each object of each kind, updates it to each other object, and updates its status, in all pairs of stored and requested
/// version. Schemas may accept any type, so also does that with values of random types, before or after the write: the conditions have no errors.
#[test]
fn excluded_changes_of_every_kind_have_no_findings() {
    let Some(manifests) = manifests() else {
        return;
    };
    let statuses = statuses();
    let mut counts = Counts::default();
    let mut generator = Generator::new(74);
    for kind in kinds() {
        let versions = || kind.versions().iter();
        for (version, requested) in versions().flat_map(|v| versions().map(move |r| (v, r))) {
            let mut check = |operation, sub_resource, old: &Value, new: &Value| {
                let request = request((kind, version), operation, sub_resource, old, new);
                let mut request = sent(request);
                request["requestKind"]["version"] = (*requested).into();
                counts.check(&manifests, &request);
            };
            let objects = objects(kind);
            for old in &objects {
                check("CREATE", "", &Value::Null, old);
                for new in &objects {
                    check("UPDATE", "", old, new);
                    let (mut old, mut new) = (old.clone(), new.clone());
                    let [first, second] = [&mut old, &mut new];
                    match *generator.one_of(&[0, 1, 2, 2]) {
                        0 => corrupt(&mut generator, kind, &mut [first]),
                        1 => corrupt(&mut generator, kind, &mut [second]),
                        _ => corrupt(&mut generator, kind, &mut [first, second]),
                    }
                    check("CREATE", "", &Value::Null, &new);
                    check("UPDATE", "", &old, &new);
                    check("UPDATE", "status", &old, &new);
                }
                // Each status follows the one before it.
                for pair in statuses.windows(2) {
                    let [before, after] = array::from_fn(|index| {
                        let mut object = old.clone();
                        object["status"] = pair[index].clone();
                        object
                    });
                    check("UPDATE", "status", &before, &after);
                }
            }
        }
    }
    counts.assert_enough();
    assert!(counts.excluded_malformed > 100, "{counts:?}");
}

/// The library evaluates a template at the paths from which the conditions are generated. Otherwise both would be wrong in the same
/// way.
#[test]
fn library_evaluates_templates_at_their_paths() {
    for kind in kinds() {
        let paths: Vec<_> = kind.nested_paths().collect();
        assert!(
            paths.len() <= 1,
            "objects() has only the first of {paths:?}"
        );
        let version = kind.versions()[0];
        let objects = objects(kind);
        let is_evaluated = objects.iter().any(|new| {
            let request = request((kind, version), "UPDATE", "", &objects[0], new);
            let response = validate(&request, &json!({}));
            let mut warned = response.warned().into_iter();
            warned.any(|rule| rule.starts_with("managed-by/template "))
        });
        assert_eq!(is_evaluated, !paths.is_empty(), "{} {paths:?}", kind.name());
    }
}

/// In a long list of templates, every change calls the webhook, because comparing a field of all elements takes too long.
#[test]
fn changes_of_long_lists_call_the_webhook() {
    let Some(manifests) = manifests() else {
        return;
    };
    let object = |length: usize, value: u64| {
        let mut components = vec![json!({"template": {}, "a": 1}); length];
        components[0]["a"] = value.into();
        json!({"metadata": {"name": "x"}, "spec": {"components": components}})
    };
    for (length, value, matches) in [(1000, 2, false), (1001, 2, true), (1001, 1, false)] {
        let request = sent(json!({
            "operation": "UPDATE", "kind": {"group": "workload.codeflare.dev", "version": "v1beta2", "kind": "AppWrapper"},
            "object": object(length, value), "oldObject": object(length, 1),
        }));
        for manifest in &manifests {
            assert_eq!(manifest.matches(&request), matches, "{length}, {value}");
        }
    }
}

/// The conditions of the queues policy match exactly the creations for which the library looks up a queue, in all kinds. The queue of
/// the requests does not exist, so that the library warns.
#[test]
fn only_workloads_with_a_queue_call_the_webhook_for_queues() {
    let Some(manifest) = manifest("queues", json!({})) else {
        return;
    };
    let (mut called, mut count) = (BTreeSet::new(), 0);
    for kind in kinds() {
        for object in objects(kind) {
            for (queue, owner) in [
                (None, None),
                (Some(""), None),
                (Some("absent"), None),
                (Some("absent"), Some(false)),
                (Some("absent"), Some(true)),
            ] {
                let mut object = object.clone();
                if let (Some(path), Some(queue)) = (kind.workload_labels_path(), queue) {
                    let labels = path
                        .split('.')
                        .fold(&mut object, |place, key| &mut place[key]);
                    labels[QUEUE_NAME] = queue.into();
                }
                if let Some(controller) = owner {
                    object["metadata"]["ownerReferences"] = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "1", "controller": controller}]);
                }
                let versioned = (*kind, kind.versions()[0]);
                let request = sent(request(versioned, "CREATE", "", &Value::Null, &object));
                let text = request.to_string();
                let response = review_lookups_in(&DocumentedCluster, &text, "{}");
                let matches = manifest.matches(&request);
                assert_eq!(
                    matches,
                    !has_no_findings(&response),
                    "{response:?}: {request}"
                );
                count += 1;
                if matches {
                    assert_eq!((queue, owner == Some(true)), (Some("absent"), false));
                    let named = at(&request["object"], kind.managed_by_path());
                    assert_eq!(named, Some(&MULTIKUEUE.into()));
                    called.insert((kind.name(), kind.versions()));
                }
            }
        }
    }
    // KubeRay gives the RayJobs of a RayCronJob no labels.
    assert_eq!(called.len(), kinds().len() - 1, "{called:?}");
    assert!(count > 1000, "{count}");
}
