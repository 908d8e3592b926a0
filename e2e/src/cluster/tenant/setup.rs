//! The cluster in which the tenant is: its kinds, who may do what, and its policies.

use anyhow::Result;
use serde_json::{Value, json};

use super::PROJECTS;
use crate::cluster::api_server::{ADMIN, ApiServer, JOBSET, KUEUE, TENANT};
use crate::cluster::hook::RELEASE;
use crate::cluster::people::{TEAM, bare, crd, wrappers};
use crate::deploy;
use crate::kube::path;

const RBAC: &str = "rbac.authorization.k8s.io/v1";

/// CRDs of the kinds, as bare as they may be.
pub(super) fn crds() -> Vec<Value> {
    let sets = json!([bare("v1alpha2", true)]);
    let workflows = json!([bare("v1alpha1", true)]);
    vec![
        wrappers(),
        crd("jobset.x-k8s.io", "jobsets", "JobSet", &sets),
        crd("argoproj.io", "workflows", "Workflow", &workflows),
        ray_clusters(),
    ]
}

/// As `KubeRay` has it: both versions are served, the older one has no such field, and nothing converts between them.
fn ray_clusters() -> Value {
    let version = |name: &str, storage: bool, properties: &Value| {
        let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let spec = json!({"type": "object", "properties": properties});
        let schema = json!({"type": "object", "properties": {"spec": spec, "status": open}});
        json!({
            "name": name, "served": true, "storage": storage, "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": schema},
        })
    };
    let old = json!({"rayVersion": {"type": "string"}});
    let new = json!({"rayVersion": {"type": "string"}, "managedBy": {"type": "string"}});
    crd(
        "ray.io",
        "rayclusters",
        "RayCluster",
        &json!([version("v1", true, &new), version("v1alpha1", false, &old)]),
    )
}

/// Who may do what.
pub(super) fn roles(cluster: &ApiServer) -> Result<()> {
    let admin = cluster.client(ADMIN);
    let here = |resource: &str| path(RBAC, TEAM, resource);
    let everywhere = |resource: &str| format!("/apis/{RBAC}/{resource}");

    let custom = json!([{
        "apiGroups": ["jobset.x-k8s.io", "workload.codeflare.dev", "ray.io", "argoproj.io"],
        "resources": [
            "jobsets", "appwrappers", "rayclusters", "workflows",
            "jobsets/status", "appwrappers/status", "rayclusters/status", "workflows/status",
        ],
        "verbs": ["get", "list", "create", "update", "patch", "delete"],
    }]);
    let role = json!({"metadata": {"name": "custom"}, "rules": custom});
    admin.create(&here("roles"), &role)?;
    // The account has the name of JobSet's, in the namespace of the tenant, who may ask in its name.
    let account =
        json!({"kind": "ServiceAccount", "namespace": TEAM, "name": "jobset-controller-manager"});
    let tenants = json!([user(TENANT), account]);
    // In a cluster, kube-controller-manager makes `edit` of the first two.
    for (kind, role) in [
        ("ClusterRole", "system:aggregate-to-edit"),
        ("ClusterRole", "system:aggregate-to-view"),
        ("Role", "custom"),
    ] {
        admin.create(&here("rolebindings"), &binding(kind, role, &tenants))?;
    }

    // More than the projects' own roles grant: what is asked here is what the policy says.
    let groups = json!([
        "batch",
        "jobset.x-k8s.io",
        "workload.codeflare.dev",
        "ray.io",
        "argoproj.io"
    ]);
    let rules = json!([{"apiGroups": groups, "resources": ["*"], "verbs": ["*"]}]);
    let role = json!({"metadata": {"name": "controllers"}, "rules": rules});
    admin.create(&everywhere("clusterroles"), &role)?;
    let controllers = json!([user(JOBSET), user(KUEUE)]);
    let binding = binding("ClusterRole", "controllers", &controllers);
    admin.create(&everywhere("clusterrolebindings"), &binding)?;

    // PolicyServer has what the manifest for pods grants.
    for object in deploy::yaml("deploy/pods.yml")?.into_iter().skip(1) {
        let resource = match object["kind"].as_str() {
            Some("ClusterRole") => "clusterroles",
            _ => "clusterrolebindings",
        };
        admin.create(&everywhere(resource), &object)?;
    }
    Ok(())
}

fn user(name: &str) -> Value {
    json!({"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": name})
}

fn binding(kind: &str, role: &str, subjects: &Value) -> Value {
    json!({
        "metadata": {"name": format!("e2e-{}", role.replace(':', "-"))},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role},
        "subjects": subjects,
    })
}

/// Both policies in mode `protect`. The first one knows a kind more.
pub(super) fn policies() -> Result<Value> {
    let mut settings = deploy::settings("management", RELEASE, &PROJECTS)?;
    settings["custom_kinds"] =
        json!([{"group": "argoproj.io", "kind": "Workflow", "plural": "workflows"}]);
    let mut pods = deploy::policy("pods")?;
    pods["policyMode"] = "protect".into();
    Ok(json!({"managed-by": deploy::protect(&settings)?, "pods": pods}))
}

/// The rules for the kind that the settings declare, as the manifest has them in a comment.
pub(super) fn declared(webhook: &mut Value) {
    let rule = |resource: &str, operations: &[&str]| json!({"apiGroups": ["argoproj.io"], "apiVersions": ["v1alpha1"], "resources": [resource], "operations": operations, "scope": "Namespaced"});
    if let Some(rules) = webhook["rules"].as_array_mut() {
        rules.push(rule("workflows", &["CREATE", "UPDATE"]));
        rules.push(rule("workflows/status", &["UPDATE"]));
    }
}
