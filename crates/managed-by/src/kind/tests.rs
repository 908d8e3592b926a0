use super::{EXTERNAL_CONTROLLERS, KINDS, Kind, RESERVED_VALUES};

#[test]
fn reserved_lists_values_of_all_kinds() {
    for kind in KINDS {
        let mut listed = RESERVED_VALUES.iter().map(|&(name, _)| Some(name));
        assert!(
            listed.any(|name| name == kind.reserved_value),
            "RESERVED_VALUES lacks the value of {}: {:?}",
            kind.name,
            kind.reserved_value
        );
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
