//! The vectors on the library alone: quick, and what `make mutants` runs against each mutant. The root package's tests run
//! them on the built module too.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use managed_by::Release;
use managed_by_conformance::vector::{self, Vector};
use managed_by_conformance::{cases, compare, difference, trace};

fn vectors() -> Vec<Vector> {
    let files = cases::files().into_iter();
    let read = files.flat_map(|(file, _)| vector::read(file).unwrap());
    read.chain(trace::vectors().unwrap()).collect()
}

#[test]
fn the_library_answers_as_upstream_does() {
    let known = difference::read().unwrap();
    let settings = Release::ALL.map(compare::settings);
    for Vector { case, answers } in vectors() {
        let differs = known.iter().any(|d| case.name.starts_with(&d.prefix));
        for settings in &settings {
            let release = settings.kubernetes_version.as_str();
            let says = |r: &String| r == release;
            let upstream = answers.iter().find(|a| a.releases.iter().any(says));
            let ours = compare::ours(&case, settings);
            assert_eq!(
                compare::same(upstream.unwrap(), &ours),
                !differs,
                "{} on {release}: {ours:?}",
                case.name
            );
        }
    }
}
