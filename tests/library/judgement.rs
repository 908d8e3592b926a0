//! What the library finds for all releases at once is what it finds for each release alone.

use std::collections::BTreeSet;

use managed_by::{
    AdmissionRequest, JudgedFinding, Offline, Release, ReleaseSet, Settings, Verdict, judge_in,
    review_in, rules,
};
use managed_by_conformance::trace;
use managed_by_conformance::vector::{self, Vector};
use managed_by_offline::{Judge, Judgement};
use managed_by_testing::answers;
use serde_json::{Value, json};
use xtask::examples;
use xtask::judge::Documented;

/// A finding in the words of a release: release, rule, level, path, place among those of the rule and path, text.
type Told = (Release, &'static str, &'static str, String, usize, String);

/// What a release finds that is asked alone.
fn alone(release: Release, verdict: &Verdict<'_>) -> BTreeSet<Told> {
    let mut told: BTreeSet<Told> = BTreeSet::new();
    for (enforcement, finding) in &verdict.findings {
        let (rule, path) = (finding.rule().id(), finding.error().path());
        let same = |other: &&Told| (other.1, &*other.3) == (rule, path);
        let place = told.iter().filter(same).count();
        let text = finding.error().text(release);
        let level = enforcement.as_str();
        told.insert((release, rule, level, path.to_owned(), place, text));
    }
    assert_eq!(told.len(), verdict.findings.len());
    told
}

fn together(finding: &JudgedFinding<'_>) -> Vec<Told> {
    let (rule, path) = (finding.rule().id(), finding.path());
    let level = finding.enforcement().as_str();
    let mut told = Vec::new();
    for said in finding.texts() {
        told.extend(said.releases.iter().map(|release| {
            let (path, text) = (path.to_owned(), said.text.clone());
            (release, rule, level, path, finding.place(), text)
        }));
    }
    told
}

/// The suggestion is in the data and in the JSON, and only if there is one; the detail quotes it.
#[test]
fn a_typo_has_a_suggestion() {
    let settings = br#"{"controllers":{"acme.io/runner":{},"kueue.x-k8s.io/multikueue":{}}}"#;
    let settings = Settings::from_json(settings).unwrap();
    let (reserved_domain, allowed) = ("managed-by/reserved-domain", "managed-by/allowed");
    let multikueue = Some("kueue.x-k8s.io/multikueue");
    let both = vec![(allowed, multikueue), (reserved_domain, multikueue)];
    for (value, mut expected) in [
        ("kueue.x-k8s.io/multikeueu", both),
        ("acme.io/runer", vec![(allowed, Some("acme.io/runner"))]),
        ("acme.io/other-program", vec![(allowed, None)]),
        (
            "jobset.sigs.k8s.io/jobset-controller",
            vec![(allowed, None), ("managed-by/wrong-kind", None)],
        ),
        ("typo", vec![(allowed, None), ("managed-by/format", None)]),
    ] {
        let request = json!({
            "kind": {"group": "batch", "version": "v1", "kind": "Job"}, "operation": "CREATE",
            "object": {"metadata": {"name": "pi"}, "spec": {"managedBy": value}},
        });
        let request = request.to_string();
        let request = AdmissionRequest::from_json(request.as_bytes()).unwrap();
        let judgement = judge_in(&request, &settings, Some(ReleaseSet::all()), &Offline);
        let mut suggested: Vec<_> = judgement
            .findings()
            .iter()
            .map(|found| (found.rule().id(), found.error().suggestion()))
            .collect();
        suggested.sort_unstable();
        expected.sort_unstable();
        assert_eq!(suggested, expected, "{value}");
        let json = serde_json::to_value(&judgement).unwrap();
        let offline = Judgement::of(&judgement);
        for (index, found) in judgement.findings().iter().enumerate() {
            let suggestion = found.error().suggestion();
            let of_json = json["findings"][index].get("suggestion");
            assert_eq!(of_json.map(|value| value.as_str().unwrap()), suggestion);
            assert_eq!(offline.findings[index].suggestion.as_deref(), suggestion);
            let in_detail = |value: &str| found.detail().contains(&format!("mean \"{value}\"?"));
            assert!(suggestion.is_none_or(in_detail), "{}", found.detail());
        }
    }
}

#[derive(Default)]
struct Seen {
    requests: usize,
    findings: usize,
    /// Requests on which the releases do not say the same.
    disputed: usize,
}

impl Seen {
    fn add(&mut self, name: &str, request: &Value, settings: &Value) {
        let (request, settings) = (request.to_string(), settings.to_string());
        let Ok(request) = AdmissionRequest::from_json(request.as_bytes()) else {
            return;
        };
        let settings = Settings::from_json(settings.as_bytes()).unwrap();
        let all = Some(ReleaseSet::all());
        let judgement = judge_in(&request, &settings, all, &Documented);
        let mut expected = BTreeSet::new();
        for &release in Release::ALL {
            let of_one = settings.clone().with_kubernetes_version(release);
            let verdict = review_in(&request, &of_one, &Documented);
            expected.append(&mut alone(release, &verdict));
            let only = judgement.only(release).unwrap();
            assert_eq!(only.verdict(), &verdict, "{name} {release}");
            let is_allowed = verdict.decision.is_allowed();
            assert_eq!(judgement.denied_by().contains(release), !is_allowed);
            assert_eq!(judgement.accepted_by().contains(release), is_allowed);
            let one = judge_in(&request, &settings, Some(release.into()), &Documented);
            assert_eq!(one.verdict(), &verdict, "{name} {release}");
        }
        let told = judgement.findings().iter().flat_map(together);
        assert_eq!(told.collect::<BTreeSet<_>>(), expected, "{name}");
        let findings = judgement.findings().iter();
        let rank =
            |found: &JudgedFinding<'_>| rules().iter().position(|rule| *rule == found.rule());
        assert!(findings.map(rank).is_sorted(), "{name}");
        // A client that is denied reads of everything that a release denies, unless it has no access.
        let verdict = judgement.verdict();
        if verdict.decision.code() == Some(422) {
            for finding in judgement.findings() {
                let is_denial = finding.enforcement() == managed_by::Enforcement::Deny;
                let message = verdict.decision.message().unwrap();
                assert!(!is_denial || message.contains(&finding.text()), "{name}");
                for said in finding.texts() {
                    // The path and the kind of trouble; the other words may be a newer release's.
                    let error_type = said.error_type.as_str();
                    let trouble = format!("{}: {error_type}", finding.path());
                    assert!(said.text.starts_with(&trouble), "{name}");
                    assert!(!is_denial || message.contains(&trouble), "{name}");
                }
            }
        }

        // As JSON too.
        let json = serde_json::to_value(&judgement).unwrap();
        let told = expected
            .iter()
            .map(|(release, rule, level, path, _, text)| {
                [release.as_str(), rule, level, path, text].map(str::to_owned)
            });
        assert_eq!(answers::told(&json["findings"]), told.collect(), "{name}");
        let opinions = json["opinions"].as_array().unwrap();
        assert_eq!(opinions.len(), judgement.opinions().len());
        for (opinion, of_json) in judgement.opinions().iter().zip(opinions) {
            assert_eq!(of_json["allowed"], opinion.verdict.decision.is_allowed());
        }
        // And each annotation once.
        let annotations = json["auditAnnotations"].as_object().unwrap();
        assert_eq!(annotations.len(), verdict.audit_annotations.len(), "{name}");

        // The tools say the same.
        let judgement = judge_in(&request, &settings, all, &Offline);
        let told = judgement.findings().iter().flat_map(together);
        let told: Vec<_> = told
            .map(|(r, rule, e, path, _, t)| (r, rule, e, path, t))
            .collect();
        let tool = Judge::new(settings.clone(), Some(ReleaseSet::all())).review(&request);
        let by_tool = tool.findings.iter().flat_map(|found| {
            let texts = match &*found.texts {
                [] => vec![(found.releases.unwrap(), found.text.clone())],
                texts => {
                    let texts = texts.iter();
                    texts.map(|s| (s.releases, s.text.clone())).collect()
                }
            };
            let each = texts.into_iter().flat_map(|(releases, text)| {
                let each = releases.iter().collect::<Vec<_>>().into_iter();
                each.map(move |release| (release, text.clone()))
            });
            each.map(|(release, text)| {
                let level = found.enforcement.as_str();
                (release, found.rule.id(), level, found.path.clone(), text)
            })
        });
        assert_eq!(by_tool.collect::<Vec<_>>(), told, "{name}");
        let matrix = tool.releases.unwrap();
        let said = (judgement.accepted_by(), judgement.denied_by());
        assert_eq!((matrix.accepted, matrix.denied), said, "{name}");

        self.requests += 1;
        self.findings += expected.len();
        self.disputed += usize::from(judgement.opinions().len() > 1);
    }
}

#[test]
fn all_releases_at_once_find_what_each_finds_alone() {
    let mut examples = Seen::default();
    for example in examples::all().unwrap() {
        examples.add(&example.name, &example.request, &example.settings);
    }
    let mut vectors = Seen::default();
    for Vector { case, .. } in vector::all().unwrap() {
        vectors.add(&case.name, &case.request(), &json!({}));
    }
    let mut traces = Seen::default();
    for stream in trace::JOBS.iter().chain(&trace::CUSTOM) {
        for case in trace::requests(stream).unwrap() {
            traces.add(&case.name, &case.request(), &json!({}));
        }
    }
    for seen in [&examples, &vectors, &traces] {
        assert!(seen.requests > 50 && seen.findings > 100 && seen.disputed > 10);
    }
}
