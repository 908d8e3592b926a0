//! The vectors that kube-apiserver's own code has judged, on the library and on the built module.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::support::{everywhere, natively, root};
use managed_by::{Enforcement, Release, rules};
use managed_by_conformance::vector::{self, Answer, Vector};
use managed_by_conformance::{cases, difference, trace};
use serde_json::{Map, Value, json};

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

/// Compares the answers of every front end in every release, and counts what each release denies. `conformance/tests/vectors.rs` compares
/// the errors one by one.
fn denied(vectors: &[Vector], settings: impl Fn(Release) -> Value) -> BTreeMap<&'static str, u32> {
    let known = difference::read().unwrap();
    let mut denied = BTreeMap::new();
    for vector in vectors {
        let name = &vector.case.name;
        let differs = known.iter().any(|d| name.starts_with(&d.prefix));
        for &release in Release::ALL {
            let ours = everywhere(&vector.case.request(), &settings(release));
            let upstream = answer(vector, release);
            let agrees = if upstream.unreadable {
                ours.code == Some(400)
            } else {
                ours.allowed == upstream.errors.is_empty() && ours.message() == upstream.message
            };
            assert_eq!(
                agrees, !differs,
                "{name} on {release}:\nupstream: {upstream:?}\nours:     {ours:?}"
            );
            if !ours.allowed {
                *denied.entry(release.as_str()).or_default() += 1;
            }
        }
    }
    denied
}

#[test]
fn our_answers_are_upstream_s_to_the_byte() {
    let vectors = vector::all().unwrap();
    denied(&vectors, all_upstream);
    let known = difference::read().unwrap();
    for (index, difference) in known.iter().enumerate() {
        let prefix = &difference.prefix;
        // The first that covers a case is the one that is used.
        let first = |name: &str| known.iter().position(|d| name.starts_with(&d.prefix));
        let is_used = vectors.iter().any(|v| first(&v.case.name) == Some(index));
        assert!(
            is_used,
            "no case is covered by the known difference `{prefix}`"
        );
    }
}

/// Of what controllers wrote of Jobs, for which the default rules are enough.
#[test]
fn our_answers_to_real_controllers_are_upstream_s() {
    let settings = |release: Release| json!({"kubernetes_version": release.as_str()});
    let denied = denied(&trace::vectors().unwrap(), settings);
    // In 1.30 criteria were those of a success policy alone; in 1.31 a suspended Job had to start before it could be
    // complete. The controller that was recorded is of 1.36.
    assert_eq!(denied, BTreeMap::from([("1.30", 103), ("1.31", 1)]));
}

/// Where we differ on purpose, we accept what upstream refuses, and say nothing.
#[test]
fn an_unchanged_value_is_never_judged_again() {
    let mut count = 0;
    for vector in vector::all()
        .unwrap()
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

/// How many vectors each file has. Some files hold their questions themselves, where nothing else shows that a line is gone.
const COUNTS: [usize; vector::FILES.len()] = [395, 282, 296, 600, 266, 200];

#[test]
fn the_vectors_are_those_of_the_cases() {
    for (file, count) in vector::FILES.into_iter().zip(COUNTS) {
        let cases = cases::of(file).unwrap();
        let vectors = vector::read(file).unwrap();
        let committed: Vec<_> = vectors.iter().map(|v| &v.case).collect();
        assert_eq!(
            committed,
            cases.iter().collect::<Vec<_>>(),
            "{file}: make conformance"
        );
        assert_eq!(vectors.len(), count, "{file}: COUNTS");
        for vector in &vectors {
            let releases = vector.answers.iter().flat_map(|a| &a.releases);
            let mut releases: Vec<_> = releases.map(String::as_str).collect();
            releases.sort_unstable();
            let all = Release::ALL.iter().map(|release| release.as_str());
            assert_eq!(releases, all.collect::<Vec<_>>());
        }
    }
    let all = COUNTS.iter().sum::<usize>() + trace::vectors().unwrap().len();
    let told = format!("The {},{:03} cases", all / 1000, all % 1000);
    let page = fs::read_to_string(root("docs/conformance.md")).unwrap();
    assert!(page.contains(&told), "docs/conformance.md: {told}");
}

#[test]
fn names_of_cases_are_unique() {
    let mut names: Vec<_> = vector::all()
        .unwrap()
        .into_iter()
        .map(|v| v.case.name)
        .collect();
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
    for vector in vector::all().unwrap() {
        for release in [Release::V1_30, Release::V1_37] {
            let settings = all_upstream(release);
            for fired in natively(&vector.case.request(), &settings).denied() {
                silent.remove(fired.split(' ').next().unwrap());
            }
        }
    }
    assert_eq!(silent, BTreeSet::new());
}
