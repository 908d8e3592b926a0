//! Objects that tools create anew instead of updating them.

use crate::json::Members;

/// Returns the reason why a changed object is created anew, as a note about the request.
///
/// Sources: kubectl ("cannot be used with generate name"), Helm 3.22 `pkg/action/hooks.go` (`before-hook-creation` is the default
/// delete policy), and the documentation of Argo CD (resource hooks, sync options), Flux (`kustomize.toolkit.fluxcd.io/force`) and
/// kapp (`kapp.k14s.io/update-strategy`).
pub(crate) fn reason(object: &str) -> Option<&'static str> {
    let metadata = Members::parse(object)?.object("metadata");
    let is_set = |field: &str| metadata.string(field).is_some_and(|text| !text.is_empty());
    if !is_set("name") && is_set("generateName") {
        return Some("evaluated as a create, because each object with generateName is a new one");
    }
    let annotations = metadata.object("annotations");
    let value = |name: &str| annotations.string(name).unwrap_or_default();
    let lists = |name: &str, wanted: &[&str]| {
        let value = value(name);
        let mut entries = value.split(',').map(str::trim);
        entries.any(|entry| wanted.contains(&entry))
    };
    if !value("helm.sh/hook").is_empty() {
        return Some("evaluated as a create, because Helm creates hooks anew");
    }
    let hook = value("argocd.argoproj.io/hook");
    if !hook.is_empty() && hook != "Skip" {
        return Some("evaluated as a create, because Argo CD creates hooks anew");
    }
    if lists("argocd.argoproj.io/sync-options", &["Force=true"]) {
        return Some("evaluated as a create, because Argo CD replaces the object with Force=true");
    }
    let force = value("kustomize.toolkit.fluxcd.io/force");
    if force.eq_ignore_ascii_case("enabled") {
        return Some("evaluated as a create, because Flux replaces the object with force");
    }
    let strategies = ["fallback-on-replace", "always-replace"];
    if lists("kapp.k14s.io/update-strategy", &strategies) {
        return Some("evaluated as a create, because kapp replaces the object");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::reason;

    #[test]
    fn tools_create_some_objects_anew() {
        let annotated = |annotation: &str| {
            format!(r#"{{"metadata":{{"name":"pi","annotations":{{{annotation}}}}}}}"#)
        };
        for (object, tool) in [
            (
                r#"{"metadata":{"generateName":"pi-"}}"#.to_owned(),
                "generateName",
            ),
            (
                annotated(r#""helm.sh/hook":"pre-install,pre-upgrade""#),
                "Helm",
            ),
            (annotated(r#""argocd.argoproj.io/hook":"Sync""#), "Argo CD"),
            (
                annotated(r#""argocd.argoproj.io/sync-options":"Prune=false, Force=true""#),
                "Argo CD",
            ),
            (
                annotated(r#""kustomize.toolkit.fluxcd.io/force":"enabled""#),
                "Flux",
            ),
            (
                annotated(r#""kapp.k14s.io/update-strategy":"always-replace""#),
                "kapp",
            ),
        ] {
            let reason = reason(&object).unwrap();
            assert!(reason.contains(tool), "{object}: {reason}");
        }
        for object in [
            // The API server has given it a name.
            r#"{"metadata":{"name":"pi-x7k2p","generateName":"pi-"}}"#.to_owned(),
            annotated(r#""argocd.argoproj.io/hook":"Skip""#),
            annotated(r#""argocd.argoproj.io/sync-options":"Replace=true""#),
            annotated(r#""kustomize.toolkit.fluxcd.io/force":"disabled""#),
            annotated(r#""kapp.k14s.io/update-strategy":"""#),
            r#"{"metadata":{"generateName":""}}"#.to_owned(),
            "{}".to_owned(),
        ] {
            assert_eq!(reason(&object), None, "{object}");
        }
    }
}
