//! The files for deployment: their settings are valid, and their rules and versions match the policy's metadata.

use std::collections::BTreeSet;
use std::fs;

use managed_by::kinds;
use managed_by_testing::{chart, yaml_documents};
use serde_json::{Value, json};

use crate::support::{GUEST, metadata, root};

fn yaml(file: &str) -> Vec<Value> {
    let text = fs::read_to_string(root(file)).unwrap();
    yaml_documents(&text).unwrap()
}

/// The metadata of the two policies.
const POLICY: &str = "policy-metadata.yml";
const PODS: &str = "pods/metadata.yml";

#[track_caller]
fn assert_accepted(settings: &Value) {
    let verdict = GUEST.validate_settings(settings).unwrap();
    assert!(verdict.valid, "{:?}", verdict.message);
}

fn module_url(metadata: &Value) -> String {
    let [url, version] = ["ociUrl", "version"]
        .map(|key| metadata["annotations"][format!("io.kubewarden.policy.{key}")].as_str());
    format!("registry://{}:v{}", url.unwrap(), version.unwrap())
}

/// Returns the policy in a manifest, which may also have roles.
fn deployed(file: &str) -> Value {
    let mut documents = yaml(&format!("deploy/{file}.yml")).into_iter();
    let policy = documents.find(|document| document["spec"]["module"].is_string());
    policy.unwrap()
}

const RULE_LISTS: [&str; 4] = ["apiGroups", "apiVersions", "resources", "operations"];

/// Expands webhook rules into all combinations of one item from each of the given lists.
fn combinations(rules: &Value, lists: &[&str]) -> BTreeSet<Vec<String>> {
    let mut all = BTreeSet::new();
    for rule in rules.as_array().unwrap() {
        let mut expanded = vec![vec![]];
        for list in lists {
            let append = |prefix: &Vec<String>| {
                let items = texts(&rule[*list]).into_iter();
                let extended = items.map(|item| [&prefix[..], &[item]].concat());
                extended.collect::<Vec<_>>()
            };
            expanded = expanded.iter().flat_map(append).collect();
        }
        all.extend(expanded);
    }
    all
}

/// Returns the strings in a list, or nothing if the list is missing.
fn texts(list: &Value) -> Vec<String> {
    serde_json::from_value::<Option<_>>(list.clone())
        .unwrap()
        .unwrap_or_default()
}

/// The setting that lists who writes the status of objects that are not delegated.
const WRITERS: &str = "builtin_status_writers";

/// Checks that the settings of a policy match its rules and its namespace selector.
///
/// The settings name no excluded namespace, and list status writers for exactly the kinds whose status is in the rules.
fn assert_consistent(file: &str, spec: &Value) {
    let (settings, selector) = (&spec["settings"], &spec["namespaceSelector"]);
    let excluded = texts(&selector["matchExpressions"][0]["values"]);
    let entries = settings["namespaces"].as_array().into_iter().flatten();
    let named = entries.flat_map(|entry| texts(&entry["match"]));
    let controllers = settings["controllers"].as_object().into_iter().flatten();
    let limited = controllers.flat_map(|(_, controller)| texts(&controller["namespaces"]));
    for name in named.chain(limited) {
        assert!(!excluded.contains(&name), "{file}: {name} is excluded");
    }
    let resources = combinations(&spec["rules"], &["resources"]);
    if let Some(writers) = settings[WRITERS].as_object() {
        for kind in kinds().iter().filter(|kind| kind.has_status_rules()) {
            let status = resources.contains(&vec![format!("{}/status", kind.plural())]);
            let is_listed = writers.contains_key(kind.name());
            assert_eq!(status, is_listed, "{file}: {}", kind.name());
        }
    }
}

/// Returns the rules for every version of the kinds of one group or of all, and for the status subresource of kinds with status rules.
fn rules_of_kinds(only: Option<&str>) -> BTreeSet<Vec<String>> {
    let mut expected = BTreeSet::new();
    for kind in kinds()
        .iter()
        .filter(|kind| only.is_none_or(|group| group == kind.group()))
    {
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
    expected
}

/// The metadata's rules contain the kinds that every cluster serves. The audit scanner skips a policy with any other kind.
#[test]
fn metadata_rules_match_the_kinds_of_kubernetes() {
    let rules = &metadata(POLICY)["rules"];
    assert_eq!(
        combinations(rules, &RULE_LISTS),
        rules_of_kinds(Some("batch"))
    );
}

#[test]
fn policies_for_the_kubewarden_controller_match_the_metadata() {
    let management = &deployed("management")["spec"];
    // It starts in monitor mode, has a timeout, and excludes the namespaces that a cluster needs to recover.
    assert_eq!(management["policyServer"], "default");
    assert_eq!(management["mode"], "monitor");
    assert_eq!(management["mutating"], false);
    assert_eq!(management["matchPolicy"], "Equivalent");
    assert_eq!(management["timeoutSeconds"], 5);
    assert_eq!(management["backgroundAudit"], true);
    let selector = json!({"matchExpressions": [{
        "key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system", "kubewarden"],
    }]});
    assert_eq!(management["namespaceSelector"], selector);
    for (file, metadata_of) in [
        ("management", POLICY),
        ("worker", POLICY),
        ("hybrid", POLICY),
        ("namespace", POLICY),
        ("pods", PODS),
        ("queues", PODS),
    ] {
        let policy = deployed(file);
        let metadata = metadata(metadata_of);
        let spec = &policy["spec"];
        assert_eq!(spec["module"], module_url(&metadata), "{file}");
        assert!(metadata["minimumKubewardenVersion"].is_string(), "{file}");
        // The controller copies both from the resource into policy reports.
        for key in ["category", "severity"] {
            let key = format!("io.kubewarden.policy.{key}");
            let shown = &policy["metadata"]["annotations"][&key];
            assert!(shown.is_string(), "{file}: {key}");
            assert_eq!(*shown, metadata["annotations"][&key], "{file}: {key}");
        }
        for key in ["mutating", "backgroundAudit"] {
            assert_eq!(spec[key], metadata[key], "{file}: {key}");
        }
        for key in ["policyServer", "mode", "matchPolicy"] {
            assert_eq!(spec[key], management[key], "{file}: {key}");
        }
        let timeout = if file == "queues" { 2 } else { 5 };
        assert_eq!(spec["timeoutSeconds"], timeout, "{file}");
        let selector = match file {
            // It applies to its own namespace.
            "namespace" => &Value::Null,
            _ => &management["namespaceSelector"],
        };
        assert_eq!(spec["namespaceSelector"], *selector, "{file}");
        assert_accepted(&spec["settings"]);
        // The manifests leave the release to the admin.
        assert_eq!(spec["settings"].get("kubernetes_version"), None, "{file}");
        // In monitor mode, an outage blocks no writes.
        assert_eq!(spec["failurePolicy"], "Ignore", "{file}");
        if metadata_of != PODS {
            assert_consistent(file, spec);
        }
    }
    // The module is deployed twice, each time for a part of its rules.
    let specs = ["pods", "queues"].map(|file| deployed(file)["spec"].clone());
    for key in ["rules", "contextAwareResources"] {
        let items = specs.iter().flat_map(|spec| spec[key].as_array().unwrap());
        let items: Vec<_> = items.cloned().collect();
        assert_eq!(json!(items), metadata(PODS)[key], "{key}");
    }
}

/// The role of the queues policy lets PolicyServer read what the policy may look up.
#[test]
fn role_of_the_queues_policy_matches_its_resources() {
    let documents = yaml("deploy/queues.yml");
    let role = &documents
        .iter()
        .find(|d| d["kind"] == "ClusterRole")
        .unwrap()["rules"][0];
    assert_eq!(role["apiGroups"], json!(["kueue.x-k8s.io"]));
    assert_eq!(role["verbs"], json!(["get"]));
    let plurals = managed_by::QueueKind::ALL.iter();
    let plurals: Vec<_> = plurals
        .map(|kind| format!("{}s", kind.as_str().to_lowercase()))
        .collect();
    assert_eq!(role["resources"], json!(plurals));
}

#[test]
fn rendered_policies_for_all_projects_match_the_kinds() {
    for file in ["management", "worker", "hybrid"] {
        let Some(policy) = chart::policy(file).unwrap() else {
            return;
        };
        let spec = &policy["spec"];
        assert_accepted(&spec["settings"]);
        assert_consistent(file, spec);
        let rules = combinations(&spec["rules"], &RULE_LISTS);
        assert_eq!(rules, rules_of_kinds(None), "{file}");
        for rule in spec["rules"].as_array().unwrap() {
            assert_eq!(texts(&rule["apiGroups"]).len(), 1, "{rule}");
        }
        let listed = spec["settings"][WRITERS].as_object();
        let conditions = spec["matchConditions"].to_string();
        for (kind, _) in listed.into_iter().flatten() {
            let named = format!("\\\"{kind}\\\"");
            assert!(conditions.contains(&named), "{file}: {kind}");
        }
    }
    // The queues policy reads labels of new objects.
    let mut labelled = BTreeSet::new();
    for kind in kinds() {
        if kind.workload_labels_path().is_some() {
            for version in kind.versions() {
                let row = [kind.group(), version, kind.plural(), "CREATE"];
                labelled.insert(row.map(ToOwned::to_owned).to_vec());
            }
        }
    }
    let queues = chart::policy("queues").unwrap().unwrap();
    assert_eq!(
        combinations(&queues["spec"]["rules"], &RULE_LISTS),
        labelled
    );
    let cel = chart::for_all_projects("cel").unwrap().unwrap();
    let mut selecting = 0;
    for policy in yaml_documents(&cel).unwrap() {
        if let Some(constraints) = policy["spec"].get("matchConstraints") {
            let rules = combinations(&constraints["resourceRules"], &RULE_LISTS);
            assert_eq!(
                rules,
                rules_of_kinds(None),
                "{}",
                policy["metadata"]["name"]
            );
            selecting += 1;
        }
    }
    assert_eq!(selecting, 2);
}

/// The role grants the audit scanner list access to each kind.
#[test]
fn audit_scanner_role_grants_the_kinds() {
    let [role, _binding] = &yaml("deploy/audit-scanner.yml")[..] else {
        panic!("a role and its binding");
    };
    for rule in role["rules"].as_array().unwrap() {
        assert_eq!(rule["verbs"], json!(["get", "list", "watch"]));
        // With several groups, the rule would also grant each resource in the other groups.
        assert_eq!(texts(&rule["apiGroups"]).len(), 1, "{rule}");
    }
    let mut created = rules_of_kinds(None);
    created.retain(|rule| rule[3] == "CREATE");
    let created = created
        .into_iter()
        .map(|rule| vec![rule[0].clone(), rule[2].clone()]);
    let granted = combinations(&role["rules"], &["apiGroups", "resources"]);
    assert_eq!(granted, created.collect());
}

/// The role lets admins of the namespace in `namespace.yml` write policies there, and nothing else.
#[test]
fn namespace_admin_role_grants_policies_only() {
    let policy = deployed("namespace");
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

/// The examples' tests use the settings in `examples/settings`.
#[test]
fn deployed_settings_match_the_examples() {
    for cluster in ["management", "worker", "hybrid"] {
        let deployed = &deployed(cluster)["spec"]["settings"];
        let shown = &yaml(&format!("examples/settings/{cluster}.yml"))[0];
        assert_eq!(deployed, shown, "{cluster}");
    }
    assert_accepted(&yaml("examples/settings/custom-kinds.yml")[0]);
}

/// The dashboard has the queries of the recording rules. `e2e/alerts.bats` checks the metrics and labels of the API server, and `e2e/server.bats` the ones of
/// PolicyServer.
#[test]
fn dashboard_uses_the_queries_of_the_rules() {
    let rules = &yaml("charts/managed-by-policy/files/prometheus-rules.yaml")[0];
    let rules = rules["groups"][0]["rules"].as_array().unwrap();
    let dashboard = &yaml("charts/managed-by-policy/files/dashboard.json")[0];
    let panels = dashboard["panels"].as_array().unwrap();
    let panel_queries: Vec<_> = panels.iter().map(|p| &p["targets"][0]["expr"]).collect();
    let records = rules.iter().filter(|rule| rule.get("record").is_some());
    let rule_queries: Vec<_> = records.map(|rule| &rule["expr"]).collect();
    assert_eq!(panel_queries, rule_queries);
}

/// `policies.yml` and `webhook.yml` match the policies for the Kubewarden controller.
#[test]
fn files_for_a_policy_server_without_the_controller_match_the_metadata() {
    let policies = &yaml("deploy/policies.yml")[0];
    for (name, metadata_of) in [("managed-by", POLICY), ("managed-by-pods", PODS)] {
        let (policy, metadata) = (&policies[name], metadata(metadata_of));
        assert_eq!(policy["module"], module_url(&metadata), "{name}");
        assert_eq!(policy["policyMode"], "monitor", "{name}");
        assert_eq!(policy["allowedToMutate"], false, "{name}");
        assert_accepted(&policy["settings"]);
    }
    // Without the controller a policy has only the capabilities in this file.
    for key in ["hostCapabilities", "contextAwareResources"] {
        let declared = &metadata(PODS)[key];
        assert_eq!(policies["managed-by-pods"][key], *declared, "{key}");
    }
    let [config, configuration] = &yaml("deploy/webhook.yml")[..] else {
        panic!("a ConfigMap and a webhook");
    };
    let webhooks = configuration["webhooks"].as_array().unwrap();
    assert_eq!(webhooks.len(), 1);
    let webhook = &webhooks[0];
    assert_eq!(webhook["admissionReviewVersions"], json!(["v1"]));
    let management = &deployed("management")["spec"];
    for key in [
        "failurePolicy",
        "matchPolicy",
        "timeoutSeconds",
        "namespaceSelector",
        "rules",
        "matchConditions",
    ] {
        assert_eq!(webhook[key], management[key], "{key}");
    }
    assert_eq!(webhook["sideEffects"], "None");
    let path = webhook["clientConfig"]["service"]["path"].as_str().unwrap();
    let name = path.strip_prefix("/validate/").unwrap();
    let policies = config["data"]["policies.yml"].as_str().unwrap();
    let policies: Value = serde_yaml_ng::from_str(policies).unwrap();
    assert_eq!(policies[name]["settings"], management["settings"]);
}

/// All files name the version in `Cargo.toml`.
#[test]
fn versions_match() {
    const VERSION: &str = env!("CARGO_PKG_VERSION");
    for (file, before, after) in [
        (".github/actions/check/action.yml", "default: v", ""),
        ("docs/tasks/check-in-ci.md", "/.github/actions/check@v", ""),
        ("docs/tasks/check-in-ci.md", "rev: v", ""),
        ("docs/tasks/check-in-ci.md", "$RELEASES/v", "/$ARCHIVE"),
        ("docs/tasks/check-in-ci.md", "ARCHIVE: managed-by-", "-x86"),
        ("docs/reference/cli.md", "gh release download v", " "),
        ("docs/reference/cli.md", "/managed-by:v", ""),
        (
            "policy-metadata.yml",
            "io.kubewarden.policy.version: ",
            "\n",
        ),
        ("charts/managed-by-policy/Chart.yaml", "\nversion: ", "\n"),
        ("charts/managed-by-policy/Chart.yaml", "appVersion: ", "\n"),
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

/// `make artifacthub` adds `createdAt` to a release. The committed files do not have it, and recommend the chart that is supported.
#[test]
fn artifact_hub_packages_recommend_the_supported_chart() {
    for file in ["artifacthub-pkg.yml", "pods/artifacthub-pkg.yml"] {
        let package = &yaml(file)[0];
        assert!(package.get("createdAt").is_none(), "{file}");
        let chart = "https://artifacthub.io/packages/helm/kubewarden/admission-controller";
        assert_eq!(
            package["recommendations"],
            json!([{"url": chart}]),
            "{file}"
        );
    }
}

/// Each job has a timeout and explicit permissions. A job that may write, sign or publish runs in an environment, and builds nothing: it runs no code of the
/// project's dependencies. zizmor checks that actions are pinned to commits (`make lint`).
#[test]
fn workflow_jobs_that_may_write_build_nothing() {
    const NO_BUILD: [&str; 3] = [
        "cargo publish --locked --no-verify ",
        "make --old-file=go/managedby/module.wasm go-tag ",
        "npm publish --ignore-scripts --provenance ",
    ];
    let mut found = BTreeSet::new();
    for file in ["test.yml", "release.yml", "real.yml", "pages.yml"] {
        let workflow = &yaml(&format!(".github/workflows/{file}"))[0];
        assert_eq!(workflow["permissions"], json!({}), "{file}");
        for (name, job) in workflow["jobs"].as_object().unwrap() {
            assert!(job["timeout-minutes"].is_u64(), "{file}: {name}");
            let mut permissions = job["permissions"].as_object().unwrap().values();
            if permissions.all(|level| level == "read") {
                continue;
            }
            assert!(!job["environment"].is_null(), "{file}: {name}");
            let steps = job["steps"].as_array().unwrap().iter();
            for line in steps.flat_map(|step| step["run"].as_str().unwrap_or_default().lines()) {
                let programs = ["cargo ", "go ", "make ", "npm ", "npx ", "pip "];
                if programs
                    .iter()
                    .any(|program| line.trim().starts_with(program))
                {
                    let allowed = NO_BUILD
                        .iter()
                        .find(|start| line.trim().starts_with(**start));
                    found.insert(*allowed.unwrap_or_else(|| panic!("{file}: {name}: {line}")));
                }
            }
        }
    }
    assert_eq!(found, BTreeSet::from(NO_BUILD));
}
