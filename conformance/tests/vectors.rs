//! The vectors on the library alone: quick, and what `make mutants` runs against each mutant. The root package's tests run
//! them on the built module too.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use managed_by::{AdmissionRequest, Release, ReleaseSet, Settings, exercised, judge};
use managed_by_conformance::generate::Generator;
use managed_by_conformance::vector::{self, Answer, Vector};
use managed_by_conformance::{compare, difference, trace, unset};
use serde_json::{Value, json};

fn answer(answers: Vec<Answer>, release: Release) -> Answer {
    let says = |a: &Answer| a.releases.iter().any(|r| r == release.as_str());
    answers.into_iter().find(says).unwrap()
}

fn vectors() -> Vec<Vector> {
    [vector::all().unwrap(), trace::vectors().unwrap()].concat()
}

#[test]
fn the_library_answers_as_upstream_does() {
    let known = difference::read().unwrap();
    for Vector { case, answers } in vectors() {
        let differs = known.iter().any(|d| case.name.starts_with(&d.prefix));
        for &release in Release::ALL {
            let upstream = answer(answers.clone(), release);
            let ours = compare::ours(&case, &Settings::for_release(release).for_tools());
            assert_eq!(
                compare::same(&upstream, &ours),
                !differs,
                "{} on {}: {ours:?}",
                case.name,
                release.as_str()
            );
        }
    }
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
