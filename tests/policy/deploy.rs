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

/// The metadata of the two policies.
const POLICY: &str = "policy-metadata.yml";
const PODS: &str = "pods/metadata.yml";

fn metadata(file: &str) -> Value {
    let text = fs::read_to_string(root(file)).unwrap();
    serde_json::to_value(Metadata::from_yaml(&text).unwrap()).unwrap()
}

#[track_caller]
fn accepted(settings: &Value) {
    let verdict = GUEST.validate_settings(settings).unwrap();
    assert!(verdict.valid, "{:?}", verdict.message);
}

/// Where the module is published.
fn module(metadata: &Value) -> String {
    let [url, version] = ["ociUrl", "version"]
        .map(|key| metadata["annotations"][format!("io.kubewarden.policy.{key}")].as_str());
    format!("registry://{}:v{}", url.unwrap(), version.unwrap())
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

/// What of the metadata's rules is left without a version of MPIJob.
fn asked_without(version: &str) -> BTreeSet<Vec<String>> {
    let mut asked = choices(&metadata(POLICY)["rules"], &ASKED);
    asked.retain(|rule| rule[1] != version || !rule[2].starts_with("mpijobs"));
    asked
}

const ASKED: [&str; 4] = ["apiGroups", "apiVersions", "resources", "operations"];

/// What rules are about: each choice of one from each of these lists.
fn choices(rules: &Value, lists: &[&str]) -> BTreeSet<Vec<String>> {
    let mut all = BTreeSet::new();
    for rule in rules.as_array().unwrap() {
        let mut of_rule = vec![vec![]];
        for list in lists {
            let longer = |chosen: &Vec<String>| {
                let words = texts(&rule[*list]).into_iter();
                let with = words.map(|word| [&chosen[..], &[word]].concat());
                with.collect::<Vec<_>>()
            };
            of_rule = of_rule.iter().flat_map(longer).collect();
        }
        all.extend(of_rule);
    }
    all
}

/// The texts of a list, which may be missing.
fn texts(list: &Value) -> Vec<String> {
    serde_json::from_value::<Option<_>>(list.clone())
        .unwrap()
        .unwrap_or_default()
}

/// What no request can ever match has no place in a manifest: a namespace that its own selector leaves out, the writers of a
/// kind whose status it does not ask for. And the other way round, no kind is asked for whose writers are forgotten.
fn agrees_with_itself(file: &str, selector: &Value, rules: &Value, settings: &Value) {
    let left_out = texts(&selector["matchExpressions"][0]["values"]);
    let entries = settings["namespaces"].as_array().into_iter().flatten();
    let named = entries.flat_map(|entry| texts(&entry["match"]));
    let controllers = settings["controllers"].as_object().into_iter().flatten();
    let limited = controllers.flat_map(|(_, controller)| texts(&controller["namespaces"]));
    for name in named.chain(limited) {
        assert!(!left_out.contains(&name), "{file}: {name} is left out");
    }
    let asked = choices(rules, &["resources"]);
    if let Some(writers) = settings["standard_status_writers"].as_object() {
        for kind in kinds().iter().filter(|kind| kind.has_status_rules()) {
            let status = asked.contains(&vec![format!("{}/status", kind.plural())]);
            let is_listed = writers.contains_key(kind.name());
            assert_eq!(status, is_listed, "{file}: {}", kind.name());
        }
    }
}

/// The metadata asks for every kind in each of its versions, for the statuses that rules judge, and for nothing else.
#[test]
fn the_metadata_asks_for_every_kind() {
    let mut expected = BTreeSet::new();
    for kind in kinds() {
        let (group, resource) = (kind.group(), kind.plural());
        let status = format!("{resource}/status");
        for version in kind.versions() {
            let mut add = |row: [&str; 4]| expected.insert(row.map(ToOwned::to_owned).to_vec());
            add([group, version, resource, "CREATE"]);
            add([group, version, resource, "UPDATE"]);
            if kind.has_status_rules() {
                add([group, version, &status, "UPDATE"]);
            }
        }
    }
    let rules = &metadata(POLICY)["rules"];
    assert_eq!(choices(rules, &ASKED), expected);
    for rule in rules.as_array().unwrap() {
        assert_eq!(texts(&rule["apiGroups"]).len(), 1, "{rule}");
    }
}

/// They differ in what is the cluster's alone.
#[test]
fn policies_for_the_kubewarden_controller() {
    let management = &yaml("deploy/management.yml")[0]["spec"];
    // It watches before it denies, does not wait for ever, and leaves alone what the cluster needs to get well again.
    assert_eq!(management["policyServer"], "default");
    assert_eq!(management["mode"], "monitor");
    assert_eq!(management["mutating"], false);
    assert_eq!(management["matchPolicy"], "Equivalent");
    assert_eq!(management["timeoutSeconds"], 5);
    assert_eq!(management["backgroundAudit"], true);
    let left_out = json!({"matchExpressions": [{
        "key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system", "kubewarden"],
    }]});
    assert_eq!(management["namespaceSelector"], left_out);
    for (file, metadata_of) in [
        ("management", POLICY),
        ("worker", POLICY),
        ("hybrid", POLICY),
        ("namespace", POLICY),
        ("pods", PODS),
    ] {
        let policy = &yaml(&format!("deploy/{file}.yml"))[0];
        let metadata = metadata(metadata_of);
        let spec = &policy["spec"];
        assert_eq!(spec["module"], module(&metadata), "{file}");
        assert!(metadata["minimumKubewardenVersion"].is_string(), "{file}");
        // The controller copies both into policy reports, from the resource and not from the module.
        for key in ["category", "severity"] {
            let key = format!("io.kubewarden.policy.{key}");
            let shown = &policy["metadata"]["annotations"][&key];
            assert!(shown.is_string(), "{file}: {key}");
            assert_eq!(*shown, metadata["annotations"][&key], "{file}: {key}");
        }
        for key in ["mutating", "backgroundAudit"] {
            assert_eq!(spec[key], metadata[key], "{file}: {key}");
        }
        for key in ["policyServer", "mode", "matchPolicy", "timeoutSeconds"] {
            assert_eq!(spec[key], management[key], "{file}: {key}");
        }
        let selector = match file {
            // It applies to its own namespace.
            "namespace" => &Value::Null,
            _ => &management["namespaceSelector"],
        };
        assert_eq!(spec["namespaceSelector"], *selector, "{file}");
        accepted(&spec["settings"]);
        // Nobody's release is guessed.
        assert_eq!(spec["settings"].get("kubernetes_version"), None, "{file}");
        if metadata_of == PODS {
            assert_eq!(spec["failurePolicy"], "Ignore");
            for key in ["rules", "contextAwareResources"] {
                assert_eq!(spec[key], metadata[key], "{key}");
            }
            continue;
        }
        assert_eq!(spec["failurePolicy"], "Fail", "{file}");
        let all = variants(file).map(|policy| policy["spec"].clone());
        for spec in &all {
            let (rules, settings) = (&spec["rules"], &spec["settings"]);
            accepted(settings);
            agrees_with_itself(file, &spec["namespaceSelector"], rules, settings);
        }
        for (spec, left_out) in all[1..].iter().zip(["v2beta1", "v1"]) {
            let asked = choices(&spec["rules"], &ASKED);
            assert_eq!(asked, asked_without(left_out), "{file}");
            // Whoever takes a project in need not think of the conditions.
            let listed = spec["settings"]["standard_status_writers"].as_object();
            let conditions = spec["matchConditions"].to_string();
            for (kind, _) in listed.into_iter().flatten() {
                let named = format!("\\\"{kind}\\\"");
                assert!(conditions.contains(&named), "{file}: {kind}");
            }
        }
    }
}

/// The audit scanner may list what the policies ask about, as much of it as is taken in, and its role is part of what it has.
#[test]
fn the_role_of_the_audit_scanner() {
    for (role, left_out) in variants("audit-scanner").iter().zip(["", "v2beta1", "v1"]) {
        let labels = &role["metadata"]["labels"];
        let aggregated = &labels["rbac.authorization.k8s.io/aggregate-to-view"];
        assert_eq!(*aggregated, "true");
        for rule in role["rules"].as_array().unwrap() {
            assert_eq!(rule["verbs"], json!(["get", "list", "watch"]));
            // What one group has, the others of the rule would get too.
            assert_eq!(texts(&rule["apiGroups"]).len(), 1, "{rule}");
        }
        let mut created = asked_without(left_out);
        created.retain(|rule| rule[3] == "CREATE" && (!left_out.is_empty() || rule[0] == "batch"));
        let created = created
            .into_iter()
            .map(|rule| vec![rule[0].clone(), rule[2].clone()]);
        let granted = choices(&role["rules"], &["apiGroups", "resources"]);
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
        let namespace = &object["metadata"]["namespace"];
        assert_eq!(*namespace, policy["metadata"]["namespace"]);
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

/// The dashboard asks what the rules of the page ask, whose names of metrics and labels PolicyServer sends (`e2e/server.bats`).
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

/// `policies.yml` and the webhook that asks it, which say together what a policy for the controller says.
#[test]
fn a_policy_server_without_the_controller() {
    let policies = &yaml("deploy/policies.yml")[0];
    for (name, metadata_of) in [("managed-by", POLICY), ("managed-by-pods", PODS)] {
        let (policy, metadata) = (&policies[name], metadata(metadata_of));
        assert_eq!(policy["module"], module(&metadata), "{name}");
        assert_eq!(policy["policyMode"], "monitor", "{name}");
        assert_eq!(policy["allowedToMutate"], false, "{name}");
        accepted(&policy["settings"]);
    }
    // With the controller a policy gets every capability; here it gets what the file says.
    for key in ["hostCapabilities", "contextAwareResources"] {
        let declared = &metadata(PODS)[key];
        assert_eq!(policies["managed-by-pods"][key], *declared, "{key}");
    }
    let webhooks = &yaml("deploy/webhook.yml")[0]["webhooks"];
    assert_eq!(webhooks.as_array().unwrap().len(), 1);
    let webhook = &webhooks[0];
    assert_eq!(webhook["admissionReviewVersions"], json!(["v1"]));
    let management = &yaml("deploy/management.yml")[0]["spec"];
    for key in [
        "failurePolicy",
        "matchPolicy",
        "timeoutSeconds",
        "namespaceSelector",
    ] {
        assert_eq!(webhook[key], management[key], "{key}");
    }
    assert_eq!(webhook["sideEffects"], "None");
    let mut rules = webhook["rules"].clone();
    for rule in rules.as_array_mut().unwrap() {
        let scope = rule.as_object_mut().unwrap().remove("scope");
        assert_eq!(scope, Some("Namespaced".into()));
    }
    assert_eq!(rules, metadata(POLICY)["rules"]);
    let path = webhook["clientConfig"]["service"]["path"].as_str().unwrap();
    let name = path.strip_prefix("/validate/").unwrap();
    for policies in &variants("policies")[1..] {
        let settings = &policies[name]["settings"];
        accepted(settings);
        // The webhook asks about all kinds, because a kind that is not served costs nothing.
        agrees_with_itself("webhook", &webhook["namespaceSelector"], &rules, settings);
    }
}

/// One version, wherever it stands.
#[test]
fn versions_agree() {
    const VERSION: &str = env!("CARGO_PKG_VERSION");
    for (file, before, after) in [
        ("README.md", "managed-by-policy:v", "\n"),
        (".github/actions/check/action.yml", "default: v", ""),
        ("docs/cli.md", "/.github/actions/check@v", ""),
        ("docs/cli.md", "rev: v", ""),
        ("docs/cli.md", "/releases/download/v", ""),
        ("docs/cli.md", "/managed-by:v", ""),
        (
            "policy-metadata.yml",
            "io.kubewarden.policy.version: ",
            "\n",
        ),
        ("policy-metadata.yml", "com.github.release.tag: v", "\n"),
        ("pods/metadata.yml", "io.kubewarden.policy.version: ", "\n"),
        ("pods/metadata.yml", "com.github.release.tag: v", "\n"),
    ] {
        let text = fs::read_to_string(root(file)).unwrap();
        let expected = format!("{before}{VERSION}{after}");
        assert!(text.contains(&expected), "{file}: {expected}");
    }
    let changelog = fs::read_to_string(root("CHANGELOG.md")).unwrap();
    let newest = changelog.lines().find_map(|line| line.strip_prefix("## "));
    let newest = newest.unwrap();
    let is_this = newest.starts_with(&format!("{VERSION} ("));
    assert!(newest == "Unreleased" || is_this, "{newest}");
}

/// The UI asks for every setting and for nothing else, offers the words that the policy takes, and its defaults are the
/// policy's.
#[test]
fn questions_are_about_the_settings() {
    let keys: Vec<_> = managed_by::settings_keys().collect();
    assert_eq!(questions("questions-ui.yml"), keys);
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
        assert!(package.get("createdAt").is_none(), "{file}");
    }
}

/// A job that hangs ends, and has no permission but what it asks for. zizmor sees that foreign actions are named by commit
/// (`make lint`).
#[test]
fn every_job_of_a_workflow_has_limits() {
    for file in ["test.yml", "release.yml", "real.yml", "pages.yml"] {
        let workflow = &yaml(&format!(".github/workflows/{file}"))[0];
        assert_eq!(workflow["permissions"], json!({}), "{file}");
        for (name, job) in workflow["jobs"].as_object().unwrap() {
            assert!(job["permissions"].is_object(), "{file}: {name}");
            assert!(job["timeout-minutes"].is_u64(), "{file}: {name}");
        }
    }
}
