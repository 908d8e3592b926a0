//! Compares the library with the vectors. `make mutation-test` runs these tests against each mutant.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::collections::BTreeSet;

use managed_by::{
    AdmissionRequest, NoCluster, Release, ReleaseSet, Settings, evaluate, resolve, rules,
};
use managed_by_parity::generate::Generator;
use managed_by_parity::vector::{self, Vector};
use managed_by_parity::{cases, change, compare, default_release, trace};
use serde_json::{Value, json};

/// `make parity-random` compares only the releases in the Makefile.
#[test]
fn makefile_lists_all_releases() {
    let makefile = concat!(env!("CARGO_MANIFEST_DIR"), "/../Makefile");
    let makefile = std::fs::read_to_string(makefile).unwrap();
    let mut lines = makefile.lines();
    let releases = lines.find_map(|line| line.strip_prefix("RELEASES := "));
    let all: Vec<_> = Release::ALL
        .iter()
        .map(|release| release.as_str())
        .collect();
    assert_eq!(releases, Some(&*all.join(" ")), "RELEASES in the Makefile");
}

fn vectors() -> Vec<Vector> {
    [vector::all().unwrap(), trace::vectors().unwrap()].concat()
}

/// Number of vectors in each file, to detect lost lines in files that contain their own cases.
const COUNTS: [usize; vector::FILES.len()] = [395, 282, 296, 600, 267, 200];

/// Prefixes of the names of cases with an intended difference from upstream. Every such case must differ.
const DIFFERENCES: [&str; 2] = [
    // An unchanged value is not evaluated again, so that a stored object with an invalid value can be updated, finalized and deleted.
    "ratchet:",
    // Of a template, only the scheduling directives of a suspended Job are evaluated: kube-apiserver itself denies all other changes.
    "skipped:",
];

#[test]
fn vectors_match_the_cases() {
    let mut names = BTreeSet::new();
    for (file, count) in vector::FILES.into_iter().zip(COUNTS) {
        let cases = cases::read(file).unwrap();
        let vectors = vector::read(file).unwrap();
        let committed: Vec<_> = vectors.iter().map(|v| &v.case).collect();
        assert_eq!(committed, cases.iter().collect::<Vec<_>>(), "{file}");
        assert_eq!(vectors.len(), count, "{file}: COUNTS");
        for Vector { case, results } in vectors {
            let releases = results.into_iter().flat_map(|a| a.releases);
            let releases: BTreeSet<_> = releases.map(|r| r.parse::<Release>().unwrap()).collect();
            let minors: BTreeSet<_> = releases.into_iter().map(Release::minor).collect();
            assert!(minors.into_iter().eq(30..=37), "{}", case.name);
            assert!(names.insert(case.name.clone()), "{}: twice", case.name);
        }
    }
    let guide = include_str!("../../CONTRIBUTING.md");
    let mut lines = guide.lines().map(str::trim_start);
    let line = lines.find(|line| line.starts_with("{\"case\":")).unwrap();
    let new: Vector = serde_json::from_str(line).unwrap();
    assert!(new.results.is_empty(), "CONTRIBUTING.md");
    assert_eq!(trace::vectors().unwrap().len(), 730);
    for prefix in DIFFERENCES {
        let is_used = names.iter().any(|name| name.starts_with(prefix));
        assert!(is_used, "{prefix}: no case");
    }
}

#[test]
fn library_matches_upstream() {
    let evaluated = rules().iter().filter(|rule| !rule.is_for_manifests());
    let mut silent: Vec<_> = evaluated.filter(|rule| rule.is_upstream()).collect();
    for vector in vectors() {
        let case = &vector.case;
        let differs = DIFFERENCES.iter().any(|d| case.name.starts_with(*d));
        for &release in Release::ALL {
            let upstream = vector.result(release).unwrap();
            let settings = Settings::for_release(release).for_tools();
            let library = compare::library_result(case, &settings);
            assert_eq!(
                compare::is_same(upstream, &library),
                !differs,
                "{} on {release}: {library:?}",
                case.name
            );
            let request = case.request().to_string();
            if let Ok(request) = AdmissionRequest::from_json(request.as_bytes()) {
                for finding in evaluate(&request, &settings, None).findings {
                    silent.retain(|rule| **rule != finding.rule);
                }
            }
        }
    }
    let silent: Vec<_> = silent.iter().map(|rule| rule.id()).collect();
    assert_eq!(silent, [""; 0], "rules without a vector");
}

/// kube-apiserver accepts each change that the library accepts, and denies with the same text each one that the library denies. The
/// rest is unchecked.
#[test]
fn changes_of_specs_match_upstream_or_are_unchecked() {
    let mut counts = change::ChangeCounts::default();
    let sample = change::sample().unwrap();
    let cases = change::sample_cases();
    assert_eq!(sample.len(), cases.len());
    for (case, results) in cases.iter().zip(&sample) {
        for (release, result) in change::RELEASES.into_iter().zip(results) {
            assert_eq!(result.name, case.name, "run `make update-parity`");
            let outcome = result.judge(case, release);
            assert!(
                outcome < change::ChangeOutcome::FalseGreen,
                "{release}: {outcome:?}, {}: {result}",
                case.name
            );
            counts.add(outcome);
        }
    }
    assert!(counts.unchecked() < 100, "{counts}");
}

/// Kubewarden's audit scanner sends stored objects as creates, which kube-apiserver never validates with a status. The policy's result
/// must equal kube-apiserver's result for a status update from an empty status.
#[test]
fn create_with_status_matches_status_update_from_empty_status() {
    let mut count = 0_usize;
    for vector in vectors() {
        let mut case = vector.case.clone();
        let is_empty = |old: &Value| old.get("status").is_none_or(|s| *s == json!({}));
        let old = case
            .old_object
            .take()
            .filter(|_| case.sub_resource == "status");
        let Some(mut old) = old.filter(is_empty) else {
            continue;
        };
        case.operation = "CREATE".to_owned();
        case.sub_resource.clear();
        // The status update used the stored spec. The rules about `managedBy` apply to a create, so the field is removed.
        let mut spec = old["spec"].take();
        spec.as_object_mut().map(|spec| spec.remove("managedBy"));
        case.object["spec"] = spec;
        for &release in Release::ALL {
            let mut upstream = vector.result(release).unwrap().errors.clone();
            // A negative counter is also a decrease from an empty status.
            upstream.retain(|e| !e.error.contains("cannot decrease"));
            let settings = Settings::for_release(release).for_tools();
            let library = compare::library_result(&case, &settings).errors;
            assert_eq!(upstream, library, "{} on {}", case.name, release.as_str());
        }
        count = count.saturating_add(1);
    }
    assert!(count > 100, "{count}");
}

/// Without `kubernetes_version` the policy denies a write if all releases deny it, and warns if some do.
#[test]
fn without_a_release_denies_only_if_all_releases_deny() {
    let mut counts = default_release::CaseCounts::default();
    for Vector { case, .. } in vectors() {
        counts.check(&case).unwrap();
    }
    let mut generator = Generator::new(1121);
    for number in 0..5_000 {
        counts.check(&generator.any_case(number)).unwrap();
    }
    assert!(counts.denied > 1_000, "{counts:?}");
    assert!(counts.version_dependent > 100, "{counts:?}");
}

/// A rule and the report's condition for counting it are separate code. The report must count every write that the rule denies.
#[test]
fn reports_count_every_denied_write() {
    let settings = Settings::default().for_tools();
    let mut count = 0_usize;
    for Vector { case, .. } in vectors() {
        let request = case.request().to_string();
        let Ok(request) = AdmissionRequest::from_json(request.as_bytes()) else {
            continue;
        };
        let (counted, evaluation) = resolve(&request, &settings, |resolved| {
            let evaluation = resolved.evaluate(Some(ReleaseSet::all()), &NoCluster);
            (resolved.exercised_rules(), evaluation)
        });
        for found in evaluation.findings {
            if counted.iter().any(|(rule, _)| *rule == found.rule) {
                let is_counted = counted.contains(&(found.rule, true));
                assert!(is_counted, "{}: {}", case.name, found.rule.id());
                count = count.saturating_add(1);
            }
        }
    }
    assert!(count > 1_000, "{count}");
}
