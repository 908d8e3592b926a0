//! Hints for input that is not evaluated: the kind, API version or command that the user probably meant.

use managed_by::{Kind, did_you_mean, kinds, nearest};
use serde_json::Value;

/// Returns a warning about an object of a supported kind in another version. `version` is [`None`] if it is unknown.
pub(crate) fn for_version(group: &str, version: Option<&str>, kind: &str) -> Option<String> {
    let is_same = |known: &&&Kind<'_>| known.group() == group && known.name() == kind;
    // A kind may have an entry for each version.
    let versions = kinds()
        .iter()
        .filter(is_same)
        .flat_map(|known| known.versions());
    let supported: Vec<_> = versions
        .map(|version| format!("{group}/{version}"))
        .collect();
    let version = match version {
        Some(version) => format!("{group}/{version}"),
        None => "apiVersion".to_owned(),
    };
    let expected = supported.join(" or ");
    (!supported.is_empty()).then(|| format!("unsupported {version} of {kind}, expected {expected}"))
}

/// Returns a hint for an object of an unsupported kind.
pub(crate) fn for_kind(group: &str, kind: &str) -> Option<String> {
    let read_by = |command: &str| Some(format!("{kind}: use `managed-by {command}`"));
    match (group, kind) {
        ("admission.k8s.io", "AdmissionReview" | "AdmissionRequest") => return read_by("review"),
        ("audit.k8s.io", _) | ("meta.k8s.io" | "", "WatchEvent") => return read_by("replay"),
        ("policies.kubewarden.io", _) => return read_by("settings check"),
        _ => {}
    }
    let in_group = kinds().iter().filter(|known| known.group() == group);
    let names = in_group.map(|known| known.name());
    if let Some(name) = nearest(kind, names.filter(|known| !is_word_of(kind, known))) {
        return Some(format!("unsupported kind {kind}; {}", did_you_mean(name)));
    }
    // `apiVersion: v1`, or a misspelled group.
    let mut with_name = kinds().iter().filter(|known| known.name() == kind);
    let near = nearest(group, with_name.clone().map(|known| known.group()));
    let known = with_name.find(|known| group.is_empty() || Some(known.group()) == near)?;
    let (group, version) = (known.group(), known.versions().first()?);
    let near = did_you_mean(&format!("{group}/{version}"));
    Some(format!("unsupported apiVersion of {kind}; {near}"))
}

/// Returns true if one name is the other with a further word: Tekton's `Pipeline` is not a misspelled `PipelineRun`.
fn is_word_of(kind: &str, known: &str) -> bool {
    let rest = known
        .strip_prefix(kind)
        .or_else(|| kind.strip_prefix(known));
    rest.is_some_and(|rest| rest.starts_with(char::is_uppercase))
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
