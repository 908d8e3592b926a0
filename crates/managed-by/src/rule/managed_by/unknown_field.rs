//! `managed-by/unknown-field`: a misspelled or misplaced `managedBy`.

use serde_json::Value;

use crate::decode::Path;
use crate::finding::{BadValue, FieldError};
use crate::request::{Change, ManifestTexts};
use crate::rule::Context;
use crate::suggest::{did_you_mean, nearest};

const FIELD: &str = "managedBy";

/// The member of an object without which it has no such field.
const SPEC: &str = "spec";

/// Locations, relative to the object with the field, that other APIs use or that users try. `metadata` beside the field is not among
/// them, because it is a map of the user's own keys in a `RayJob`.
const WRONG_LOCATIONS: [&[&str]; 5] = [
    &["runPolicy"],
    &["spec"],
    &["template"],
    &["template", "metadata"],
    &["template", "spec"],
];

/// Returns an error for each field of an object that was probably meant to be its `managedBy`. Skips labels and annotations, and
/// objects that don't change. For a kind from `custom_kinds`, whose other fields are unknown, finds only siblings that differ in case,
/// `-` or `_`.
pub(crate) fn find(context: &Context<'_>, texts: ManifestTexts<'_>) -> Vec<FieldError<'static>> {
    let is_unchanged = texts.old == Some(texts.object);
    if is_unchanged || matches!(context.change, Change::UpdateStatus { .. }) {
        return Vec::new();
    }
    let (is_known, intended) = (!context.kind.is_declared, context.path());
    let path: Vec<&str> = intended.split('.').collect();
    let (Ok(root), Some((&FIELD, parent))) = (
        serde_json::from_str::<Value>(texts.object),
        path.split_last(),
    ) else {
        return Vec::new();
    };
    let mut locations = vec![parent.to_vec()];
    if is_known {
        for depth in 0..parent.len() {
            let ancestor = parent.get(..depth).unwrap_or_default();
            locations.extend([ancestor.to_vec(), [ancestor, &["metadata"]].concat()]);
        }
        locations.extend(WRONG_LOCATIONS.map(|location| [parent, location].concat()));
    }
    let mut errors = Vec::new();
    if is_known
        && root.get(SPEC).is_none()
        && let Some(members) = root.as_object()
    {
        let typos = members.keys().filter(|key| nearest(key, [SPEC]).is_some());
        errors.extend(typos.map(|key| unknown(key.clone(), SPEC).with_suggestion(SPEC)));
    }
    for location in locations {
        let is_parent = location == parent;
        let mut members = location.iter();
        let value = members.try_fold(&root, |value, member| value.get(member));
        let Some(members) = value.and_then(Value::as_object) else {
            continue;
        };
        for key in members.keys().filter(|key| !is_parent || *key != FIELD) {
            // The end of a key such as `spec.managedBy`, or `// managedBy`.
            let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            let name = key.rsplit(|c| !is_part(c)).next().unwrap_or_default();
            let is_sibling = is_parent && is_known;
            if is_other_spelling(name) && (is_sibling || name == key)
                || is_sibling && nearest(key, [FIELD]).is_some()
            {
                let path = if name == key {
                    [&location[..], &[key]].concat().join(".")
                } else {
                    format!("{}{}", location.join("."), Path::Key(&Path::Root, key))
                };
                let error = unknown(path, intended);
                errors.push(if is_parent && !members.contains_key(FIELD) {
                    // Replaces the key.
                    error.with_suggestion(FIELD)
                } else {
                    error
                });
            }
        }
    }
    errors
}

fn unknown(path: String, intended: &str) -> FieldError<'static> {
    let detail = format!("unknown field; {}", did_you_mean(intended));
    FieldError::invalid(path, BadValue::Omitted, detail)
}

/// Returns true for `managedBy` in another spelling: `managedby`, `ManagedBy`, `managed-by`.
fn is_other_spelling(key: &str) -> bool {
    key.replace(['-', '_'], "").eq_ignore_ascii_case(FIELD)
}
