//! Detects a misspelled or misplaced `managedBy`: the API server drops the field, and the built-in controller runs the
//! workload.

use managed_by::{AdmissionRequest, Kind, nearest, with_kind};

use crate::evaluator::Evaluator;
use crate::json::Members;
use crate::manifest::Object;

/// The name of the field.
const FIELD: &str = "managedBy";

/// A field that the API server does not recognize.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownField {
    /// Path of the field in the object.
    pub path: String,
    /// Path of the field that was probably meant.
    pub intended_path: String,
    /// Replacement key, unless the field is misplaced or the correct key exists already.
    pub suggestion: Option<&'static str>,
}

/// Locations, relative to the object with the field, that other APIs use or that users try. `metadata` beside the field is not among
/// them, because it is a map of the user's own keys in a `RayJob`.
const WRONG_LOCATIONS: [&[&str]; 5] = [
    &["runPolicy"],
    &["spec"],
    &["template"],
    &["template", "metadata"],
    &["template", "spec"],
];

impl Evaluator<'_> {
    /// Returns the fields of an object that were probably meant to be its `managedBy`. Labels and annotations are skipped. For
    /// custom kinds from the settings, only siblings that differ in case, `-` or `_` are returned, and no other typos.
    pub fn unknown_fields(
        &self,
        object: &Object<'_>,
        request: &AdmissionRequest<'_>,
    ) -> Vec<UnknownField> {
        let field = |kind: &Kind<'_>| kind.managed_by_path().to_owned();
        let builtin = Kind::find(object.group(), object.version(), object.kind());
        let declared = || with_kind(request, &self.settings, field).ok().flatten();
        let intended = builtin.map(field).or_else(declared);
        let Some((intended, root)) = intended.zip(Members::parse(object.json())) else {
            return Vec::new();
        };
        let path: Vec<&str> = intended.split('.').collect();
        let Some((&FIELD, parent)) = path.split_last() else {
            return Vec::new();
        };
        let mut locations = vec![parent.to_vec()];
        if builtin.is_some() {
            for depth in 0..parent.len() {
                let ancestor = parent.get(..depth).unwrap_or_default();
                locations.extend([ancestor.to_vec(), [ancestor, &["metadata"]].concat()]);
            }
            locations.extend(WRONG_LOCATIONS.map(|location| [parent, location].concat()));
        }
        let mut found = Vec::new();
        for location in locations {
            let is_parent = location == parent;
            let members = location.iter().try_fold(root.clone(), |members, key| {
                members.get(key).and_then(Members::parse)
            });
            let Some(members) = members else { continue };
            for (key, _) in members.iter().filter(|(key, _)| !is_parent || key != FIELD) {
                let is_typo = is_parent && builtin.is_some() && nearest(&key, [FIELD]).is_some();
                if is_other_spelling(&key) || is_typo {
                    found.push(UnknownField {
                        path: [&location[..], &[&*key]].concat().join("."),
                        intended_path: intended.clone(),
                        suggestion: (is_parent && members.get(FIELD).is_none()).then_some(FIELD),
                    });
                }
            }
        }
        found
    }
}

/// Returns true for `managedBy` in another spelling: `managedby`, `ManagedBy`, `managed-by`.
fn is_other_spelling(key: &str) -> bool {
    key.replace(['-', '_'], "").eq_ignore_ascii_case(FIELD)
}

#[cfg(test)]
mod tests {
    use managed_by::{Settings, UserInfo, kinds};

    use crate::evaluator::Evaluator;
    use crate::{Document, manifest};

    /// Returns the unknown fields of an object, each with the intended path and the replacement key.
    fn found(json: &str, settings: &str) -> Vec<String> {
        let evaluator = Evaluator::new(Settings::from_json(settings.as_bytes()).unwrap(), None);
        let document = Document::parse_all(json).remove(0).unwrap();
        let object = manifest::objects(&document).remove(0).unwrap();
        let user = UserInfo::default();
        let request = object.request("default", &user);
        let found = request.with_request(|request| evaluator.unknown_fields(&object, request));
        let text = |field: &super::UnknownField| {
            let suggestion = field.suggestion.unwrap_or("-");
            format!("{} {} {suggestion}", field.path, field.intended_path)
        };
        found.unwrap().iter().map(text).collect()
    }

    #[test]
    fn each_kind_has_its_own_path() {
        for kind in kinds() {
            let path = kind.managed_by_path();
            let (parent, _) = path.rsplit_once('.').unwrap();
            let object = |parent: &str, key: &str| {
                let mut json = format!("{{\"{key}\": \"a.io/x\"}}");
                for segment in parent.rsplit('.').filter(|segment| !segment.is_empty()) {
                    json = format!("{{\"{segment}\": {json}}}");
                }
                let (group, version, name) = (kind.group(), kind.versions()[0], kind.name());
                let head =
                    format!("{{\"apiVersion\": \"{group}/{version}\", \"kind\": \"{name}\", ");
                json.replacen('{', &head, 1)
            };
            assert_eq!(found(&object(parent, "managedBy"), "{}"), [""; 0], "{path}");
            for key in [
                "managedby",
                "ManagedBy",
                "managed-by",
                "managed_by",
                "mangedBy",
                "managdBy",
            ] {
                let expected = format!("{parent}.{key} {path} managedBy");
                assert_eq!(found(&object(parent, key), "{}"), [expected]);
            }
            for place in [
                "",
                "metadata",
                &format!("{parent}.template.spec"),
                &format!("{parent}.runPolicy"),
            ] {
                let written = format!("{place}.managedBy");
                let written = written.trim_start_matches('.');
                let expected = format!("{written} {path} -");
                assert_eq!(found(&object(place, "managedBy"), "{}"), [expected]);
            }
            let own_keys = format!("{parent}.metadata");
            for place in [
                "metadata.labels",
                "metadata.annotations",
                "data",
                own_keys.trim_start_matches('.'),
            ] {
                assert_eq!(found(&object(place, "managedBy"), "{}"), [""; 0], "{place}");
            }
        }
    }

    #[test]
    fn custom_kinds_are_only_checked_for_siblings() {
        let declared = "{\"custom_kinds\": [{\"group\": \"a.io\", \"versions\": [\"v1\"], \"kind\": \"Run\", \"plural\": \"runs\", \"managed_by_path\": \"spec.run.managedBy\"}]}";
        let object = |kind: &str, rest: &str| {
            format!("{{\"apiVersion\": \"a.io/v1\", \"kind\": \"{kind}\", {rest}}}")
        };
        let other = object("Other", "\"spec\": {\"managedby\": \"x\"}");
        assert_eq!(found(&other, declared), [""; 0]);
        let own = object(
            "Run",
            "\"managedBy\": 1, \"spec\": {\"managedBy\": 1, \"run\": {\"managedby\": 1, \"manager\": 1}}",
        );
        assert_eq!(
            found(&own, declared),
            ["spec.run.managedby spec.run.managedBy managedBy"]
        );
    }

    #[test]
    fn existing_field_is_not_suggested() {
        let job = "{\"apiVersion\": \"batch/v1\", \"kind\": \"Job\", \"spec\": {\"managedBy\": \"a.io/x\", \"managedby\": 1}}";
        assert_eq!(found(job, "{}"), ["spec.managedby spec.managedBy -"]);
    }
}
