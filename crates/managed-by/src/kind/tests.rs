use super::{EXTERNAL, Form, KINDS, KindProfile, RESERVED};
use crate::json::Reader;
use crate::request::Object;

fn read(kind: &'static KindProfile, json: &'static str) -> Object<'static> {
    let mut reader = Reader::new(json.as_bytes()).unwrap();
    (kind.read)(kind, &mut reader).unwrap()
}

#[test]
fn reserved_values_of_known_kinds_are_listed() {
    for kind in KINDS {
        assert!(
            RESERVED.iter().any(|&(name, _)| name == kind.reserved),
            "{kind:?}"
        );
        if let Form::OneOf(values) = kind.form {
            assert!(values.contains(&kind.reserved), "{kind:?}");
        }
    }
}

#[test]
fn names_are_unique() {
    let mut names: Vec<_> = RESERVED
        .iter()
        .map(|&(n, _)| n)
        .chain(EXTERNAL.iter().copied())
        .collect();
    names.sort_unstable();
    let all = names.len();
    names.dedup();
    assert_eq!(names.len(), all);
}

#[test]
fn a_kind_of_a_version_is_known_once() {
    for kind in KINDS {
        assert!(!kind.versions.is_empty(), "{kind:?}");
        for version in kind.versions {
            let same = |k: &&&KindProfile| {
                k.kind == kind.kind && k.group == kind.group && k.versions.contains(version)
            };
            assert_eq!(KINDS.iter().filter(same).count(), 1, "{kind:?}");
            let found = KindProfile::find(kind.group, version, kind.kind).unwrap();
            assert!(std::ptr::eq(found, *kind), "{kind:?}");
        }
    }
}

/// MPIJob's versions have one group and one kind, and two reserved values.
#[test]
fn mpi_job_v1_and_v2beta1_have_reserved_values_of_their_own() {
    let reserved =
        |version| KindProfile::find("kubeflow.org", version, "MPIJob").map(|k| k.reserved);
    assert_eq!(reserved("v1"), Some("kubeflow.org/training-operator"));
    assert_eq!(reserved("v2beta1"), Some("kubeflow.org/mpi-operator"));
    assert_eq!(reserved("v1alpha2"), None);
}

/// The path in messages and the tree that is read by say the same.
#[test]
fn the_field_is_read_where_the_path_says() {
    for kind in KINDS {
        let nest = |leaf: String| {
            let wrap = |inner: String, key: &&str| format!("{{\"{key}\":{inner}}}");
            kind.managed_by.iter().rev().fold(leaf, wrap)
        };
        let json = nest("\"acme.io/x\"".to_owned()).leak();
        assert_eq!(read(kind, json).managed_by.as_deref(), Some("acme.io/x"));
        let json = nest("null".to_owned()).leak();
        assert_eq!(read(kind, json).managed_by, None, "{kind:?}");
        let json = nest("5".to_owned());
        let wrong = (kind.read)(kind, &mut Reader::new(json.as_bytes()).unwrap());
        let path = kind.managed_by_path();
        assert_eq!(
            wrong.unwrap_err().to_string(),
            format!("{path}: expected a string, got a number")
        );
    }
}

/// Nothing in a custom resource but the field and the way to it makes a request malformed: its own schema decides.
#[test]
fn a_status_of_another_shape_is_passed_over() {
    for kind in KINDS.iter().filter(|k| k.status.is_some()) {
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
    let kind = KindProfile::find("jobset.x-k8s.io", "v1alpha2", "JobSet").unwrap();
    let object = read(
        kind,
        r#"{"spec":{"replicatedJobs":[{"template":{"spec":{"managedBy":"kubernetes.io/job-controller"}}},
            {"name":"x"},{"template":{"spec":{"template":{"spec":{"managedBy":"no"}},"managedBy":"acme.io/x"}}},
            {"template":5},{"template":{"spec":{"managedBy":5}}}]}}"#,
    );
    let nested = object.custom.unwrap().nested;
    let found: Vec<_> = nested
        .iter()
        .map(|n| (&*n.path, n.kind.kind, n.value.as_deref()))
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
    let kind = KindProfile::find("workload.codeflare.dev", "v1beta2", "AppWrapper").unwrap();
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
                    n.kind.kind,
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
