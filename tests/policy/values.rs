//! Values of the chart: Helm accepts only those whose settings the library accepts, and rejects the others with sentences.
//! `e2e/kubewarden-helm.bats` applies the accepted ones to a cluster, as a dry run.

use std::{env, fs, thread};

use managed_by_parity::generate::Generator;
use managed_by_testing::library::{settings_error, validate};
use managed_by_testing::{chart, yaml_documents};
use serde_json::{Value, json};

use crate::support::root;

/// Words of JSON Schema that tell users nothing about their values.
const NOISE: [&str; 5] = [
    "' failed",
    ": got 0",
    "minLength",
    "maxLength",
    "does not match pattern",
];

fn creation(job: &Value, namespace: &str, user: &str) -> Value {
    json!({"uid": "", "operation": "CREATE", "kind": {"group": "batch", "version": "v1", "kind": "Job"}, "namespace": namespace, "object": job,
        "userInfo": {"username": user}})
}

/// Returns a problem if a policy with these settings denies the Jobs of the chart's own `CronJob`.
fn own_job_problem(manifests: &str, settings: &Value) -> Option<String> {
    // The policy does not check Kubewarden's namespace.
    let is_checked = !manifests.contains("\"team-a\"]");
    let mut documents = yaml_documents(manifests).unwrap().into_iter();
    let own = documents.find(|document| is_checked && document["kind"] == "CronJob")?;
    let user = "system:serviceaccount:kube-system:cronjob-controller";
    let request = creation(&own["spec"]["jobTemplate"], "team-a", user);
    let response = validate(&request, settings);
    (!response.allowed).then(|| format!("own Job: {response:?}"))
}

/// Returns a problem if `helm test` expects another response to its Job than the one of a policy with these settings.
fn helm_test_problem(manifests: &str, settings: &Value) -> Option<String> {
    // The other policies have no role.
    settings.get("role")?;
    let (_, script) = manifests.split_once("/namespaces/")?;
    let (namespace, script) = script.split_once('/')?;
    let (_, script) = script.split_once("--data '")?;
    let (job, script) = script.split_once("')")?;
    let job: Value = serde_json::from_str(job).unwrap();
    let request = creation(
        &job,
        namespace,
        "system:serviceaccount:team-a:managed-by-test",
    );
    let response = validate(&request, settings);
    let responds = !response.denied().is_empty() || !response.warned().is_empty();
    let expects_denial = script.contains("enforced: the API server denied");
    let is_right =
        responds != script.contains("not tested: ") && !(expects_denial && response.allowed);
    (!is_right).then(|| format!("helm test: {response:?}"))
}

/// Replaces a random part of one of the values: by null, by a value of another type, or by one that is too long or occurs twice.
fn corrupt<'a>(generator: &mut Generator, values: impl Iterator<Item = &'a mut Value>) {
    let mut values: Vec<_> = values.collect();
    let indices: Vec<_> = (0..values.len()).collect();
    if indices.is_empty() {
        return;
    }
    let value = values.swap_remove(*generator.one_of(&indices));
    let descends = *generator.one_of(&[true, true, false]);
    match value {
        Value::Object(members) if descends => corrupt(generator, members.values_mut()),
        Value::Array(items) if descends => corrupt(generator, items.iter_mut()),
        _ => {
            let long = "x".repeat(300);
            let odd = json!([null, null, "", 0, -1, 1.5, true, [], {}, long, "a b", "-a", "é", ["a", "a"], [null], {"a": null}, {"": ""}]);
            value.clone_from(generator.one_of(odd.as_array().unwrap()));
        }
    }
}

/// `VALUES` is the number of random values, and `SEED` the first seed.
#[test]
fn helm_accepts_only_valid_settings() {
    let number = |name, default| env::var(name).map_or(default, |text| text.parse().unwrap());
    let (count, seed) = (number("VALUES", 40_u64), number("SEED", 1_u64));
    let grammar: Value = serde_yaml_ng::from_str(include_str!("values.yml")).unwrap();
    let directory = root("target/values");
    fs::create_dir_all(&directory).unwrap();
    let evaluate = |number: u64| {
        let mut generator = Generator::new(seed.wrapping_mul(1_000_003).wrapping_add(number));
        let mut values = generator.derive(&grammar);
        values.as_object_mut().unwrap().remove("pools");
        if *generator.one_of(&[true, false]) {
            corrupt(&mut generator, values.as_object_mut().unwrap().values_mut());
        }
        let cluster = *generator.one_of(&["offline", "all-projects"]);
        let rendered = chart::render(cluster, "", &values).unwrap()?;
        let problem = match &rendered {
            Ok(manifests) => {
                fs::write(directory.join(format!("{seed}-{number}.yml")), manifests).unwrap();
                let mut policies = chart::settings_in(manifests).unwrap().into_iter();
                policies.find_map(|settings| {
                    settings_error(&settings)
                        .or_else(|| helm_test_problem(manifests, &settings))
                        .or_else(|| own_job_problem(manifests, &settings))
                })
            }
            Err(message) => NOISE
                .into_iter()
                .find(|noise| message.contains(noise))
                .map(|_| message.clone()),
        };
        let problem = problem.map(|problem| format!("{cluster} {values}: {problem}"));
        Some((rendered.is_ok(), problem))
    };
    let results = thread::scope(|scope| {
        let halves = [0, 1].map(|half| {
            scope.spawn(move || {
                let numbers = (half..count).step_by(2);
                numbers.map(&evaluate).collect::<Option<Vec<_>>>()
            })
        });
        halves.map(|half| half.join().unwrap())
    });
    let [Some(left), Some(right)] = results else {
        return;
    };
    let results = [left, right].concat();
    let (accepted, problems): (Vec<_>, Vec<_>) = results.into_iter().unzip();
    let accepted = accepted.into_iter().filter(|is_accepted| *is_accepted);
    let (accepted, problems) = (accepted.count(), problems.into_iter().flatten());
    let problems: Vec<_> = problems.collect();
    assert!(problems.is_empty(), "{problems:#?}");
    assert!(
        accepted > usize::try_from(count).unwrap() / 10,
        "{accepted}"
    );
}

/// A stand-in for the decision of Kubewarden 1.38, from its documentation: it deploys an `AdmissionPolicy` if an item of the list has each rule's group and
/// resource, without the subresource. With the value that the chart prints, it deploys the policy of each project, and with a part of it, those of other projects.
#[test]
fn kubewarden_1_38_deploys_the_policies_of_a_namespace_with_the_printed_value() {
    let values = json!({"namespaced": true});
    let Some(rendered) = chart::render("all-projects", "", &values).unwrap() else {
        return;
    };
    let mut allowed = Vec::new();
    let mut policies = Vec::new();
    for text in rendered.unwrap().split("\n---\n") {
        let document: Value = serde_yaml_ng::from_str(text).unwrap();
        if document["kind"] != "AdmissionPolicy" {
            continue;
        }
        let mut lines = text.lines();
        lines
            .find(|line| line.contains("# namespacedPoliciesAllowedResources:"))
            .unwrap();
        let comment: Vec<_> = lines.map_while(|line| line.strip_prefix("  # ")).collect();
        let items: Vec<Value> = serde_yaml_ng::from_str(&comment.join("\n")).unwrap();
        allowed.extend(items);
        policies.push(document);
    }
    let deployed = |allowed: &[Value]| {
        let is_allowed = |rule: &Value| {
            let resource = rule["resources"][0].as_str().unwrap().split('/').next();
            let mut items = allowed.iter();
            items.any(|item| {
                item["apiGroups"] == rule["apiGroups"] && item["resources"] == json!([resource])
            })
        };
        let is_deployed = |policy: &&Value| {
            policy["spec"]["rules"]
                .as_array()
                .unwrap()
                .iter()
                .all(is_allowed)
        };
        policies.iter().filter(is_deployed).count()
    };
    assert!(policies.len() > 8 && allowed.len() > policies.len());
    assert_eq!(deployed(&allowed), policies.len());
    for index in 0..allowed.len() {
        let mut part = allowed.clone();
        part.retain(|item| *item != allowed[index]);
        // Two projects have the resource mpijobs.
        let rejected = policies.len() - deployed(&part);
        assert!((1..=2).contains(&rejected), "{}", allowed[index]);
    }
}
