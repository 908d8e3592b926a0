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
        Some(version) => format!("{group}/{version} of {kind}"),
        None => format!("apiVersion of {kind}"),
    };
    let all = supported.join(" or ");
    (!supported.is_empty())
        .then(|| format!("unsupported {version}: not validated; supported: {all}"))
}

/// Returns the command that reads an object of an unsupported kind.
pub(crate) fn for_command(group: &str, kind: &str) -> Option<String> {
    let command = match (group, kind) {
        ("admission.k8s.io", "AdmissionReview" | "AdmissionRequest") => "review",
        ("audit.k8s.io", _) | ("meta.k8s.io" | "", "WatchEvent") => "replay",
        ("policies.kubewarden.io", _) => "settings check",
        _ => return None,
    };
    Some(format!("{kind}: use `managed-by {command}`"))
}

/// Returns an error about an object that is neither a request nor contains one.
pub(crate) fn for_manifest(json: &str) -> Option<String> {
    let value: Value = serde_json::from_str(json).ok()?;
    let kind = value.get("kind")?.as_str()?;
    let is_review = value.get("request").is_some() || kind == "AdmissionReview";
    (!is_review).then(|| {
        format!("{kind}: expected an AdmissionReview or AdmissionRequest; use `managed-by lint` for manifests")
    })
}

/// Returns a warning about an object whose kind or API version is probably misspelled.
pub(crate) fn for_typo(group: &str, kind: &str) -> Option<String> {
    let in_group = kinds().iter().filter(|known| known.group() == group);
    let list = group.is_empty().then_some("List");
    let names = in_group.map(|known| known.name()).chain(list);
    if let Some(name) = nearest(kind, names.filter(|known| !is_word_of(kind, known))) {
        return Some(format!("unsupported kind {kind}; {}", did_you_mean(name)));
    }
    // `apiVersion: v1`, another group of Kubernetes, whose names mostly have no dot, or a misspelled group.
    let mut with_name = kinds().iter().filter(|known| known.name() == kind);
    let near = nearest(group, with_name.clone().map(|known| known.group()));
    let known = with_name.find(|known| !group.contains('.') || Some(known.group()) == near)?;
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

/// Returns a hint for an object without a kind, and whether it is a warning: a supported kind whose key is misspelled or missing.
pub(crate) fn for_missing_kind(group: &str, json: &str) -> Option<(String, bool)> {
    let value: Value = serde_json::from_str(json).ok()?;
    if value.get("object").is_some() {
        let command = if value.get("type").is_some() {
            "watch event: use `managed-by replay`"
        } else {
            value.get("operation")?;
            "AdmissionRequest: use `managed-by review`"
        };
        return Some((command.to_owned(), false));
    }
    let is_kind = |value: &Value| {
        let mut names = kinds().iter().map(|kind| kind.name());
        names.any(|name| value.as_str() == Some(name))
    };
    let mut members = value.as_object()?.iter();
    let misspelled = members.find(|(name, value)| {
        let is_near = name.eq_ignore_ascii_case("kind") || nearest(name, ["kind"]).is_some();
        is_near && is_kind(value)
    });
    if let Some((name, _)) = misspelled {
        return Some((
            format!("unknown key {name}; {}", did_you_mean("kind")),
            true,
        ));
    }
    let is_supported = !group.is_empty() && kinds().iter().any(|kind| kind.group() == group);
    (is_supported && value.get("spec").is_some()).then(|| ("no kind".to_owned(), true))
}
