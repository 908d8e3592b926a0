//! The vectors that kube-apiserver's own code has judged, on the library and on the built module.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::{everywhere, natively};
use managed_by::{Enforcement, Release, Settings, rules};
use managed_by_conformance::vector::{self, Answer, Vector};
use managed_by_conformance::{cases, compare, difference};
use serde_json::{Map, Value, json};

fn vectors() -> Vec<Vector> {
    let files = cases::files().into_iter();
    files
        .flat_map(|(file, _)| vector::read(file).unwrap())
        .collect()
}

fn answer(vector: &Vector, release: Release) -> &Answer {
    let says = |a: &&Answer| a.releases.iter().any(|r| r == release.as_str());
    vector.answers.iter().find(says).unwrap()
}

/// Settings with all of kube-apiserver's rules of a release, also those that are off by default.
fn all_upstream(release: Release) -> Value {
    let off = rules()
        .iter()
        .filter(|r| r.default_enforcement() == Enforcement::Off);
    let on: Map<_, _> = off.map(|r| (r.id().to_owned(), "deny".into())).collect();
    json!({"kubernetes_version": release.as_str(), "rules": on})
}

/// Whether our verdict and words are upstream's, on every front end.
fn agrees(vector: &Vector, release: Release) -> bool {
    let expected = answer(vector, release);
    let ours = everywhere(&vector.case.request(), &all_upstream(release));
    if expected.unreadable {
        return ours.code == Some(400);
    }
    ours.allowed == expected.errors.is_empty()
        && ours.message() == expected.message
        && compare::same(
            expected,
            &compare::ours(&vector.case, &Settings::for_release(release).for_tools()),
        )
}

#[test]
fn our_answers_are_upstream_s_to_the_byte() {
    let known = difference::read().unwrap();
    let mut used: BTreeMap<&str, usize> = known.iter().map(|d| (&*d.prefix, 0)).collect();
    for vector in &vectors() {
        let name = &vector.case.name;
        let difference = known.iter().find(|d| name.starts_with(&d.prefix));
        for &release in Release::ALL {
            let agrees = agrees(vector, release);
            if let Some(difference) = difference {
                assert!(!agrees, "{name} on {}: no longer differs", release.as_str());
                *used.get_mut(&*difference.prefix).unwrap() += 1;
            } else {
                assert!(
                    agrees,
                    "{name} on {}:\nupstream: {:?}\nours:     {:?}",
                    release.as_str(),
                    answer(vector, release),
                    everywhere(&vector.case.request(), &all_upstream(release)),
                );
            }
        }
    }
    for (prefix, count) in used {
        assert!(
            count > 0,
            "no case is covered by the known difference `{prefix}`"
        );
    }
}

/// Where we differ on purpose, we accept what upstream refuses, and say nothing.
#[test]
fn an_unchanged_value_is_never_judged_again() {
    let mut count = 0;
    for vector in vectors()
        .iter()
        .filter(|v| v.case.name.starts_with("ratchet: "))
    {
        for &release in Release::ALL {
            let settings = json!({"kubernetes_version": release.as_str()});
            let ours = everywhere(&vector.case.request(), &settings);
            assert!(
                ours.allowed && ours.warnings.is_empty(),
                "{}: {ours:?}",
                vector.case.name
            );
        }
        count += 1;
    }
    assert_eq!(count, 10);
}

#[test]
fn the_vectors_are_those_of_the_cases() {
    for (file, cases) in cases::files() {
        let vectors = vector::read(file).unwrap();
        let committed: Vec<_> = vectors.iter().map(|v| &v.case).collect();
        assert_eq!(
            committed,
            cases.iter().collect::<Vec<_>>(),
            "{file}: make conformance"
        );
        for vector in &vectors {
            let mut releases: Vec<_> = vector.answers.iter().flat_map(|a| &a.releases).collect();
            releases.sort();
            assert_eq!(
                releases,
                Release::ALL
                    .iter()
                    .map(|release| release.as_str())
                    .collect::<Vec<_>>()
                    .iter()
                    .collect::<Vec<_>>()
            );
        }
    }
}

#[test]
fn names_of_cases_are_unique() {
    let mut names: Vec<_> = vectors().into_iter().map(|v| v.case.name).collect();
    let all = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), all);
}

/// No rule of kube-apiserver is there for nothing: each denies something in the vectors.
#[test]
fn every_upstream_rule_fires_in_a_vector() {
    let mut silent: BTreeSet<_> = rules()
        .iter()
        .filter(|r| r.is_upstream())
        .map(|r| r.id())
        .collect();
    for vector in vectors() {
        for release in [Release::V1_30, Release::V1_37] {
            let settings = all_upstream(release);
            for fired in natively(&vector.case.request(), &settings).denied() {
                silent.remove(fired.split(' ').next().unwrap());
            }
        }
    }
    assert_eq!(silent, BTreeSet::new());
}
