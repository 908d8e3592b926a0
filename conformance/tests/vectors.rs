//! The vectors on the library. `make mutants` runs them against each mutant.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::collections::BTreeSet;

use managed_by::{
    AdmissionRequest, Release, ReleaseSet, Settings, exercised, judge, review, rules,
};
use managed_by_conformance::generate::Generator;
use managed_by_conformance::vector::{self, Answer, Vector};
use managed_by_conformance::{cases, compare, difference, trace, unset};
use serde_json::{Value, json};

fn answer(answers: Vec<Answer>, release: Release) -> Answer {
    let says = |a: &Answer| a.releases.iter().any(|r| r == release.as_str());
    answers.into_iter().find(says).unwrap()
}

fn vectors() -> Vec<Vector> {
    [vector::all().unwrap(), trace::vectors().unwrap()].concat()
}

/// The number of vectors in each file, so that a line of a file that holds its cases itself cannot get lost.
const COUNTS: [usize; vector::FILES.len()] = [395, 282, 296, 600, 266, 200];

#[test]
fn the_vectors_are_those_of_the_cases() {
    let mut names = BTreeSet::new();
    for (file, count) in vector::FILES.into_iter().zip(COUNTS) {
        let cases = cases::of(file).unwrap();
        let vectors = vector::read(file).unwrap();
        let committed: Vec<_> = vectors.iter().map(|v| &v.case).collect();
        assert_eq!(committed, cases.iter().collect::<Vec<_>>(), "{file}");
        assert_eq!(vectors.len(), count, "{file}: COUNTS");
        for Vector { case, answers } in vectors {
            let releases = answers.into_iter().flat_map(|a| a.releases);
            let releases: BTreeSet<_> = releases.collect();
            assert_eq!(releases.len(), Release::ALL.len(), "{}", case.name);
            assert!(names.insert(case.name.clone()), "{}: twice", case.name);
        }
    }
    assert_eq!(trace::vectors().unwrap().len(), 730);
}

#[test]
fn the_library_answers_as_upstream_does() {
    let known = difference::read().unwrap();
    let mut silent: Vec<_> = rules().iter().filter(|rule| rule.is_upstream()).collect();
    for Vector { case, answers } in vectors() {
        let differs = known.iter().any(|d| case.name.starts_with(&d.prefix));
        for &release in Release::ALL {
            let upstream = answer(answers.clone(), release);
            let settings = Settings::for_release(release).for_tools();
            let ours = compare::ours(&case, &settings);
            assert_eq!(
                compare::same(&upstream, &ours),
                !differs,
                "{} on {release}: {ours:?}",
                case.name
            );
            let request = case.request().to_string();
            if let Ok(request) = AdmissionRequest::from_json(request.as_bytes()) {
                for (_, finding) in review(&request, &settings).findings {
                    silent.retain(|rule| **rule != finding.rule());
                }
            }
        }
    }
    let silent: Vec<_> = silent.iter().map(|rule| rule.id()).collect();
    assert_eq!(silent, [""; 0], "rules without a vector");
}

/// The background audit replays a stored object as a create. kube-apiserver has no such request; what it says to the same
/// status where none was before is what there is to say about the state alone.
#[test]
fn a_create_is_judged_as_a_status_that_comes_from_nothing() {
    let mut count = 0_usize;
    for Vector { mut case, answers } in vectors() {
        let nothing = |old: &Value| old.get("status").is_none_or(|s| *s == json!({}));
        let old = case
            .old_object
            .take()
            .filter(|_| case.sub_resource == "status");
        let Some(mut old) = old.filter(nothing) else {
            continue;
        };
        case.operation = "CREATE".to_owned();
        case.sub_resource.clear();
        // The spec that counts there, without the field, which a create would bring in and be judged for.
        let mut spec = old["spec"].take();
        spec.as_object_mut().map(|spec| spec.remove("managedBy"));
        case.object["spec"] = spec;
        for &release in Release::ALL {
            let mut upstream = answer(answers.clone(), release).errors;
            // From no counter to a negative one is a step down.
            upstream.retain(|e| !e.error.contains("cannot decrease"));
            let ours = compare::ours(&case, &Settings::for_release(release).for_tools()).errors;
            assert_eq!(upstream, ours, "{} on {}", case.name, release.as_str());
        }
        count = count.saturating_add(1);
    }
    assert!(count > 100, "{count}");
}

/// Without a release in the settings the policy denies what all releases deny, and warns of what some do: of every vector, and
/// of generated cases.
#[test]
fn without_a_release_only_what_all_deny_is_denied() {
    let mut counts = unset::Counts::default();
    for Vector { case, .. } in vectors() {
        counts.add(&case).unwrap();
    }
    let mut generator = Generator::new(1121);
    for number in 0..5_000 {
        counts.add(&generator.any_case(number)).unwrap();
    }
    assert!(counts.denied > 1_000, "{counts:?}");
    assert!(counts.disputed > 100, "{counts:?}");
}

/// A rule's check and what a report counts for it are separate conditions. The report must count at least what the rule denies.
#[test]
fn reports_count_every_denied_write() {
    let settings = Settings::default().for_tools();
    let mut count = 0_usize;
    for Vector { case, .. } in vectors() {
        let request = case.request().to_string();
        let Ok(request) = AdmissionRequest::from_json(request.as_bytes()) else {
            continue;
        };
        let counted = exercised(&request, &settings).unwrap();
        for found in judge(&request, &settings, Some(ReleaseSet::all())).findings() {
            if counted.iter().any(|(rule, _)| *rule == found.rule()) {
                let is_counted = counted.contains(&(found.rule(), true));
                assert!(is_counted, "{}: {}", case.name, found.rule().id());
                count = count.saturating_add(1);
            }
        }
    }
    assert!(count > 1_000, "{count}");
}
