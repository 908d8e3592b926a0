//! The vectors that kube-apiserver's own code has judged, on the library and on the built module.

use std::collections::BTreeMap;

use crate::support::everywhere;
use managed_by::{AdmissionRequest, Release, Settings, review};
use managed_by_conformance::vector::{self, Answer, Vector};
use managed_by_conformance::{cases, difference};
use serde_json::json;

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

/// Whether our verdict and words are upstream's.
fn agrees(vector: &Vector, release: Release) -> bool {
    let expected = answer(vector, release);
    let request = vector.case.request();
    let ours = everywhere(&request, &json!({"kubernetes_version": release.as_str()}));
    if expected.unreadable {
        return ours.code == Some(400);
    }
    ours.allowed == expected.errors.is_empty()
        && ours.message() == expected.message
        && errors(&request.to_string(), release) == texts(expected)
}

/// The errors one by one, as upstream's list has them.
fn errors(request: &str, release: Release) -> Vec<(String, String)> {
    let settings = json!({"kubernetes_version": release.as_str()}).to_string();
    let settings = Settings::from_json(settings.as_bytes()).unwrap();
    let request = AdmissionRequest::from_json(request.as_bytes()).unwrap();
    let findings = review(&request, &settings).findings.into_iter();
    let upstream = findings.filter(|(_, f)| f.rule().is_upstream());
    let texts = upstream.map(|(_, f)| (f.error().path().to_owned(), f.denial(release)));
    texts.collect()
}

fn texts(answer: &Answer) -> Vec<(String, String)> {
    let errors = answer.errors.iter();
    errors.map(|e| (e.field.clone(), e.error.clone())).collect()
}

#[test]
fn our_answers_are_upstream_s_to_the_byte() {
    let known = difference::read().unwrap();
    let mut used: BTreeMap<&str, usize> = known.iter().map(|d| (&*d.prefix, 0)).collect();
    for vector in &vectors() {
        let name = &vector.case.name;
        let difference = known.iter().find(|d| name.starts_with(&d.prefix));
        for release in Release::ALL {
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
                    everywhere(
                        &vector.case.request(),
                        &json!({"kubernetes_version": release.as_str()})
                    ),
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
        let ours = everywhere(&vector.case.request(), &json!({}));
        assert!(
            ours.allowed && ours.warnings.is_empty(),
            "{}: {ours:?}",
            vector.case.name
        );
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
                Release::ALL.map(Release::as_str).iter().collect::<Vec<_>>()
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
