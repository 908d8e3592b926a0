pub(crate) mod decoding;

use super::Object;
use crate::decode::{self, Note, Place, document};
use crate::kind::{Kind, kinds};

fn try_read<'a>(kind: &'a Kind<'a>, json: &'a str) -> decode::Result<Object<'a>> {
    let note = Note::default();
    let place = Place::root(&note);
    let object = document(json.as_bytes(), place, |value| {
        Object::read(value, kind, None)
    })??;
    Ok(object.unwrap())
}

fn read(kind: &'static Kind<'static>, json: &'static str) -> Object<'static> {
    try_read(kind, json).unwrap()
}

/// The path in messages and the tree that is read by say the same.
#[test]
fn the_field_is_read_where_the_path_says() {
    for kind in kinds() {
        let nest = |leaf: String| {
            let wrap = |inner: String, key: &str| format!("{{\"{key}\":{inner}}}");
            kind.managed_by.split('.').rev().fold(leaf, wrap)
        };
        let json = nest("\"acme.io/x\"".to_owned()).leak();
        assert_eq!(read(kind, json).managed_by.as_deref(), Some("acme.io/x"));
        let json = nest("null".to_owned()).leak();
        assert_eq!(read(kind, json).managed_by, None, "{kind:?}");
        let json = nest("5".to_owned());
        let path = kind.managed_by_path();
        assert_eq!(
            try_read(kind, &json).unwrap_err().to_string(),
            format!("{path}: expected a string, got a number")
        );
    }
}

/// Nothing in a custom resource but the field and the way to it makes a request malformed: its own schema decides.
#[test]
fn a_status_of_another_shape_is_passed_over() {
    for kind in kinds().iter().filter(|k| k.status_profile().is_some()) {
        for status in [
            "null",
            "5",
            "[]",
            r#"{"conditions":5,"startTime":5,"completionTime":"soon"}"#,
            r#"{"conditions":[5,{"type":5,"status":[]}],"replicaStatuses":[],"restarts":"many","retriesStatus":{}}"#,
        ] {
            let json = format!(r#"{{"status":{status}}}"#).leak();
            assert_eq!(read(kind, json).custom, None, "{kind:?} {status}");
        }
    }
}

#[test]
fn nested_values_are_read_with_their_paths() {
    let kind = Kind::find("jobset.x-k8s.io", "v1alpha2", "JobSet").unwrap();
    let object = read(
        kind,
        r#"{"spec":{"replicatedJobs":[{"template":{"spec":{"managedBy":"kubernetes.io/job-controller"}}},
            {"name":"x"},{"template":{"spec":{"template":{"spec":{"managedBy":"no"}},"managedBy":"acme.io/x"}}},
            {"template":5},{"template":{"spec":{"managedBy":5}}}]}}"#,
    );
    let nested = object.custom.unwrap().nested;
    let found: Vec<_> = nested
        .iter()
        .map(|n| (&*n.path, n.kind.name, n.value.as_deref()))
        .collect();
    assert_eq!(
        found,
        [(
            "spec.replicatedJobs[2].template.spec.managedBy",
            "Job",
            Some("acme.io/x")
        )]
    );
}

/// An object of any kind names it; keys need not be sorted for that.
#[test]
fn a_component_is_read_whatever_the_order_of_its_keys() {
    let kind = Kind::find("workload.codeflare.dev", "v1beta2", "AppWrapper").unwrap();
    for json in [
        r#"{"spec":{"components":[{"template":{"apiVersion":"ray.io/v1","kind":"RayJob",
            "spec":{"managedBy":"a.io/x","rayClusterSpec":{"managedBy":"b.io/y"}}}}]}}"#,
        r#"{"spec":{"components":[{"template":{"spec":{"rayClusterSpec":{"managedBy":"b.io/y"},"managedBy":"a.io/x"},
            "kind":"RayJob","apiVersion":"ray.io/v1"}}]}}"#,
    ] {
        let nested = read(kind, json).custom.unwrap().nested;
        let found: Vec<_> = nested
            .iter()
            .map(|n| {
                (
                    &*n.path,
                    n.kind.name,
                    n.value.as_deref(),
                    n.parent.as_deref(),
                )
            })
            .collect();
        let at = "spec.components[0].template.spec";
        assert_eq!(
            found,
            [
                (&*format!("{at}.managedBy"), "RayJob", Some("a.io/x"), None),
                (
                    &*format!("{at}.rayClusterSpec.managedBy"),
                    "RayCluster",
                    Some("b.io/y"),
                    Some("a.io/x")
                ),
            ]
        );
    }
}
