//! Hints for input that is not evaluated: the kind, API version or command that the user probably meant.

use managed_by::{kinds, nearest};
use serde_json::Value;

/// Returns a hint for an object of an unsupported kind. `version` is [`None`] if it is unknown.
pub(crate) fn for_kind(group: &str, version: Option<&str>, kind: &str) -> Option<String> {
    let read_by = |command: &str| Some(format!("{kind}: use `managed-by {command}`"));
    match (group, kind) {
        ("admission.k8s.io", "AdmissionReview" | "AdmissionRequest") => return read_by("review"),
        ("audit.k8s.io", _) | ("meta.k8s.io" | "", "WatchEvent") => return read_by("replay"),
        ("policies.kubewarden.io", _) => return read_by("settings check"),
        _ => {}
    }
    let in_group = kinds().iter().filter(|known| known.group() == group);
    // A kind may have an entry for each version.
    let same_kind = in_group.clone().filter(|known| known.name() == kind);
    let supported: Vec<_> = same_kind
        .flat_map(|known| known.versions())
        .map(|version| format!("{group}/{version}"))
        .collect();
    if !supported.is_empty() {
        let version = match version {
            Some(version) => format!("{group}/{version}"),
            None => "apiVersion".to_owned(),
        };
        return Some(format!(
            "unsupported {version} of {kind}, expected {}",
            supported.join(" or ")
        ));
    }
    if let Some(name) = nearest(kind, in_group.map(|known| known.name())) {
        return Some(format!("unsupported kind {kind}, did you mean {name}?"));
    }
    // `apiVersion: v1`, or a misspelled group.
    let mut with_name = kinds().iter().filter(|known| known.name() == kind);
    let near = nearest(group, with_name.clone().map(|known| known.group()));
    let known = with_name.find(|known| group.is_empty() || Some(known.group()) == near)?;
    let (group, version) = (known.group(), known.versions().first()?);
    Some(format!(
        "unsupported apiVersion of {kind}, did you mean {group}/{version}?"
    ))
}

/// Returns a hint for an object without a kind.
pub(crate) fn for_missing_kind(json: &str) -> Option<String> {
    let value: Value = serde_json::from_str(json).ok()?;
    value.get("object")?;
    if value.get("type").is_some() {
        Some("watch event: use `managed-by replay`".to_owned())
    } else {
        value.get("operation")?;
        Some("AdmissionRequest: use `managed-by review`".to_owned())
    }
}
