use super::{EXTERNAL, Form, KINDS, Kind, RESERVED};

#[test]
fn reserved_values_of_known_kinds_are_listed() {
    for kind in KINDS {
        assert!(
            RESERVED
                .iter()
                .any(|&(name, _)| Some(name) == kind.reserved),
            "{kind:?}"
        );
        if let Form::OneOf(values) = kind.form {
            assert!(
                kind.reserved.is_some_and(|r| values.contains(&r)),
                "{kind:?}"
            );
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
            let same = |k: &&&Kind<'_>| {
                k.name == kind.name && k.group == kind.group && k.versions.contains(version)
            };
            assert_eq!(KINDS.iter().filter(same).count(), 1, "{kind:?}");
            let found = Kind::find(kind.group, version, kind.name).unwrap();
            assert!(std::ptr::eq(found, *kind), "{kind:?}");
        }
    }
}

/// MPIJob's versions have one group and one kind, and two reserved values.
#[test]
fn mpi_job_v1_and_v2beta1_have_reserved_values_of_their_own() {
    let reserved = |version| Kind::find("kubeflow.org", version, "MPIJob").and_then(|k| k.reserved);
    assert_eq!(reserved("v1"), Some("kubeflow.org/training-operator"));
    assert_eq!(reserved("v2beta1"), Some("kubeflow.org/mpi-operator"));
    assert_eq!(reserved("v1alpha2"), None);
}

/// Paths are data: each is one that the reader can follow.
#[test]
fn paths_are_well_formed() {
    for kind in KINDS {
        let templates = kind.templates.iter().map(|(path, _)| *path);
        let mut spec: Vec<&str> = templates.chain([kind.managed_by]).collect();
        spec.extend(kind.retries);
        assert!(spec.iter().all(|p| p.starts_with("spec.")), "{kind:?}");
        let mut paths = spec;
        if let Some(status) = kind.status_profile() {
            let mut of_status = [status.counters, status.totals].concat();
            of_status.extend(status.start);
            of_status.extend(status.end.map(|end| end.path));
            of_status.extend(status.terminal_state);
            assert!(
                of_status.iter().all(|p| p.starts_with("status.")),
                "{kind:?}"
            );
            paths.extend(of_status);
        }
        for path in &paths {
            let names = path.split('.').map(|step| step.trim_end_matches("[]"));
            let is_name =
                |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric());
            assert!(names.clone().all(is_name), "{path}");
        }
        paths.sort_unstable();
        assert!(paths.windows(2).all(|pair| pair[0] != pair[1]), "{kind:?}");
    }
}
