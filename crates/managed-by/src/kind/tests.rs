use super::{EXTERNAL_CONTROLLERS, KINDS, Kind, RESERVED_VALUES};

#[test]
fn reserved_lists_values_of_all_kinds() {
    for kind in KINDS {
        let mut listed = RESERVED_VALUES.iter().map(|&(name, _)| Some(name));
        assert!(listed.any(|name| name == kind.reserved_value), "{kind:?}");
    }
}

#[test]
fn external_and_reserved_are_disjoint() {
    assert!(
        !RESERVED_VALUES
            .iter()
            .any(|(name, _)| EXTERNAL_CONTROLLERS.contains(name))
    );
}

#[test]
fn kind_versions_are_unique() {
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
    assert!(Kind::find("kubeflow.org", "v1alpha2", "MPIJob").is_none());
}

/// Checks that the decoder can follow each path.
#[test]
fn paths_are_well_formed() {
    for kind in KINDS {
        let templates = kind.templates.iter().map(|(path, _)| *path);
        let mut spec: Vec<&str> = templates.chain([kind.managed_by_path]).collect();
        spec.extend(kind.retries_path);
        assert!(spec.iter().all(|p| p.starts_with("spec.")), "{kind:?}");
        let mut paths = spec;
        if let Some(status) = kind.status_profile() {
            let mut of_status = [status.counters, status.monotonic_counters].concat();
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
