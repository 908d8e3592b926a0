//! Detects a misspelled or misplaced `managedBy`: the API server drops the field, and the built-in controller runs the
//! workload.

use managed_by::{AdmissionRequest, Kind, nearest, with_kind};

use crate::json::Members;
use crate::judge::Judge;
use crate::manifest::Object;

/// The name of the field.
const FIELD: &str = "managedBy";

/// A field that the API server does not recognize.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownField {
    /// Path of the field in the object.
    pub path: String,
    /// Path of the field that was probably meant.
    pub meant: String,
    /// Replacement key, unless the field is misplaced or the correct key exists already.
    pub suggestion: Option<&'static str>,
}

/// Locations, relative to the object with the field or an ancestor, that other APIs use or that users try.
const PLACES: [&[&str]; 6] = [
    &["metadata"],
    &["runPolicy"],
    &["spec"],
    &["template"],
    &["template", "metadata"],
    &["template", "spec"],
];

impl Judge<'_> {
    /// Returns the fields of an object that were probably meant to be its `managedBy`. Labels and annotations are skipped.
    /// For custom kinds from the settings, only siblings of the field are checked.
    pub fn unknown_fields(
        &self,
        object: &Object<'_>,
        request: &AdmissionRequest<'_>,
    ) -> Vec<UnknownField> {
        let known = Kind::find(object.group(), object.version(), object.kind());
        let field = match known {
            Some(kind) => Some(kind.managed_by_path().to_owned()),
            None => with_kind(request, self.settings(), |kind| {
                kind.managed_by_path().to_owned()
            })
            .ok()
            .flatten(),
        };
        let mut found = Vec::new();
        let Some((parent, root)) = field.as_deref().zip(Members::of(object.json())) else {
            return found;
        };
        let meant = parent;
        let parent: Vec<&str> = meant.split('.').collect();
        let Some((FIELD, parent)) = parent.split_last().map(|(last, parent)| (*last, parent))
        else {
            return found;
        };
        let mut add = |place: &[&str]| {
            let is_here = place == parent;
            let Some(members) = at(&root, place) else {
                return;
            };
            for (key, _) in members.iter() {
                let is_it =
                    is_like(&key) || is_here && known.is_some() && nearest(&key, [FIELD]).is_some();
                if !is_it || is_here && key == FIELD {
                    continue;
                }
                found.push(UnknownField {
                    path: place
                        .iter()
                        .copied()
                        .chain([&*key])
                        .collect::<Vec<_>>()
                        .join("."),
                    meant: meant.to_owned(),
                    suggestion: (is_here && members.find(FIELD).is_none()).then_some(FIELD),
                });
            }
        };
        add(parent);
        let around = (0..parent.len()).filter_map(|depth| parent.get(..depth));
        for place in around.filter(|_| known.is_some()) {
            add(place);
            add(&[place, &["metadata"]].concat());
        }
        for inner in PLACES.iter().filter(|_| known.is_some()) {
            add(&[parent, inner].concat());
        }
        found
    }
}

/// Returns the object at a path.
fn at<'a>(root: &Members<'a>, place: &[&str]) -> Option<Members<'a>> {
    let mut members = None;
    for key in place {
        let next = members
            .as_ref()
            .unwrap_or(root)
            .get(key)
            .and_then(Members::of)?;
        members = Some(next);
    }
    members.or_else(|| Some(root.clone()))
}

/// Returns true for `managedBy` in another spelling: `managedby`, `ManagedBy`, `managed-by`.
fn is_like(key: &str) -> bool {
    let letters = key.chars().filter(|c| !['-', '_'].contains(c));
    let letters = letters.map(|c| c.to_ascii_lowercase());
    letters.eq(FIELD.chars().map(|c| c.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use managed_by::{Settings, UserInfo, kinds};

    use crate::judge::Judge;
    use crate::{Document, manifest};

    /// Returns the unknown fields of an object, each with the intended path and the replacement key.
    fn found(json: &str, settings: &str) -> Vec<String> {
        let judge = Judge::new(Settings::from_json(settings.as_bytes()).unwrap(), None);
        let document = Document::all(json).remove(0).unwrap();
        let object = manifest::objects(&document).remove(0).unwrap();
        let user = UserInfo::default();
        let request = object.alone("default", &user);
        let found = request.read(|request| judge.unknown_fields(&object, request));
        let text = |field: &super::UnknownField| {
            let suggestion = field.suggestion.unwrap_or("-");
            format!("{} {} {suggestion}", field.path, field.meant)
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
            for place in ["metadata.labels", "metadata.annotations", "data"] {
                assert_eq!(found(&object(place, "managedBy"), "{}"), [""; 0], "{place}");
            }
        }
    }

    #[test]
    fn other_kinds_may_have_such_fields() {
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
    fn what_is_there_already_is_not_written_again() {
        let job = "{\"apiVersion\": \"batch/v1\", \"kind\": \"Job\", \"spec\": {\"managedBy\": \"a.io/x\", \"managedby\": 1}}";
        assert_eq!(found(job, "{}"), ["spec.managedby spec.managedBy -"]);
        for job in [
            "{\"spec\": []}",
            "{\"spec\": {\"template\": 1}, \"metadata\": []}",
        ] {
            let job = job.replacen(
                '{',
                "{\"apiVersion\": \"batch/v1\", \"kind\": \"CronJob\", ",
                1,
            );
            let document = Document::all(&job).remove(0).unwrap();
            assert_eq!(manifest::objects(&document).len(), 1);
        }
    }
}
