//! Hints about probably intended objects in input that is not evaluated.

use managed_by::{kinds, nearest};
use serde_json::Value;

/// Returns a hint for an object of an unsupported kind. `version` is [`None`] if it is unknown.
pub(crate) fn of_kind(group: &str, version: Option<&str>, kind: &str) -> Option<String> {
    let reads = |command: &str| Some(format!("{kind}: `managed-by {command}` reads it"));
    match (group, kind) {
        ("admission.k8s.io", "AdmissionReview" | "AdmissionRequest") => return reads("review"),
        ("audit.k8s.io", _) | ("meta.k8s.io" | "", "WatchEvent") => {
            return reads("replay");
        }
        ("policies.kubewarden.io", _) => return reads("settings check"),
        _ => {}
    }
    let of_group = kinds().iter().filter(|known| known.group() == group);
    let names = of_group.clone().map(|known| known.name());
    if let Some(name) = nearest(kind, names)
        && name != kind
    {
        return Some(format!("{kind} is not judged, did you mean kind {name}?"));
    }
    let of_name = kinds().iter().filter(|known| known.name() == kind);
    if let Some(known) = of_group.clone().find(|known| known.name() == kind) {
        let judged = known.versions().join(", ");
        let version = version.map_or_else(
            || "an apiVersion".to_owned(),
            |version| format!("{group}/{version}"),
        );
        return Some(format!(
            "{version} is not judged for {kind}, expected {group}/{judged}"
        ));
    }
    // `apiVersion: v1`, or a misspelled group.
    let groups = of_name.clone().map(|known| known.group());
    let near = nearest(group, groups).or_else(|| {
        let mut groups = of_name.clone().map(|known| known.group());
        groups.next().filter(|_| group.is_empty())
    })?;
    let known = of_name.clone().find(|known| known.group() == near)?;
    let versions = known.versions();
    let version = versions.first().copied().unwrap_or_default();
    Some(format!(
        "{kind} of this apiVersion is not judged, did you mean apiVersion {near}/{version}?"
    ))
}

/// Returns a hint for an object without a kind.
pub(crate) fn of_no_kind(json: &str) -> Option<String> {
    let value: Value = serde_json::from_str(json).ok()?;
    let is_about_object = |name| value.get(name).and(value.get("object")).is_some();
    let (what, command) = if is_about_object("type") {
        ("a watch event", "replay")
    } else if is_about_object("operation") {
        ("an AdmissionRequest", "review")
    } else {
        return None;
    };
    Some(format!("{what}: `managed-by {command}` reads it"))
}
