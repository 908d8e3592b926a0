//! What people deploy: manifests whose settings the policy takes, with the rules of its metadata, in one version.

use std::collections::BTreeSet;
use std::fs;

use managed_by::{Settings, kinds};
use serde::Deserialize as _;
use serde_json::{Value, json};
use xtask::manifests;
use xtask::metadata::Metadata;

use crate::support::{GUEST, root};

fn yaml(file: &str) -> Vec<Value> {
    let text = fs::read_to_string(root(file)).unwrap();
    let documents = serde_yaml_ng::Deserializer::from_str(&text);
    documents.map(|d| Value::deserialize(d).unwrap()).collect()
}

fn metadata() -> Value {
    metadata_of("policy-metadata.yml")
}

fn metadata_of(file: &str) -> Value {
    let text = fs::read_to_string(root(file)).unwrap();
    serde_json::to_value(Metadata::from_yaml(&text).unwrap()).unwrap()
}

fn version() -> Value {
    metadata()["annotations"]["io.kubewarden.policy.version"].clone()
}

#[track_caller]
fn accepted(settings: &Value) {
    let verdict = GUEST.validate_settings(settings).unwrap();
    assert!(verdict.valid, "{:?}", verdict.message);
}

fn module() -> Value {
    module_of(&metadata())
}

fn module_of(metadata: &Value) -> Value {
    let annotation = |key: &str| {
        metadata["annotations"][format!("io.kubewarden.policy.{key}")]
            .as_str()
            .unwrap()
    };
    format!(
        "registry://{}:v{}",
        annotation("ociUrl"),
        annotation("version")
    )
    .into()
}

#[test]
fn the_policy_for_pods() {
    let metadata = metadata_of("pods/metadata.yml");
    let policy = &yaml("deploy/pods.yml")[0];
    let spec = &policy["spec"];
    accepted(&spec["settings"]);
    chosen(spec, true);
    shown_in_reports(policy, &metadata);
    assert_eq!(spec["failurePolicy"], "Ignore");
    assert_eq!(spec["module"], module_of(&metadata));
    for key in [
        "rules",
        "contextAwareResources",
        "mutating",
        "backgroundAudit",
    ] {
        assert_eq!(spec[key], metadata[key], "{key}");
    }
    assert_eq!(
        metadata["annotations"]["io.kubewarden.policy.version"],
        version()
    );
}

/// A manifest as it is, and as it is with all projects taken in: with one of the two that serve MPIJobs, and with the other.
fn variants(file: &str) -> [Value; 3] {
    let text = fs::read_to_string(root(format!("deploy/{file}.yml"))).unwrap();
    let all_but = |left_out: &str| {
        let projects = manifests::projects(&text).into_iter();
        let projects = projects.filter(|project| project != left_out).collect();
        // What an admin must fill in.
        manifests::taken_in(&text, &projects).replace(":NAMESPACE:", ":ray:")
    };
    [text.clone(), all_but("mpi-operator"), all_but("mpijob-v1")]
        .map(|text| serde_yaml_ng::from_str(&text).unwrap())
}

/// What rules ask for: group, version, resource and operation.
fn asked(rules: &Value) -> BTreeSet<(String, String, String, String)> {
    let texts = |list: &Value| -> Vec<String> { serde_json::from_value(list.clone()).unwrap() };
    let mut asked = BTreeSet::new();
    for rule in rules.as_array().unwrap() {
        for group in texts(&rule["apiGroups"]) {
            for version in texts(&rule["apiVersions"]) {
                for resource in texts(&rule["resources"]) {
                    for operation in texts(&rule["operations"]) {
                        asked.insert((group.clone(), version.clone(), resource.clone(), operation));
                    }
                }
            }
        }
    }
    asked
}

/// The controller copies both into policy reports, from the resource and not from the module.
fn shown_in_reports(policy: &Value, metadata: &Value) {
    for key in ["category", "severity"] {
        let key = format!("io.kubewarden.policy.{key}");
        let shown = &policy["metadata"]["annotations"][&key];
        assert_eq!(*shown, metadata["annotations"][&key], "{key}");
    }
}

/// What no request can ever match has no place in a manifest: a namespace that its own selector leaves out, the writers of a
/// kind whose status it does not ask for. And the other way round, no kind is asked for whose writers are forgotten.
fn agrees_with_itself(file: &str, selector: &Value, rules: &Value, settings: &Value) {
    let texts = |list: &Value| -> Vec<String> {
        let list = list.as_array().into_iter().flatten();
        list.map(|text| text.as_str().unwrap().to_owned()).collect()
    };
    let left_out = texts(&selector["matchExpressions"][0]["values"]);
    let entries = settings["namespaces"].as_array().into_iter().flatten();
    let named = entries.flat_map(|entry| texts(&entry["match"]));
    let controllers = settings["controllers"].as_object().into_iter().flatten();
    let limited = controllers.flat_map(|(_, controller)| texts(&controller["namespaces"]));
    for name in named.chain(limited) {
        assert!(!left_out.contains(&name), "{file}: {name} is left out");
    }
    let asked: Vec<_> = rules
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|rule| texts(&rule["resources"]))
        .collect();
    if let Some(writers) = settings["standard_status_writers"].as_object() {
        for kind in kinds().iter().filter(|kind| kind.has_status_rules()) {
            let status = asked.contains(&format!("{}/status", kind.plural()));
            assert_eq!(
                status,
                writers.contains_key(kind.name()),
                "{file}: {}",
                kind.name()
            );
        }
    }
}

/// What stands in every policy: it watches before it denies, it does not wait for ever, and it leaves alone what the cluster
/// needs to get well again.
fn chosen(spec: &Value, leaves_out: bool) {
    assert_eq!(spec["policyServer"], "default");
    assert_eq!(spec["mode"], "monitor");
    assert_eq!(spec["matchPolicy"], "Equivalent");
    assert_eq!(spec["timeoutSeconds"], 5);
    let left_out = json!({"matchExpressions": [{
        "key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system", "kubewarden"],
    }]});
    let expected = if leaves_out { left_out } else { Value::Null };
    assert_eq!(spec["namespaceSelector"], expected);
}

#[test]
fn policies_for_the_kubewarden_controller() {
    for (file, kind) in [
        ("management", "ClusterAdmissionPolicy"),
        ("worker", "ClusterAdmissionPolicy"),
        ("hybrid", "ClusterAdmissionPolicy"),
        ("namespace", "AdmissionPolicy"),
    ] {
        let [policy] = &yaml(&format!("deploy/{file}.yml"))[..] else {
            panic!("{file}: one document");
        };
        assert_eq!(policy["apiVersion"], "policies.kubewarden.io/v1");
        assert_eq!(policy["kind"], kind);
        let spec = &policy["spec"];
        assert_eq!(spec["module"], module(), "{file}");
        shown_in_reports(policy, &metadata());
        let all = variants(file).map(|policy| policy["spec"].clone());
        for spec in &all {
            accepted(&spec["settings"]);
            agrees_with_itself(
                file,
                &spec["namespaceSelector"],
                &spec["rules"],
                &spec["settings"],
            );
        }
        let [live, with_training, with_mpi] = all;
        assert_eq!(*spec, live, "{file}");
        let without = |version: &str| {
            let mut asked = asked(&metadata()["rules"]);
            asked.retain(|(_, v, resource, _)| v != version || !resource.starts_with("mpijobs"));
            asked
        };
        assert_eq!(asked(&with_training["rules"]), without("v2beta1"), "{file}");
        assert_eq!(asked(&with_mpi["rules"]), without("v1"), "{file}");
        // Whoever takes a project in need not think of the conditions.
        if let Some(lists) = with_mpi["settings"]["standard_status_writers"].as_object() {
            let conditions = with_mpi["matchConditions"].to_string();
            for kind in lists.keys() {
                assert!(
                    conditions.contains(&format!("\\\"{kind}\\\"")),
                    "{file}: {kind}"
                );
            }
        }
        assert_eq!(spec["mutating"], false);
        assert_eq!(spec["failurePolicy"], "Fail");
        assert_eq!(spec["backgroundAudit"], true);
        chosen(spec, file != "namespace");
        let text = fs::read_to_string(root(format!("deploy/{file}.yml"))).unwrap();
        // Nobody's release is guessed, and everybody is told where to say it.
        let comment = "    # Set it to the release of your API server.";
        assert!(text.contains(comment), "{file}");
        assert!(text.contains("\n    # kubernetes_version: \""), "{file}");
        assert!(
            spec["settings"].get("kubernetes_version").is_none(),
            "{file}"
        );
    }
}

/// The audit scanner may list what the policies ask about, as much of it as is taken in, and its role is part of what it has.
#[test]
fn the_role_of_the_audit_scanner() {
    for (role, left_out) in variants("audit-scanner").iter().zip(["", "v2beta1", "v1"]) {
        assert_eq!(role["kind"], "ClusterRole");
        let labels = &role["metadata"]["labels"];
        assert_eq!(
            labels["rbac.authorization.k8s.io/aggregate-to-view"],
            "true"
        );
        let mut granted = BTreeSet::new();
        for rule in role["rules"].as_array().unwrap() {
            assert_eq!(rule["verbs"], json!(["get", "list", "watch"]));
            let [group] = &rule["apiGroups"].as_array().unwrap()[..] else {
                panic!("one group: {rule}");
            };
            for resource in rule["resources"].as_array().unwrap() {
                granted.insert((group.clone().to_string(), resource.to_string()));
            }
        }
        let mut created = asked(&metadata()["rules"]);
        created.retain(|(group, version, resource, operation)| {
            let is_in = if left_out.is_empty() {
                group == "batch"
            } else {
                version != left_out || resource != "mpijobs"
            };
            is_in && operation == "CREATE"
        });
        let created = created.into_iter().map(|(group, _, resource, _)| {
            (
                Value::from(group).to_string(),
                Value::from(resource).to_string(),
            )
        });
        assert_eq!(granted, created.collect());
    }
}

/// The admins of the namespace of `namespace.yml` may write the policy there, and nothing else.
#[test]
fn the_role_of_the_admins_of_a_namespace() {
    let policy = &yaml("deploy/namespace.yml")[0];
    let [role, binding] = &yaml("deploy/namespace-admins.yml")[..] else {
        panic!("a role and its binding");
    };
    for object in [role, binding] {
        assert_eq!(
            object["metadata"]["namespace"],
            policy["metadata"]["namespace"]
        );
    }
    let rules = json!([{
        "apiGroups": ["policies.kubewarden.io"], "resources": ["admissionpolicies"],
        "verbs": ["get", "list", "watch", "create", "update", "patch", "delete"],
    }]);
    assert_eq!(role["rules"], rules);
    assert_eq!(binding["roleRef"]["name"], role["metadata"]["name"]);
}

/// The clusters of `examples/settings`, which tests run requests against, are those that people deploy.
#[test]
fn settings_are_those_of_the_examples() {
    for cluster in ["management", "worker", "hybrid"] {
        let deployed = &yaml(&format!("deploy/{cluster}.yml"))[0]["spec"]["settings"];
        let shown = &yaml(&format!("examples/settings/{cluster}.yml"))[0];
        assert_eq!(deployed, shown, "{cluster}");
    }
}

/// The settings that people read about are taken, whole policies or alone.
#[test]
fn settings_in_the_docs_are_accepted() {
    let mut count = 0;
    for file in ["README.md", "docs/operations.md"] {
        let text = fs::read_to_string(root(file)).unwrap();
        for block in text.split("```yaml\n").skip(1) {
            let block = block.split("```").next().unwrap();
            let block: Value = serde_yaml_ng::from_str(block).unwrap();
            let settings = match &block["spec"] {
                Value::Null => &block,
                spec => spec.get("settings").unwrap_or(&Value::Null),
            };
            accepted(settings);
            count += 1;
        }
    }
    assert!(count >= 3, "{count}");
}

/// The dashboard asks what the rules of the page ask, whose names of metrics and labels PolicyServer sends (`e2e/src/server/metrics.rs`).
#[test]
fn the_dashboard_asks_the_queries_of_the_page() {
    let page = fs::read_to_string(root("docs/operations.md")).unwrap();
    let (_, rules) = page.split_once("```text\ngroups:").unwrap();
    let rules = format!("groups:{}", rules.split("```").next().unwrap());
    let rules: Value = serde_yaml_ng::from_str(&rules).unwrap();
    let rules = rules["groups"][0]["rules"].as_array().unwrap();
    let dashboard = fs::read_to_string(root("deploy/dashboard.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&dashboard).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let drawn: Vec<_> = panels.iter().map(|p| &p["targets"][0]["expr"]).collect();
    let asked: Vec<_> = rules.iter().map(|rule| &rule["expr"]).collect();
    assert_eq!(drawn, asked);
}

#[test]
fn policies_for_a_policy_server_alone() {
    let [policies] = &yaml("deploy/policies.yml")[..] else {
        panic!("one document");
    };
    let policy = &policies["managed-by"];
    assert_eq!(policy["module"], module());
    assert_eq!(policy["policyMode"], "monitor");
    assert_eq!(policy["allowedToMutate"], false);
    accepted(&policy["settings"]);
    for policies in variants("policies") {
        accepted(&policies["managed-by"]["settings"]);
    }
    // With the Kubewarden controller a policy gets every capability; here it gets what the file says.
    let metadata = metadata_of("pods/metadata.yml");
    let pods = &policies["managed-by-pods"];
    assert_eq!(pods["module"], module_of(&metadata));
    assert_eq!(pods["policyMode"], "monitor");
    for key in ["hostCapabilities", "contextAwareResources"] {
        assert_eq!(pods[key], metadata[key], "{key}");
    }
    accepted(&pods["settings"]);
}

#[test]
fn a_webhook_for_a_policy_server_alone() {
    let [configuration] = &yaml("deploy/webhook.yml")[..] else {
        panic!("one document");
    };
    assert_eq!(configuration["kind"], "ValidatingWebhookConfiguration");
    let [webhook] = &configuration["webhooks"].as_array().unwrap()[..] else {
        panic!("one webhook");
    };
    assert_eq!(webhook["sideEffects"], "None");
    assert_eq!(webhook["failurePolicy"], "Fail");
    let hook = json!({"policyServer": "default", "mode": "monitor", "matchPolicy": webhook["matchPolicy"],
        "timeoutSeconds": webhook["timeoutSeconds"], "namespaceSelector": webhook["namespaceSelector"]});
    chosen(&hook, true);
    assert_eq!(webhook["admissionReviewVersions"], json!(["v1"]));
    // The policy that `policies.yml` serves.
    let path = webhook["clientConfig"]["service"]["path"].as_str().unwrap();
    let name = path.strip_prefix("/validate/").unwrap();
    assert!(yaml("deploy/policies.yml")[0].get(name).is_some());
    let mut rules = webhook["rules"].clone();
    for rule in rules.as_array_mut().unwrap() {
        assert_eq!(
            rule.as_object_mut().unwrap().remove("scope"),
            Some("Namespaced".into())
        );
    }
    assert_eq!(rules, metadata()["rules"]);
    // The webhook asks about all kinds, because a kind that is not served costs nothing.
    let [_, policies, _] = variants("policies");
    let settings = &policies[name]["settings"];
    agrees_with_itself("webhook", &webhook["namespaceSelector"], &rules, settings);
}

/// One version, wherever it stands.
#[test]
fn versions_agree() {
    assert_eq!(version(), env!("CARGO_PKG_VERSION"));
    let readme = fs::read_to_string(root("README.md")).unwrap();
    let pushed = format!("managed-by-policy:v{}\n", env!("CARGO_PKG_VERSION"));
    assert!(readme.contains(&pushed), "README.md: {pushed}");
    for (file, before) in [
        (".github/actions/check/action.yml", "default: v"),
        ("docs/cli.md", "/.github/actions/check@v"),
        ("docs/cli.md", "rev: v"),
        ("docs/cli.md", "/releases/download/v"),
        ("docs/cli.md", "/managed-by:v"),
    ] {
        let text = fs::read_to_string(root(file)).unwrap();
        let expected = format!("{before}{}", env!("CARGO_PKG_VERSION"));
        assert!(text.contains(&expected), "{file}: {expected}");
    }
    for file in ["policy-metadata.yml", "pods/metadata.yml"] {
        let metadata = metadata_of(file);
        assert!(metadata["minimumKubewardenVersion"].is_string(), "{file}");
        let tag = &metadata["annotations"]["com.github.release.tag"];
        assert_eq!(*tag, concat!("v", env!("CARGO_PKG_VERSION")), "{file}");
        for key in [
            "title",
            "description",
            "author",
            "url",
            "source",
            "ociUrl",
            "license",
            "category",
            "severity",
        ] {
            let key = format!("io.kubewarden.policy.{key}");
            assert!(metadata["annotations"][&key].is_string(), "{file}: {key}");
        }
    }
    let changelog = fs::read_to_string(root("CHANGELOG.md")).unwrap();
    let newest = changelog.lines().find_map(|line| line.strip_prefix("## "));
    let released = format!("{} (", env!("CARGO_PKG_VERSION"));
    let newest = newest.unwrap();
    assert!(
        newest == "Unreleased" || newest.starts_with(&released),
        "{newest}"
    );
}

/// The UI asks for every setting and for nothing else, offers the words that the policy takes, and its defaults are the
/// policy's.
#[test]
fn questions_are_about_the_settings() {
    assert_eq!(questions("questions-ui.yml"), managed_by::SETTINGS_KEYS);
}

/// The UI of the policy for pods asks for what it reads.
#[test]
fn questions_for_pods_are_about_pods() {
    let asked = questions("pods/questions-ui.yml");
    assert_eq!(asked, ["on_lookup_failure", "exempt", "rules"]);
    let readme = fs::read_to_string(root("pods/README.md")).unwrap();
    for variable in asked {
        assert!(readme.contains(&format!("| `{variable}` | ")), "{variable}");
    }
}

/// The settings that a file of questions asks for, once each of them is found to fit the policy.
fn questions(file: &str) -> Vec<String> {
    let asked = &yaml(file)[0]["questions"];
    let asked = asked.as_array().unwrap();
    let mut defaults = json!({});
    for question in asked {
        let variable = question["variable"].as_str().unwrap();
        for key in ["tooltip", "group", "label", "type"] {
            assert!(question[key].is_string(), "{variable}: {key}");
        }
        for option in question["options"].as_array().into_iter().flatten() {
            accepted(&json!({variable: option}));
        }
        if question["type"] == "enum" {
            let verdict = GUEST.validate_settings(&json!({variable: "x"})).unwrap();
            let message = verdict.message.unwrap();
            let words = question["options"].as_array().unwrap().iter();
            let words: Vec<_> = words.map(|w| w.as_str().unwrap()).collect();
            let listed = message.replace('"', "");
            assert!(
                listed.contains(&format!("one of {}", words.join(", "))),
                "{message}"
            );
        }
        defaults[variable] = question["default"].clone();
    }
    accepted(&defaults);
    let defaults = defaults.to_string();
    assert_eq!(
        Settings::from_json(defaults.as_bytes()).unwrap(),
        Settings::default()
    );
    let variables = asked.iter().map(|q| q["variable"].as_str().unwrap());
    variables.map(ToOwned::to_owned).collect()
}

/// Artifact Hub wants the time of a release, which `make artifacthub` adds: nothing that is committed has one.
#[test]
fn packages_for_artifact_hub_have_no_time() {
    for file in ["artifacthub-pkg.yml", "pods/artifacthub-pkg.yml"] {
        let package = &yaml(file)[0];
        assert_eq!(package["version"], version(), "{file}");
        assert!(package.get("createdAt").is_none(), "{file}");
        assert!(package["displayName"].is_string(), "{file}");
    }
}

/// Whose code runs with our permissions: foreign actions by commit, and no permission but where it is asked for.
#[test]
fn workflows_are_pinned_and_may_do_little() {
    for file in ["test.yml", "release.yml", "real.yml", "pages.yml"] {
        let workflow = &yaml(&format!(".github/workflows/{file}"))[0];
        assert_eq!(workflow["permissions"], json!({}), "{file}");
        for (name, job) in workflow["jobs"].as_object().unwrap() {
            assert!(job["permissions"].is_object(), "{file}: {name}");
            assert!(job["timeout-minutes"].is_u64(), "{file}: {name}");
            for step in job["steps"].as_array().unwrap() {
                let Some(uses) = step["uses"].as_str() else {
                    continue;
                };
                let (_, commit) = uses.split_once('@').unwrap();
                let is_commit = commit.len() == 40 && commit.bytes().all(|b| b.is_ascii_hexdigit());
                assert!(is_commit, "{file}: {uses}");
            }
        }
    }
}
